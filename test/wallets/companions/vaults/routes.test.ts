/** The routes of vaults over a real Redis, and a cluster whose keys are in the test's hands. */
import { createHash, createPublicKey, verify } from 'node:crypto';
import { schnorr, secp256k1 } from '@noble/curves/secp256k1.js';
import { HDKey } from '@scure/bip32';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemRandom } from '../../../../core/actors/live/ports.ts';
import { newToken } from '../../../../gateway/auth/token-format.ts';
import { evmAddress } from '../../../../wallets/networks/addresses.ts';
import { ProviderRejected } from '../../../../wallets/providers/port/port.ts';
import type { JsonAnswer } from '../../../support/gateway.ts';
import { until } from '../../../support/until.ts';
import { startWalletService, type WalletService } from '../../../support/wallet-service.ts';

let service: WalletService;
const token = newToken('sandbox', systemRandom);
const stranger = newToken('sandbox', systemRandom);

beforeAll(async () => {
  service = await startWalletService();
  for (const [each, tenant] of [
    [token, 'tn_vaults'],
    [stranger, 'tn_stranger'],
  ] as const) {
    service.tokens.put(each, { tenant, id: `tok_${tenant}` });
    await service.call('POST', '/v1/modules/vaults/access-requests', { token: each });
  }
});
afterAll(() => service?.stop());

const call = (method: string, url: string, body?: unknown, headers = {}): Promise<JsonAnswer> =>
  service.call(method, url, { token, headers, ...(body !== undefined && { body }) });

// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
async function vault(more: object = {}): Promise<any> {
  const body = { name: 'v', keystore_type: 'mock_threshold', curve: 'secp256k1', ...more };
  const { status, body: made } = await call('POST', '/v1/vaults', body);
  expect(status, JSON.stringify(made)).toBe(201);
  return made;
}

const message = Buffer.from('a message of the settlement service');
const digest = createHash('sha256').update(message).digest();

function sign(made: { id: string; primary_key_id: string }, more: object = {}, headers = {}): Promise<JsonAnswer> {
  const body = { key_id: made.primary_key_id, message: message.toString('base64'), message_type: 'raw', ...more };
  return call('POST', `/v1/vaults/${made.id}/sign`, body, headers);
}

async function dryRun(made: { id: string; primary_key_id: string }) {
  const body = { key_id: made.primary_key_id, message: message.toString('base64'), message_type: 'raw' };
  return (await call('POST', `/v1/vaults/${made.id}/sign?dry_run=true`, body)).body;
}

const policy = (name: string, effect: string, more: object = {}) =>
  call('POST', '/v1/policies', {
    name,
    rules: [{ id: 'messages', effect, when: 'tx.kind == "message" && tx.metadata["message_type"] == "raw"', ...more }],
  });

const issueOf = ({ body }: JsonAnswer) => [body.error.details[0].field, body.error.details[0].issue];

