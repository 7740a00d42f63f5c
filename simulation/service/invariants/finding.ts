/** A contradiction that ends a run: the invariant, and the contradiction to it. */
export class Finding extends Error {
  override readonly name = 'Finding';
  readonly invariant: InvariantName;

  constructor(invariant: InvariantName, cause: string) {
    super(cause);
    this.invariant = invariant;
  }
}

/** The invariants of every run of the control plane. docs/simulation.md explains each. */
export const invariantNames = [
  'answered-in-time',
  'no-internal-error',
  'one-answer-a-key',
  'one-effect-a-key',
  'reads-are-fresh',
  'versions-never-change',
  'changes-take-effect',
  'tenants-apart',
  'books-as-documented',
  'decided-as-written',
  'answers-as-modelled',
  'votes-as-required',
  'events-complete',
  'hooks-get-events',
  'hooks-left-alone',
  'hooks-signed',
  'pages-complete',
  'providers-agree',
  'no-secret-in-clear',
  'orders-end',
  'supply-adds-up',
  'plans-keep-rules',
] as const;
export type InvariantName = (typeof invariantNames)[number];

export function found(invariant: InvariantName, cause: string): never {
  throw new Finding(invariant, cause);
}
