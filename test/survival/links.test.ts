/**
 * A process that connects to the coordinator and is not a member of the cluster is refused and named in the log, and
 * disturbs no other link: while all
 * of it happens, signatures go on and the cluster stays whole.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { readRoster, readSecret, secretFiles } from '../../cli/cluster-files/cluster-material.ts';
import { type ClientHandshakeConfig, clientHandshake } from '../../core/actors/live/handshake.ts';
import { identityFromSeed } from '../../core/actors/live/handshake-crypto.ts';
import { systemRandom } from '../../core/actors/live/ports.ts';
import { wireMessageBytesMax } from '../../proto/limits.ts';
import { decodeFrames, decodeHandshake, encodeFrame, encodeHandshake, wireProtocolVersions } from '../../proto/wire.ts';
import { type BorrowedCluster, borrowCluster, borrowWithinMs } from '../support/shared-cluster.ts';
import { until } from '../support/until.ts';
import { type Key, makeKey, sign } from './support/ceremonies.ts';
import { Ledger } from './support/ledger.ts';

const codec = { encodeFrame, decodeFrames, encodeHandshake, decodeHandshake };
const digest = new Uint8Array(32).fill(0x99);
const ledger = new Ledger();
const healthSeen = new Set<string>();
/** Connections without a proof that a coordinator holds (core/actors/live/link-server.ts). */
const unprovenMax = 256;
const folder = mkdtempSync(join(tmpdir(), 'signmesh-intruder-'));
let cluster: BorrowedCluster;
let key: Key;
let isOver = false;
let bystanders: Promise<unknown> = Promise.resolve();

const client = () => ({ api: cluster.http(), ledger });

