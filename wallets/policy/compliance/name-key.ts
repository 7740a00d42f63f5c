/**
 * Normalizes names for comparison, so that spellings of one name are equal. It is neither a phonetic nor a fuzzy search:
 * another letter, another transliteration or a missing middle name makes another name.
 */

/** Letters that Unicode does not decompose, as the Latin ones they are commonly written with. */
const plain: Readonly<Record<string, string>> = {
  ł: 'l',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ı: 'i',
  ħ: 'h',
  ŋ: 'n',
  ŧ: 't',
  ĸ: 'k',
  ə: 'e',
};

/** Cyrillic and Greek letters that look like Latin ones, in lower case. */
const lookalikes: Readonly<Record<string, string>> = {
  а: 'a',
  в: 'b',
  е: 'e',
  һ: 'h',
  і: 'i',
  ј: 'j',
  к: 'k',
  м: 'm',
  н: 'h',
  о: 'o',
  р: 'p',
  ԛ: 'q',
  с: 'c',
  ѕ: 's',
  т: 't',
  у: 'y',
  ѵ: 'v',
  ԝ: 'w',
  х: 'x',
  α: 'a',
  β: 'b',
  ε: 'e',
  η: 'n',
  ι: 'i',
  κ: 'k',
  μ: 'm',
  ν: 'v',
  ο: 'o',
  ρ: 'p',
  σ: 'o',
  ς: 'o',
  τ: 't',
  υ: 'y',
  χ: 'x',
};

/**
 * Case, accents, punctuation, spaces and the order of the words make no difference, nor do invisible characters inside a
 * word: "AL-Qadi, José" and "jose al qadi" are one. Empty when no letter is left.
 */
export function nameKey(name: string): string {
  const folded = name
    .normalize('NFKD')
    .replace(/[\p{M}\p{Cf}]+/gu, '')
    .toLowerCase()
    // Lower case decomposes once more: a capital İ leaves a dot behind.
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
  if (!/\p{L}/u.test(folded)) return '';
  const letters = [...folded].map((letter) => plain[letter] ?? lookalikes[letter] ?? letter).join('');
  return letters.split(' ').toSorted().join(' ');
}
