import { createHash, createHmac } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ClientHandshakeConfig,
  clientHandshake,
  handshakeBytesMax,
  type ServerHandshakeConfig,
  serverHandshake,
} from '../../../core/actors/live/handshake.ts';
import {
  identityFromSeed,
  prove,
  transcriptDigest,
  verifyIdentity,
} from '../../../core/actors/live/handshake-crypto.ts';
import type { Hello } from '../../../core/actors/live/wire-port.ts';
import { runs } from '../../support/thorough.ts';
import { clientConfig, codec, gatewayIdentity, nodeIdentity, serverConfig } from './support/harness.ts';

const nonce = (value: number) => new Uint8Array(32).fill(value);

/** Runs both machines against each other. */
function shake(
  client: ClientHandshakeConfig,
  server: Partial<ServerHandshakeConfig> = {},
  alter: (hello: Hello) => Hello = (hello) => hello,
) {
  const hub = serverHandshake(serverConfig(server), codec, nonce(1));
  const peer = clientHandshake(client, codec, nonce(2));
  const answer = peer.receive(hub.challenge);
  if (answer.kind !== 'hello') return { client: answer };
  const step = codec.decodeHandshake(answer.hello);
  if (step.case !== 'hello') throw new Error('not a hello');
  const hello = codec.encodeHandshake({ case: 'hello', value: alter({ ...step.value }) });
  const verdict = hub.receive(hello);
  return {
    hello,
    server: verdict,
    client: verdict.kind === 'accepted' ? peer.receive(verdict.welcome) : undefined,
  };
}

