/** The mutants that two checkouts share, so that the same ones compare the tests of both. */
import type { Found } from './mutants.ts';

/** The same fault in two checkouts. */
export interface Pair {
  readonly before: Found;
  readonly after: Found;
}

/** `read` gives the file of a mutant in its checkout. */
export interface Side {
  readonly mutants: readonly Found[];
  readonly read: (file: string) => string;
}

/**
 * The faults in lines that both checkouts have, whichever file of the room holds them, in the order of `after`. Lines that a room
 * has twice do not count: their places may differ.
 */
export function commonMutants(before: Side, after: Side): Pair[] {
  const [old, today] = [byLines(before), byLines(after)];
  return [...today].flatMap(([key, now]) => {
    const older = old.get(key);
    return older?.length === 1 && now.length === 1 ? [{ before: older[0]!, after: now[0]! }] : [];
  });
}

/** By the fault, the whole lines that it changes, and its place in them. */
function byLines({ mutants, read }: Side): ReadonlyMap<string, readonly Found[]> {
  const found = new Map<string, Found[]>();
  const sources = new Map<string, Buffer>();
  for (const mutant of mutants) {
    const bytes = sources.get(mutant.file) ?? Buffer.from(read(mutant.file));
    sources.set(mutant.file, bytes);
    const start = bytes.lastIndexOf('\n', mutant.start - 1) + 1;
    const end = bytes.indexOf('\n', mutant.end);
    const lines = bytes.subarray(start, end < 0 ? bytes.length : end).toString();
    const ahead = bytes.subarray(start, mutant.start).toString();
    const key = JSON.stringify([mutant.what, lines.replace(/\s+/g, ' ').trim(), ahead.trim()]);
    found.set(key, [...(found.get(key) ?? []), mutant]);
  }
  return found;
}
