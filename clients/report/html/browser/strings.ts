/** A table of strings, which rows of events name by index. */
export interface Strings {
  readonly strings: readonly string[];
  /** Adds `text` if the table lacks it. */
  indexOf(text: string): number;
}

export function makeStrings(first: readonly string[] = []): Strings {
  const strings = [...first];
  const known = new Map(strings.map((text, index) => [text, index] as const));
  return {
    strings,
    indexOf: (text) => {
      let index = known.get(text);
      if (index === undefined) {
        index = strings.push(text) - 1;
        known.set(text, index);
      }
      return index;
    },
  };
}
