/**
 * Listeners that may have any port: they bind first and report the port afterwards, so no other process can take it in between.
 * Reserved ports are those that the configuration gives to other listeners, which may be down at the moment.
 */
const attemptsMax = 20;

/** `bind` listens on port 0; `release` closes what it made. Binds again while the system gives a reserved port. */
export async function bindApart<T>(reserved: ReadonlySet<number>, { bind, portOf, release }: Bindable<T>): Promise<T> {
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    const bound = await bind();
    if (!reserved.has(portOf(bound))) return bound;
    await release(bound);
  }
  throw new Error(`the system gave a reserved port ${attemptsMax} times`);
}

export interface Bindable<T> {
  readonly bind: () => Promise<T>;
  readonly portOf: (bound: T) => number;
  readonly release: (bound: T) => Promise<unknown>;
}
