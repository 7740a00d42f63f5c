/**
 * The conformance suite of the keystores: what a client may rely on, whatever the type of the key. Each type says what is its
 * own (docs/keystores.md): its curve, how long a partial is, what verifies the signature.
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { describe, expect, test } from 'vitest';
import { evmAddressOf } from '../../core/crypto/evm-address.ts';
import { verifyReleased } from '../../core/crypto/frost/released.ts';
import { hsmSignature } from '../../core/crypto/hsm.ts';
import { hsmLabel } from '../../nodes/records/hsm-port.ts';
import { decodeKeyRecord } from '../../nodes/records/key-record.ts';
import { ApprovalMode, KeystoreType, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { type KeyScheme, wireScheme } from '../../proto/key-schemes.ts';
import type { WireBody } from '../../proto/wire.ts';
import { SimCluster, type SimOptions } from '../../simulation/cluster/cluster.ts';
import { begin, blamed, codeOf, digest, tenant, tokenOf, witness } from './support/world.ts';

const { UNSPECIFIED, MOCK_THRESHOLD, MPC_FROST, MULTISIG_EVM_WALLET, HSM_PKCS11, MPC_VENDOR } = KeystoreType;
const keyId = 'wal_k';
const service = { walletService: true };
const threshold = 2;

interface Keystore {
  readonly name: string;
  readonly scheme: KeyScheme;
  readonly type: KeystoreType;
  readonly curve: 'secp256k1' | 'ed25519';
  readonly route: string;
  readonly partialBytes: number;
  readonly sharesNonce: boolean;
  /** One node has the key, and no other can take its place. */
  readonly isSingle?: boolean;
  /** By a library that did not make it. */
  readonly verifies: (cluster: SimCluster, message: Uint8Array, signature: Uint8Array) => boolean;
}

const groupKey = (cluster: SimCluster) => Buffer.from(cluster.storedKey(tenant, keyId)!.publicKey, 'hex');
const released =
  (kind: 'ecdsa' | 'bip340' | 'ed25519') => (cluster: SimCluster, message: Uint8Array, signed: Uint8Array) =>
    verifyReleased(kind, groupKey(cluster), message, signed);

/** The owners' addresses in the order of the signatures; what recovers to no owner is absent. */
function signersOf(cluster: SimCluster, message: Uint8Array, signature: Uint8Array): string[] {
  const owners = cluster.storedKey(tenant, keyId)!.verificationShares;
  return Array.from({ length: signature.length / 65 }, (_, index) => {
    const one = signature.subarray(index * 65, index * 65 + 65);
    const recovered = secp256k1.Signature.fromBytes(one.subarray(0, 64), 'compact')
      .addRecoveryBit(one[64]! - 27)
      .recoverPublicKey(message);
    return owners.includes(recovered.toHex(true))
      ? Buffer.from(evmAddressOf(recovered.toBytes(true))).toString('hex')
      : '';
  });
}

