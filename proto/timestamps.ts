/** Times as the API shows them. */

/** RFC 3339, UTC, with milliseconds. */
export function timestamp(atMs: number): string {
  return new Date(atMs).toISOString();
}
