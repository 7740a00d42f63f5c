/** Times as the API shows them. */

/** RFC 3339, UTC, with milliseconds. */
export function timestamp(atMs: number): string {
  return new Date(atMs).toISOString();
}

/** Of a time that may be none, or that no date can be. */
export function timestampOrNull(atMs: number | null | undefined): string | null {
  return atMs == null || !Number.isFinite(atMs) ? null : timestamp(atMs);
}