describe('the handshake', () => {
  it('admits a node and a gateway of the roster, and each side knows the other', () => {
    const node = shake(clientConfig('node', 3));
    expect(node.server).toMatchObject({
      kind: 'accepted',
      peer: { address: 'node/3', role: 'node', nodeId: 3, boot: 'node-3-boot' },
    });
    expect(node.client).toEqual({ kind: 'welcome', coordinatorBoot: 'coordinator-boot-1' });
    expect(shake(clientConfig('gateway', 0, { boot: 'gw' })).server).toMatchObject({
      kind: 'accepted',
      peer: { address: 'gateway/gw', role: 'gateway', nodeId: 0 },
    });
  });

  it('speaks the best version that both sides know', () => {
    const both = shake(clientConfig('node', 1, { protocolVersions: [3, 2, 1] }), { protocolVersions: [2, 1] });
    expect(both.server?.kind).toBe('accepted');
    const step = codec.decodeHandshake(both.hello as Uint8Array);
    expect(step.case === 'hello' && step.value.protocolVersion).toBe(2);
  });

  const stranger = identityFromSeed(nonce(77));
  const refusals: [string, string, ReturnType<typeof shake>][] = [
    ['another join secret', 'BAD_PROOF', shake(clientConfig('node', 1, { joinSecret: nonce(9) }))],
    ['a key outside the roster', 'UNKNOWN_PEER', shake(clientConfig('node', 1, { identity: stranger }))],
    ["another node's id", 'UNKNOWN_PEER', shake(clientConfig('node', 1, { identity: nodeIdentity(2) }))],
    ["the gateway's key for a node", 'UNKNOWN_PEER', shake(clientConfig('node', 1, { identity: gatewayIdentity }))],
    ['an id outside the roster', 'UNKNOWN_PEER', shake(clientConfig('node', 99, { identity: nodeIdentity(99) }))],
    ['a gateway with a node id', 'UNKNOWN_PEER', shake(clientConfig('gateway', 1))],
    [
      "the roster's key without its secret half",
      'BAD_PROOF',
      shake(clientConfig('node', 1, { identity: { ...stranger, publicKey: nodeIdentity(1).publicKey } })),
    ],
    [
      "a key that differs from the roster's in its last byte alone",
      'UNKNOWN_PEER',
      shake(clientConfig('node', 1), {}, (hello) => ({
        ...hello,
        publicKey: hello.publicKey.map((byte, index) => (index === 31 ? byte ^ 1 : byte)),
      })),
    ],
    [
      'another role than was signed',
      'UNKNOWN_PEER',
      shake(clientConfig('node', 1), {}, (hello) => ({ ...hello, role: 2, nodeId: 0 })),
    ],
    [
      'another boot than was signed',
      'BAD_PROOF',
      shake(clientConfig('node', 1), {}, (hello) => ({ ...hello, boot: 'x' })),
    ],
    [
      'another nonce than was signed',
      'BAD_PROOF',
      shake(clientConfig('node', 1), {}, (hello) => ({ ...hello, nonce: nonce(3) })),
    ],
    [
      'a version that was not offered',
      'PROTOCOL_VERSION',
      shake(clientConfig('node', 1), {}, (hello) => ({ ...hello, protocolVersion: 9 })),
    ],
    [
      'another cluster',
      'CLUSTER_MISMATCH',
      shake(clientConfig('node', 1), {}, (hello) => ({ ...hello, clusterId: 'other' })),
    ],
    ['no role', 'MALFORMED', shake(clientConfig('node', 1), {}, (hello) => ({ ...hello, role: 0 }))],
    [
      'a short nonce',
      'MALFORMED',
      shake(clientConfig('node', 1), {}, (hello) => ({ ...hello, nonce: nonce(3).slice(1) })),
    ],
    [
      'a boot id that is a path',
      'MALFORMED',
      shake(clientConfig('node', 1), {}, (hello) => ({ ...hello, boot: 'a/b' })),
    ],
    [
      'an empty MAC',
      'BAD_PROOF',
      shake(clientConfig('node', 1), {}, (hello) => ({ ...hello, joinMac: new Uint8Array() })),
    ],
    [
      'an empty signature',
      'BAD_PROOF',
      shake(clientConfig('node', 1), {}, (hello) => ({ ...hello, signature: new Uint8Array() })),
    ],
  ];
  it.each(refusals)('refuses %s: %s', (_what, code, outcome) => {
    expect(outcome.server).toEqual({ kind: 'refused', code });
  });

  it('refuses a Hello that was recorded on another connection', () => {
    const { hello } = shake(clientConfig('node', 1));
    const other = serverHandshake(serverConfig(), codec, nonce(5));
    expect(other.receive(hello as Uint8Array)).toEqual({ kind: 'refused', code: 'BAD_PROOF' });
  });

  it('refuses a second Hello on the same connection', () => {
    const hub = serverHandshake(serverConfig(), codec, nonce(1));
    const peer = clientHandshake(clientConfig('node', 1), codec, nonce(2));
    const answer = peer.receive(hub.challenge);
    const hello = answer.kind === 'hello' ? answer.hello : new Uint8Array();
    expect(hub.receive(hello).kind).toBe('accepted');
    expect(hub.receive(hello)).toEqual({ kind: 'refused', code: 'MALFORMED' });
  });

  it('lets a peer refuse a coordinator that is not the pinned one', () => {
    const impostor = shake(clientConfig('node', 1), { identity: stranger });
    expect(impostor.client).toEqual({ kind: 'refused', by: 'peer', code: 'BAD_PROOF' });
    const reflected = clientHandshake(clientConfig('node', 1), codec, nonce(2));
    const hub = serverHandshake(serverConfig(), codec, nonce(1));
    const hello = reflected.receive(hub.challenge);
    if (hello.kind !== 'hello') throw new Error('no hello');
    const step = codec.decodeHandshake(hello.hello);
    if (step.case !== 'hello') throw new Error('no hello');
    // The peer's own proof is no coordinator's.
    const { joinMac, signature } = step.value;
    const welcome = codec.encodeHandshake({ case: 'welcome', value: { joinMac, signature } });
    expect(reflected.receive(welcome)).toEqual({ kind: 'refused', by: 'peer', code: 'BAD_PROOF' });
  });

  it.each([
    ['ID_TAKEN', 'ID_TAKEN'],
    ['id_taken', 'MALFORMED'],
    ['\n{"level":"error"}', 'MALFORMED'],
    ['', 'MALFORMED'],
  ])('takes a refusal of the code %j, which no proof covers, as %s', (code, taken) => {
    const refusal = codec.encodeHandshake({ case: 'refused', value: { code, message: 'anything' } });
    const client = clientHandshake(clientConfig('node', 1), codec, nonce(2));
    expect(client.receive(refusal)).toEqual({ kind: 'refused', by: 'coordinator', code: taken });
    expect(client.receive(refusal)).toEqual({ kind: 'refused', by: 'peer', code: 'MALFORMED' });
  });

  it('lets a peer refuse another cluster and unknown versions by name, before it proves anything', () => {
    expect(shake(clientConfig('node', 1), { clusterId: 'other' }).client).toMatchObject({ code: 'CLUSTER_MISMATCH' });
    expect(shake(clientConfig('node', 1), { protocolVersions: [8, 9] }).client).toMatchObject({
      code: 'PROTOCOL_VERSION',
    });
  });

  it('ends for a peer that has refused: it takes no other message after that', () => {
    const peer = clientHandshake(clientConfig('node', 1), codec, nonce(2));
    const challengeOf = (changes: Partial<ServerHandshakeConfig>) =>
      serverHandshake(serverConfig(changes), codec, nonce(1)).challenge;
    expect(peer.receive(challengeOf({ clusterId: 'other' }))).toMatchObject({ code: 'CLUSTER_MISMATCH' });
    expect(peer.receive(challengeOf({}))).toEqual({ kind: 'refused', by: 'peer', code: 'MALFORMED' });
  });

  it('has a transcript in which no two sets of parts look alike', () => {
    const parts = {
      protocolVersion: 1,
      offeredVersions: [1],
      clusterId: 'ab',
      coordinatorBoot: 'c',
      serverNonce: nonce(1),
      role: 1,
      nodeId: 1,
      peerBoot: 'd',
      peerPublicKey: nonce(2),
      peerNonce: nonce(3),
      binding: new Uint8Array(0),
    };
    const variants = [
      parts,
      { ...parts, clusterId: 'a', coordinatorBoot: 'bc' },
      ...Object.entries(parts).map(([name, part]) => ({ ...parts, [name]: otherPart(part) })),
      { ...parts, offeredVersions: [2, 1] },
      { ...parts, peerBoot: '' },
      { ...parts, binding: nonce(4) },
      { ...parts, serverNonce: nonce(3), peerNonce: nonce(1) },
    ];
    const digests = variants.map((variant) => Buffer.from(transcriptDigest(variant)).toString('hex'));
    expect(new Set(digests).size).toBe(variants.length);
  });

  it('signs and authenticates, for each side under its own label, every part behind its length', () => {
    const { joinSecret } = clientConfig('node', 1);
    const parts = {
      ...{
        protocolVersion: 2,
        offeredVersions: [3, 2],
        clusterId: 'cl',
        coordinatorBoot: 'boot-c',
        serverNonce: nonce(1),
      },
      ...{ role: 1, nodeId: 7, peerBoot: 'boot-p', peerPublicKey: nodeIdentity(1).publicKey, peerNonce: nonce(2) },
      binding: nonce(4),
    };
    const four = (value: number) => Buffer.from(value.toString(16).padStart(8, '0'), 'hex');
    const inOrder = [
      ...[Buffer.from('signmesh/handshake/v1'), four(2), Buffer.concat([four(3), four(2)]), Buffer.from('cl')],
      ...[Buffer.from('boot-c'), nonce(1), four(1), four(7), Buffer.from('boot-p')],
      ...[nodeIdentity(1).publicKey, nonce(2), nonce(4)],
    ];
    const digest = createHash('sha256');
    for (const part of inOrder) digest.update(four(part.length)).update(part);
    const transcript = transcriptDigest(parts);
    expect(Buffer.from(transcript)).toEqual(digest.digest());
    for (const side of ['peer', 'coordinator'] as const) {
      const said = Buffer.concat([Buffer.from(`signmesh/handshake/v1/${side}\0`), transcript]);
      const proof = prove(side, transcript, joinSecret, nodeIdentity(1));
      expect(Buffer.from(proof.joinMac)).toEqual(createHmac('sha256', joinSecret).update(said).digest());
      expect(verifyIdentity(nodeIdentity(1).publicKey, said, proof.signature)).toBe(true);
    }
  });

  it('answers any bytes with a refusal, on either side and in every state', () => {
    const valid = codec.encodeHandshake({ case: 'refused', value: { code: 'X', message: '' } });
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(200), (bytes, cut) => {
        const { hello } = shake(clientConfig('node', 1));
        const garbled = Uint8Array.from(hello as Uint8Array);
        garbled.set(bytes.subarray(0, 8), Math.min(cut, garbled.length - 8));
        // Other bytes may still say the very same (a length that the decoder does not hold to).
        const unchanged = saysTheSame(garbled, hello as Uint8Array);
        for (const input of [bytes, valid, ...(unchanged ? [] : [garbled])]) {
          expect(serverHandshake(serverConfig(), codec, nonce(1)).receive(input).kind).toBe('refused');
        }
        const peer = clientHandshake(clientConfig('node', 1), codec, nonce(2));
        expect(peer.receive(bytes).kind).toBe('refused');
        const later = clientHandshake(clientConfig('node', 1), codec, nonce(2));
        later.receive(serverHandshake(serverConfig(), codec, nonce(1)).challenge);
        expect(later.receive(bytes).kind).toBe('refused');
      }),
      { numRuns: runs(30, 100) },
    );
  });

  it('refuses what is too large before decoding it', () => {
    const large = new Uint8Array(handshakeBytesMax + 1);
    expect(serverHandshake(serverConfig(), codec, nonce(1)).receive(large)).toEqual({
      kind: 'refused',
      code: 'TOO_LARGE',
    });
    expect(clientHandshake(clientConfig('node', 1), codec, nonce(2)).receive(large)).toMatchObject({
      code: 'TOO_LARGE',
    });
  });
});

function otherPart(part: number | string | readonly number[] | Uint8Array): typeof part {
  if (typeof part === 'number') return part + 1;
  if (typeof part === 'string') return `${part}x`;
  return part instanceof Uint8Array ? Uint8Array.of(...part, 1) : [...part, 9];
}

function saysTheSame(garbled: Uint8Array, original: Uint8Array): boolean {
  try {
    return isDeepStrictEqual(codec.decodeHandshake(garbled), codec.decodeHandshake(original));
  } catch {
    return false;
  }
}
