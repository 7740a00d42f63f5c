/**
 * Ceremonies of the companion modules: a message of a vault, a mint until it is signed, a plan of the treasury, and a plan that is
 * executed to its end. Each prepares what it needs and returns one ceremony.
 */
import { randomBytes } from 'node:crypto';
import type { TokenOrder, TreasuryPlan, Wallet } from '../../../clients/client/generated-api.ts';
import type { Client } from '../../../clients/client/index.ts';
import { answered, type HttpClient } from '../../../clients/load/calls/http.ts';
import type { IntentFollower } from './follow.ts';

export type Ceremony = () => Promise<void>;

const endedWithinMs = 60_000;

/** Signs with a new key of a new vault, a different message each time. */
export async function vaultSigner(client: Client, http: HttpClient): Promise<Ceremony> {
  const vault = await client.vaults.create({ name: 'bench', keystore_type: 'mpc_frost', curve: 'ed25519' });
  const fields = { key_id: vault.primary_key_id, message_type: 'raw' };
  return async () => {
    const body = JSON.stringify({ ...fields, message: randomBytes(32).toString('base64') });
    const { status, text } = await http.send('POST', `/v1/vaults/${vault.id}/sign`, body);
    if (status !== 200 || !text.includes('"status":"completed"'))
      throw new Error(`HTTP ${status} ${text.slice(0, 300)}`);
  };
}

/**
 * Mints of one token, each until its transaction is signed (its end is the finality of the chain, seconds later): the wallet signs
 * them one after the other, so callers that wait for answers alone soon queue as many as a tenant may. `wallet`: on the cluster.
 */
export async function mint(
  client: Client,
  http: HttpClient,
  follower: IntentFollower,
  { id: issuer, addresses, network }: Wallet,
): Promise<Ceremony> {
  const symbol = `B${randomBytes(4).toString('hex').toUpperCase()}`;
  const { id } = await client.tokens.create({
    symbol,
    name: 'bench',
    network: network!,
    decimals: 6,
    supply_cap: '1000000000',
    issuer_wallet_id: issuer,
  });
  await ended(client, () => client.tokens.get(id), 'active', 'deploying');
  const reserve_reference = {
    ...{ type: 'attestation', asset: 'USD', reference: `bench ${symbol}`, amount: '1000000000' },
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
  };
  const body = JSON.stringify({ amount: '1', destination: { address: addresses[0]!.address }, reserve_reference });
  return async () => {
    const order = answered<TokenOrder>(await http.send('POST', `/v1/tokens/${id}/mint`, body), 201);
    await follower.providerTook(order.transaction_intent_id!);
  };
}

export interface TreasuryCeremonies {
  readonly plan: Ceremony;
  /** At most one at a time. */
  readonly execute: Ceremony;
}

/** Half ether, half dollars, of a wallet of the sandbox; the price of ether jumps before each execution. */
export async function treasury(client: Client, http: HttpClient, wallet: string): Promise<TreasuryCeremonies> {
  const targets = ['ETH', 'USDC'].map((asset) => ({ asset, weight_bps: 5_000, band_bps: 100 }));
  const { id } = await client.treasury.createStrategy({
    ...{ name: 'bench', wallet_ids: [wallet], targets, autonomy: 'within_policy' as const },
  });
  const price = async (eth: string) => {
    const prices = [
      { asset: 'ETH', price_usd: eth },
      { asset: 'USDC', price_usd: '1' },
    ];
    await client.sandbox.setMarket({ prices });
  };
  await price('3000');
  const rebalance = async (order: object): Promise<TreasuryPlan> =>
    answered(await http.send('POST', '/v1/treasury/rebalance', JSON.stringify({ strategy_id: id, ...order })), 201);
  let turn = 0;
  return {
    plan: async () => {
      await rebalance({});
    },
    execute: async () => {
      turn += 1;
      await price(turn % 2 === 0 ? '3000' : '4000');
      const plan = await rebalance({ dry_run: false });
      await ended(client, () => client.treasury.plan(plan.id), 'completed', 'executing');
    },
  };
}

async function ended(
  { waitUntil }: Client,
  read: () => Promise<{ readonly id: string; readonly status: string }>,
  wanted: string,
  onTheWay: string,
): Promise<void> {
  const { id, status } = await waitUntil(read, (found) => found.status !== onTheWay, { deadlineMs: endedWithinMs });
  if (status !== wanted) throw new Error(`${id} is ${status}, not ${wanted}`);
}
