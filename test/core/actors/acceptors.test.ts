/** A server with further handles of its socket accepts several connections in one turn of the event loop. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, get } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { Acceptors, furtherHandles } from '../../../core/actors/live/acceptors.ts';
import { TestAuthority } from '../../support/certificates.ts';
import { collectLog } from '../../support/log.ts';
import { until } from '../../support/until.ts';

const connections = 40;

/** Connections that were accepted in each turn, when all came at once. */
async function acceptedByTurn(server: Server): Promise<number[]> {
  const { port } = server.address() as AddressInfo;
  const turns: number[] = [0];
  const count = () => {
    turns[turns.length - 1]! += 1;
  };
  server.on('connection', count);
  const sockets: Socket[] = [];
  for (let index = 0; index < connections; index += 1) sockets.push(connect(port, '127.0.0.1'));
  while (turns.reduce((sum, each) => sum + each) < connections) {
    await new Promise((resolve) => setImmediate(resolve));
    turns.push(0);
  }
  server.off('connection', count);
  for (const socket of sockets) socket.destroy();
  return turns;
}

const answer = (_request: unknown, response: ServerResponse) => void response.end('served');

async function listening(server: Server = createServer(answer)) {
  const { log, lines } = collectLog();
  const acceptors = new Acceptors(server, log);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, acceptors, lines };
}

test('sixteen handles accept more connections in a turn than one; all are served and closed', async () => {
  const { server, acceptors, lines } = await listening();
  const alone = Math.max(...(await acceptedByTurn(server)));
  acceptors.add();
  acceptors.add();
  await until(() => acceptors.count === 1 + furtherHandles, 'the further handles are there');
  expect(Math.max(...(await acceptedByTurn(server)))).toBeGreaterThan(4 * alone);
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const answers = await Promise.all(Array.from({ length: connections }, async () => (await fetch(url)).text()));
  expect(new Set(answers)).toEqual(new Set(['served']));
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
  await expect(fetch(url)).rejects.toThrow();
  expect(lines).toEqual([]);
});

test('a server that closes while the handles are made keeps none', async () => {
  const { server, acceptors } = await listening();
  const { port } = server.address() as AddressInfo;
  acceptors.add();
  await new Promise<void>((resolve) => server.close(() => resolve()));
  await expect(fetch(`http://127.0.0.1:${port}`)).rejects.toThrow();
  acceptors.add();
  expect(acceptors.count).toBe(1);
});

test('further handles of a server with TLS speak TLS', async () => {
  const authority = new TestAuthority();
  const { cert, key } = authority.issue({ hosts: ['127.0.0.1'], usage: ['server'] });
  const { server, acceptors } = await listening(createTlsServer({ cert, key }, answer));
  acceptors.add();
  await until(() => acceptors.count === 1 + furtherHandles, 'the further handles are there');
  const { port } = server.address() as AddressInfo;
  const ask = () =>
    new Promise<number | undefined>((resolve, reject) => {
      const asked = get({ host: '127.0.0.1', port, ca: authority.ca, agent: false }, (response) => {
        response.resume().once('end', () => resolve(response.statusCode));
      });
      asked.on('error', reject);
    });
  expect(await Promise.all(Array.from({ length: connections }, ask))).toEqual(Array(connections).fill(200));
  await new Promise<void>((resolve) => server.close(() => resolve()));
});
