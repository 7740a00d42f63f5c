/** Links under faults: over real sockets, with raw WebSocket clients in the part of the peer that misbehaves. */

import { type AddressInfo, connect } from 'node:net';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { type ClientOptions, type RawData, WebSocket, WebSocketServer } from 'ws';
import {
  type ClientHandshakeConfig,
  clientHandshake,
  handshakeBytesMax,
  serverHandshake,
} from '../../../core/actors/live/handshake.ts';
import { runs } from '../../support/thorough.ts';
import { until } from '../../support/until.ts';
import { clientConfig, codec, mesh, serverConfig, watchTimers, wireEnvelope } from './support/harness.ts';

const world = mesh();
afterEach(() => world.stopAll());

/** A raw client: what it got, and how it ended. */
function rawClient(url: string, options: ClientOptions = {}) {
  const ws = new WebSocket(url, { perMessageDeflate: false, ...options });
  const got: Uint8Array[] = [];
  const end: { code: number | undefined; reason: string } = { code: undefined, reason: '' };
  ws.on('message', (data: RawData) => got.push(data as Buffer));
  ws.on('error', () => {});
  ws.on('close', (code, reason) => {
    end.code = code;
    end.reason = reason.toString();
  });
  world.stops.push(async () => ws.terminate());
  return { ws, got, end };
}

/** A raw client that has shaken hands and then does as the test says. */
async function rawPeer(url: string, config: ClientHandshakeConfig, options: ClientOptions = {}) {
  const raw = rawClient(url, options);
  const handshake = clientHandshake(config, codec, new Uint8Array(32).fill(4));
  await until(() => raw.got.length > 0, 'the challenge came');
  const answer = handshake.receive(raw.got.shift() as Uint8Array);
  if (answer.kind !== 'hello') throw new Error(`no hello but ${answer.kind}`);
  raw.ws.send(answer.hello);
  return {
    ...raw,
    async verdict() {
      await until(() => raw.got.length > 0, 'the verdict came');
      return handshake.receive(raw.got.shift() as Uint8Array);
    },
  };
}

async function admittedPeer(url: string, config: ClientHandshakeConfig, options: ClientOptions = {}) {
  const peer = await rawPeer(url, config, options);
  expect((await peer.verdict()).kind).toBe('welcome');
  return peer;
}

const frame = (from: string, session = 's') => codec.encodeFrame(wireEnvelope(from, 'session/t/s', session));

describe('a link that breaks', () => {
  it('comes back after the coordinator restarts, with its new boot id', async () => {
    const first = await world.server();
    const node = world.client(first.url, 'node', 1);
    await until(() => node.client.isUp, 'the link is up');
    await first.server.stop();
    await until(() => !node.client.isUp, 'the link is down');
    expect(node.client.send(wireEnvelope('node/1', 'coordinator', 'x'))).toBe('noRoute');
    const second = await world.server({
      port: first.port,
      handshake: serverConfig({ coordinatorBoot: 'coordinator-boot-2' }),
    });
    await until(() => node.client.isUp, 'the link is up again');
    await until(() => second.server.peers().length === 1, 'the peer is known');
    expect(node.events).toEqual(['up coordinator-boot-1', 'down closed by the peer (1001)', 'up coordinator-boot-2']);
    expect(first.events).toEqual(['up node/1 node-1-boot', 'down node/1 node-1-boot']);
  });

  it('is noticed by heartbeats on either side when the other end is silent', async () => {
    const limits = { heartbeatMs: 20, heartbeatsMissedMax: 2 };
    const hub = await world.server({ limits });
    await admittedPeer(hub.url, clientConfig('node', 1), { autoPong: false });
    await until(() => hub.events.length === 2, 'the silent peer was cut');
    expect(hub.lines.at(-1)?.fields).toMatchObject({ peer: 'node/1', why: 'no sign of life' });

    const frozen = new WebSocketServer({ port: 0, host: '127.0.0.1', autoPong: false });
    world.stops.push(async () => void frozen.close());
    frozen.on('connection', (ws) => {
      const handshake = serverHandshake(serverConfig(), codec, new Uint8Array(32).fill(6));
      ws.on('message', (data: Buffer) => {
        const verdict = handshake.receive(data);
        if (verdict.kind === 'accepted') ws.send(verdict.welcome);
      });
      ws.send(handshake.challenge);
    });
    await until(() => frozen.address() !== null, 'it listens');
    const { port } = frozen.address() as AddressInfo;
    const node = world.client(`ws://127.0.0.1:${port}`, 'node', 2, { limits });
    await until(() => node.events.length >= 2, 'the frozen coordinator was left');
    expect(node.events.slice(0, 2)).toEqual(['up coordinator-boot-1', 'down no sign of life']);
  });

  it('refuses what its send buffer does not hold', async () => {
    const hub = await world.server();
    const node = world.client(hub.url, 'node', 1, { limits: { sendBufferBytesMax: 2_000 } });
    await until(() => node.client.isUp, 'the link is up');
    const reasons = Array.from({ length: 100 }, () =>
      node.client.send(wireEnvelope('node/1', 'session/t/s', 'x'.repeat(100))),
    );
    expect(reasons[0]).toBeUndefined();
    expect(reasons.at(-1)).toBe('linkFull');
    const accepted = reasons.filter((reason) => reason === undefined).length;
    await until(() => hub.received.length === accepted, 'what was accepted arrived');
    await until(() => node.client.send(wireEnvelope('node/1', 'session/t/s', 'again')) === undefined, 'room');
  });

  it('refuses a frame beyond the size of a message instead of harming the link', async () => {
    const hub = await world.server();
    const node = world.client(hub.url, 'node', 1, { limits: { messageBytesMax: 1_000 } });
    await until(() => node.client.isUp, 'the link is up');
    expect(node.client.send(wireEnvelope('node/1', 'session/t/s', 'x'.repeat(2_000)))).toBe('linkFull');
    node.client.send(wireEnvelope('node/1', 'session/t/s', 'small'));
    await until(() => hub.received.length === 1, 'the next frame arrived');
  });

  it('reports what the receiver refused', async () => {
    const refusals: string[] = [];
    const hub = await world.server({
      deliver: () => 'mailboxFull',
      onRefused: (envelope, reason) => refusals.push(`${envelope.from} ${envelope.message.session} ${reason}`),
    });
    const node = world.client(hub.url, 'node', 1);
    await until(() => node.client.isUp, 'the link is up');
    node.client.send(wireEnvelope('node/1', 'session/t/s', 'x'));
    await until(() => refusals.length === 1, 'the refusal was reported');
    expect(refusals).toEqual(['node/1 x mailboxFull']);
  });
});

