/**
 * Ceremonies of the companion modules: a message of a vault, a mint until it is signed, a plan of the treasury, and a plan that is
 * executed to its end. Each prepares what it needs and returns one ceremony.
 */
import { randomBytes } from 'node:crypto';
import type { HttpClient } from '../../../clients/load/calls/http.ts';
import { evm, get, post } from './calls.ts';
import type { IntentFollower } from './follow.ts';

export type Ceremony = () => Promise<void>;

const pollMs = 20;
const pollsMax = 3_000;

/** Signs with a new key of a new vault, a different message each time. */
export async function vaultSigner(client: HttpClient): Promise<Ceremony> {
  const terms = { name: 'bench', keystore_type: 'mpc_frost', curve: 'ed25519' };
  const vault = await post(client, '/v1/vaults', JSON.stringify(terms));
  const fields = { key_id: vault.primary_key_id, message_type: 'raw' };
  return async () => {
    const body = JSON.stringify({ ...fields, message: randomBytes(32).toString('base64') });
    const { status, text } = await client.send('POST', `/v1/vaults/${vault.id}/sign`, body);
    if (status !== 200 || !text.includes('"status":"completed"'))
      throw new Error(`HTTP ${status} ${text.slice(0, 300)}`);
  };
}

/**
 * Mints of one token, each until its transaction is signed (its end is the finality of the chain, seconds later): the wallet signs
 * them one after the other, so callers that wait for answers alone soon queue as many as a tenant may. `wallet`: on the cluster.
 */
export async function mint(client: HttpClient, follower: IntentFollower, wallet: string): Promise<Ceremony> {
  const { addresses } = await get(client, `/v1/wallets/${wallet}`);
  const symbol = `B${randomBytes(4).toString('hex').toUpperCase()}`;
  const terms = {
    symbol,
    name: 'bench',
    network: evm,
    decimals: 6,
    supply_cap: '1000000000',
    issuer_wallet_id: wallet,
  };
  const { id } = await post(client, '/v1/tokens', JSON.stringify(terms));
  await ended(client, `/v1/tokens/${id}`, 'active', ['deploying']);
  const reserve_reference = {
    ...{ type: 'attestation', asset: 'USD', reference: `bench ${symbol}`, amount: '1000000000' },
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
  };
  const body = JSON.stringify({ amount: '1', destination: { address: addresses[0].address }, reserve_reference });
  return async () => {
    const order = await post(client, `/v1/tokens/${id}/mint`, body);
    await follower.providerTook(order.transaction_intent_id);
  };
}

export interface TreasuryCeremonies {
  readonly plan: Ceremony;
  /** At most one at a time. */
  readonly execute: Ceremony;
}

/** Half ether, half dollars, of a wallet of the sandbox; the price of ether jumps before each execution. */
export async function treasury(client: HttpClient, wallet: string): Promise<TreasuryCeremonies> {
  const targets = ['ETH', 'USDC'].map((asset) => ({ asset, weight_bps: 5_000, band_bps: 100 }));
  const terms = { name: 'bench', wallet_ids: [wallet], targets, autonomy: 'within_policy' };
  const { id } = await post(client, '/v1/treasury/strategies', JSON.stringify(terms));
  const price = async (eth: string) => {
    const prices = [
      { asset: 'ETH', price_usd: eth },
      { asset: 'USDC', price_usd: '1' },
    ];
    const { status, text } = await client.send('POST', '/v1/sandbox/market', JSON.stringify({ prices }));
    if (status >= 300) throw new Error(`HTTP ${status} ${text.slice(0, 300)}`);
  };
  await price('3000');
  let turn = 0;
  return {
    plan: async () => {
      await post(client, '/v1/treasury/rebalance', JSON.stringify({ strategy_id: id }));
    },
    execute: async () => {
      turn += 1;
      await price(turn % 2 === 0 ? '3000' : '4000');
      const asked = await post(client, '/v1/treasury/rebalance', JSON.stringify({ strategy_id: id, dry_run: false }));
      await ended(client, `/v1/treasury/plans/${asked.id}`, 'completed', ['executing']);
    },
  };
}

async function ended(client: HttpClient, path: string, status: string, onTheWay: readonly string[]): Promise<void> {
  for (let poll = 0; poll < pollsMax; poll += 1) {
    const found = await get(client, path);
    if (found.status === status) return;
    if (!onTheWay.includes(String(found.status))) throw new Error(`${path} is ${found.status}, not ${status}`);
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  throw new Error(`${path} is still not ${status}`);
}
