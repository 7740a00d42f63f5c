/**
 * kill -9 of gateway, coordinator and a node while vaults are made, used and archived: a repeated request has one effect.
 * In a thorough run alone: intents-killed.test.ts kills the same processes in `npm test`, and vendor-slow-crashes.yaml is
 * simulated.
 */
import { createPublicKey, verify } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RoleName } from '../support/cluster.ts';
import type { JsonReply, RestMethod } from '../support/rest.ts';
import { type BorrowedCluster, borrowCluster, borrowWithinMs } from '../support/shared-cluster.ts';
import { isThorough } from '../support/thorough.ts';
import { until } from '../support/until.ts';

let cluster: BorrowedCluster;

beforeAll(async () => {
  cluster = await borrowCluster();
}, borrowWithinMs);
afterAll(() => cluster?.stop());

async function call(method: RestMethod, path: string, body?: object, idempotencyKey = ''): Promise<JsonReply> {
  const headers = idempotencyKey === '' ? {} : { 'idempotency-key': idempotencyKey };
  try {
    const answer = await cluster.rest.call(method, path, body, { headers, token: cluster.ready.token });
    // 503, or 409 while the request of a gateway that died still holds its key: repeat.
    return answer.status < 300 ? answer.body : undefined;
  } catch {
    return undefined;
  }
}

/** Repeats the request under its key until it is answered. */
const insist = (path: string, body: object, key: string): Promise<JsonReply> =>
  until(() => call('POST', path, body, key), `an answer to ${key}`, 200);

/** The intents of completed signatures behind a place in the log, and the place of the last one. */
async function completedAfter(after: number): Promise<{ readonly ids: readonly string[]; readonly last: number }> {
  const ids: string[] = [];
  let last = after;
  for (let more = true; more; ) {
    const query = `/v1/events?limit=100&type=signing.session.completed&after_sequence=${last}`;
    const page = await until(() => call('GET', query), 'events');
    for (const { data, sequence } of page.events) {
      ids.push(data.object.transaction_intent_id);
      last = sequence;
    }
    more = page.has_more;
  }
  return { ids, last };
}

test.runIf(isThorough)('every signature is made once, and every vault', async () => {
  const terms = { keystore_type: 'mpc_frost', curve: 'ed25519' };
  const making = ['one', 'two', 'three'].map((name) => insist('/v1/vaults', { name, ...terms }, `make-${name}`));
  const dead = await cluster.kill('gateway');
  await cluster.back('gateway', dead);
  const vaults: readonly JsonReply[] = await Promise.all(making);
  const listed = await until(() => call('GET', '/v1/vaults'), 'the vaults');
  expect(listed.vaults.map(({ name }: JsonReply) => name).sort()).toEqual(['one', 'three', 'two']);
  const [vault] = vaults;
  const [key] = (await until(() => call('GET', `/v1/vaults/${vault.id}/keys`), 'the keys')).keys;

  const orderOf = (index: number) => ({
    key_id: key.id,
    message: Buffer.from(`message ${index}`).toString('base64'),
    message_type: 'raw',
  });
  // Those of other files, which borrowed the cluster before, come first.
  const { last: began } = await completedAfter(0);
  let answered = 0;
  const signing = Array.from({ length: 60 }, async (_, index) => {
    const signed = await insist(`/v1/vaults/${vault.id}/sign`, orderOf(index), `sign-${index}`);
    answered += 1;
    return signed;
  });
  for (const role of ['gateway', 'coordinator', 'gateway'] as const) {
    const before = answered;
    await until(() => answered > before || answered === signing.length, 'signatures between two kills');
    await cluster.back(role, await cluster.kill(role));
  }
  const signatures: readonly JsonReply[] = await Promise.all(signing);
  await cluster.untilHealth('ok');

  const publicKey = createPublicKey({ format: 'jwk', key: key.jwk });
  for (const [index, { status, signature }] of signatures.entries()) {
    expect(status).toBe('completed');
    const isGood = verify(null, Buffer.from(`message ${index}`), publicKey, Buffer.from(signature, 'base64'));
    expect(isGood).toBe(true);
    // A repeat, after all of it.
    const again = await insist(`/v1/vaults/${vault.id}/sign`, orderOf(index), `sign-${index}`);
    expect(again.signature).toBe(signature);
  }
  const { ids: completed } = await completedAfter(began);
  expect([...completed].sort()).toEqual(signatures.map(({ id }) => id).sort());

  const node = await cluster.kill('node-3');
  expect((await insist(`/v1/vaults/${vault.id}/archive`, {}, 'archive')).status).toBe('archived');
  await cluster.back('node-3', node);
  const isDeleted = async () => (await call('GET', `/v1/vaults/${vault.id}/keys`))?.keys[0].status === 'deleted';
  await until(isDeleted, 'the node that was away deletes its share, too', 200);
});

test.runIf(isThorough)(
  'a vendor’s order outlives kill -9 of coordinator and node, and completes without a call',
  async () => {
    const terms = { name: 'vendor', keystore_type: 'mpc_vendor', curve: 'ed25519' };
    const vault = await insist('/v1/vaults', terms, 'make-vendor');
    const [key] = (await until(() => call('GET', `/v1/vaults/${vault.id}/keys`), 'the key')).keys;
    const message = Buffer.from('what the vendor shall sign');
    const order = { key_id: key.id, message: message.toString('base64'), message_type: 'raw' };
    const pending = await insist(`/v1/vaults/${vault.id}/sign`, order, 'sign-vendor');
    expect([pending.status, pending.signature]).toEqual(['accepted', null]);
    const node = `node-${key.participants[0]}` as RoleName;
    const dead = await Promise.all([cluster.kill('coordinator'), cluster.kill(node)]);
    await Promise.all([cluster.back('coordinator', dead[0]), cluster.back(node, dead[1])]);

    const { signing_session_id: session } = pending;
    const completions = async () => {
      const page = await call('GET', `/v1/events?limit=100&type=signing.session.completed&after_sequence=${after}`);
      after = page?.events.at(-1)?.sequence ?? after;
      ids.push(...(page?.events ?? []).map(({ data }: JsonReply) => data.object.session_id));
      return ids.includes(session);
    };
    let after = 0;
    const ids: string[] = [];
    await until(completions, 'the completion, by the vendor’s callback', 100);
    const share = { signing_session_id: session };
    const { full_signature: signature } = await until(() => call('POST', '/v1/signing/share', share), 'the signature');
    const publicKey = createPublicKey({ format: 'jwk', key: key.jwk });
    expect(verify(null, message, publicKey, Buffer.from(signature, 'base64'))).toBe(true);
    expect(ids.filter((id) => id === session)).toHaveLength(1);
  },
);
