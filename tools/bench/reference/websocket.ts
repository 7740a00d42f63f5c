/**
 * The other floor: bare WebSocket round trips between two processes, one connection, messages of a frame's size, with the same
 * library and settings as the links. The other process (echo-server.ts) echoes every message.
 */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { type LoadResult, runLoad } from '../load/load.ts';
import { withChild } from './child.ts';

/** A partial request of mock ECDSA has about this many bytes. */
const messageBytes = 400;

export function webSocketRates(inFlights: readonly number[], countMs: number): Promise<LoadResult[]> {
  return withChild('echo-server', async (port: number) => {
    const ws = new WebSocket(`ws://127.0.0.1:${port}`, {
      perMessageDeflate: false,
      generateMask: (mask) => mask.fill(0),
    });
    await once(ws, 'open');
    const results: LoadResult[] = [];
    for (const inFlight of inFlights) results.push(await roundTrips(ws, inFlight, countMs));
    ws.close();
    return results;
  });
}

/** Messages come back in the order of their sending. */
async function roundTrips(ws: WebSocket, inFlight: number, countMs: number): Promise<LoadResult> {
  const waiting: (() => void)[] = [];
  const onMessage = () => waiting.shift()?.();
  ws.on('message', onMessage);
  const message = new Uint8Array(messageBytes);
  const options = { binary: true, compress: false } as const;
  const result = await runLoad({
    inFlight,
    warmMs: countMs / 4,
    countMs,
    ceremony: () =>
      new Promise((resolve) => {
        waiting.push(resolve);
        ws.send(message, options);
      }),
  });
  ws.off('message', onMessage);
  return result;
}
