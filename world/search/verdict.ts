/** How a run of the control plane ended. */
export type Verdict =
  | { readonly kind: 'passed' }
  /** `invariant` "no-bugs": a process threw, or the run came to no end. */
  | { readonly kind: 'violated'; readonly invariant: string; readonly cause: string };
