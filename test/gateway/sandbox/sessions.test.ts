/** The sandbox's sessions on a whole simulated cluster: a caller plays nodes through the two APIs, as its users do. */

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemTimers } from '../../../core/actors/live/ports.ts';
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import type { SandboxDeps } from '../../../gateway/sandbox/deps.ts';
import { sandboxRoutes } from '../../../gateway/sandbox/routes.ts';
import { sandboxSessions } from '../../../gateway/sandbox/sessions.ts';
import { StreamPlaces } from '../../../gateway/sandbox/stream-places.ts';
import { keySchemes, schemeFacts, wireScheme } from '../../../proto/key-schemes.ts';
import { SimCluster } from '../../../simulation/cluster/cluster.ts';
import type { TenantStore } from '../../../wallets/store/contract.ts';
import { root } from '../../cli/support/up-process.ts';
import { FakeControl } from '../../support/fake-control.ts';
import { type RestApp, restApp } from '../../support/rest-app.ts';
import { SimLink } from '../signing/sim-link.ts';

/** The one of the page. */
const token = 'svc_sk_test_sandboxTokenForEveryoneToUse001PqAfG';
const headers = { authorization: `Bearer ${token}` };
const tenant = 'tn_player';
let cluster: SimCluster;
let gateway: RestApp;

beforeEach(async () => {
  cluster = new SimCluster({ seed: 'sandbox sessions', nodes: 3 });
  gateway = await restApp({
    link: new SimLink(cluster),
    roster: cluster.roster,
    // These routes write nothing.
    store: {} as TenantStore,
    routes: (room) =>
      sandboxRoutes({
        ...{ version: '0.0.0-test', control: new FakeControl(), sessions: sandboxSessions(room), timers: systemTimers },
        places: new StreamPlaces(),
        chains: {} as SandboxDeps['chains'],
        routes: () => [],
        webhooks: {} as SandboxDeps['webhooks'],
        ownerOf: async () => new ServiceError('notFound', 'no such token'),
      }),
  });
  gateway.tokens.put(token, { tenant });
});
afterEach(() => gateway.stop());

// biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came back
async function call(method: 'GET' | 'POST', url: string, payload?: object): Promise<{ status: number; body: any }> {
  const answer = await gateway.http.inject({ method, url, headers, ...(payload && { payload }) });
  return { status: answer.statusCode, body: answer.json() };
}

async function begin(curve: string): Promise<string> {
  const derivation = { curve };
  await call('POST', '/v1/dkg/initiate', { session_id: 'k', threshold: 2, total_nodes: 3, derivation });
  const made = await call('POST', '/v1/dkg/shares', { session_id: 'k' });
  expect(made.body.verified).toBe(true);
  const message_hash = Buffer.alloc(32, 7).toString('base64');
  const intent = { transaction_intent_id: 'intent', wallet_id: 'k', message_hash };
  const begun = await call('POST', '/v1/signing/initiate', intent);
  expect(begun.body.receipt.reason_code).toBe('SESSION_ACCEPTED');
  return begun.body.signing_session_id;
}

const preview = (id: string, node: number) => call('POST', `/v1/sandbox/sessions/${id}/nodes/${node}/partial`);

// A vendor's signature has no preview (docs/keystores.md).
it.each(keySchemes.filter((scheme) => schemeFacts(scheme).ownKeys !== 'vendor'))(
  'shows a key and a signature under %s',
  async (scheme) => {
    const { curve, ownKeys } = schemeFacts(scheme);
    const nodes = ownKeys === 'hsm' ? { threshold: 1, totalNodes: 1 } : { threshold: 2, totalNodes: 3 };
    const by = { walletService: true, keyScheme: wireScheme(scheme) };
    cluster.makeKey({ sessionId: 'vky_1', ...nodes, derivation: { curve } }, tenant, by).result();
    expect(await call('GET', '/v1/sandbox/sessions/vky_1')).toMatchObject({
      status: 200,
      body: { key_scheme: scheme },
    });
    const asked = { walletId: 'vky_1', transactionIntentId: 'intent', messageHash: Buffer.alloc(32, 7) };
    const begun = cluster.initiateSigning(asked, tenant, { walletService: true }).result();
    const id = begun.signingSessionId;
    const seen = await call('GET', `/v1/sandbox/sessions/${id}`);
    expect(seen).toMatchObject({ status: 200, body: { key_scheme: scheme, key_session: 'vky_1' } });
    expect(await preview(id, 1)).toMatchObject({ status: 200 });
  },
);

