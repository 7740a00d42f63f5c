/** A new key reaches the gateway by the word of its nodes: a coordinator that names another is refused. */
import { create } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';
import { systemPorts } from '../../../core/actors/live/ports.ts';
import { finishTranscript, sessionContext } from '../../../core/crypto/dkg-transcripts.ts';
import { identityFromSeed, sign } from '../../../core/crypto/identity.ts';
import { connectSigning } from '../../../gateway/signing/connect.ts';
import { makeVaultCluster } from '../../../gateway/signing/live-vault-cluster.ts';
import {
  type Call,
  type MakeKeyResponse,
  RefreshKeyRequestSchema,
} from '../../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { Scheme } from '../../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { rosterDigest } from '../../../proto/roster.ts';
import { SimCluster } from '../../../simulation/cluster/cluster.ts';
import type { KeyOrder } from '../../../wallets/companions/vaults/public.ts';
import { collectLog } from '../../support/log.ts';
import { unheededOrders } from '../../support/orders.ts';
import { SimLink } from './sim-link.ts';

const meta = { tenant: 'tn_1', nowMs: 0, correlationId: 'cor_1', traceparent: '' };
const shared = { threshold: 2, totalNodes: 3 };
const alone = { threshold: 1, totalNodes: 1 };
const kinds: readonly Omit<KeyOrder, 'keyId'>[] = [
  { keystoreType: 'mock_threshold', curve: 'secp256k1', ...shared },
  { keystoreType: 'mpc_frost', curve: 'secp256k1', ...shared },
  { keystoreType: 'mpc_frost', curve: 'ed25519', ...shared },
  { keystoreType: 'multisig_evm_wallet', curve: 'secp256k1', ...shared },
  { keystoreType: 'hsm_pkcs11', curve: 'secp256k1', ...alone },
  { keystoreType: 'hsm_pkcs11', curve: 'ed25519', ...alone },
  { keystoreType: 'mpc_vendor', curve: 'secp256k1', ...alone },
  { keystoreType: 'mpc_vendor', curve: 'ed25519', ...alone },
];
const keyId = 'vky_1';

function world(seed = 'key confirmation') {
  const cluster = new SimCluster({ seed, nodes: 5 });
  const link = new SimLink(cluster);
  const { log, lines } = collectLog();
  const { calls } = connectSigning({ link, orders: unheededOrders(), roster: cluster.roster, ...systemPorts, log });
  return { cluster, link, lines, calls, vaults: makeVaultCluster({ calls }) };
}

type Lie = (made: MakeKeyResponse, other: MakeKeyResponse) => MakeKeyResponse;
const flipped = (bytes: Uint8Array) => bytes.map((byte, index) => (index === bytes.length - 1 ? byte ^ 1 : byte));
const withKey = (made: MakeKeyResponse, change: (key: Uint8Array) => Uint8Array): MakeKeyResponse => ({
  ...made,
  publicKey: made.publicKey.length > 0 ? change(made.publicKey) : made.publicKey,
  ownerKeys: made.ownerKeys.map((key, index) => (index === 0 ? change(key) : key)),
});
const confirmation = (made: MakeKeyResponse, change: object): MakeKeyResponse => ({
  ...made,
  confirmation: { ...made.confirmation!, ...change },
});

/** `other`: the answer about another key of the same kind, which the same nodes made. */
const lies: Readonly<Record<string, Lie>> = {
  'a key of its own': (made) => withKey(made, flipped),
  'another key of the nodes': (_, other) => other,
  'another key, under the signatures of the right one': (made, other) => ({
    ...made,
    publicKey: other.publicKey,
    ownerKeys: other.ownerKeys,
  }),
  'a chain code of its own': (made) => ({ ...made, chainCode: flipped(made.chainCode) }),
  'other verification shares': (made, other) =>
    confirmation(made, { verificationShares: other.confirmation!.verificationShares }),
  'another attempt': (made) => confirmation(made, { attempt: made.confirmation!.attempt + 1 }),
  'no confirmation': (made) => ({ ...made, confirmation: undefined }),
  'the last node’s signature of something else': (made) => {
    const { signatures } = made.confirmation!;
    return confirmation(made, { signatures: signatures.with(-1, flipped(signatures.at(-1)!)) });
  },
  'no signatures': (made) => confirmation(made, { signatures: [] }),
  'one node’s signature for each': (made) => ({
    ...confirmation(made, { signatures: [...made.confirmation!.signatures].fill(made.confirmation!.signatures[0]!) }),
    participants: made.participants.map((id) => id + 1),
  }),
  'nodes that the cluster lacks': (made) => ({ ...made, participants: made.participants.map((id) => id + 5) }),
  'fewer nodes': (made) => ({ ...made, participants: made.participants.slice(1) }),
};

