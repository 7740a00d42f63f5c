/** What the page reads once and again when it may have changed: one read at a time, and what changes meanwhile is read afterwards. */
export interface PageRead<T> {
  /** undefined: not read yet. */
  readonly value: T | undefined;
  /** Why the last read failed; empty: it did not. */
  readonly problem: string;
  refresh(): Promise<void>;
}

export function makePageRead<T>(read: () => Promise<T>, changed: () => void): PageRead<T> {
  let value: T | undefined;
  let problem = '';
  let reading: Promise<void> | undefined;
  let isStale = false;
  const readAll = async () => {
    while (isStale) {
      isStale = false;
      try {
        value = await read();
        problem = '';
      } catch (error) {
        problem = error instanceof Error ? error.message : String(error);
      }
      changed();
    }
    reading = undefined;
  };
  return {
    get value() {
      return value;
    },
    get problem() {
      return problem;
    },
    refresh: () => {
      isStale = true;
      reading ??= readAll();
      return reading;
    },
  };
}
