/**
 * An attacker who writes to Redis, against transfers that were decided: whatever is changed, nothing is ordered that was not
 * decided, and the transfer fails by name, with an event.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { orderOf } from '../../../../wallets/custody/intents/order-check.ts';
import { type IntentRecord, intentType } from '../../../../wallets/custody/intents/record.ts';
import { type WalletRecord, walletType } from '../../../../wallets/custody/wallets/record.ts';
import { update } from '../../../../wallets/store/changes.ts';
import { storeKeys } from '../../../../wallets/store/layout.ts';
import { until } from '../../../support/until.ts';
import { type Door, openDoor, tenant } from './support/door.ts';
import { proofs, votes } from './support/proofs.ts';
import { oneEth, startWorld, type World } from './support/world.ts';

let world: World;
let door: Door;
beforeAll(async () => {
  world = await startWorld();
  door = await openDoor(world);
  world.driver().start();
});
afterAll(async () => {
  await door.app.close();
  await world.stop();
});

const thief = '0x2222222222222222222222222222222222222222';
const quorum = { kind: 'pendingApproval', quorum: 2, approvers: [], timeoutMs: 60_000 } as const;
const balance = (wallet: WalletRecord) => world.balance(tenant, wallet.id, 'ETH');

type Fields = Record<string, unknown>;

/** Edits the document of a record as a writer to Redis can: with the MAC that it had. */
async function edit(id: string, change: (document: Fields) => unknown): Promise<void> {
  const { redis } = world.redis;
  const key = storeKeys.record(tenant, id);
  const stored = (await redis.hget(key, 'd'))!;
  const document = JSON.parse(stored.slice(23)) as Fields;
  change(document);
  await redis.hset(key, 'd', stored.slice(0, 23) + JSON.stringify(document));
}

async function failsByName(id: string): Promise<void> {
  await until(
    async () => {
      const record = await world.store.read(tenant, intentType, id).catch(() => undefined);
      return record?.status === 'failed';
    },
    () => `the failure ${JSON.stringify(world.lines.slice(-3))}`,
  );
  expect(await world.read(tenant, id)).toMatchObject({ status: 'failed', subStatus: 'RECORD_TAMPERED' });
  expect(world.provider.chain.has(id)).toBe(false);
  const { events } = await world.store.events(tenant, {
    ...{ afterSequence: 0, limit: 1_000, types: ['transaction_intent.failed'], resourceId: id },
  });
  expect(events).toHaveLength(1);
}

/** Every field of an intent that waits, as an attacker might write it. */
const edits: Readonly<Record<string, (document: Fields) => unknown>> = {
  destination: (it) => Object.assign(it, { destination: { address: thief } }),
  amount: (it) => Object.assign(it, { amount: '4', units: (4n * oneEth).toString() }),
  units: (it) => Object.assign(it, { units: '4' }),
  asset: (it) => Object.assign(it, { asset: 'USDC' }),
  kind: (it) => Object.assign(it, { kind: 'burn' }),
  network: (it) => Object.assign(it, { network: 'solana:devnet' }),
  feeReserve: (it) => Object.assign(it, { feeReserve: { asset: 'ETH', units: '9' } }),
  approvalsRequired: (it) => Object.assign(it, { approvalsRequired: it.approvalsRequired === 0 ? 1 : 0 }),
  approvers: (it) => Object.assign(it, { approvers: ['tok_thief'] }),
  approvals: (it) => Object.assign(it, { approvals: [{ by: 'tok_x', decision: 'approve', atMs: 1, mac: 'x' }] }),
  initiator: (it) => Object.assign(it, { initiator: 'tok_thief' }),
  status: (it) => Object.assign(it, { status: it.status === 'approved' ? 'pending_approval' : 'approved' }),
  subStatus: (it) => Object.assign(it, { subStatus: 'NEW' }),
  policy: (it) => Object.assign(it, { policy: { name: 'mine', id: 'pol_2', version: 1 } }),
  policyReceipt: (it) => Object.assign(it, { policyReceipt: 'a.b.c' }),
  token: (it) => Object.assign(it, { token: { symbol: 'ETH', decimals: 2, contract: thief } }),
  expiresAtMs: (it) => Object.assign(it, { expiresAtMs: 1 }),
  metadata: (it) => Object.assign(it, { metadata: { seen: true } }),
  correlationId: (it) => Object.assign(it, { correlationId: 'other' }),
  riskScore: (it) => Object.assign(it, { riskScore: 0.5 }),
  providerTxId: (it) => Object.assign(it, { providerTxId: '0x1' }),
  submission: (it) => Object.assign(it, { submission: { hash: '0x1' } }),
};

describe.each(['approved', 'pending_approval'] as const)('a transfer that is %s', (status) => {
  test.each(Object.entries(edits))(
    'whose %s was changed fails by name, and its money returns',
    async (field, change) => {
      const wallet = await world.wallet(tenant, { ETH: 9n * oneEth });
      const intent = await world.intent(tenant, wallet, {}, status === 'approved' ? undefined : quorum);
      await edit(intent.id, change);
      const { status: code, body } = await door.get(`${wallet.id}/transaction-intents/${intent.id}`);
      expect([code, body.error.details]).toMatchObject([409, [{ issue: 'store_tampered' }]]);
      await world.driver().sweep();
      await failsByName(intent.id);
      // Its receipt says what it had set aside; without one that stays so, and reconciliation finds it.
      const { reserved } = await balance(wallet);
      expect(reserved === 0n).toBe(field !== 'policyReceipt');
    },
  );
});

