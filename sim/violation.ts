/** What a checker found: the name of the invariant and what contradicts it, in words without secrets. */
export interface Violation {
  readonly invariant: string;
  readonly text: string;
  readonly atMs: number;
}
