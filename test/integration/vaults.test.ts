/** Vaults on a real cluster: keys by DKG, signatures that independent libraries verify, and shares that are gone. */
import { createHash, createPublicKey, verify as nodeVerify } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { schnorr, secp256k1 } from '@noble/curves/secp256k1.js';
import { HDKey } from '@scure/bip32';
import { ClassicLevel } from 'classic-level';
import { computeAddress } from 'ethers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sandboxTenant } from '../../cli/cluster-files/sandbox.ts';
import { dkgRecordKey, keyRecordKey } from '../../nodes/records/records.ts';
import { temporaryFolder } from '../cli/support/temporary.ts';
import type { JsonReply, RestMethod } from '../support/rest.ts';
import { type SharedCluster, sharedCluster } from '../support/shared-cluster.ts';
import { until } from '../support/until.ts';

let cluster: SharedCluster;

beforeAll(async () => {
  cluster = await sharedCluster();
});
afterAll(() => cluster?.stop());

const call = (method: RestMethod, path: string, body?: object, headers = {}) =>
  cluster.rest.call<JsonReply>(method, path, body, { headers });

async function vault(keystoreType: string, curve: string, more: object = {}) {
  const made = await call('POST', '/v1/vaults', { name: 'v', keystore_type: keystoreType, curve, ...more });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  return made.body as { id: string; primary_key_id: string };
}

const keyOf = async ({ id }: { id: string }) => (await call('GET', `/v1/vaults/${id}/keys`)).body.keys[0];
const message = Buffer.from('what the settlement service agreed to');
const digest = createHash('sha256').update(message).digest();

function sign(made: { id: string; primary_key_id: string }, more: object = {}, headers = {}) {
  const body = { key_id: made.primary_key_id, message: message.toString('base64'), message_type: 'raw', ...more };
  return call('POST', `/v1/vaults/${made.id}/sign`, body, headers);
}

test('mock ECDSA signs at a derivation path, and other libraries derive the key and verify', async () => {
  const made = await vault('mock_threshold', 'secp256k1', { threshold: 2, total_nodes: 4 });
  const key = await keyOf(made);
  expect(key).toMatchObject({ key_scheme: 'mock_ecdsa', participants: [1, 2, 3, 4] });
  const child = HDKey.fromExtendedKey(key.xpub).derive('m/0/7').publicKey!;
  const { body } = await sign(made, { derivation_path: 'm/0/7' }, { 'idempotency-key': `path-${made.id}` });
  expect(body).toMatchObject({ status: 'completed', public_key: Buffer.from(child).toString('hex') });
  const signature = Buffer.from(body.signature, 'base64');
  expect(secp256k1.verify(signature, message, child)).toBe(true);
  const recovered = secp256k1.recoverPublicKey(Uint8Array.of(body.recovery_id, ...signature), message);
  expect(Buffer.from(recovered)).toEqual(Buffer.from(child));
  expect(body.receipt).toMatchObject({ reason_code: 'SIGNATURE_COMPLETED', session_id: body.signing_session_id });
  const again = await sign(made, { derivation_path: 'm/0/7' }, { 'idempotency-key': `path-${made.id}` });
  expect(again.body).toEqual(body);
});

test('a vendor’s key signs later: the session waits, completes by itself, and other libraries verify', async () => {
  const begun = encodeURIComponent(new Date(Date.now() - 1_000).toISOString());
  const onSecp = await vault('mpc_vendor', 'secp256k1');
  const onEd = await vault('mpc_vendor', 'ed25519');
  const pending = await Promise.all([onSecp, onEd].map((made) => sign(made)));
  for (const { status, body } of pending) {
    expect([status, body.status, body.signature]).toEqual([200, 'accepted', null]);
    expect(body.receipt).toMatchObject({ reason_code: 'VENDOR_ORDER_OPEN', state: 'RECEIPT_STATE_ACCEPTED' });
  }
  const sessions = pending.map(({ body }) => body.signing_session_id as string);
  const completed = async () => {
    const page = await call('GET', `/v1/events?limit=100&type=signing.session.completed&created_after=${begun}`);
    const ids = page.body.events.map((event: { resource: { id: string } }) => event.resource.id);
    return sessions.every((id) => ids.includes(id));
  };
  // No call: the vendor's callback completes them.
  await until(completed, 'the sessions’ completion');
  const [one, two] = await Promise.all(
    sessions.map((id) => call('POST', '/v1/signing/share', { signing_session_id: id })),
  );
  const signatureOf = ({ body }: { body: { full_signature: string } }) => Buffer.from(body.full_signature, 'base64');
  const point = Buffer.from((await keyOf(onSecp)).public_key, 'hex');
  expect(secp256k1.verify(signatureOf(one!), message, point)).toBe(true);
  const recovery = Buffer.from(one!.body.recovery_id, 'base64');
  const recovered = secp256k1.recoverPublicKey(Buffer.concat([recovery, signatureOf(one!)]), message);
  expect(Buffer.from(recovered)).toEqual(point);
  const publicKey = createPublicKey({ format: 'jwk', key: (await keyOf(onEd)).jwk });
  expect(nodeVerify(null, message, publicKey, signatureOf(two!))).toBe(true);
  expect(one!.body.receipt.backend_route).toBe('m0/mpc-vendor/secp256k1');
});