describe('a vault', () => {
  it('takes a keystore type and an approval mode by the contract’s names, their short forms, in either case', async () => {
    for (const keystore_type of ['KEYSTORE_TYPE_MPC_FROST', 'MPC_FROST', 'mpc_frost', 'keystore_type_mpc_frost']) {
      const made = await vault({ keystore_type, approval_mode: 'HUMAN_REQUIRED' });
      expect(made).toMatchObject({ keystore_type: 'mpc_frost', approval_mode: 'human_required' });
    }
    const wrong = { name: 'v', keystore_type: 'KEYSTORE_TYPE_NONE', curve: 'secp256k1' };
    expect(issueOf(await call('POST', '/v1/vaults', wrong))).toEqual(['keystore_type', 'not_allowed_value']);
  });

  it('is made with its first key, read, listed and hidden from another tenant', async () => {
    const made = await vault({ name: 'treasury', threshold: 2, total_nodes: 3, metadata: { desk: 'emea' } });
    expect(made).toMatchObject({ name: 'treasury', threshold: 2, total_nodes: 3, key_count: 1, status: 'active' });
    expect((await call('GET', `/v1/vaults/${made.id}`)).body).toEqual(made);
    const listed = await call('GET', '/v1/vaults?limit=100');
    expect(listed.body.vaults).toContainEqual(made);
    for (const path of ['', '/keys']) {
      const hidden = await service.call('GET', `/v1/vaults/${made.id}${path}`, { token: stranger });
      expect(hidden.status).toBe(404);
    }
    expect((await service.call('GET', '/v1/vaults', { token: stranger })).body.vaults).toEqual([]);
  });

  it('takes a threshold that its nodes can reach, and a policy that exists', async () => {
    const body = { name: 'v', keystore_type: 'mpc_frost', curve: 'ed25519' };
    expect(issueOf(await call('POST', '/v1/vaults', { ...body, threshold: 4, total_nodes: 3 }))).toEqual([
      'threshold',
      'not_allowed_value',
    ]);
    expect((await call('POST', '/v1/vaults', { ...body, threshold: 1 })).status).toBe(400);
    expect(issueOf(await call('POST', '/v1/vaults', { ...body, policy: 'none' }))).toEqual(['policy', 'not_found']);
    expect((await vault({ total_nodes: 2 })).threshold).toBe(2);
    const token = { name: 'v', keystore_type: 'hsm_pkcs11', curve: 'secp256k1', threshold: 2 };
    expect(issueOf(await call('POST', '/v1/vaults', token))).toEqual(['threshold', 'not_allowed_value']);
  });

  it('of a keystore type that the cluster does not make answers what the cluster says', async () => {
    const type = { name: 'v', keystore_type: 'multisig_evm_wallet', curve: 'ed25519' };
    const refused = await call('POST', '/v1/vaults', type);
    expect([refused.status, refused.body.error.details[0].issue]).toEqual([422, 'unsupported_keystore']);
  });

  it('is made once under an idempotency key', async () => {
    const body = { name: 'once', keystore_type: 'mpc_frost', curve: 'secp256k1' };
    const answers = [1, 2].map(() => call('POST', '/v1/vaults', body, { 'idempotency-key': 'vault-once' }));
    const [one, two] = await Promise.all(answers);
    expect(one!.body).toEqual(two!.body);
  });
});

