/** Nodes as processes: the live runtime, real links and real stores, with a coordinator scripted here. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Envelope } from '../../core/actors/contract.ts';
import { identityFromSeed } from '../../core/actors/live/handshake-crypto.ts';
import { LinkServer } from '../../core/actors/live/link-server.ts';
import { groupOf } from '../../core/crypto/group.ts';
import { combineMockNonces, verifyMockEcdsaPartial } from '../../core/crypto/mock-ecdsa.ts';
import { checkNodeConfig } from '../../nodes/config.ts';
import type { DkgFinished, DkgOpening, SealedShare } from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import { type DealtNonce, Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { serializeRoster } from '../../proto/roster.ts';
import {
  decodeFrames,
  decodeHandshake,
  encodeFrame,
  encodeHandshake,
  type WireBody,
  type WireBodyInit,
  type WireCase,
  type WireMessage,
  wireProtocolVersions,
} from '../../proto/wire.ts';
import { childProgram } from '../support/child-program.ts';
import { orderFor } from '../support/orders.ts';
import { identitySeedOf, rosterOf } from './harness.ts';

const roster = rosterOf(3);
const ids = [1, 2, 3];
const names = { tenant: 'acme', session: 'key-1', attempt: 1 };

let folder = '';
let server: LinkServer<WireMessage>;
let url = '';
const boots = new Map<number, string>();
const children = new Map<number, { child: ChildProcess; output: string }>();
let waiters: (() => void)[] = [];
let inbox: Envelope<WireMessage>[] = [];

const wake = () => {
  for (const waiter of waiters.splice(0)) waiter();
};

async function until<T>(look: () => T | undefined): Promise<T> {
  for (;;) {
    const found = look();
    if (found !== undefined) return found;
    await new Promise<void>((resolve) => waiters.push(resolve));
  }
}

function start(nodeId: number): void {
  const config = {
    nodeId,
    roster: serializeRoster(roster, 'sandbox'),
    coordinatorUrl: url,
    storeDir: join(folder, `${nodeId}`),
  };
  const args = [childProgram(new URL('child/run-node.ts', import.meta.url)), JSON.stringify(config)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const entry = { child, output: '' };
  child.stdout.on('data', (data: Buffer) => {
    entry.output += data.toString();
  });
  children.set(nodeId, entry);
}

async function kill(nodeId: number, signal: NodeJS.Signals): Promise<void> {
  const { child } = children.get(nodeId)!;
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill(signal);
  await gone;
}

type BodyOf<C extends WireCase> = Extract<WireBody, { case: C }>['value'];

async function ask<C extends WireCase>(nodeId: number, body: WireBodyInit, answer: C, dkg = true): Promise<BodyOf<C>> {
  const to = dkg ? `node/${nodeId}/dkg/${names.tenant}/${names.session}` : `node/${nodeId}`;
  const trace = { correlationId: 'cor_1', traceparent: '' };
  inbox = [];
  expect(server.send({ from: 'coordinator', to, message: { ...names, body }, trace })).toBeUndefined();
  const envelope = await until(() => inbox.find(({ from }) => from === to));
  expect(envelope.trace.correlationId).toBe('cor_1');
  expect(envelope.message.body.case).toBe(answer);
  return envelope.message.body.value as BodyOf<C>;
}

const ready = () => until(() => (ids.every((id) => boots.has(id)) ? true : undefined));

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signmesh-nodes-'));
  server = new LinkServer<WireMessage>({
    host: '127.0.0.1',
    port: 0,
    handshake: {
      protocolVersions: wireProtocolVersions,
      clusterId: roster.clusterId,
      coordinatorBoot: 'coordinator-1',
      joinSecret: new Uint8Array(32).fill(9),
      identity: identityFromSeed(identitySeedOf(201)),
      peerKey: (_role, nodeId) => roster.nodes.find(({ id }) => id === nodeId)?.publicKey,
    },
    codec: { encodeFrame, decodeFrames, encodeHandshake, decodeHandshake },
    deliver: (envelope) => {
      inbox.push(envelope);
      wake();
      return undefined;
    },
    onPeerUp: ({ nodeId, boot }) => {
      boots.set(nodeId, boot);
      wake();
    },
    onPeerDown: ({ nodeId }) => {
      boots.delete(nodeId);
      wake();
    },
  });
  url = (await server.start()).url;
});

afterEach(async () => {
  for (const nodeId of children.keys()) await kill(nodeId, 'SIGKILL');
  children.clear();
  boots.clear();
  waiters = [];
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

describe('node processes', () => {
  it('make a key, survive SIGKILL with it, and sign', async () => {
    for (const id of ids) start(id);
    await ready();
    const openings: DkgOpening[] = [];
    const open = { case: 'dkgOpen', value: { curve: 'secp256k1', threshold: 2, totalNodes: 3 } } as const;
    for (const id of ids) openings.push((await ask(id, open, 'dkgOpened')).opening!);
    // What was dealt is durable before it was told.
    await kill(2, 'SIGKILL');
    await until(() => (boots.has(2) ? undefined : true));
    start(2);
    await ready();
    expect((await ask(2, open, 'dkgOpened')).opening).toEqual(openings[1]);

    const sealed: SealedShare[] = [];
    for (const id of ids) {
      const seal = { case: 'dkgSeal' as const, value: { recipients: openings } };
      sealed.push(...(await ask(id, seal, 'dkgSealed')).shares);
    }
    const results: DkgFinished[] = [];
    for (const id of ids) {
      const value = { dealers: openings, sealed: sealed.filter(({ recipient }) => recipient === id) };
      results.push((await ask(id, { case: 'dkgVerify', value }, 'dkgVerified')).finished!);
    }
    for (const id of ids) await ask(id, { case: 'dkgConfirm', value: { results } }, 'dkgConfirmed');
    const firstBoot = boots.get(1)!;
    await kill(1, 'SIGKILL');
    await until(() => (boots.has(1) ? undefined : true));
    start(1);
    await ready();
    expect(boots.get(1)).not.toBe(firstBoot);

    const deal = { scheme: Scheme.MOCK_ECDSA, count: 1, coordinatorBoot: 'coordinator-1' };
    const dealt: DealtNonce[] = [];
    for (const id of [1, 2]) {
      const answer = await ask(id, { case: 'dealNonces', value: deal }, 'noncesDealt', false);
      expect(answer.nodeBoot).toBe(boots.get(id));
      dealt.push(...answer.nonces);
    }
    const group = groupOf('secp256k1');
    const nonce = combineMockNonces(dealt.map(({ mockNonce }) => group.decodeScalar(mockNonce)));
    const digest = new Uint8Array(32).fill(3);
    const request = {
      scheme: Scheme.MOCK_ECDSA,
      keySession: names.session,
      message: digest,
      nonceNumber: dealt[0]!.number,
      nodeBoot: boots.get(1)!,
      coordinatorBoot: 'coordinator-1',
      noncePoint: nonce.R,
      mockNonceInverse: group.encodeScalar(nonce.kInverse),
    };
    const gateway = { roster: rosterOf(3), gatewaySeed: identitySeedOf(202) };
    const order = orderFor(gateway, 1, names, request);
    const reply = await ask(1, { case: 'partialRequest', value: { ...request, order } }, 'partialReply', false);
    const partial = group.decodeScalar(reply.outcome.value as Uint8Array);
    const verificationShare = results[0]!.verificationShares[0]!;
    expect(verifyMockEcdsaPartial({ ...nonce, digest, verificationShare, partial })).toBe(true);

    await kill(1, 'SIGTERM');
    const { child, output } = children.get(1)!;
    expect(child.exitCode).toBe(0);
    const lines = output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { role: string; node_id: number; msg: string });
    for (const line of lines) expect(line).toMatchObject({ role: 'node', node_id: 1 });
    expect(lines.map(({ msg }) => msg)).toContain('signer.partial.signed');
    expect(lines.at(-1)!.msg).toBe('node stopped');
    const mockNonce = Buffer.from(dealt[0]!.mockNonce).toString('hex');
    expect(output).not.toContain(mockNonce);
    expect(output).not.toMatch(/[0-9a-f]{40}/);
    const store = await readFile(join(folder, '1', 'CURRENT'), 'utf8');
    expect(store).toContain('MANIFEST');
  });
});

describe('a configuration that cannot work', () => {
  const sound = {
    nodeId: 1,
    roster,
    identitySeed: identitySeedOf(1),
    joinSecret: new Uint8Array(32),
    coordinatorUrl: 'ws://127.0.0.1:1',
    storeDir: '/nowhere',
    storageKey: new Uint8Array(32),
    allowClientDealers: false,
    logLevel: 'silent',
  };

  it.each([
    ['nodeId', { nodeId: 4 }],
    ['identitySeed', { identitySeed: identitySeedOf(2) }],
    ['identitySeed', { identitySeed: new Uint8Array(31) }],
    ['joinSecret', { joinSecret: new Uint8Array(0) }],
    ['storageKey', { storageKey: new Uint8Array(16) }],
    ['storeDir', { storeDir: '' }],
    ['sandbox.seed', { sandbox: { seed: new Uint8Array(8), tenant: 't', sessions: [] } }],
  ])('is refused with the name of the field: %s', (field, wrong) => {
    expect(() => checkNodeConfig(sound)).not.toThrow();
    expect(() => checkNodeConfig({ ...sound, ...wrong })).toThrow(`node configuration: ${field} `);
  });
});
