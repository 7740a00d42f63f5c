/** Runs work on many items, a few at a time. */

/** Resolves when `work` was done for each; rejects with the first failure. */
export async function each<T>(things: readonly T[], atOnce: number, work: (thing: T) => Promise<void>): Promise<void> {
  const rest = things.values();
  const worker = async () => {
    for (const thing of rest) await work(thing);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, things.length) }, worker));
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