const keystores: readonly Keystore[] = [
  {
    name: 'MOCK_THRESHOLD',
    scheme: 'mock_ecdsa',
    type: MOCK_THRESHOLD,
    curve: 'secp256k1',
    route: 'm0/mock-ecdsa-secp256k1',
    partialBytes: 32,
    sharesNonce: true,
    verifies: released('ecdsa'),
  },
  {
    name: 'MPC_FROST on secp256k1',
    scheme: 'frost_bip340',
    type: MPC_FROST,
    curve: 'secp256k1',
    route: 'm0/frost-bip340',
    partialBytes: 32,
    sharesNonce: true,
    verifies: released('bip340'),
  },
  {
    name: 'MPC_FROST on ed25519',
    scheme: 'frost_ed25519',
    type: MPC_FROST,
    curve: 'ed25519',
    route: 'm0/frost-ed25519',
    partialBytes: 32,
    sharesNonce: true,
    verifies: released('ed25519'),
  },
  {
    name: 'MULTISIG_EVM_WALLET',
    scheme: 'owner_ecdsa',
    type: MULTISIG_EVM_WALLET,
    curve: 'secp256k1',
    route: 'm0/multisig-evm',
    partialBytes: 65,
    sharesNonce: false,
    verifies: (cluster, message, signature) => {
      const signers = signersOf(cluster, message, signature);
      return (
        signers.length === threshold && !signers.includes('') && signers.every((one, i) => one > (signers[i - 1] ?? ''))
      );
    },
  },
  ...(
    [
      [HSM_PKCS11, 'hsm', 'hsm-pkcs11', 'secp256k1'],
      [HSM_PKCS11, 'hsm', 'hsm-pkcs11', 'ed25519'],
      [MPC_VENDOR, 'vendor', 'mpc-vendor', 'secp256k1'],
      [MPC_VENDOR, 'vendor', 'mpc-vendor', 'ed25519'],
    ] as const
  ).map(([type, holder, route, curve]) => {
    const isEcdsa = curve === 'secp256k1';
    return {
      name: `${KeystoreType[type]} on ${curve}`,
      scheme: `${holder}_${isEcdsa ? 'ecdsa' : 'ed25519'}` as const,
      type,
      curve,
      route: `m0/${route}/${curve}`,
      partialBytes: isEcdsa ? 65 : 64,
      sharesNonce: false,
      isSingle: true,
      verifies: (cluster, message, signature) => {
        const own = Buffer.from(cluster.storedKey(tenant, keyId)!.verificationShares[0]!, 'hex');
        return verifyReleased(isEcdsa ? 'ecdsa' : 'ed25519', own, message, signature);
      },
    } satisfies Keystore;
  }),
];

function world({ scheme, curve, isSingle }: Keystore, options: Partial<SimOptions> = {}): SimCluster {
  const { config, ...rest } = options;
  const cluster = new SimCluster({
    seed: `keystores ${scheme}`,
    nodes: 3,
    config: { sandbox: true, ...config },
    ...rest,
  });
  const sharing = isSingle ? {} : { threshold, totalNodes: 3 };
  const request = { sessionId: keyId, ...sharing, derivation: { curve } };
  const made = cluster.makeKey(request, tenant, { ...service, keyScheme: wireScheme(scheme) }).result();
  expect(codeOf(made)).toBe('DKG_COMPLETED');
  return cluster;
}

const start = (cluster: SimCluster, intent: string, more: Parameters<SimCluster['initiateSigning']>[0] = {}) =>
  begin(cluster, intent, { walletId: keyId, ...more }).signingSessionId;

const submit = (cluster: SimCluster, signingSessionId: string, more: object = {}) =>
  cluster.submitSignatureShare({ signingSessionId, ...more }).result();

/** What a node would give in this session. Its answer is not let through. */
function partialOf(cluster: SimCluster, session: string, nodeId: number, { type, curve }: Keystore): Uint8Array {
  if (type === MPC_VENDOR) {
    const { book } = cluster.vendor;
    const message = Buffer.from(digest).toString('hex');
    const order = { externalId: 'by hand', key: hsmLabel(tenant, keyId), message, callback: '1/none/none' };
    book.place(order, cluster.time.nowMs());
    book.advance(cluster.time.nowMs() + 1);
    const signature = Buffer.from(book.orders.find(({ externalId }) => externalId === 'by hand')!.signature, 'hex');
    return hsmSignature(curve, signature, digest, groupKey(cluster))!;
  }
  const preview = cluster.previewPartial({ sessionId: session, nodeId }).result();
  return preview.partial;
}

