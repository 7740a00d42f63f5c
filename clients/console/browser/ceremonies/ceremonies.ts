/** Which sessions the list shows, and in which words. Pure. */
import type { SandboxSession, SandboxStreamSession } from '../../../client/generated-api.ts';
import type { ConsoleStore } from '../shared/store.ts';

/** `faulty`: a fault touched it, or it blames a node. */
export type StateFilter = 'all' | 'open' | 'completed' | 'failed' | 'faulty';

/** The newest first. `words`: parts of ids, tenants, reasons, faults or `node 2`. */
export function listed(
  store: Pick<ConsoleStore, 'sessions'>,
  words: string,
  state: StateFilter,
): readonly SandboxStreamSession[] {
  const wanted = words
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  return [...store.sessions.values()]
    .filter((session) => matches(session, state) && wanted.every((word) => textOf(session).includes(word)))
    .sort((a, b) => b.began_ms - a.began_ms);
}

/** The session of that id; a deep link names no tenant: the one that acts comes first. */
export function sessionOf(
  { sessions }: Pick<ConsoleStore, 'sessions'>,
  id: string,
  acting: string | undefined,
): SandboxStreamSession | undefined {
  const found = [...sessions.values()].filter(({ session }) => session === id);
  return found.find(({ tenant }) => tenant === acting) ?? found.at(-1);
}

/** The state in a word, and the colour of it. */
export function stateOf(
  seen: SandboxStreamSession | undefined,
  read: SandboxSession | null | undefined,
): readonly [string, string] {
  switch (read?.state) {
    case 'RECEIPT_STATE_PENDING_HUMAN_APPROVAL':
      return ['waits for approval', 'waiting'];
    case 'RECEIPT_STATE_EXPIRED':
      return ['expired', 'failed'];
    case 'RECEIPT_STATE_REVOKED':
      return ['revoked', 'failed'];
    case 'RECEIPT_STATE_DENIED':
      return ['denied', 'failed'];
    case 'RECEIPT_STATE_BACKEND_COMPLETED':
      return ['completed', 'completed'];
    case 'RECEIPT_STATE_BACKEND_FAILED':
      return ['failed', 'failed'];
    default:
      return seen === undefined ? ['open', 'open'] : [seen.state, seen.state];
  }
}

/** Every node of the session, with its part in it. */
export function nodesOf(
  seen: SandboxStreamSession | undefined,
  read: SandboxSession | null | undefined,
): readonly { readonly node: number; readonly role: 'signed' | 'holds a share' | 'took part' | 'blamed' }[] {
  const culprits = read?.culprits ?? seen?.culprits ?? [];
  const signers = read?.signers ?? [];
  const isMade = read?.kind === 'dkg' && read.state === 'RECEIPT_STATE_BACKEND_COMPLETED';
  const hasShare = (node: number) => isMade && read.participants.includes(node);
  const all = new Set([
    ...(seen?.nodes ?? []),
    ...signers,
    ...culprits,
    ...(read?.kind === 'dkg' ? read.participants : []),
  ]);
  return [...all]
    .sort((a, b) => a - b)
    .map((node) => ({
      node,
      role: culprits.includes(node)
        ? 'blamed'
        : signers.includes(node)
          ? 'signed'
          : hasShare(node)
            ? 'holds a share'
            : 'took part',
    }));
}

function matches(session: SandboxStreamSession, filter: StateFilter): boolean {
  if (filter === 'all') return true;
  if (filter === 'faulty') return session.faults.length + session.culprits.length > 0;
  return session.state === filter;
}

function textOf({ session, tenant, kind, reason_code: reason, faults, culprits }: SandboxStreamSession): string {
  return [session, tenant, kind, reason ?? '', ...faults, ...culprits.map((node) => `node ${node}`)]
    .join(' ')
    .toLowerCase();
}
