/** The proxy of links between a real LinkServer and real LinkClients: what passes, what does not, and what breaks. */
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import type { WireEnvelope } from '../../../proto/wire.ts';
import type { FrameInTransit, FrameVerdict, Order } from '../../../scenarios/faults/vocabulary/engine-contract.ts';
import type { FrameHead } from '../../../scenarios/injection/frame-scan.ts';
import { LinkProxy } from '../../../scenarios/injection/link-proxy.ts';
import { mesh, wireEnvelope } from '../../core/actors/support/harness.ts';
import { until } from '../../support/until.ts';

const world = mesh();
const proxies: LinkProxy[] = [];

afterEach(async () => {
  await world.stopAll();
  await Promise.all(proxies.splice(0).map((proxy) => proxy.stop()));
});

type Fate = (frame: FrameInTransit) => Partial<FrameVerdict> | undefined;

async function proxied(url: string) {
  const seen: FrameHead[] = [];
  const links: string[] = [];
  const connects: string[] = [];
  const performed: Order[] = [];
  /** undefined: nothing is armed. */
  const fate: { of: Fate | undefined } = { of: undefined };
  const proxy = new LinkProxy({
    upstreamUrl: () => url,
    evaluator: {
      get idle() {
        return fate.of === undefined;
      },
      evaluate: (frame) => ({
        arrivals: [{ envelope: frame.envelope, afterMs: 0 }],
        orders: [],
        faults: [],
        ...fate.of?.(frame),
      }),
      perform: (orders) => {
        performed.push(...orders);
        for (const order of orders) if (order.kind === 'crash') proxy.cut(order.process);
      },
    },
    watcher: {
      passed: (head) => seen.push(head),
      evaluated: (head) => seen.push(head),
      connecting: (peer) => connects.push(peer),
      link: (peer, up) => links.push(`${peer} ${up ? 'up' : 'down'}`),
    },
  });
  proxies.push(proxy);
  return { proxy, url: await proxy.start(), seen, links, connects, performed, fate };
}

const limits = { heartbeatMs: 61_003, heartbeatsMissedMax: 3 };

/** The heartbeats of both ends, sent by the test: on a busy machine a fast timer sends several before one has an answer. */
function heartbeats() {
  const timers = vi.spyOn(globalThis, 'setInterval');
  const pongs = vi.spyOn(WebSocket.prototype, 'pong');
  onTestFinished(() => {
    timers.mockRestore();
    pongs.mockRestore();
  });
  return {
    beat: () => {
      for (const [run, everyMs] of timers.mock.calls) if (everyMs === limits.heartbeatMs) (run as () => void)();
    },
    /** Answers that an end sent or the proxy passed on: two for each heartbeat that arrives. */
    pongs: () => pongs.mock.calls.length,
  };
}

/** `againMs`: how long a node that lost its link waits before it comes back. */
async function linked(againMs = 5) {
  const server = await world.server({ limits });
  const fixture = await proxied(server.url);
  const node = world.client(fixture.url, 'node', 1, {
    limits,
    backOff: { minMs: againMs, maxMs: 4 * againMs },
  });
  await until(() => server.events.includes('up node/1 node-1-boot') && node.client.isUp, 'the link');
  return { server, fixture, node };
}

const sessions = (envelopes: readonly WireEnvelope[]) => envelopes.map(({ message }) => message.session);
const names = (count: number) => Array.from({ length: count }, (_, index) => `s${index}`);
const toCoordinator = (session: string) => wireEnvelope('node/1/dkg/t/x', 'coordinator', session);
const toNode = (session: string) => wireEnvelope('coordinator', 'node/1', session);