describe.each(keystores)('$name', (keystore) => {
  test('the nodes hold the key bound to its scheme, and the whole signature verifies by another library', () => {
    const cluster = world(keystore);
    const ids = keystore.isSingle ? [1] : [1, 2, 3];
    const schemes = ids.map((id) => decodeKeyRecord(cluster.nodeStore(id).loadNow(`key/${tenant}/${keyId}`)!).scheme);
    expect(schemes).toEqual(ids.map(() => keystore.scheme));
    const done = submit(cluster, start(cluster, 't'));
    expect([codeOf(done), done.isComplete]).toEqual(['SIGNATURE_COMPLETED', true]);
    expect(keystore.verifies(cluster, digest, done.fullSignature)).toBe(true);
    expect([done.receipt!.keystoreType, done.receipt!.backendRoute]).toEqual([
      keystore.scheme === 'frost_ed25519' ? MOCK_THRESHOLD : keystore.type,
      keystore.route,
    ]);
    expect(submit(cluster, done.signingSessionId).fullSignature).toEqual(done.fullSignature);
  });

  test('UNSPECIFIED and its own type sign, every other type is KEYSTORE_MISMATCH and opens nothing', () => {
    const cluster = world(keystore);
    const types = [UNSPECIFIED, MOCK_THRESHOLD, MPC_FROST, MULTISIG_EVM_WALLET, HSM_PKCS11, MPC_VENDOR];
    const own =
      keystore.scheme === 'frost_ed25519' ? [UNSPECIFIED, MOCK_THRESHOLD, MPC_FROST] : [UNSPECIFIED, keystore.type];
    for (const keystoreType of types) {
      const request = { transactionIntentId: `t${keystoreType}`, walletId: keyId, messageHash: digest, keystoreType };
      const answered = cluster.initiateSigning(request).result();
      const expected = own.includes(keystoreType) ? 'SESSION_ACCEPTED' : 'KEYSTORE_MISMATCH';
      expect([keystoreType, codeOf(answered)]).toEqual([keystoreType, expected]);
      if (expected === 'SESSION_ACCEPTED') expect(submit(cluster, answered.signingSessionId).isComplete).toBe(true);
      else expect(answered.signingSessionId).toBe('');
    }
  });

  test('stepping: a node at a time, a partial given in a node’s place, each counted once', () => {
    const cluster = world(keystore);
    const session = start(cluster, 't');
    const partial = partialOf(cluster, session, 1, keystore);
    expect(partial).toHaveLength(keystore.partialBytes);
    const given = submit(cluster, session, { nodeId: 1, partialSignature: partial });
    expect(codeOf(given)).toBe(keystore.isSingle ? 'SIGNATURE_COMPLETED' : 'SHARE_ACCEPTED');
    expect(codeOf(submit(cluster, session, { nodeId: 1, partialSignature: partial }))).toBe('DUPLICATE_SHARE');
    const rest = submit(cluster, session);
    expect(rest.isComplete).toBe(true);
    expect(keystore.verifies(cluster, digest, rest.fullSignature)).toBe(true);
    expect(blamed(cluster)).toEqual([]);
  });

  test('a wrong partial of a caller is refused and blames the call; the session is unchanged', () => {
    const cluster = world(keystore);
    const session = start(cluster, 't');
    const wrong = partialOf(cluster, session, 1, keystore).slice();
    wrong[5]! ^= 1;
    const answered = submit(cluster, session, { nodeId: 1, partialSignature: wrong });
    expect([codeOf(answered), answered.receipt!.epoch]).toEqual(['INVALID_PARTIAL_SIGNATURE', 1n]);
    const short = submit(cluster, session, { nodeId: 1, partialSignature: wrong.subarray(1) });
    expect(codeOf(short)).toBe('INVALID_REQUEST');
    expect(submit(cluster, session).isComplete).toBe(true);
    expect(blamed(cluster)).toEqual([]);
  });

  test.skipIf(keystore.isSingle)(
    'a node whose own partial is wrong is named and excluded, and the others complete',
    () => {
      let lies = false;
      const cluster = world(keystore, {
        onFrame: (envelope) => {
          const { body } = envelope.message;
          if (!lies || envelope.from !== 'node/2' || body.case !== 'partialReply') return true;
          const { value } = body as Extract<WireBody, { case: 'partialReply' }>;
          if (value.outcome.case !== 'partial') return true;
          const partial = value.outcome.value.slice();
          partial[7]! ^= 1;
          const outcome = { case: 'partial' as const, value: partial };
          return {
            ...envelope,
            message: { ...envelope.message, body: { case: 'partialReply', value: { ...value, outcome } } },
          };
        },
      });
      lies = true;
      const session = start(cluster, 't');
      const told = submit(cluster, session, { nodeId: 2 });
      expect(codeOf(told)).toBe('INVALID_PARTIAL_SIGNATURE');
      expect(codeOf(submit(cluster, session, { nodeId: 2 }))).toBe('NODE_NOT_PARTICIPANT');
      const done = submit(cluster, session);
      expect(blamed(cluster)).toEqual([2]);
      expect(keystore.verifies(cluster, digest, done.fullSignature)).toBe(true);
    },
  );

  test('ephemeral_public_key is the attempt’s R, or nothing where signers share none', () => {
    const cluster = world(keystore);
    const session = start(cluster, 't');
    const { noncePoint } = cluster.previewPartial({ sessionId: session, nodeId: 1 }).result();
    expect(noncePoint.length > 0).toBe(keystore.sharesNonce);
    const ephemeralPublicKey = keystore.sharesNonce ? noncePoint : new Uint8Array(33).fill(2);
    const answered = submit(cluster, session, { ephemeralPublicKey });
    expect(codeOf(answered)).toBe(keystore.sharesNonce ? 'SIGNATURE_COMPLETED' : 'INVALID_REQUEST');
  });

  test('without a quorum the session pauses, and a resume completes it', () => {
    const cluster = world(keystore, { config: { nodesWaitMs: 500, partialTimeoutMs: 200 } });
    const session = start(cluster, 't');
    for (const id of [1, 2]) cluster.crash(`node/${id}`);
    const failed = submit(cluster, session);
    expect([codeOf(failed), failed.receipt!.state]).toEqual(['QUORUM_UNAVAILABLE', ReceiptState.BACKEND_FAILED]);
    for (const id of [1, 2]) cluster.start(`node/${id}`);
    cluster.resumeSession({ sessionId: session, resumeToken: tokenOf(failed) }).result();
    expect(keystore.verifies(cluster, digest, submit(cluster, session).fullSignature)).toBe(true);
  });

  test('a session that needs a human waits for the witness, and the nodes want it too', () => {
    const cluster = world(keystore);
    const request = { transactionIntentId: 't', walletId: keyId, messageHash: digest };
    const paused = cluster.initiateSigning({ ...request, approvalMode: ApprovalMode.HUMAN_REQUIRED }).result();
    expect(paused.state).toBe(ReceiptState.PENDING_HUMAN_APPROVAL);
    const { signingSessionId: sessionId } = paused;
    cluster.resumeSession({ sessionId, resumeToken: tokenOf(paused), humanApprovalWitness: witness }).result();
    expect(submit(cluster, sessionId).isComplete).toBe(true);
  });

  test.skipIf(keystore.isSingle)(
    'the coordinator dies between two partials: the next one continues from the record',
    () => {
      const cluster = world(keystore);
      const session = start(cluster, 't');
      expect(codeOf(submit(cluster, session, { nodeId: 3 }))).toBe('SHARE_ACCEPTED');
      cluster.crash('coordinator');
      cluster.start('coordinator');
      const done = submit(cluster, session);
      expect(keystore.verifies(cluster, digest, done.fullSignature)).toBe(true);
    },
  );

  test('nothing is signed that no gateway ordered, and an intent gets one message', () => {
    const cluster = world(keystore);
    const request = { transactionIntentId: 't', walletId: keyId, messageHash: digest };
    const unordered = cluster.initiateSigning(request, tenant, { orders: () => ({}) }).result();
    expect(codeOf(submit(cluster, unordered.signingSessionId))).toBe('ORDER_REFUSED');
    expect(cluster.sign({ ...request, transactionIntentId: 'u' }, tenant, service).result().signature).not.toHaveLength(
      0,
    );
  });
});
