import { afterEach, describe, expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { clientConfig, mesh, nodesTotal, wireEnvelope } from './support/harness.ts';

const world = mesh();
afterEach(() => world.stopAll());

const sessions = (envelopes: readonly { readonly message: { readonly session: string } }[]) =>
  envelopes.map((envelope) => envelope.message.session);

describe('links', () => {
  it('carry frames both ways, in order', async () => {
    const hub = await world.server();
    const node = world.client(hub.url, 'node', 3);
    await until(() => node.client.isUp && hub.server.peers().length === 1, 'the link is up');
    const numbers = Array.from({ length: 500 }, (_, index) => String(index));
    for (const number of numbers) {
      expect(node.client.send(wireEnvelope('node/3/dkg/t/s', 'session/t/s', number))).toBeUndefined();
      expect(hub.server.send(wireEnvelope('session/t/s', 'node/3/dkg/t/s', number))).toBeUndefined();
    }
    await until(() => hub.received.length === 500 && node.received.length === 500, 'all frames arrived');
    expect(sessions(hub.received)).toEqual(numbers);
    expect(sessions(node.received)).toEqual(numbers);
    expect(hub.received[0]?.from).toBe('node/3/dkg/t/s');
    const stats = node.client.stats();
    expect(stats).toMatchObject({ framesIn: 500, framesOut: 500 });
    // Frames of one turn share a message.
    expect(stats?.messagesOut).toBeLessThan(50);
  });

  it('come up for five nodes and two gateways that start at the same instant, before the coordinator', async () => {
    const first = await world.server();
    await first.server.stop();
    const peers = [
      ...Array.from({ length: nodesTotal }, (_, index) => world.client(first.url, 'node', index + 1)),
      ...['a', 'b'].map((boot) =>
        world.client(first.url, 'gateway', 0, { handshake: clientConfig('gateway', 0, { boot }) }),
      ),
    ];
    await until(() => peers.every((peer) => peer.lines.length > 0), 'no peer has logged yet');
    const hub = await world.server({ port: first.port });
    await until(() => peers.every((peer) => peer.client.isUp), 'all links are up');
    await until(() => hub.server.peers().length === 7, 'all peers are known');
    expect(hub.server.peers().map((peer) => peer.address)).toEqual([
      'gateway/a',
      'gateway/b',
      'node/1',
      'node/2',
      'node/3',
      'node/4',
      'node/5',
    ]);
  });
});