describe.each(['secp256k1', 'ed25519'])('a session on %s', (curve) => {
  it('is played by a caller: a byte is changed, the right ones count, one is replayed, the rest is signed', async () => {
    const id = await begin(curve);
    // The second look may begin the attempt in which both nodes are.
    await preview(id, 1);
    const two = (await preview(id, 2)).body;
    const one = (await preview(id, 1)).body;
    expect(one.attempt).toBe(two.attempt);
    const submit = async (node_id: number, partial: Buffer) => {
      const body = { signing_session_id: id, node_id, partial_signature: partial.toString('base64') };
      const answer = await call('POST', '/v1/signing/share', { ...body, ephemeral_public_key: one.nonce_point });
      return [answer.body.receipt.reason_code, answer.body.is_complete];
    };
    const right = Buffer.from(one.partial, 'base64');
    const wrong = Buffer.from(right);
    wrong[31]! ^= 1;
    expect(await submit(1, wrong)).toEqual(['INVALID_PARTIAL_SIGNATURE', false]);
    expect(await submit(1, right)).toEqual(['SHARE_ACCEPTED', false]);
    expect(await submit(1, right)).toEqual(['DUPLICATE_SHARE', false]);
    const seen = await call('GET', `/v1/sandbox/sessions/${id}`);
    expect(seen.body).toMatchObject({ submitted: [1], given: [1], culprits: [], epoch: 2, threshold: 2, curve });
    expect(await submit(2, Buffer.from(two.partial, 'base64'))).toEqual(['SIGNATURE_COMPLETED', true]);
    expect((await call('GET', `/v1/sandbox/sessions/${id}`)).body).toMatchObject({
      state: 'RECEIPT_STATE_BACKEND_COMPLETED',
      reason_code: 'SIGNATURE_COMPLETED',
      submitted: [1, 2],
    });
    expect(await preview(id, 3)).toMatchObject({
      status: 409,
      body: { error: { code: 'conflict', details: [{ issue: 'signature_completed' }] } },
    });
  });
});

describe('what is not there', () => {
  it('is said with its reason', async () => {
    const id = await begin('secp256k1');
    expect((await preview(id, 4)).body.error.details).toMatchObject([{ issue: 'node_not_participant' }]);
    cluster.crash('node/3');
    expect((await preview(id, 3)).body.error).toMatchObject({ details: [{ issue: 'nodes_unavailable' }] });
    expect((await preview('sig_unknown', 1)).status).toBe(404);
    expect((await call('GET', '/v1/sandbox/sessions/nothing')).status).toBe(404);
  });

  it('is a key’s public key until it is made', async () => {
    await call('POST', '/v1/dkg/initiate', { session_id: 'k', threshold: 2, total_nodes: 3 });
    expect((await call('GET', '/v1/sandbox/sessions/k')).body).toMatchObject({ kind: 'dkg', public_key: null });
    const made = await call('POST', '/v1/dkg/shares', { session_id: 'k' });
    const { body } = await call('GET', '/v1/sandbox/sessions/k');
    expect(made.body.receipt.message).toContain(body.public_key);
    expect(body.verified_pairs).toHaveLength(9);
    expect(body.key_session).toBe(null);
  });
});

describe('docs/sandbox-api.md', () => {
  it('has commands that do what it says', async () => {
    const page = readFileSync(join(root, 'docs/sandbox-api.md'), 'utf8');
    const blocks = [...page.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block]) => block!);
    expect(blocks.length).toBeGreaterThan(4);
    const SESSION = await begin('secp256k1');
    const url = await gateway.http.listen({ host: '127.0.0.1', port: 0 });
    // The status of each answer goes to the other stream.
    const curl = `curl() { command curl --no-progress-meter -w '%{stderr}%{http_code}\\n' "$@"; }\n`;
    const script = curl + blocks.join('\n').replace('http://127.0.0.1:8080', url);
    const env = { ...process.env, SESSION };
    const { stdout, stderr } = await promisify(execFile)('bash', ['--norc', '-eu', '-c', script], { env });
    const statuses = stderr.trim().split('\n');
    const commands = [...script.matchAll(/\bcurl -s/g)];
    expect(statuses).toEqual(commands.map(() => expect.stringMatching(/^2\d\d$/)));
    expect(stdout).toContain('"reason_code":"SHARE_ACCEPTED"');
  });
});