describe('a taken id', () => {
  it('stays with the live holder; the claimant is told ID_TAKEN', async () => {
    const hub = await world.server({ probeTimeoutMs: 60_000 });
    const holder = world.client(hub.url, 'node', 3);
    await until(() => holder.client.isUp, 'the holder is up');
    const claimant = await rawPeer(hub.url, clientConfig('node', 3, { boot: 'other' }));
    expect(await claimant.verdict()).toEqual({ kind: 'refused', by: 'coordinator', code: 'ID_TAKEN' });
    await until(() => claimant.end.code !== undefined, 'the claimant was sent away');
    expect(claimant.end).toEqual({ code: 4000, reason: 'ID_TAKEN' });
    expect(hub.events).toEqual(['up node/3 node-3-boot']);
    expect(holder.client.isUp).toBe(true);
  });

  it('passes from a half-open holder to the claimant', async () => {
    const hub = await world.server({ probeTimeoutMs: 50 });
    const holder = await admittedPeer(hub.url, clientConfig('node', 3, { boot: 'frozen' }), { autoPong: false });
    const claimant = world.client(hub.url, 'node', 3);
    await until(() => claimant.client.isUp, 'the claimant is up');
    expect(hub.events).toEqual(['up node/3 frozen', 'down node/3 frozen', 'up node/3 node-3-boot']);
    await until(() => holder.end.code !== undefined, 'the old link was cut');
  });

  it('is asked of its holder anew by each claimant', async () => {
    const timers = watchTimers();
    const hub = await world.server({ probeTimeoutMs: 61_003 });
    const holder = await admittedPeer(hub.url, clientConfig('node', 3, { boot: 'frozen-later' }));
    const first = await rawPeer(hub.url, clientConfig('node', 3, { boot: 'first' }));
    expect(await first.verdict()).toMatchObject({ kind: 'refused', code: 'ID_TAKEN' });
    holder.ws.pause();
    const second = await rawPeer(hub.url, clientConfig('node', 3, { boot: 'second' }));
    await until(() => timers.of(61_003).length === 2, 'the holder is asked again');
    timers.of(61_003)[1]!.run();
    expect(await second.verdict()).toMatchObject({ kind: 'welcome' });
  });

  it('passes at once between two links of the same process', async () => {
    const hub = await world.server({ probeTimeoutMs: 60_000 });
    await admittedPeer(hub.url, clientConfig('gateway', 0, { boot: 'gw' }), { autoPong: false });
    await admittedPeer(hub.url, clientConfig('gateway', 0, { boot: 'gw' }));
    expect(hub.events).toEqual(['up gateway/gw gw', 'down gateway/gw gw', 'up gateway/gw gw']);
  });
});