beforeAll(async () => {
  cluster = await borrowCluster();
  key = await makeKey(client(), { sessionId: 'ed', curve: 'ed25519' });
  bystanders = Promise.all([signOn(), watchHealth()]);
}, borrowWithinMs);
afterAll(async () => {
  isOver = true;
  await bystanders.catch(() => undefined);
  await cluster?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Signs all the time. */
async function signOn(): Promise<void> {
  for (let count = 1; !isOver; count += 1) {
    await sign(client(), { key, scheme: 'ed25519', intentId: `meanwhile-${count}`, message: digest });
    await new Promise((resolve) => setTimeout(resolve, 150));
  }
}

async function watchHealth(): Promise<void> {
  while (!isOver) {
    // However long the answer takes on a busy machine.
    const response = await fetch(`${cluster.httpUrl}/v1/health`);
    healthSeen.add(((await response.json()) as { readonly status: string }).status);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** What a member of the cluster would say of itself, with anything changed. */
function member(changes: Partial<ClientHandshakeConfig> = {}): ClientHandshakeConfig {
  const roster = readRoster(cluster.dataDir, 'sandbox');
  return {
    protocolVersions: wireProtocolVersions,
    clusterId: roster.clusterId,
    joinSecret: readSecret(cluster.dataDir, secretFiles.join),
    identity: identityFromSeed(readSecret(cluster.dataDir, secretFiles.gatewayIdentity)),
    role: 'gateway',
    nodeId: 0,
    boot: 'the-intruder',
    coordinatorKey: roster.coordinator,
    ...changes,
  };
}

const nodeIdentity = (id: number) => identityFromSeed(readSecret(cluster.dataDir, secretFiles.nodeIdentity(id)));

interface Attempt {
  readonly ws: WebSocket;
  /** How the handshake ended: "welcome", or the code of the refusal. */
  readonly outcome: string;
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
}

/** Connects and shakes hands with what it has. */
function attempt(config: ClientHandshakeConfig): Promise<Attempt> {
  const handshake = clientHandshake(config, codec, systemRandom(32));
  const ws = open();
  const closed = closeOf(ws);
  return new Promise((resolve, reject) => {
    ws.on('error', reject);
    ws.on('message', (data) => {
      const verdict = handshake.receive(data as Buffer);
      if (verdict.kind === 'hello') ws.send(verdict.hello);
      else resolve({ ws, closed, outcome: verdict.kind === 'welcome' ? 'welcome' : verdict.code });
    });
  });
}

function open(): WebSocket {
  return new WebSocket(cluster.coordinatorUrl(), { perMessageDeflate: false });
}

function closeOf(ws: WebSocket): Promise<{ readonly code: number; readonly reason: string }> {
  ws.on('error', () => undefined);
  return new Promise((resolve) => {
    ws.on('close', (code, reason) => resolve({ code, reason: reason.toString() }));
  });
}

/** The coordinator's log says so. */
function named(fields: Readonly<Record<string, unknown>>): Promise<unknown> {
  const fits = (record: Record<string, unknown>) =>
    Object.entries(fields).every(([name, value]) => record[name] === value);
  return until(
    () =>
      [
        ...cluster.records('coordinator', 'a link was refused'),
        ...cluster.records('coordinator', 'the peer broke the wire protocol'),
      ].some(fits),
    () => `${JSON.stringify(fields)} in the coordinator's log:\n${cluster.log('coordinator').slice(-3000)}`,
  );
}

describe.sequential('is refused by name', () => {
  test.each<readonly [string, () => Partial<ClientHandshakeConfig>, string]>([
    ['a stranger without the join secret', () => ({ joinSecret: systemRandom(32) }), 'BAD_PROOF'],
    [
      'one with the join secret and another key',
      () => ({ role: 'node', nodeId: 3, identity: identityFromSeed(systemRandom(32)) }),
      'UNKNOWN_PEER',
    ],
    ['a node with the key of another', () => ({ role: 'node', nodeId: 3, identity: nodeIdentity(4) }), 'UNKNOWN_PEER'],
    [
      'a node that is not in the roster',
      () => ({ role: 'node', nodeId: 6, identity: nodeIdentity(5) }),
      'UNKNOWN_PEER',
    ],
  ])('%s', async (_, changes, code) => {
    const { outcome, closed } = await attempt(member(changes()));
    expect(outcome).toBe(code);
    expect(await closed).toEqual({ code: 4000, reason: code });
    await named({ code });
  });

  test('a second process of node 3, from another machine', async () => {
    const dataDir = join(folder, 'copy');
    for (const file of ['cluster.json', 'join.secret', 'node-3/identity.key', 'node-3/storage.key']) {
      cpSync(join(cluster.dataDir, file), join(dataDir, file));
    }
    const settings = { SIGNMESH_COORDINATOR_URL: cluster.coordinatorUrl(), SIGNMESH_DATA_DIR: dataDir };
    const second = cluster.spawnRole(['node', '3'], settings);
    await named({ code: 'ID_TAKEN', peer: 'node/3' });
    await until(
      () => second.records('no link to the coordinator; retrying').some(({ code }) => code === 'ID_TAKEN'),
      () => `the second node to be told: ${second.output}`,
    );
    second.child.kill('SIGTERM');
    await until(() => second.exit, 'the end of the second node');
    expect(second.exit).toEqual({ code: 0, signal: null });
  });

  test('a second process of node 3, on the same files', async () => {
    const second = cluster.spawnRole(['node', '3'], { SIGNMESH_COORDINATOR_URL: cluster.coordinatorUrl() });
    await until(
      () => second.exit,
      () => `the end of the second node: ${second.output}`,
    );
    expect(second.exit?.code).not.toBe(0);
    expect(second.output).toContain('cannot be opened');
  });

  test('before its proof: text, garbage, too much, and silence', async () => {
    const first = async (send: (ws: WebSocket) => void) => {
      const ws = open();
      const closed = closeOf(ws);
      await new Promise((resolve) => ws.once('message', resolve));
      send(ws);
      return closed;
    };
    const silence = first(() => undefined);
    expect(await first((ws) => ws.send('hello'))).toMatchObject({ reason: 'MALFORMED' });
    expect(await first((ws) => ws.send(systemRandom(200)))).toMatchObject({ reason: 'MALFORMED' });
    await named({ code: 'MALFORMED' });
    await first((ws) => ws.send(new Uint8Array(1024 * 1024)));
    await named({ code: 'TOO_LARGE' });
    await silence;
    await named({ code: 'TIMEOUT' });
  });

  test('after its proof: garbage, an oversized message, text, and words in another’s name', async () => {
    const call = encodeFrame({
      from: 'node/1',
      to: 'coordinator',
      message: { tenant: 't', session: 's', attempt: 0, body: { case: 'dkgDiscard', value: {} } },
      trace: { correlationId: '', traceparent: '' },
    });
    const faults: readonly (readonly [boot: string, code: string, data: Uint8Array | string])[] = [
      ['garbage', 'MALFORMED_FRAME', Uint8Array.of(0x20, ...systemRandom(32))],
      ['cut', 'MALFORMED_FRAME', call.subarray(0, call.length - 3)],
      ['oversized', 'TOO_LARGE', new Uint8Array(wireMessageBytesMax + 1)],
      ['text', 'TEXT_FRAME', 'hello'],
      ['spoof', 'SPOOFED_SENDER', call],
    ];
    for (const [boot, code, data] of faults) {
      const { outcome, ws, closed } = await attempt(member({ boot }));
      expect(outcome).toBe('welcome');
      ws.send(data);
      expect((await closed).code, boot).toBeGreaterThan(1000);
      await named({ peer: `gateway/${boot}`, code });
    }
  });

  test('hundreds at once: beyond the limit the oldest give way to the newest', async () => {
    const { hostname, port } = new URL(cluster.coordinatorUrl());
    const sockets = Array.from({ length: 300 }, () => {
      const socket = connect(Number(port), hostname).on('error', () => undefined);
      socket.write(
        `GET / HTTP/1.1\r\nHost: ${hostname}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
          'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
      );
      return socket;
    });
    const closed: Socket[] = [];
    for (const socket of sockets) socket.once('close', () => closed.push(socket)).resume();
    await until(() => closed.length >= sockets.length - unprovenMax, 'the end of those beyond the limit');
    expect(closed).toContain(sockets[0]);
    expect(closed).not.toContain(sockets.at(-1));
    for (const socket of sockets) socket.destroy();
  });
});

test('no member was disturbed: every node kept its link, and signatures went on', async () => {
  const before = ledger.signatures;
  await until(() => ledger.signatures > before + 3, 'further signatures');
  isOver = true;
  await bystanders;
  expect(ledger.violations).toEqual([]);
  expect(ledger.signatures).toBeGreaterThan(20);
  expect([...healthSeen]).toEqual(['ok']);
  expect(cluster.records('coordinator', 'node.away')).toEqual([]);
  expect(cluster.records('coordinator', 'signing.node_misbehaved')).toEqual([]);
  expect(cluster.output).not.toContain('died');
});
