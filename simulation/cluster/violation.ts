/** A checker's finding: the name of the invariant and the contradiction, in words without secrets. */
export interface Violation {
  readonly invariant: string;
  readonly text: string;
  readonly atMs: number;
}
