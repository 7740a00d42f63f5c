/** What a recording of an embedded service learns of the receivers of its webhooks. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { RealEgress, type ReceiverNote } from '../../../simulation/embedded/egress.ts';
import type { ProcessLife } from '../../../simulation/service/process-life.ts';

/** A life whose calls all take effect. */
const life = {
  call: (_port: string, _what: string, run: (fate: unknown, answer: (give: () => unknown) => void) => void) =>
    new Promise((resolve) => run(undefined, (give) => resolve(give()))),
} as unknown as ProcessLife;

test.each([
  ['answers', 503],
  ['never answers', 'never'],
  ['cuts the connection', 'reset'],
] as const)('of one that %s: %s, and the type of its event', async (how, answer) => {
  const server = createServer((request, response) => {
    if (how === 'answers') response.writeHead(503).end();
    if (how === 'cuts the connection') request.socket.destroy();
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const heard: [string, ReceiverNote][] = [];
  const egress = new RealEgress((to, note) => void heard.push([to, note]));
  const timeoutMs = how === 'never answers' ? 100 : 60_000;
  await egress.sender(life)({ url, headers: {}, body: Buffer.from('{"type":"wallet.created"}'), timeoutMs });
  expect(heard).toEqual([[url, { type: 'wallet.created', answer }]]);
  await egress.stop();
});
