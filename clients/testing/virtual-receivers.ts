/** Receivers of webhooks in virtual time: the world waits while code of the test answers. */
import type { CustodyWorld } from '../../simulation/service/custody-world.ts';
import type { DeliveredRequest } from '../../simulation/service/receivers.ts';
import type { VirtualDriver } from './virtual-driver.ts';
import { type OpenReceiver, type ReceivedRequest, respondWith } from './webhooks.ts';

/** `told` gets every request, to any address. */
export function virtualReceivers(
  world: CustodyWorld,
  driver: VirtualDriver,
  told: (received: DeliveredRequest) => void,
): OpenReceiver {
  const { receivers } = world;
  const hearing = new Map<string, (request: ReceivedRequest) => void>();
  const failures = new Map<string, unknown>();
  let opened = 0;
  receivers.listen((received) => {
    told(received);
    const { url, body, headers, status, atMs } = received;
    hearing.get(url)?.({ body, headers, status, atMs });
  });
  return async (hears, respond) => {
    opened += 1;
    const url = `https://receiver.signmesh.test/${opened}`;
    hearing.set(url, (request) => {
      hears(request, failures.get(url));
      failures.delete(url);
    });
    receivers.attend(url, async ({ body, headers }) => {
      const request = () => new Request(url, { method: 'POST', headers, body });
      const answered = respondWith(respond, request);
      const { status, retryAfter, failure } = await (respond === undefined ? answered : driver.hold(answered));
      if (failure !== undefined) failures.set(url, failure);
      world.time.woken();
      return { status, retryAfter };
    });
    return {
      url,
      close: async () => {
        hearing.delete(url);
        receivers.attend(url, undefined);
      },
    };
  };
}