test.each<readonly [string, Partial<WalletRecord>]>([
  ['signing_api', { signingApi: 'allowed' }],
  ['approval_mode', { approvalMode: 'unspecified' }],
  ['policy', { policy: null }],
  ['status', { status: 'active' }],
  ['addresses', { addresses: [{ network: 'eip155:11155111', address: thief }] }],
  ['public key', { publicKey: '02' }],
])('a wallet whose %s was changed is refused by name, and so are its transfers', async (_, over) => {
  const wallet = await world.wallet(
    tenant,
    { ETH: 9n * oneEth },
    { policy: 'cold', signingApi: 'intents_only', approvalMode: 'human_required', status: 'frozen' },
  );
  const intent = await world.intent(tenant, wallet);
  await edit(wallet.id, (it) => Object.assign(it, over));
  await expect(world.store.read(tenant, walletType, wallet.id)).rejects.toMatchObject({ recordId: wallet.id });
  await door.get(`${wallet.id}/transaction-intents/${intent.id}`);
  await failsByName(intent.id);
});

test('a wallet that is frozen stays so, whatever status word a guard would find', async () => {
  const wallet = await world.wallet(tenant, { ETH: 9n * oneEth });
  const intent = await world.intent(tenant, wallet);
  await world.store.commit(tenant, { puts: [update(walletType, wallet, { ...wallet, status: 'frozen', version: 2 })] });
  await world.redis.redis.hset(storeKeys.record(tenant, wallet.id), 's', 'active');
  world.driver().enqueue(tenant, intent, wallet);
  await failsByName(intent.id);
});

describe('the check before an order', () => {
  const voted = (record: IntentRecord, by: string, on = record, decision: 'approve' | 'reject' = 'approve') =>
    votes.seal(tenant, on, { by, decision, comment: null, reason: null, atMs: 5 });
  /** An intent of 1 ETH that two have to approve. */
  async function decidedIntent() {
    const wallet = await world.wallet(tenant, { ETH: 9n * oneEth });
    const intent = await world.intent(tenant, wallet, {}, quorum);
    return { wallet, intent };
  }
  const problem = (record: IntentRecord, wallet: WalletRecord, of = tenant) => orderOf(proofs, of, record, wallet);

  test('counts votes of two other people, each once, and nothing else', async () => {
    const { wallet, intent } = await decidedIntent();
    const { intent: other } = await decidedIntent();
    const [ann, bob] = [voted(intent, 'tok_ann'), voted(intent, 'tok_bob')];
    const withVotes = (...approvals: IntentRecord['approvals']) => problem({ ...intent, approvals }, wallet);
    expect(withVotes(ann, bob)).toMatchObject({ wallet_id: wallet.id, to: intent.destination.address, amount: '1' });
    const tooFew: readonly IntentRecord['approvals'][] = [
      [],
      [ann],
      [ann, ann],
      [ann, { ...ann, by: 'tok_bob' }],
      [ann, { ...bob, atMs: 6 }],
      [ann, { ...bob, mac: '' }],
      [ann, { ...bob, mac: ann.mac }],
      [ann, voted(intent, 'tok_bob', other)],
      [ann, voted(intent, 'tok_bob', { ...intent, policyReceipt: other.policyReceipt })],
      [ann, voted(intent, intent.initiator)],
      [ann, { ...voted(intent, 'tok_bob', intent, 'reject'), decision: 'approve' }],
      [ann, votes.seal('tn_other', intent, bob)],
    ];
    for (const approvals of tooFew) expect(withVotes(...approvals)).toMatch(/of 2 approvals/);
  });

  test.each<readonly [string, Partial<IntentRecord>, RegExp]>([
    ['destination', { destination: { address: thief } }, /its to is not/],
    ['amount', { amount: '2' }, /its amount is not/],
    ['units', { units: '2' }, /its amount is not/],
    ['asset', { asset: 'USDC' }, /its asset is not/],
    ['kind', { kind: 'mint' }, /its kind is not/],
    ['wallet', { walletId: 'wal_2' }, /its wallet_id is not/],
    ['network', { network: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1' }, /its network is not/],
    ['fee', { feeReserve: { asset: 'ETH', units: '1001' } }, /its fee is not/],
    ['initiator', { initiator: 'tok_ann' }, /its initiator is not/],
    ['receipt', { policyReceipt: null }, /not one of this service/],
    ['id', { id: 'txi_2' }, /about something else/],
  ])('refuses another %s than decided, though its record holds', async (_, over, why) => {
    const { wallet, intent } = await decidedIntent();
    const approvals = [voted(intent, 'tok_ann'), voted(intent, 'tok_bob')];
    expect(problem({ ...intent, approvals, ...over }, wallet)).toMatch(why);
    expect(problem({ ...intent, approvals }, { ...wallet, id: 'wal_2' })).toMatch(/its wallet is not/);
    expect(problem({ ...intent, approvals }, wallet, 'tn_other')).toMatch(/about something else/);
  });

  test('takes no receipt with one character changed, and none of another intent', async () => {
    const { wallet, intent } = await decidedIntent();
    const { intent: other } = await decidedIntent();
    const receipt = intent.policyReceipt!;
    const at = receipt.indexOf('.') + 20;
    const flipped = `${receipt.slice(0, at)}${receipt[at] === 'A' ? 'B' : 'A'}${receipt.slice(at + 1)}`;
    expect(problem({ ...intent, policyReceipt: flipped }, wallet)).toMatch(/not one of this service/);
    expect(problem({ ...intent, policyReceipt: other.policyReceipt }, wallet)).toMatch(/about something else/);
  });
});

afterEach(() => world.provider.chain.clear());