describe.each(kinds)('a key of $keystoreType on $curve', (kind) => {
  test('is taken by the signatures of its nodes, also when it is asked for again', async () => {
    const { vaults, cluster } = world();
    const made = await vaults.makeKey(meta, { ...kind, keyId });
    expect(await vaults.makeKey(meta, { ...kind, keyId })).toEqual(made);
    expect(Buffer.from(made.publicKey).toString('hex')).toBe(cluster.storedKey(meta.tenant, keyId)!.publicKey);
    expect(made.participants).toHaveLength(kind.totalNodes);
  });

  test('is refused by name when the coordinator names another', async () => {
    const { vaults, link, lines } = world();
    let other: MakeKeyResponse | undefined;
    link.lie = (response) => {
      other = response as MakeKeyResponse;
      return response;
    };
    await vaults.makeKey(meta, { ...kind, keyId: 'vky_other' });
    for (const [name, lie] of Object.entries(lies)) {
      link.lie = (response) => lie(response as MakeKeyResponse, other!);
      const refused = vaults.makeKey(meta, { ...kind, keyId });
      await expect(refused, name).rejects.toMatchObject({
        kind: 'providerRejected',
        details: [{ field: '', issue: 'key_not_confirmed' }],
      });
      expect(lines.at(-1)?.fields, name).toMatchObject({ session: keyId, tenant: meta.tenant });
    }
    link.lie = (response) => response;
    await vaults.makeKey(meta, { ...kind, keyId });
  });
});

test('new shares of a key are taken by the signatures of all nodes alone', async () => {
  const { cluster, link, calls } = world('refresh');
  const { tenant } = meta;
  const by = { tenant, correlationId: '', traceparent: '' };
  for (const sessionId of ['k', 'other']) {
    cluster.initiateDkg({ sessionId, ...shared, derivation: { curve: 'ed25519' } }, tenant).result();
    cluster.exchangeDkgShares({ sessionId }, tenant).result();
  }
  const refresh = (key: string, version: number) =>
    calls.ask('refreshKey', create(RefreshKeyRequestSchema, { keyId: key, version, scheme: Scheme.FROST_ED25519 }), by);
  const other = (await refresh('other', 2)).response!;
  const made = (await refresh('k', 2)).response!;
  expect(Buffer.from(made.publicKey).toString('hex')).toBe(cluster.storedKey(tenant, 'k')!.publicKey);
  const more: Readonly<Record<string, Lie>> = {
    ...lies,
    'another threshold': (answer) => ({ ...answer, threshold: answer.threshold + 1 }),
  };
  for (const [name, lie] of Object.entries(more)) {
    link.lie = (response) => lie(response as MakeKeyResponse, other);
    const { failure } = await refresh('k', 2);
    expect(failure, name).toMatchObject({ kind: 'providerRejected', details: [{ issue: 'key_not_confirmed' }] });
  }
  // An answer of the version before is none of this one.
  link.lie = () => made;
  expect((await refresh('k', 3)).failure).toMatchObject({ kind: 'providerRejected' });
});

test('a coordinator with identities of its own confirms nothing', async () => {
  const { vaults, link, cluster } = world();
  link.lie = (response) => {
    const made = withKey(response as MakeKeyResponse, flipped);
    const terms = {
      ...{ tenant: meta.tenant, session: keyId, attempt: 1, rosterDigest: rosterDigest(cluster.roster) },
      ...{ curve: 'secp256k1' as const, ...shared, scheme: 'mock_ecdsa', participants: made.participants },
    };
    const { verificationShares, transcriptDigest } = made.confirmation!;
    const signatures = made.participants.map((nodeId) => {
      const { publicKey, chainCode } = made;
      const result = { nodeId, publicKey, chainCode, verificationShares, transcriptDigest };
      const { secretKey } = identityFromSeed(new Uint8Array(32).fill(nodeId));
      return sign(secretKey, finishTranscript(sessionContext(terms), result));
    });
    return confirmation(made, { signatures });
  };
  const order = { ...kinds[0]!, keyId };
  await expect(vaults.makeKey(meta, order)).rejects.toMatchObject({ kind: 'providerRejected' });
});

test.each([
  ['threshold', { threshold: 3 }],
  ['nodes', { totalNodes: 4 }],
  ['keystore type', { keystoreType: 'mpc_frost' as const }],
])('a key that nodes made with another %s than asked for is refused', async (_, change) => {
  const { vaults, link } = world();
  const order = { ...kinds[0]!, keyId };
  let first: Call | undefined;
  link.change = (call) => {
    first ??= call;
    return first;
  };
  await vaults.makeKey(meta, order);
  await expect(vaults.makeKey(meta, { ...order, ...change })).rejects.toMatchObject({
    details: [{ issue: 'key_not_confirmed' }],
  });
});

test('a key of another tenant, or of another cluster, is refused', async () => {
  const { vaults, link } = world();
  let foreign: object | undefined;
  link.lie = (response) => {
    foreign = response;
    return response;
  };
  const order = { ...kinds[0]!, keyId };
  await vaults.makeKey({ ...meta, tenant: 'tn_2' }, order);
  link.lie = () => foreign!;
  await expect(vaults.makeKey(meta, order)).rejects.toMatchObject({ kind: 'providerRejected' });

  const elsewhere = world('another cluster');
  elsewhere.link.lie = () => foreign!;
  const there = elsewhere.vaults.makeKey({ ...meta, tenant: 'tn_2' }, order);
  await expect(there).rejects.toMatchObject({ kind: 'providerRejected' });
});
