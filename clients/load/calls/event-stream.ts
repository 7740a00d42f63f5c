/** Follows a tenant's events with the client, so that thousands of open intents need no polls. It misses none. */
import { received } from '../../client/follow.ts';
import type { Event } from '../../client/generated-api.ts';
import { Transport } from '../../client/transport.ts';

/** Short, since an operation waits for its event: the measured time is the service's. */
const pauseMsMax = 200;
const openWithinMs = 20_000;

/** Resolves with its end, when the stream carries every event from now on. Rejects when it does not open within 20 s. */
export async function followEvents(
  url: string,
  token: string,
  types: readonly string[],
  onEvent: (event: Event) => void,
): Promise<() => Promise<void>> {
  const scope = new AbortController();
  let brokenMs: number | undefined;
  let opened = (): void => undefined;
  const isOpen = new Promise<void>((resolve) => {
    opened = resolve;
  });
  const connection = {
    pauseMsMax,
    onOpen: () => {
      brokenMs = undefined;
      opened();
    },
    onBreak: (error: Error | undefined) => {
      brokenMs ??= performance.now();
      if (error !== undefined && performance.now() - brokenMs > openWithinMs) throw error;
    },
  };
  const read = async (): Promise<void> => {
    const transport = new Transport({ baseUrl: url, token });
    for await (const { event } of received(transport, { types, signal: scope.signal }, connection)) onEvent(event);
  };
  const reading = read();
  await Promise.race([isOpen, reading]);
  return async () => {
    scope.abort();
    await reading.catch(() => undefined);
  };
}
