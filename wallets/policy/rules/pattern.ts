/**
 * Bounds the cost of matching a regular expression. A backtracking matcher may try every combination of the pattern's choices:
 * where it begins, how often each quantifier repeats, which alternative it takes. Without repeated groups those ways can be
 * counted from the pattern alone, and with them the steps: every part is tried once for each way to come to it. Pure.
 */

/** UTF-16 units of any text that a pattern is tried on; longer metadata is kept from rules. */
export const subjectUnitsMax = 1_000;
/** Steps of one pattern at most; the costs of a rule and of a policy bound them further. */
const patternStepsMax = 100_000;

/** What a part of a pattern comes to. */
interface Part {
  /** Ways to match it. */
  readonly ways: number;
  /** Steps to go through all of them. */
  readonly steps: number;
  /** It can begin at the beginning of the text alone. */
  readonly isAnchored: boolean;
  /** Where it ends in the pattern. */
  readonly end: number;
}

/** Steps of the pattern at most, or why it is refused. */
export function patternSteps(pattern: string): number | string {
  const refused = refusedSyntax(pattern);
  if (refused !== undefined) return refused;
  const { ways, steps, isAnchored } = alternatives(pattern, 0);
  // An anchored pattern fails elsewhere as soon as each of its alternatives meets its anchor.
  const elsewhere = subjectUnitsMax * pattern.split('|').length;
  const total = isAnchored ? ways + steps + (pattern.includes('|') ? elsewhere : 0) : subjectUnitsMax * (ways + steps);
  if (total <= patternStepsMax) return total;
  return 'the pattern has too many ways to match: anchor all of it with ^, or repeat less';
}

/** Constructs that are refused, because their cost is unknown or their meaning differs from their syntax. */
function refusedSyntax(pattern: string): string | undefined {
  let inClass = false;
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at]!;
    if (char === '\\') {
      const next = pattern[at + 1] ?? '';
      if (/[pP]/.test(next)) return 'classes of Unicode properties (\\p) are not part of the rule language';
      if (next === 'u' && pattern[at + 2] === '{')
        return '\\u{ } is not part of the rule language: write the character';
      if (/[1-9k]/.test(next)) return 'back references are not part of the rule language';
      at++;
    } else if (inClass) {
      inClass = char !== ']';
    } else if (char === '[') {
      inClass = true;
    } else if (char === '(' && pattern[at + 1] === '?' && pattern[at + 2] !== ':') {
      return 'only plain groups and (?: ) are allowed in a pattern';
    } else if (char === ')' && /^[*+?{]/.test(pattern.slice(at + 1, at + 2))) {
      return 'a group in a pattern must not be repeated';
    }
  }
  return undefined;
}

/** Alternatives up to the end of their group, or of the pattern. */
function alternatives(pattern: string, from: number): Part {
  let at = from;
  let [ways, steps, isAnchored] = [0, 0, true];
  for (;;) {
    const part = sequence(pattern, at);
    ways += part.ways;
    steps += part.steps + 1;
    isAnchored &&= part.isAnchored;
    at = part.end;
    if (pattern[at] !== '|') return { ways, steps, isAnchored, end: at };
    at += 1;
  }
}

function sequence(pattern: string, from: number): Part {
  let at = from;
  let [ways, steps, isAnchored] = [1, 0, false];
  while (at < pattern.length && pattern[at] !== '|' && pattern[at] !== ')') {
    const part = pattern[at] === '(' ? group(pattern, at) : atom(pattern, at);
    if (at === from) isAnchored = part.isAnchored;
    steps += ways * part.steps;
    ways *= part.ways;
    at = part.end;
  }
  return { ways, steps, isAnchored, end: at };
}

function group(pattern: string, at: number): Part {
  const inside = alternatives(pattern, at + (pattern.startsWith('(?:', at) ? 3 : 1));
  return { ...inside, end: inside.end + 1 };
}

/** One character, escape or class, with its quantifier. */
function atom(pattern: string, at: number): Part {
  const end = at + atomLength(pattern, at);
  const quantifier = /^(?:[*+?]|\{\d+(?:,\d*)?\})\??/.exec(pattern.slice(end, end + 24))?.[0] ?? '';
  const { least, most } = repetitions(quantifier);
  return {
    ways: most - least + 1,
    steps: Math.max(1, most),
    isAnchored: pattern[at] === '^' && quantifier === '',
    end: end + quantifier.length,
  };
}

function atomLength(pattern: string, at: number): number {
  if (pattern[at] === '\\') return 2;
  if (pattern[at] !== '[') return 1;
  for (let end = at + 1; end < pattern.length; end++) {
    if (pattern[end] === '\\') end++;
    else if (pattern[end] === ']') return end - at + 1;
  }
  return pattern.length - at;
}

function repetitions(quantifier: string): { readonly least: number; readonly most: number } {
  if (quantifier === '') return { least: 1, most: 1 };
  if (quantifier.startsWith('?')) return { least: 0, most: 1 };
  if (!quantifier.startsWith('{')) return { least: 0, most: subjectUnitsMax };
  const [, first = '0', comma, last = ''] = /^\{(\d+)(,?)(\d*)/.exec(quantifier) ?? [];
  const least = Math.min(Number(first), subjectUnitsMax);
  if (comma === '') return { least, most: least };
  return { least, most: last === '' ? subjectUnitsMax : Math.max(least, Math.min(Number(last), subjectUnitsMax)) };
}
