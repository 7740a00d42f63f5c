export interface ReleaseOf {
  readonly tag: string;
  /** Its URL, without an end. */
  readonly repository: string;
  /** The text of CHANGELOG.md. */
  readonly changelog: string;
}

export function released(manifest: object, of: ReleaseOf): object;
