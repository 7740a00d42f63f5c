/** The wording that messages share. */

/** Node ids in a sentence. */
export function nodeList(ids: Iterable<number>): string {
  const sorted = [...ids].sort((a, b) => a - b);
  return `${sorted.length === 1 ? 'node' : 'nodes'} ${sorted.join(', ')}`;
}

/** A caller's text inside a message: bounded, and without control characters. */
export function quote(text: string): string {
  const shown = text.length > 64 ? `${text.slice(0, 64)}…` : text;
  return JSON.stringify(shown);
}