describe('a link through an idle proxy', () => {
  test('comes up, and carries frames both ways in order, each seen once', async () => {
    const { server, fixture, node } = await linked();
    for (const name of names(500)) node.client.send(toCoordinator(name));
    for (const name of names(500)) server.server.send(toNode(name));
    await until(() => server.received.length === 500 && node.received.length === 500, 'all frames');
    expect(sessions(server.received)).toEqual(names(500));
    expect(sessions(node.received)).toEqual(names(500));
    expect(fixture.seen).toHaveLength(1000);
    const [first] = fixture.seen.filter(({ from }) => from !== 'coordinator');
    expect(first).toMatchObject({ from: 'node/1/dkg/t/x', to: 'coordinator', tenant: 't', session: 's0', attempt: 0 });
    expect(first?.point).toBe('dkg_discard');
    expect(fixture.links).toEqual(['node/1 up']);
    expect(fixture.proxy.isUp('node/1')).toBe(true);
  });

  test('carries more than sockets take at once', async () => {
    const { server, node } = await linked();
    const big = 'x'.repeat(100_000);
    for (let index = 0; index < 120; index += 1) node.client.send(toCoordinator(`${index}${big}`));
    await until(() => server.received.length === 120, 'twelve megabytes');
    expect(server.received.map(({ message }) => Number.parseInt(message.session, 10))).toEqual(
      Array.from({ length: 120 }, (_, index) => index),
    );
  });

  test('outlives many heartbeats, which reach the other end itself', async () => {
    const { beat, pongs } = heartbeats();
    const { server, node } = await linked();
    for (let round = 1; round <= 10; round += 1) {
      beat();
      await until(() => pongs() === 4 * round, 'an answer for each end');
    }
    expect(node.events).toEqual(['up coordinator-boot-1']);
    expect(server.events).toEqual(['up node/1 node-1-boot']);
  });

  test('ends with the code of the end that closes it', async () => {
    const { server, fixture, node } = await linked();
    await server.server.stop();
    await until(() => node.events.length === 2, 'the end');
    expect(node.events[1]).toBe('down closed by the peer (1001)');
    expect(fixture.links).toEqual(['node/1 up', 'node/1 down']);
  });

  test('is refused by the coordinator in its own words', async () => {
    const { fixture } = await linked();
    const stranger = world.client(fixture.url, 'node', 99);
    await until(() => stranger.lines.some(({ fields }) => fields.code === 'UNKNOWN_PEER'), 'the refusal');
    expect(stranger.client.isUp).toBe(false);
  });

  test('waits for a coordinator that comes later', async () => {
    const first = await world.server();
    const { port, url } = first;
    await first.server.stop();
    const fixture = await proxied(url);
    // However long the next coordinator takes, neither the proxy nor the node loses patience.
    const now = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
    onTestFinished(() => now.mockRestore());
    const node = world.client(fixture.url, 'node', 1, { handshakeTimeoutMs: 3_600_000 });
    await world.server({ port });
    await until(() => node.client.isUp, 'the link');
    expect(node.lines.filter(({ level }) => level === 'warn')).toEqual([]);
  });
});

describe('a frame that is evaluated', () => {
  test('comes late, and those after it keep their place', async () => {
    const { server, fixture, node } = await linked();
    fixture.fate.of = ({ envelope }) =>
      envelope.message.session === 's1' ? { arrivals: [{ envelope, afterMs: 60 }] } : undefined;
    for (const name of names(4)) node.client.send(toCoordinator(name));
    await until(() => server.received.length === 1, 'the first');
    // An idle proxy keeps the order too.
    fixture.fate.of = undefined;
    node.client.send(toCoordinator('s4'));
    await until(() => server.received.length === 5, 'all');
    expect(sessions(server.received)).toEqual(names(5));
  });

  test('that is late arrives at once when nothing is to be late any more, in order, and the link is free', async () => {
    const { server, fixture, node } = await linked();
    const dayMs = 86_400_000;
    fixture.fate.of = ({ envelope }) => {
      const { session } = envelope.message;
      // Beyond what a timer can wait.
      if (session === 's1') return { arrivals: [{ envelope, afterMs: 30 * dayMs }] };
      return session === 's3' ? { arrivals: [{ envelope, afterMs: 30 * dayMs, unordered: true }] } : undefined;
    };
    for (const name of names(5)) node.client.send(toCoordinator(name));
    await until(() => fixture.seen.length === 5 && server.received.length > 0, 'all have passed, and one arrived');
    fixture.fate.of = undefined;
    expect(sessions(server.received)).toEqual(['s0']);
    fixture.proxy.hurry();
    node.client.send(toCoordinator('s5'));
    await until(() => server.received.length === 6, 'all');
    expect(sessions(server.received)).toEqual(['s0', 's1', 's2', 's4', 's3', 's5']);
  });

  test('may be overtaken, may come twice, may be lost', async () => {
    const { server, fixture, node } = await linked();
    fixture.fate.of = ({ envelope }) => {
      const { session } = envelope.message;
      if (session === 's0') return { arrivals: [{ envelope, afterMs: 40, unordered: true }] };
      if (session === 's1')
        return {
          arrivals: [
            { envelope, afterMs: 0 },
            { envelope, afterMs: 0 },
          ],
        };
      return session === 's2' ? { arrivals: [] } : undefined;
    };
    for (const name of names(4)) node.client.send(toCoordinator(name));
    await until(() => server.received.length === 4, 'what arrives');
    expect(sessions(server.received)).toEqual(['s1', 's1', 's3', 's0']);
  });

  test('may say something else', async () => {
    const { server, fixture, node } = await linked();
    fixture.fate.of = ({ envelope }) => ({
      arrivals: [{ envelope: { ...envelope, message: { ...envelope.message, session: 'another' } }, afterMs: 0 }],
    });
    node.client.send(toCoordinator('s0'));
    await until(() => server.received.length === 1, 'the frame');
    expect(sessions(server.received)).toEqual(['another']);
  });

  test.each(['corrupt', 'truncate'] as const)('%s: the receiver closes the link, and it comes back', async (damage) => {
    const { server, fixture, node } = await linked();
    fixture.fate.of = ({ envelope }) =>
      envelope.message.session === 'bad' ? { arrivals: [{ envelope, afterMs: 0, damage }] } : undefined;
    node.client.send(toCoordinator('good'));
    node.client.send(toCoordinator('bad'));
    await until(() => server.events.filter((event) => event.startsWith('up')).length === 2, 'another link');
    expect(sessions(server.received)).toEqual(['good']);
    expect(server.lines.some(({ fields }) => fields.code === 'MALFORMED_FRAME')).toBe(true);
    expect(node.events[1]).toBe('down closed by the peer (4001)');
    await until(() => node.client.isUp, 'the link');
  });

  test('is the last one of a process that crashes at it', async () => {
    const { server, fixture, node } = await linked(10_000);
    const crash: Order = { kind: 'crash', process: 'node/1', loseState: false, restartAfterMs: null };
    fixture.fate.of = ({ envelope }) =>
      envelope.message.session === 's1' ? { arrivals: [{ envelope, afterMs: 20 }], orders: [crash] } : undefined;
    for (const name of names(4)) node.client.send(toCoordinator(name));
    await until(() => server.events.length >= 2, 'the end of the link');
    // What it had sent arrives, what it would have sent does not.
    expect(sessions(server.received)).toEqual(['s0', 's1']);
    expect(fixture.performed).toEqual([crash]);
  });

  test('that was held is delivered to the link that is there', async () => {
    const { server, fixture, node } = await linked();
    fixture.proxy.deliver('node/1', 'in', [toNode('late')]);
    fixture.proxy.deliver('node/1', 'out', [toCoordinator('late')]);
    fixture.proxy.deliver('node/2', 'out', [toCoordinator('unknown')]);
    await until(() => node.received.length === 1 && server.received.length === 1, 'both');
    expect(sessions(node.received)).toEqual(['late']);
    expect(sessions(server.received)).toEqual(['late']);
  });
});

