import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { until } from '../../support/until.ts';
import { clientConfig, mesh, nodesTotal, watchTimers, wireEnvelope } from './support/harness.ts';

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

it('frames behind the one that ended the link are not delivered', async () => {
  const hub = await world.server();
  const got: string[] = [];
  const node = world.client(hub.url, 'node', 3, {
    deliver: ({ message }) => {
      got.push(message.session);
      void node.client.stop();
      return undefined;
    },
  });
  await until(() => hub.server.peers().length === 1, 'the link is up');
  // Frames of one turn share a message.
  for (const number of ['1', '2']) hub.server.send(wireEnvelope('session/t/s', 'node/3/dkg/t/s', number));
  await until(() => node.events.length === 2, 'the link has ended');
  expect([got, node.events[1]]).toEqual([['1'], 'down GOING_AWAY']);
});

it('a coordinator that is away is asked at intervals that double up to a bound', async () => {
  const hub = await world.server();
  await hub.server.stop();
  const started = vi.spyOn(globalThis, 'setTimeout');
  onTestFinished(() => started.mockRestore());
  const backOff = { minMs: 3, maxMs: 24, refusedMs: 5_000 };
  // The largest byte takes all of each interval.
  const random = (length: number) => new Uint8Array(length).fill(255);
  world.client(hub.url, 'node', 3, { backOff, random });
  const waits = () => started.mock.calls.map(([, ms]) => ms!).filter((ms) => [3, 6, 12, 24].includes(ms));
  await until(() => waits().length >= 6, 'six tries');
  expect(waits().slice(0, 6)).toEqual([3, 6, 12, 24, 24, 24]);
});

describe('a client between two tries', () => {
  const random = (length: number) => new Uint8Array(length).fill(255);

  it('tries no more once it is stopped', async () => {
    const hub = await world.server();
    await hub.server.stop();
    const timers = watchTimers();
    const { client } = world.client(hub.url, 'node', 3, { backOff: { minMs: 61_003, maxMs: 61_003 }, random });
    await until(() => timers.of(61_003).length === 1, 'it waits for its next try');
    await client.stop();
    expect(timers.isCleared(timers.of(61_003)[0]!.handle)).toBe(true);
  });

  it('begins with the shortest wait again after a link that lasted', async () => {
    const hub = await world.server();
    await hub.server.stop();
    const timers = watchTimers();
    const { client } = world.client(hub.url, 'node', 3, { backOff: { minMs: 17, maxMs: 1_000_000 }, random });
    await until(() => timers.of(34).length === 1, 'two tries have failed');
    const again = await world.server({ port: hub.port });
    await until(() => client.isUp, 'the link is up');
    // The link has lasted for a second.
    for (const { run } of timers.of(1_000)) run();
    const before = timers.of(17).length;
    await again.server.stop();
    await until(() => timers.of(17).length > before, 'it waits as after its first failure');
  });
});

it('a client of wss:// needs a certificate', () => {
  expect(() => world.client('wss://127.0.0.1:1', 'node', 1)).toThrow(TypeError);
});
