/**
 * Matches a subject with lists. Pure.
 *
 * A match on a sanctions list or a deny list always blocks. A match on a watch list requires a review, unless an allow list
 * contains the subject: an allow list clears a watch match, but never a deny match.
 */
import type { ScreeningDecision, ScreeningMatch } from '../../custody/intents/public.ts';
import { networkIds } from '../../networks/networks.ts';
import type { ScreeningSubject } from '../rules/evaluation-record.ts';
import { addressIndexKey, anyNetwork, type IndexedList, type ListKind } from './list.ts';
import { nameKey } from './name-key.ts';

export interface ScreeningOutcome {
  readonly decision: ScreeningDecision;
  /** 0 to 100. */
  readonly riskScore: number;
  /** The gravest first. */
  readonly matches: readonly ScreeningMatch[];
  readonly listVersions: Readonly<Record<string, number>>;
}

const gravity: Readonly<Record<ListKind, number>> = { sanctions: 0, deny: 1, watch: 2, allow: 3 };

/** The score of a screening, by its gravest list. */
export const screeningScores = { sanctions: 100, deny: 90, watch: 60, clear: 0 } as const;

export function screenSubject(
  subject: Pick<ScreeningSubject, 'address' | 'network' | 'name'>,
  lists: readonly IndexedList[],
): ScreeningOutcome {
  const matches = lists
    .flatMap((list) => matchesIn(list, subject))
    .toSorted((a, b) => gravity[a.kind] - gravity[b.kind] || (a.listName < b.listName ? -1 : 1));
  const found = (kind: ListKind): boolean => matches.some((match) => match.kind === kind);
  const listVersions = Object.fromEntries(lists.map(({ name, listVersion }) => [name, listVersion]));
  const outcome = (decision: ScreeningDecision, riskScore: number) => ({ decision, riskScore, matches, listVersions });
  if (found('sanctions')) return outcome('blocked', screeningScores.sanctions);
  if (found('deny')) return outcome('blocked', screeningScores.deny);
  if (found('watch') && !found('allow')) return outcome('review', screeningScores.watch);
  return outcome('clear', screeningScores.clear);
}

function matchesIn(
  list: IndexedList,
  { address, network, name }: Pick<ScreeningSubject, 'address' | 'network' | 'name'>,
): ScreeningMatch[] {
  const entries: (string | undefined)[] = [];
  if (address !== null) {
    // A screening without a network covers all networks.
    const asked = network === null ? networkIds : [network];
    for (const id of [anyNetwork, ...asked]) entries.push(list.byAddress.get(addressIndexKey(id, address)));
  }
  if (name !== null) entries.push(list.byName.get(nameKey(name)));
  const { listId, name: listName, kind, listVersion } = list;
  return [...new Set(entries)]
    .filter((entry) => entry !== undefined)
    .map((entry) => ({ listId, listName, kind, listVersion, entry }));
}
