/**
 * Token operations with nothing but `fetch`: a token is issued, minted against a reserve, refused beyond it, and redeemed. The
 * transactions are decoded by an independent library, and the supply is added up from their logs.
 *
 *     npm start                                # in one terminal
 *     node dist/examples/tokens-client.js      # in another
 *
 * Options, or the environment variables in brackets: --url [BASE_URL], --token [TOKEN]. Exit code 0: everything is as it
 * must be. 1: something failed. 2: a wrong call of this program.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Interface, Transaction, ZeroAddress } from 'ethers';

/** The token of a fresh sandbox. */
const sandboxToken = 'svc_sk_test_sandboxTokenForEveryoneToUse001PqAfG';
const network = 'eip155:11155111';
const patienceMs = 60_000;
const contract = new Interface([
  'function mint(address to, uint256 units)',
  'function burn(uint256 units)',
  'event Transfer(address indexed from, address indexed to, uint256 units)',
]);

/** Fields that this program does not read are left out. */
interface Token {
  readonly id: string;
  readonly status: string;
  readonly contract: string;
  readonly supply: string;
}

interface Order {
  readonly id: string;
  readonly status: string;
  readonly sub_status: string | null;
  readonly wallet_id: string;
  readonly transaction_intent_id: string;
}

interface Intent {
  readonly provider_details: {
    readonly raw_transaction: string;
    readonly receipt: { readonly logs: readonly [{ readonly topics: readonly string[]; readonly data: string }] };
  };
}

async function main(url: string, token: string): Promise<void> {
  async function call<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await fetch(new URL(path, url), {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(method === 'POST' && { 'content-type': 'application/json', 'idempotency-key': randomUUID() }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path} answers ${response.status}: ${await response.text()}`);
    return (await response.json()) as T;
  }

  async function reached<T extends { readonly status: string }>(path: string, ...statuses: string[]): Promise<T> {
    for (const endMs = Date.now() + patienceMs; ; ) {
      const found = await call<T>('GET', path);
      if (statuses.includes(found.status)) return found;
      if (Date.now() > endMs) throw new Error(`${path} is still ${found.status} after ${patienceMs / 1000} s`);
      await pause(200);
    }
  }

  /** What its transaction has logged: units above zero were minted, below zero burnt. */
  async function logged({ wallet_id, transaction_intent_id }: Order): Promise<bigint> {
    const path = `/v1/wallets/${wallet_id}/transaction-intents/${transaction_intent_id}`;
    const { raw_transaction: raw, receipt } = (await call<Intent>('GET', path)).provider_details;
    const { to, data } = Transaction.from(raw);
    const name = contract.parseTransaction({ data })?.name;
    const log = contract.parseLog({ topics: [...receipt.logs[0].topics], data: receipt.logs[0].data })!;
    say(`${name}(${log.args.units}) of ${to}`);
    const units = log.args.units as bigint;
    return log.args.from === ZeroAddress ? units : -units;
  }

  const connection = await call<{ id: string }>('POST', '/v1/providers/connect', {
    type: 'self_hosted',
    credentials: {},
  });
  const wallet = await call<{ id: string; addresses: [{ address: string }] }>('POST', '/v1/wallets', {
    name: 'tokens-client',
    provider_connection_id: connection.id,
    network,
  });
  const issued = await call<Token>('POST', '/v1/tokens', {
    symbol: `GOLD${randomBytes(3).toString('hex').toUpperCase()}`,
    name: 'Vaulted gold',
    network,
    decimals: 6,
    supply_cap: '50000',
    issuer_wallet_id: wallet.id,
  });
  const path = `/v1/tokens/${issued.id}`;
  const gold = await reached<Token>(path, 'active', 'failed');
  if (gold.status !== 'active') throw new Error(`the token ${gold.id} is ${gold.status}`);
  say(`deployed: ${gold.contract}`);

  // The wallet's 10,000 USDC back what it issues.
  const reserve_reference = { type: 'wallet', asset: 'USDC', wallet_id: wallet.id };
  const destination = { address: wallet.addresses[0].address };
  const ordered = async (verb: 'mint' | 'redeem', body: object): Promise<Order> => {
    const { id } = await call<Order>('POST', `${path}/${verb}`, { ...body, reserve_reference });
    return reached<Order>(`${path}/orders/${id}`, 'completed', 'rejected', 'failed');
  };
  const minted = await ordered('mint', { amount: '8000', destination });
  const beyond = await ordered('mint', { amount: '2000.000001', destination });
  const redeemed = await ordered('redeem', { amount: '500', source: { wallet_id: wallet.id } });
  if (beyond.sub_status !== 'RESERVE_INSUFFICIENT')
    throw new Error(`beyond its reserve a mint is ${beyond.sub_status}`);
  say('refused: 2000.000001 more than the reserve holds');
  const units = (await logged(minted)) + (await logged(redeemed));
  const { supply } = await call<Token>('GET', path);
  if (units !== 7_500_000_000n || supply !== '7500') throw new Error(`the supply is ${supply}, the logs say ${units}`);
  say(`supply: ${supply}, as the logs add up`);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function fail(code: number, error: unknown): void {
  process.stderr.write(`tokens-client: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = code;
}

try {
  const { values } = parseArgs({ options: { url: { type: 'string' }, token: { type: 'string' } } });
  const url = values.url ?? process.env.BASE_URL ?? 'http://127.0.0.1:8080';
  await main(url, values.token ?? process.env.TOKEN ?? sandboxToken).catch((error: unknown) => fail(1, error));
} catch (error) {
  fail(2, error);
}
