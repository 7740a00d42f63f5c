/** The registry in Redis is not trusted: its word makes no link plain, and none where this gateway has no certificate. */
import { createServer } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { identityFromSeed } from '../../core/actors/live/handshake-crypto.ts';
import type { ClusterRegistry } from '../../core/redis/clusters.ts';
import type { GatewayConfig } from '../../gateway/config.ts';
import { liveClusterLinks } from '../../gateway/live-cluster-links.ts';
import { TestAuthority } from '../support/certificates.ts';
import { collectLog } from '../support/log.ts';
import { until } from '../support/until.ts';

const seed = new Uint8Array(32).fill(1);
const publicKey = new Uint8Array(identityFromSeed(seed).publicKey);
const rosterOf = (clusterId: string, number: number) =>
  ({ clusterId, number, nodes: [], coordinator: publicKey, gateway: publicKey }) as const;

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** A gateway whose second cluster is where the registry says, and how often something knocked at a port. */
async function gatewayTold(url: (port: number) => string, changes: Partial<GatewayConfig> = {}) {
  let connections = 0;
  const port = await new Promise<number>((resolve) => {
    const server = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
    cleanUps.push(() => server.close());
  });
  const registry = { list: async () => [{ clusterId: 'two', url: url(port) }] } as unknown as ClusterRegistry;
  const { log, lines } = collectLog();
  const secret = new Uint8Array(32);
  const config = {
    ...{ identitySeed: seed, joinSecret: secret, roster: rosterOf('one', 1), coordinatorUrl: 'ws://127.0.0.1:1' },
    furtherClusters: [{ roster: rosterOf('two', 2), coordinatorUrl: undefined, joinSecret: secret }],
    ...changes,
  } as unknown as GatewayConfig;
  const links = liveClusterLinks(config, registry, 'boot', log);
  links.start();
  cleanUps.push(() => links.stop());
  return { lines, connections: () => connections };
}

it('refuses a plain link to another host by name', async () => {
  const told = await gatewayTold(() => 'ws://redis-says.example:7300');
  await until(() => told.lines.some(({ fields }) => fields.code === 'PLAIN_LINK'), 'it is refused');
  expect(told.lines.find(({ fields }) => fields.code === 'PLAIN_LINK')).toMatchObject({
    level: 'warn',
    fields: { cluster: 'two', url: 'ws://redis-says.example:7300' },
  });
});

it('refuses TLS without a certificate of its own by name, and connects to nothing', async () => {
  const told = await gatewayTold((port) => `wss://127.0.0.1:${port}`);
  await until(() => told.lines.some(({ fields }) => fields.code === 'NO_CERTIFICATE'), 'it is refused');
  expect(told.connections()).toBe(0);
});

it('connects over TLS with a certificate, and plain on loopback', async () => {
  const overTls = await gatewayTold((port) => `wss://127.0.0.1:${port}`, { linkTls: new TestAuthority().issue({}) });
  await until(() => overTls.connections() > 0, 'it connects');
  const plain = await gatewayTold((port) => `ws://127.0.0.1:${port}`);
  await until(() => plain.connections() > 0, 'it connects');
});