describe('silence', () => {
  test('makes both ends miss the heartbeats, accepts no connection, and ends', async () => {
    const { beat } = heartbeats();
    const { server, fixture, node } = await linked();
    fixture.proxy.silence('node/1', true);
    for (let sent = 0; sent <= limits.heartbeatsMissedMax; sent += 1) beat();
    await until(() => node.events.length === 2 && server.events.length === 2, 'both notice');
    expect(node.events[1]).toBe('down no sign of life');
    expect(server.events[1]).toBe('down node/1 node-1-boot');
    await until(() => fixture.connects.length >= 2, 'the node connects again');
    expect(server.events).toHaveLength(2);
    fixture.proxy.silence('node/1', false);
    await until(() => node.client.isUp, 'the link');
    node.client.send(toCoordinator('back'));
    await until(() => server.received.length === 1, 'a frame');
  });

  test('that ends in time harms nothing', async () => {
    const { beat, pongs } = heartbeats();
    const { server, fixture, node } = await linked();
    fixture.proxy.silence('node/1', true);
    beat();
    node.client.send(toCoordinator('s0'));
    server.server.send(toNode('s0'));
    // Frames pass in silence: the heartbeats before them have been held back.
    await until(() => server.received.length === 1 && node.received.length === 1, 'a frame each way');
    expect(pongs()).toBe(0);
    fixture.proxy.silence('node/1', false);
    for (let round = 1; round <= limits.heartbeatsMissedMax; round += 1) {
      beat();
      await until(() => pongs() === 4 * round, 'an answer for each end');
    }
    expect(node.events).toEqual(['up coordinator-boot-1']);
  });

  test('of one node is not that of another', async () => {
    const { beat, pongs } = heartbeats();
    const { server, fixture } = await linked();
    const other = world.client(fixture.url, 'node', 2);
    await until(() => other.client.isUp, 'the other');
    fixture.proxy.silence('node/1', true);
    for (let sent = 0; sent <= limits.heartbeatsMissedMax; sent += 1) {
      beat();
      await until(() => pongs() === 2 * (sent + 1), 'the answer of the other');
    }
    await until(() => server.events.includes('down node/1 node-1-boot'), 'the silent one is missed');
    other.client.send(wireEnvelope('node/2', 'coordinator', 'here'));
    await until(() => server.received.length === 1, 'a frame of the other');
  });
});