test('FROST signs BIP-340 and Ed25519, which noble and Node verify', async () => {
  const bip340 = await vault('mpc_frost', 'secp256k1');
  const signed = (await sign(bip340)).body;
  const xOnly = Buffer.from(signed.public_key, 'hex').subarray(1);
  expect(schnorr.verify(Buffer.from(signed.signature, 'base64'), digest, xOnly)).toBe(true);
  expect(signed.receipt.keystore_type).toBe('KEYSTORE_TYPE_MPC_FROST');

  const ed25519 = await vault('mpc_frost', 'ed25519');
  const { jwk } = await keyOf(ed25519);
  const { signature } = (await sign(ed25519)).body;
  const publicKey = createPublicKey({ format: 'jwk', key: jwk });
  expect(nodeVerify(null, message, publicKey, Buffer.from(signature, 'base64'))).toBe(true);
});

test('a multisig wallet lists its owners, who sign in the order of their addresses', async () => {
  const made = await vault('multisig_evm_wallet', 'secp256k1', { threshold: 2, total_nodes: 3 });
  const { owners, public_key, jwk, xpub } = await keyOf(made);
  expect({ public_key, jwk, xpub, count: owners.length }).toEqual({
    public_key: null,
    jwk: null,
    xpub: null,
    count: 3,
  });
  const safeTxHash = Buffer.alloc(32, 0x5a);
  const { body } = await sign(made, { message: safeTxHash.toString('base64'), message_type: 'digest' });
  expect(body.status, JSON.stringify(body)).toBe('completed');
  const signature = Buffer.from(body.signature, 'base64');
  expect(signature.length).toBe(2 * 65);
  const signers = [0, 65].map((at) => {
    const [rs, v] = [signature.subarray(at, at + 64), signature[at + 64]!];
    return computeAddress(
      `0x${Buffer.from(secp256k1.recoverPublicKey(Uint8Array.of(v - 27, ...rs), safeTxHash, { prehash: false })).toString('hex')}`,
    );
  });
  expect(owners.map(({ address }: { address: string }) => address)).toEqual(expect.arrayContaining(signers));
  expect(signers.map((each) => each.toLowerCase())).toEqual(signers.map((each) => each.toLowerCase()).sort());
});

test('a vault is bound to its nodes: too many of them, or another type of key, is what the cluster says', async () => {
  const body = { name: 'v', keystore_type: 'mpc_frost', curve: 'secp256k1' };
  const large = await call('POST', '/v1/vaults', { ...body, total_nodes: 99 });
  expect([large.status, large.body.error.details[0].issue]).toEqual([422, 'invalid_threshold']);
  const token = await call('POST', '/v1/vaults', { name: 'v', keystore_type: 'hsm_pkcs11', curve: 'secp256k1' });
  expect([token.status, token.body.error.message]).toEqual([503, expect.stringContaining('KEYSTORE_UNAVAILABLE')]);
});

test('a message that a human must approve is signed after a resume with a witness', async () => {
  const made = await vault('mpc_frost', 'secp256k1', { approval_mode: 'human_required' });
  const waiting = (await sign(made)).body;
  expect(waiting).toMatchObject({ status: 'pending_human_approval', signature: null });
  const { resume_token } = waiting.checkpoint;
  const session_id = waiting.signing_session_id;
  const refused = await call('POST', '/v1/signing/share', { signing_session_id: session_id });
  expect(refused.body.is_complete).toBe(false);
  const human_approval_witness = Buffer.from('an approver').toString('base64');
  const resumed = await call('POST', '/v1/sessions/resume', { session_id, resume_token, human_approval_witness });
  expect(resumed.body.receipt.reason_code).toBe('SESSION_RESUMED');
  const { body } = await call('POST', '/v1/signing/share', { signing_session_id: session_id });
  const xOnly = Buffer.from(waiting.public_key, 'hex').subarray(1);
  expect(schnorr.verify(Buffer.from(body.full_signature, 'base64'), digest, xOnly)).toBe(true);
});

