/** The end of a run of the control plane. */
export type Verdict =
  | { readonly kind: 'passed' }
  /** `invariant` "no-bugs": a process threw, or the run did not end. */
  | { readonly kind: 'violated'; readonly invariant: string; readonly cause: string };