describe('a peer that breaks the protocol loses its link, and no other peer does', () => {
  const offences: [string, number, (ws: WebSocket) => void, Record<string, unknown>][] = [
    ['an oversized message', 1009, (ws) => ws.send(new Uint8Array(5_000)), { code: 'TOO_LARGE' }],
    ['a malformed frame', 4001, (ws) => ws.send(new Uint8Array([3, 255, 255, 255])), { code: 'MALFORMED_FRAME' }],
    [
      'a good frame before a malformed one',
      4001,
      (ws) => ws.send(Buffer.concat([frame('node/1'), new Uint8Array([9, 9])])),
      { code: 'MALFORMED_FRAME' },
    ],
    [
      'a frame in the name of another',
      4002,
      (ws) => ws.send(frame('node/2')),
      { code: 'SPOOFED_SENDER', claimed: 'node/2' },
    ],
    ['a name that only begins alike', 4002, (ws) => ws.send(frame('node/11')), { code: 'SPOOFED_SENDER' }],
    ['a frame without a sender', 4002, (ws) => ws.send(frame('')), { code: 'SPOOFED_SENDER' }],
    ['text', 1003, (ws) => ws.send('hello'), { code: 'TEXT_FRAME' }],
  ];
  it.each(offences)('%s: %i', async (_what, code, offend, logged) => {
    const hub = await world.server({ limits: { messageBytesMax: 4_096 } });
    const witness = world.client(hub.url, 'node', 5);
    const peer = await admittedPeer(hub.url, clientConfig('node', 1));
    await until(() => witness.client.isUp, 'the witness is up');
    offend(peer.ws);
    await until(() => peer.end.code !== undefined, 'the link was closed');
    expect(peer.end.code).toBe(code);
    const line = hub.lines.find(({ message }) => message === 'the peer broke the wire protocol');
    expect(line).toMatchObject({ level: 'warn', fields: { peer: 'node/1', ...logged } });
    expect(hub.events.at(-1)).toBe('down node/1 node-1-boot');
    expect(hub.received).toEqual([]);
    witness.client.send(wireEnvelope('node/5', 'session/t/s', 'fine'));
    await until(() => hub.received.length === 1, 'the witness is heard');
    expect(witness.events).toEqual(['up coordinator-boot-1']);
  });
});

it('a call whose request alone does not decode reaches its actor without one, and the link stays', async () => {
  const hub = await world.server();
  const peer = await admittedPeer(hub.url, clientConfig('gateway', 0));
  const from = 'gateway/gateway-0-boot';
  const request = { case: 'initiateSigning', value: { walletId: 'wallet' } } as const;
  const call = Buffer.from(
    codec.encodeFrame({
      ...wireEnvelope(from, 'coordinator', 's'),
      message: { tenant: 't', session: '', attempt: 0, body: { case: 'call', value: { callId: 7n, request } } },
    }),
  );
  // The length of the text is another.
  call[call.indexOf('wallet') - 1] = 200;
  peer.ws.send(call);
  peer.ws.send(frame(from));
  await until(() => hub.received.length === 2, 'both frames');
  const [refusable, next] = hub.received.map(({ message }) => message.body);
  expect(refusable).toMatchObject({ case: 'call', value: { callId: 7n, request: { case: undefined } } });
  expect(next?.case).not.toBe('call');
  expect(peer.end.code).toBeUndefined();
});