test('the signing API neither signs with a vault’s key nor makes one', async () => {
  const made = await vault('mpc_frost', 'secp256k1');
  const asked = { transaction_intent_id: `around-${made.id}`, wallet_id: made.primary_key_id };
  const hash = { message_hash: digest.toString('base64'), keystore_type: 'KEYSTORE_TYPE_MPC_FROST' };
  const denied = await call('POST', '/v1/signing/initiate', { ...asked, ...hash });
  expect(denied.body.receipt).toMatchObject({ state: 'RECEIPT_STATE_DENIED', reason_code: 'VAULT_KEY' });
  for (const id of ['vky_mine', made.primary_key_id]) {
    const begun = await call('POST', '/v1/dkg/initiate', { session_id: id });
    expect(begun.body.receipt).toMatchObject({ reason_code: 'INVALID_REQUEST' });
  }
});

/** What the node's store has under a record's key, as it lies in the files; from a copy, since the node has it open. */
async function sealed(nodeId: number, key: string): Promise<Buffer | undefined> {
  const copy = copyOf(join(cluster.dataDir, `node-${nodeId}`, 'store'));
  const level = new ClassicLevel<string, Uint8Array>(copy, { valueEncoding: 'view', createIfMissing: false });
  await level.open();
  const value = await level.get(key);
  await level.close();
  rmSync(copy, { recursive: true });
  return value && Buffer.from(value);
}

/**
 * Made at a moment at which the node, still writing, has added and removed no file, nor said so in its manifest: a copy
 * whose manifest names a file that was not there yet cannot be opened.
 */
function copyOf(store: string): string {
  for (;;) {
    const copy = join(temporaryFolder(), 'store');
    try {
      const before = layoutOf(store);
      cpSync(store, copy, { recursive: true });
      if (layoutOf(store) === before) return copy;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
}

function layoutOf(store: string): string {
  const names = readdirSync(store).sort();
  const manifests = names.filter((name) => name.startsWith('MANIFEST'));
  return [...names, ...manifests.map((name) => statSync(join(store, name)).size)].join();
}

/** Read at a moment at which the node, still writing, has added and removed none. */
function filesOf(folder: string): readonly Buffer[] {
  for (;;) {
    const names = readdirSync(folder).sort();
    const files = names.flatMap((name) => readIfThere(join(folder, name)) ?? []);
    if (readdirSync(folder).sort().join() === names.join()) return files;
  }
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** How many pieces of these bytes stand in the store's files. A log breaks a value at its blocks, so it is cut small. */
function piecesInFiles(nodeId: number, bytes: Buffer): number {
  const folder = join(cluster.dataDir, `node-${nodeId}`, 'store');
  const files = filesOf(folder);
  const pieces = Array.from({ length: Math.floor(bytes.length / 32) }, (_, index) =>
    bytes.subarray(32 * index, 32 * (index + 1)),
  );
  return pieces.filter((piece) => files.some((file) => file.includes(piece))).length;
}

test('archiving leaves no byte of the shares in the files of any node', async () => {
  const made = await vault('mpc_frost', 'ed25519');
  expect((await sign(made)).body.status).toBe('completed');
  const records = [keyRecordKey, dkgRecordKey].map((name) => name(sandboxTenant, made.primary_key_id));
  const before = await Promise.all(
    [1, 2, 3, 4, 5].flatMap((nodeId) =>
      records.map(async (key) => ({ nodeId, key, bytes: await sealed(nodeId, key) })),
    ),
  );
  for (const { nodeId, bytes } of before) expect(piecesInFiles(nodeId, bytes!)).toBeGreaterThan(3);
  expect((await call('POST', `/v1/vaults/${made.id}/archive`)).status).toBe(200);
  await until(async () => (await keyOf(made)).status === 'deleted', 'every node has deleted its share');
  for (const { nodeId, key, bytes } of before) {
    expect(await sealed(nodeId, key)).toBeUndefined();
    expect(piecesInFiles(nodeId, bytes!)).toBe(0);
  }
  expect((await sign(made)).status).toBe(409);
});
