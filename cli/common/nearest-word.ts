/** The word that was probably meant. */
export function nearest(text: string, words: readonly string[]): string | undefined {
  const [first] = words
    .map((word) => ({ word, distance: editDistance(text, word) }))
    .sort((a, b) => a.distance - b.distance);
  return first !== undefined && first.distance <= 8 ? first.word : undefined;
}

/** Levenshtein's, one row at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substitution, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