describe('the keys of a vault', () => {
  it('show public material that other libraries agree with', async () => {
    const made = await vault();
    const further = await call('POST', `/v1/vaults/${made.id}/keys`, { name: 'hot' });
    expect([further.status, further.body]).toMatchObject([201, { name: 'hot', vault_id: made.id }]);
    const { body } = await call('GET', `/v1/vaults/${made.id}/keys`);
    expect(body.keys.map(({ id }: { id: string }) => id)).toEqual([further.body.id, made.primary_key_id]);
    for (const key of body.keys) {
      expect(key).toMatchObject({ key_scheme: 'mock_ecdsa', key_exposed: true });
      const point = secp256k1.Point.fromHex(key.public_key);
      const { x, y } = createPublicKey({ format: 'jwk', key: key.jwk }).export({ format: 'jwk' });
      expect([x, y].map((each) => Buffer.from(each!, 'base64url').toString('hex'))).toEqual(
        [point.x, point.y].map((each) => each.toString(16).padStart(64, '0')),
      );
      expect(Buffer.from(HDKey.fromExtendedKey(key.xpub).publicKey!).toString('hex')).toBe(key.public_key);
      const [evm] = key.addresses;
      expect(evm.address).toBe(evmAddress(Buffer.from(key.public_key, 'hex')));
      expect(JSON.stringify(key)).not.toMatch(/share"|secret|"d"/);
    }
    expect((await call('GET', `/v1/vaults/${made.id}`)).body).toMatchObject({ key_count: 2, version: 2 });
  });

  it('of BIP-340 have no address, and those of ed25519 no xpub', async () => {
    const keyOf = async ({ id }: { id: string }) => (await call('GET', `/v1/vaults/${id}/keys`)).body.keys[0];
    const schnorrKey = await keyOf(await vault({ keystore_type: 'mpc_frost' }));
    expect(schnorrKey).toMatchObject({ key_scheme: 'frost_bip340', addresses: [], key_exposed: false });
    const edKey = await keyOf(await vault({ keystore_type: 'mpc_frost', curve: 'ed25519' }));
    expect(edKey).toMatchObject({ key_scheme: 'frost_ed25519', xpub: null, jwk: { kty: 'OKP' } });
    expect(edKey.addresses[0].network).toMatch(/^solana:/);
  });
});

describe('signing', () => {
  it.each([
    ['mock_threshold', 'secp256k1', (s: Buffer, k: Buffer) => secp256k1.verify(s, message, k)],
    ['mpc_frost', 'secp256k1', (s: Buffer, k: Buffer) => schnorr.verify(s, digest, k.subarray(1))],
    [
      'mpc_frost',
      'ed25519',
      (s: Buffer, k: Buffer) => {
        const jwk = { kty: 'OKP', crv: 'Ed25519', x: k.toString('base64url') };
        return verify(null, message, createPublicKey({ format: 'jwk', key: jwk }), s);
      },
    ],
  ])('a raw message under %s on %s gives a signature that verifies', async (keystoreType, curve, holds) => {
    const made = await vault({ keystore_type: keystoreType, curve });
    const { status, body } = await sign(made);
    expect([status, body.status, body.vault_id]).toEqual([200, 'completed', made.id]);
    expect(holds(Buffer.from(body.signature, 'base64'), Buffer.from(body.public_key, 'hex'))).toBe(true);
    expect(body.signing_session_id).toMatch(/^sig_/);
    expect(decodeJwt(body.policy_receipt)).toMatchObject({
      purpose: 'vault_signature',
      sub: body.id,
      decision: 'allow',
    });
  });

  it('a digest is signed as it stands', async () => {
    const made = await vault();
    const { body } = await sign(made, { message: digest.toString('base64'), message_type: 'digest' });
    const signature = Buffer.from(body.signature, 'base64');
    expect(secp256k1.verify(signature, digest, Buffer.from(body.public_key, 'hex'), { prehash: false })).toBe(true);
  });

  it.each(['mock_threshold', 'mpc_frost'])(
    'a signature that the key (%s) does not verify is not passed on; a repeat gets the right one',
    async (keystore) => {
      for (const curve of ['secp256k1', 'ed25519']) {
        const made = await vault({ keystore_type: keystore, curve });
        const flip = () => {
          const { signature } = [...service.vaultCluster.signed.values()].at(-1)!;
          signature[40]! ^= 1;
        };
        service.vaultCluster.meanwhile = async () => flip();
        const key = { 'idempotency-key': `forged-${made.id}` };
        const forged = await sign(made, {}, key);
        service.vaultCluster.meanwhile = async () => {};
        expect([forged.status, forged.body.error.message]).toEqual([503, expect.stringContaining('does not verify')]);
        flip();
        expect((await sign(made, {}, key)).body.status).toBe('completed');
      }
    },
  );

  it('a repeat under the same idempotency key never signs twice, also when the first answer was lost', async () => {
    const made = await vault();
    const before = service.vaultCluster.signatures;
    service.vaultCluster.away = true;
    const key = { 'idempotency-key': 'sign-once' };
    expect((await sign(made, {}, key)).status).toBe(503);
    service.vaultCluster.away = false;
    service.vaultCluster.losesNextAnswer = true;
    expect((await sign(made, {}, key)).status).toBe(503);
    const [one, two] = await Promise.all([sign(made, {}, key), sign(made, {}, key)]);
    const other = await (await service.another()).call('POST', `/v1/vaults/${made.id}/sign`, {
      token,
      body: { key_id: made.primary_key_id, message: message.toString('base64'), message_type: 'raw' },
      headers: key,
    });
    expect(two.body).toEqual(one.body);
    expect(other.body).toEqual(one.body);
    expect(service.vaultCluster.signatures).toBe(before + 1);
  });

  it.each([
    [{ message: 'AA===', message_type: 'raw' }, 'message'],
    [{ message: Buffer.alloc(31).toString('base64'), message_type: 'digest' }, 'message'],
    [{ message: '', message_type: 'raw' }, 'message'],
    [{ derivation_path: 'm/x' }, 'derivation_path'],
    [{ derivation_path: "m/44'/0/7" }, 'derivation_path'],
    [{ derivation_path: 'm/0h/0/7' }, 'derivation_path'],
  ])('refuses %j', async (more, field) => {
    const refused = await sign(await vault(), more);
    expect([refused.status, refused.body.error.details[0].field]).toEqual([400, field]);
  });

  it.each(['message', 'human_approval_witness'])('takes any base64 as its %s, and nothing else', async (field) => {
    const made = await vault({ curve: 'ed25519', keystore_type: 'mpc_frost' });
    for (const text of ['+/8=', '+/8', '-_8=', '-_8']) expect((await sign(made, { [field]: text })).status).toBe(200);
    for (const text of ['+/8=\n', '+_8=', '+/9=', '+/8==', '!']) {
      const { status, body } = await sign(made, { [field]: text });
      expect([status, body.error.details]).toMatchObject([400, [{ field, issue: 'invalid_base64' }]]);
      if (text.endsWith('\n')) expect(body.error.message).toMatch(/line end.*base64 -w0.*printf/);
    }
  });

  it('takes a key of this vault alone', async () => {
    const [one, other] = [await vault(), await vault()];
    expect((await sign(one, { key_id: other.primary_key_id })).status).toBe(404);
    const { primary_key_id: key_id } = one;
    const body = { key_id, message: 'AAAA', message_type: 'raw' };
    expect((await service.call('POST', `/v1/vaults/${one.id}/sign`, { token: stranger, body })).status).toBe(404);
  });
});

describe('policies of a vault', () => {
  it('see a key at its path in one spelling', async () => {
    const when = 'tx.metadata["derivation_path"] == ""';
    await call('POST', '/v1/policies', {
      name: 'no-root',
      rules: [
        { id: 'root', effect: 'deny', when },
        { id: 'rest', effect: 'allow', when: 'true' },
      ],
    });
    const made = await vault({ policy: 'no-root' });
    const statuses: string[] = [];
    for (const path of [undefined, '', 'm', 'm/0']) {
      statuses.push((await sign(made, path === undefined ? {} : { derivation_path: path })).body.status);
    }
    expect((await sign(made, { derivation_path: '0/7' })).body.derivation_path).toBe('m/0/7');
    expect(statuses).toEqual(['denied', 'denied', 'denied', 'completed']);
  });

  it('see a message by its metadata, and deny it before a node is asked', async () => {
    await policy('no-messages', 'deny');
    const before = service.vaultCluster.signatures;
    const { status, body } = await sign(await vault({ policy: 'no-messages' }));
    expect([status, body]).toMatchObject([200, { status: 'denied', signature: null, signing_session_id: null }]);
    expect(body.reason).toContain('messages');
    expect(service.vaultCluster.signatures).toBe(before);
    const decisions = await call(
      'GET',
      `/v1/policies/${(await call('GET', '/v1/policies')).body.policies[0].id}/decisions`,
    );
    expect(decisions.body.decisions[0]).toMatchObject({ id: body.policy_decision_id, tx_id: body.id });
  });

  it('compare amounts with the 0 of a message: a rule for large amounts leaves it alone', async () => {
    await call('POST', '/v1/policies', {
      name: 'amounts',
      rules: [
        { id: 'large', effect: 'require_approval', when: 'tx.amount > units("0.1")', approvals: { quorum: 1 } },
        { id: 'dust', effect: 'deny', when: 'tx.amount == units("0.000000000000000001")' },
        { id: 'small', effect: 'allow', when: 'tx.amount <= units("0.1") && tx.available == 0' },
      ],
    });
    const { body } = await sign(await vault({ policy: 'amounts' }));
    expect([body.status, body.reason]).toEqual([
      'completed',
      expect.stringContaining('amounts: allowed by rule small;'),
    ]);
  });

  it('make a signature wait for a human, and deny what would need votes', async () => {
    await policy('one-human', 'require_approval', { approvals: { quorum: 1 } });
    await policy('two-humans', 'require_approval', { approvals: { quorum: 2 } });
    const waiting = await vault({ policy: 'one-human' });
    expect((await sign(waiting)).body).toMatchObject({ status: 'pending_human_approval', signature: null });
    const witness = Buffer.from('approved').toString('base64');
    expect((await sign(waiting, { human_approval_witness: witness })).body.status).toBe('completed');
    const denied = await sign(await vault({ policy: 'two-humans' }), { human_approval_witness: witness });
    const why = {
      ...{
        reason_code: 'APPROVALS_NOT_SUPPORTED',
        reason: expect.stringMatching(/^APPROVALS_NOT_SUPPORTED: .*no votes/),
      },
    };
    expect(denied.body).toMatchObject({ status: 'denied', ...why });
    const { events } = (await call('GET', `/v1/events?type=vault.signature_denied&resource_id=${denied.body.id}`)).body;
    expect(events).toMatchObject([{ data: { object: why } }]);
    expect(await dryRun(await vault({ policy: 'two-humans' }))).toMatchObject({ decision: 'deny', ...why });
    expect(await dryRun(waiting)).toMatchObject({ decision: 'require_approval', reason_code: null });
  });

  it('are joined by the risk rules, which deny or ask for a human; a dry run says so and signs nothing', async () => {
    const made = await vault();
    const when = `tx.kind == "message" && tx.wallet_id == "${made.id}"`;
    const rule = (name: string, more: object) => call('POST', '/v1/risk/rules', { name, when, points: 0, ...more });
    await rule('look', { action: 'review' });
    expect((await sign(made)).body.status).toBe('pending_human_approval');
    await rule('stop', { action: 'deny', priority: 900 });
    const before = service.vaultCluster.signatures;
    expect(await dryRun(made)).toMatchObject({
      ...{ dry_run: true, decision: 'deny', reason_code: null, matched_rules: ['clear', 'risk:look', 'risk:stop'] },
    });
    const denied = (await sign(made)).body;
    expect(denied).toMatchObject({ status: 'denied', reason: expect.stringContaining('risk rule stop: deny') });
    expect(decodeJwt(denied.policy_receipt)).toMatchObject({ matched_rules: ['clear', 'risk:look', 'risk:stop'] });
    expect(service.vaultCluster.signatures).toBe(before);
    expect((await sign(await vault())).body.status).toBe('completed');
  });

  it('have decided before a node is asked: what changes while the cluster signs, or before a repeat, changes no answer', async () => {
    const named = await policy('changes', 'allow');
    const made = await vault({ policy: 'changes' });
    service.vaultCluster.meanwhile = async () => {
      service.vaultCluster.meanwhile = async () => {};
      expect((await policy('changes', 'deny')).body.version).toBe(2);
      service.vaultCluster.losesNextAnswer = true;
    };
    const before = service.vaultCluster.signatures;
    const key = { 'idempotency-key': 'policy-changes' };
    expect((await sign(made, {}, key)).status).toBe(503);
    const { status, body } = await sign(made, {}, key);
    expect([status, body.status, body.reason]).toEqual([200, 'completed', expect.stringContaining('messages')]);
    expect(decodeJwt(body.policy_receipt)).toMatchObject({ decision: 'allow', jti: body.policy_decision_id });
    expect(service.vaultCluster.signatures).toBe(before + 1);
    const { decisions } = (await call('GET', `/v1/policies/${named.body.id}/decisions`)).body;
    expect(decisions).toMatchObject([{ id: body.policy_decision_id, decision: 'allow' }]);
    expect((await sign(made)).body.status).toBe('denied');
  });

  it('are joined by the vault’s approval mode', async () => {
    expect((await sign(await vault({ approval_mode: 'human_required' }))).body.status).toBe('pending_human_approval');
  });
});

describe('archiving', () => {
  it('closes the keys at once, and deletes their shares until the cluster has confirmed it', async () => {
    const made = await vault();
    const further = (await call('POST', `/v1/vaults/${made.id}/keys`, {})).body;
    service.vaultCluster.away = true;
    const archived = await call('POST', `/v1/vaults/${made.id}/archive`, { reason: 'moved' });
    expect([archived.status, archived.body]).toMatchObject([200, { status: 'archived', archive_reason: 'moved' }]);
    const keys = async () => (await call('GET', `/v1/vaults/${made.id}/keys`)).body.keys;
    expect((await keys()).map(({ status }: { status: string }) => status)).toEqual(['closing', 'closing']);
    expect((await sign(made)).body.error.details[0].issue).toBe('vault_archived');
    expect((await call('POST', `/v1/vaults/${made.id}/keys`, {})).status).toBe(409);
    service.vaultCluster.away = false;
    await until(
      async () => (await keys()).every(({ status }: { status: string }) => status === 'deleted'),
      'the keys are deleted',
    );
    expect([made.primary_key_id, further.id].every((id) => service.vaultCluster.closed.has(id))).toBe(true);
    expect((await call('POST', `/v1/vaults/${made.id}/archive`, { reason: 'again' })).body).toEqual(archived.body);
    const listed = (await call('GET', '/v1/vaults?limit=100')).body.vaults;
    expect(listed.map(({ id }: { id: string }) => id)).not.toContain(made.id);
    const events = await call('GET', '/v1/events?limit=100&type=vault.key_deleted');
    expect(events.body.events).toHaveLength(2);
  });

  it('while the cluster signs answers that the vault is archived, when the cluster has closed the key', async () => {
    const made = await vault();
    service.vaultCluster.meanwhile = async () => {
      service.vaultCluster.meanwhile = async () => {};
      expect((await call('POST', `/v1/vaults/${made.id}/archive`, {})).status).toBe(200);
      const providerCode = 'WALLET_ARCHIVED';
      throw new ProviderRejected('its key no longer signs', { issue: providerCode.toLowerCase(), providerCode });
    };
    const { status, body } = await sign(made);
    expect([status, body.error.details[0].issue]).toEqual([409, 'vault_archived']);
  });
});
