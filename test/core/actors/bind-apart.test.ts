/** Listeners that may have any port leave the reserved ones to others. */

import type { AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { bindApart } from '../../../core/actors/live/bind-apart.ts';

const portOf = (server: Server) => (server.address() as AddressInfo).port;

function listening() {
  const servers: Server[] = [];
  onTestFinished(() => {
    for (const server of servers) server.close();
  });
  const bind = () =>
    new Promise<Server>((resolve) => {
      const server = createServer();
      servers.push(server);
      server.listen(0, '127.0.0.1', () => resolve(server));
    });
  const release = (server: Server) => new Promise((resolve) => server.close(resolve));
  return { servers, parts: { bind, portOf, release } };
}

test('a reserved port is released, and another one is bound', async () => {
  const { servers, parts } = listening();
  const seen: number[] = [];
  // Every port is reserved when it is first given.
  const reserved = { has: (port: number) => seen.push(port) <= 3 } as unknown as ReadonlySet<number>;
  const bound = await bindApart(reserved, parts);
  expect(seen).toHaveLength(4);
  expect(portOf(bound)).toBe(seen[3]);
  expect(servers.filter((server) => server.listening)).toEqual([bound]);
});

test('a system that gives only reserved ports is an error after 20 attempts, and nothing listens', async () => {
  const { servers, parts } = listening();
  const reserved = { has: () => true } as unknown as ReadonlySet<number>;
  await expect(bindApart(reserved, parts)).rejects.toThrow('the system gave a reserved port 20 times');
  expect(servers.filter((server) => server.listening)).toEqual([]);
});
