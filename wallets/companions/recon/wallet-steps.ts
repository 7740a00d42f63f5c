/**
 * One step of a transactions job on one wallet: a page of one side, joined with the other side by keys. The job looks up our
 * transfers, deposits and exchanges of the window at the provider, and then the provider's movements of the window in our
 * records. The lookup ignores times, so the edges of the window cause no exceptions. Memory holds one page of either side.
 */
import { assetOf } from '../../networks/assets.ts';
import type { Movement, MovementDirection } from '../../providers/port/statement.ts';
import { type CompareTerms, compareMovements } from './compare.ts';
import type { ComparisonFinding } from './exception-record.ts';
import { type JobPhase, ownPhases } from './job-record.ts';
import type { OwnMovement } from './own-side.ts';
import type { WalletSources, Window } from './sources.ts';

export interface StepTerms extends CompareTerms {
  readonly window: Window;
  /** Only this asset; null: all. */
  readonly asset: string | null;
}

export interface WalletStep {
  readonly findings: readonly ComparisonFinding[];
  readonly rowsInternal: number;
  readonly rowsExternal: number;
  /** undefined: the wallet is finished. */
  readonly next: { readonly phase: JobPhase; readonly after: string | null } | undefined;
}

export async function transactionStep(
  sources: WalletSources,
  phase: Exclude<JobPhase, 'balances'>,
  after: string | null,
  terms: StepTerms,
): Promise<WalletStep> {
  if (phase === 'statement') return statementStep(sources, after, terms);
  const { movements, next } = await sources[phase](terms.window, after);
  const findings = [
    ...(await ownFindings(sources, 'out', movements, terms)),
    ...(await ownFindings(sources, 'in', movements, terms)),
  ];
  const following = ownPhases[ownPhases.indexOf(phase) + 1] ?? 'statement';
  return {
    findings,
    rowsInternal: movements.length,
    rowsExternal: 0,
    next: next === null ? { phase: following, after: null } : { phase, after: next },
  };
}

async function ownFindings(
  sources: WalletSources,
  direction: MovementDirection,
  movements: readonly OwnMovement[],
  terms: StepTerms,
): Promise<ComparisonFinding[]> {
  const named = movements.filter((own) => own.direction === direction && own.key !== null && isMeant(own.asset, terms));
  const theirs = await sources.theirs(
    direction,
    named.map(({ key }) => key!),
  );
  return named.flatMap((own, index) => compareMovements(sources.wallet, own, theirs[index]!, terms) ?? []);
}

async function statementStep(sources: WalletSources, after: string | null, terms: StepTerms): Promise<WalletStep> {
  const { movements, next } = await sources.statement(terms.window, after);
  const [outgoing, incoming] = await Promise.all([
    theirFindings(sources, 'out', movements, terms),
    theirFindings(sources, 'in', movements, terms),
  ]);
  return {
    findings: [...outgoing, ...incoming],
    rowsInternal: 0,
    rowsExternal: movements.length,
    next: next === undefined ? undefined : { phase: 'statement', after: next },
  };
}

async function theirFindings(
  sources: WalletSources,
  direction: MovementDirection,
  movements: readonly Movement[],
  terms: StepTerms,
): Promise<ComparisonFinding[]> {
  // We cannot have credited a pending deposit yet.
  const meant = movements.filter(
    (movement) =>
      movement.direction === direction &&
      isMeant(movement.asset, terms) &&
      !(direction === 'in' && movement.state === 'pending'),
  );
  const keys = [...new Set(meant.map(({ key }) => key))];
  const own = await sources.own(direction, keys);
  // Our side has already compared our records within the window.
  const open = keys.flatMap((key, index) => (isWithin(own[index], terms.window) ? [] : [{ key, own: own[index] }]));
  const theirs = await sources.theirs(
    direction,
    open.map(({ key }) => key),
  );
  return open.flatMap((pair, index) => compareMovements(sources.wallet, pair.own, theirs[index]!, terms) ?? []);
}

function isWithin(own: OwnMovement | undefined, { fromMs, toMs }: Window): boolean {
  return own !== undefined && own.createdAtMs >= fromMs && own.createdAtMs < toMs;
}

/** Omits a tenant's own tokens, which no provider has in its books. */
function isMeant(asset: string, terms: StepTerms): boolean {
  return assetOf(asset) !== undefined && (terms.asset === null || terms.asset === asset);
}
