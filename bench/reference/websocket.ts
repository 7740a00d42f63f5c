/**
 * The other floor: bare WebSocket round trips between two processes, one connection, messages of a frame's size, with
 * the same library and settings as the links. The other process is this file, which echoes whatever it gets.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { WebSocket, WebSocketServer } from 'ws';
import { type LoadResult, runLoad } from '../load.ts';

/** A partial request of mock ECDSA has about this many. */
const messageBytes = 400;

export async function webSocketRates(inFlights: readonly number[], countMs: number): Promise<LoadResult[]> {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), 'echo'], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  try {
    const [port] = (await once(child, 'message')) as [number];
    const ws = new WebSocket(`ws://127.0.0.1:${port}`, {
      perMessageDeflate: false,
      generateMask: (mask) => mask.fill(0),
    });
    await once(ws, 'open');
    const results: LoadResult[] = [];
    for (const inFlight of inFlights) results.push(await roundTrips(ws, inFlight, countMs));
    ws.close();
    return results;
  } finally {
    await end(child);
  }
}

/** Messages come back in the order in which they left. */
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

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill();
  await once(child, 'exit');
}

/** The other process. It ends when its parent does. */
function echo(): void {
  const server: WebSocketServer = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false }, () =>
    process.send?.((server.address() as AddressInfo).port),
  );
  server.on('connection', (ws) => ws.on('message', (data: Buffer) => ws.send(data, { binary: true })));
  process.once('disconnect', () => process.exit());
}

if (process.argv[1] === fileURLToPath(import.meta.url) && process.argv[2] === 'echo') echo();