describe('an unauthenticated peer', () => {
  it('is refused by name when it says nothing, too much, or text', async () => {
    const timers = watchTimers();
    const hub = await world.server({ handshakeTimeoutMs: 61_003 });
    const silent = rawClient(hub.url);
    await until(() => silent.got.length === 1, 'the challenge came');
    for (const { run } of timers.of(61_003)) run();
    await until(() => silent.end.code !== undefined, 'the silent one was sent away');
    expect(silent.end).toEqual({ code: 4000, reason: 'TIMEOUT' });
    const patient = await world.server();
    const attempts: [string, (ws: WebSocket) => void][] = [
      ['TOO_LARGE', (ws) => ws.send(new Uint8Array(handshakeBytesMax + 1))],
      ['MALFORMED', (ws) => ws.send('hello')],
      ['MALFORMED', (ws) => ws.send(frame('node/1'))],
    ];
    for (const [code, attempt] of attempts) {
      const stranger = rawClient(patient.url);
      await until(() => stranger.got.length === 1, 'the challenge came');
      attempt(stranger.ws);
      await until(() => stranger.end.code !== undefined, 'it was sent away');
      expect(stranger.end).toEqual({ code: 4000, reason: code });
      expect(codec.decodeHandshake(stranger.got[1] as Uint8Array)).toMatchObject({ case: 'refused', value: { code } });
    }
    expect(patient.events).toEqual([]);
  });

  it('is cut when it does not upgrade in time: without a byte, in its headers, or in a body', async () => {
    const begun = ['', 'GET / HTTP/1.1\r\nhost: x\r\n', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nx'];
    const beginAt = ({ port }: { readonly port: number }) =>
      begun.map((text) => {
        const socket = connect(port, '127.0.0.1');
        world.stops.push(async () => void socket.destroy());
        socket.on('error', () => {}).resume();
        socket.write(text);
        return socket;
      });
    // Node's own limit of 60 s would cut these, which began earlier, before the others.
    const patient = beginAt(await world.server({ handshakeTimeoutMs: 3_600_000 }));
    const cut = beginAt(await world.server({ handshakeTimeoutMs: 50 }));
    await until(() => cut.every(({ closed }) => closed), 'all are cut');
    expect(patient.some(({ closed }) => closed)).toBe(false);
  });

  it('cannot make the coordinator hold a large message before its proof', async () => {
    const hub = await world.server({ limits: { closeGraceMs: 20 } });
    const stranger = rawClient(hub.url);
    await until(() => stranger.got.length === 1, 'the challenge came');
    // The first piece of a message that is never finished.
    stranger.ws.send(new Uint8Array(32 * 1024), { fin: false });
    await until(() => stranger.end.code !== undefined, 'it was cut off');
    expect(hub.lines).toMatchObject([{ fields: { code: 'TOO_LARGE' } }]);
  });

  it('gives way to a later one when too many are in their handshake', async () => {
    const hub = await world.server({ handshakesMax: 1 });
    const first = rawClient(hub.url);
    await until(() => first.got.length === 1, 'the first is in its handshake');
    const node = world.client(hub.url, 'node', 1);
    await until(() => node.client.isUp, 'the node has its link');
    await until(() => first.end.code === 1006, 'the first was cut');
    // What has proven itself gives way to no one.
    const third = rawClient(hub.url);
    await until(() => third.got.length === 1, 'the third is in its handshake');
    expect(node.client.isUp).toBe(true);
  });

  it('a client with the wrong secret complains once, by name, and tries on', async () => {
    const hub = await world.server();
    const node = world.client(hub.url, 'node', 1, {
      handshake: clientConfig('node', 1, { joinSecret: new Uint8Array(32) }),
      backOff: { minMs: 1, maxMs: 2 },
    });
    await until(() => hub.lines.length >= 3, 'it tried three times');
    expect(new Set(hub.lines.map(({ fields }) => fields.code))).toEqual(new Set(['BAD_PROOF']));
    expect(node.lines).toMatchObject([{ level: 'warn', fields: { code: 'BAD_PROOF' } }]);
  });

  it('a client whose id is unknown waits longer before it tries again', async () => {
    const hub = await world.server();
    world.client(hub.url, 'node', 9, { backOff: { minMs: 1, maxMs: 2, refusedMs: 60_000 } });
    world.client(hub.url, 'node', 1, {
      handshake: clientConfig('node', 1, { joinSecret: new Uint8Array(32) }),
      backOff: { minMs: 1, maxMs: 2 },
    });
    const times = (code: string) => hub.lines.filter(({ fields }) => fields.code === code).length;
    await until(() => times('BAD_PROOF') >= 5 && times('UNKNOWN_PEER') > 0, 'the quick one tried five times');
    expect(times('UNKNOWN_PEER')).toBe(1);
  });

  it('arbitrary bytes, before or after the proof, harm no other link', async () => {
    const hub = await world.server();
    const witness = world.client(hub.url, 'node', 5);
    await until(() => witness.client.isUp, 'the witness is up');
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ minLength: 1, maxLength: 300 }), { minLength: 1, maxLength: 3 }),
        async (messages) => {
          run += 1;
          const stranger = rawClient(hub.url);
          const peer = await admittedPeer(hub.url, clientConfig('gateway', 0, { boot: `fuzz-${run}` }));
          await until(() => stranger.ws.readyState === WebSocket.OPEN, 'the door is open');
          for (const message of messages) {
            stranger.ws.send(message, () => {});
            peer.ws.send(message, () => {});
          }
          await until(() => stranger.end.code !== undefined, 'the stranger was sent away');
          expect(stranger.end.code).toBe(4000);
          await until(() => peer.end.code !== undefined, 'the peer lost its link');
          const heard = hub.received.length;
          witness.client.send(wireEnvelope('node/5', 'session/t/s', String(run)));
          await until(() => hub.received.length > heard, 'the witness is heard');
          expect(hub.received.at(-1)?.message.session).toBe(String(run));
        },
      ),
      { numRuns: runs(15, 40) },
    );
    expect(witness.events).toEqual(['up coordinator-boot-1']);
    expect(hub.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });
});