describe('a key that nodes do not share', () => {
  it.each([
    ['MULTISIG_EVM_WALLET', 'secp256k1', 'owner_ecdsa', { threshold: 2, total_nodes: 3 }],
    ['HSM_PKCS11', 'ed25519', 'hsm_ed25519', {}],
    ['MPC_VENDOR', 'secp256k1', 'vendor_ecdsa', {}],
  ])('of %s on %s is begun here, and signs for its client', async (keystore_type, curve, scheme, sharing) => {
    const begun = await call('POST', '/v1/sandbox/keys', { session_id: 'own', keystore_type, curve, ...sharing });
    expect(begun).toMatchObject({ status: 200, body: { session_id: 'own', reason_code: 'SESSION_ACCEPTED' } });
    expect((await call('POST', '/v1/dkg/shares', { session_id: 'own' })).body.verified).toBe(true);
    expect((await call('GET', '/v1/sandbox/sessions/own')).body.key_scheme).toBe(scheme);
    const message_hash = Buffer.alloc(32, 7).toString('base64');
    const intent = { transaction_intent_id: 'intent', wallet_id: 'own', message_hash };
    const { signing_session_id } = (await call('POST', '/v1/signing/initiate', intent)).body;
    const signed = await call('POST', '/v1/signing/share', { signing_session_id });
    expect(signed.body.receipt.reason_code).toBe('SIGNATURE_COMPLETED');
  });

  it.each([
    [
      { session_id: 'own', keystore_type: 'MULTISIG_EVM_WALLET', curve: 'ed25519', threshold: 2, total_nodes: 3 },
      'UNSUPPORTED_CURVE',
    ],
    [{ session_id: 'own', keystore_type: 'MPC_VENDOR', threshold: 2, total_nodes: 3 }, 'INVALID_THRESHOLD'],
    [{ session_id: 'vky_1', keystore_type: 'MPC_VENDOR' }, 'INVALID_REQUEST'],
    [{ session_id: 'wal_1', keystore_type: 'HSM_PKCS11' }, 'INVALID_REQUEST'],
  ])('is refused as InitiateDkg is: %j', async (body, reason_code) => {
    const begun = await call('POST', '/v1/sandbox/keys', body);
    expect(begun).toMatchObject({ status: 200, body: { state: 'RECEIPT_STATE_DENIED', reason_code } });
  });

  it('of a type that nodes share is no business of this route', async () => {
    const shared = { session_id: 'own', keystore_type: 'MPC_FROST' };
    expect((await call('POST', '/v1/sandbox/keys', shared)).status).toBe(400);
  });
});

describe('new shares of a key', () => {
  const refresh = (id: string, version: number) => call('POST', `/v1/sandbox/keys/${id}/refresh`, { version });
  const versionOf = async (id: string) => (await call('GET', `/v1/sandbox/sessions/${id}`)).body.key_version;

  it.each(['secp256k1', 'ed25519'])('on %s are made under the same public key, and sign', async (curve) => {
    const signing_session_id = await begin(curve);
    const { public_key } = (await call('GET', '/v1/sandbox/sessions/k')).body;
    const made = { key_id: 'k', version: 2, state: 'RECEIPT_STATE_BACKEND_COMPLETED', public_key, culprits: [] };
    for (let count = 0; count < 2; count += 1) expect(await refresh('k', 2)).toMatchObject({ status: 200, body: made });
    expect(await versionOf('k')).toBe(2);
    const signed = await call('POST', '/v1/signing/share', { signing_session_id });
    expect(signed.body.receipt.reason_code).toBe('SIGNATURE_COMPLETED');
    expect((await refresh('k', 4)).body).toMatchObject({ reason_code: 'INVALID_REQUEST', public_key: null });
  });

  it('are listed, newest first, also while they are made', async () => {
    await begin('ed25519');
    const list = async () => (await call('GET', '/v1/sandbox/keys/k/versions')).body.versions;
    const first = { version: 1, session_id: 'k', participants: [1, 2, 3], threshold: 2 };
    expect(await list()).toMatchObject([{ ...first, status: 'committed' }]);
    cluster.crash('node/3');
    expect((await refresh('k', 2)).body.reason_code).toBe('NODES_UNAVAILABLE');
    const second = { version: 2, participants: [1, 2, 3], threshold: 2 };
    expect(await list()).toMatchObject([
      { ...second, status: 'preparing', state: 'RECEIPT_STATE_BACKEND_FAILED' },
      { ...first, status: 'committed' },
    ]);
    cluster.start('node/3');
    expect((await refresh('k', 2)).body.reason_code).toBe('DKG_COMPLETED');
    expect(await list()).toMatchObject([
      { ...second, status: 'committed' },
      { ...first, status: 'retired' },
    ]);
    const [{ session_id }] = await list();
    for (const id of ['none', session_id])
      expect((await call('GET', `/v1/sandbox/keys/${id}/versions`)).status).toBe(404);
  });

  it('are refused with the reason for a key that nodes do not share, that has not signed, or is not the client’s', async () => {
    const issue = async (id: string) => {
      const { status, body } = await refresh(id, 2);
      return [status, body.error.details[0].field, body.error.details[0].message];
    };
    await call('POST', '/v1/sandbox/keys', { session_id: 'own', keystore_type: 'MPC_VENDOR' });
    await call('POST', '/v1/dkg/shares', { session_id: 'own' });
    expect(await issue('own')).toEqual([422, 'id', 'the nodes of a key of vendor_ecdsa hold no shares of it']);
    await call('POST', '/v1/dkg/initiate', { session_id: 'new', threshold: 2, total_nodes: 3 });
    await call('POST', '/v1/dkg/shares', { session_id: 'new' });
    expect(await issue('new')).toEqual([422, 'id', expect.stringContaining('sign with it once')]);
    cluster.makeKey({ sessionId: 'wal_1' }, tenant, { walletService: true }).result();
    expect(await issue('wal_1')).toEqual([422, 'id', 'only a client’s own key is refreshed here']);
    expect((await refresh('none', 2)).status).toBe(404);
  });
});
