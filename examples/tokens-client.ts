/**
 * Token operations with `signmesh/client`: a token is issued, minted against a reserve, refused beyond it, and redeemed. The
 * transactions are decoded by an independent library, and the supply is added up from their logs.
 *
 *     npm start                                # in one terminal
 *     node dist/examples/tokens-client.js      # in another
 *
 * Options, or the environment variables in brackets: --url [BASE_URL], --token [TOKEN]. Exit code 0: everything is as it
 * must be. 1: something failed. 2: a wrong call of this program.
 */
import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { Interface, Transaction, ZeroAddress } from 'ethers';
import { createClient, type MintToken, type RedeemToken, type TokenOrder } from 'signmesh/client';

/** The token of a fresh sandbox. */
const sandboxToken = 'svc_sk_test_sandboxTokenForEveryoneToUse001PqAfG';
const network = 'eip155:11155111';
const contract = new Interface([
  'function mint(address to, uint256 units)',
  'function burn(uint256 units)',
  'event Transfer(address indexed from, address indexed to, uint256 units)',
]);

/** What an intent of a self-hosted wallet on an EVM network shows once it is mined. */
interface Mined {
  readonly raw_transaction: string;
  readonly receipt: { readonly logs: readonly [{ readonly topics: readonly string[]; readonly data: string }] };
}

async function main(url: string, token: string): Promise<void> {
  const client = createClient({ baseUrl: url, token });
  // A sandbox grants access to the module at once.
  const { modules } = await client.modules.list();
  const { access } = modules.find(({ module }) => module === 'tokens')!;
  if (access === 'by_request') await client.modules.requestAccess('tokens');

  /** What its transaction has logged: units above zero were minted, below zero burnt. */
  async function logged({ wallet_id, transaction_intent_id }: TokenOrder): Promise<bigint> {
    const { provider_details: details } = await client.intents.get(wallet_id, transaction_intent_id ?? '');
    const { raw_transaction: raw, receipt } = details as unknown as Mined;
    const { to, data } = Transaction.from(raw);
    const name = contract.parseTransaction({ data })?.name;
    const log = contract.parseLog({ topics: [...receipt.logs[0].topics], data: receipt.logs[0].data })!;
    say(`${name}(${log.args.units}) of ${to}`);
    const units = log.args.units as bigint;
    return log.args.from === ZeroAddress ? units : -units;
  }

  const connection = await client.connections.connect({ type: 'self_hosted', credentials: {} });
  const wallet = await client.wallets.create({ name: 'tokens-client', provider_connection_id: connection.id, network });
  const issued = await client.tokens.create({
    symbol: `GOLD${randomBytes(3).toString('hex').toUpperCase()}`,
    name: 'Vaulted gold',
    network,
    decimals: 6,
    supply_cap: '50000',
    issuer_wallet_id: wallet.id,
  });
  const gold = await client.waitUntil(
    () => client.tokens.get(issued.id),
    ({ status }) => status === 'active' || status === 'failed',
  );
  if (gold.status !== 'active') throw new Error(`the token ${gold.id} is ${gold.status}`);
  say(`deployed: ${gold.contract}`);

  // The wallet's 10,000 USDC back what it issues.
  const reserve_reference = { type: 'wallet', asset: 'USDC', wallet_id: wallet.id } as const;
  const destination = { address: wallet.addresses[0]!.address };
  const settled = ({ id }: TokenOrder): Promise<TokenOrder> =>
    client.waitUntil(
      () => client.tokens.order(issued.id, id),
      ({ status }) => ['completed', 'rejected', 'failed'].includes(status),
    );
  const mint = async (body: Omit<MintToken, 'reserve_reference'>) =>
    settled(await client.tokens.mint(issued.id, { ...body, reserve_reference }));
  const redeem = async (body: Omit<RedeemToken, 'reserve_reference'>) =>
    settled(await client.tokens.redeem(issued.id, { ...body, reserve_reference }));
  const minted = await mint({ amount: '8000', destination });
  const beyond = await mint({ amount: '2000.000001', destination });
  const redeemed = await redeem({ amount: '500', source: { wallet_id: wallet.id } });
  if (beyond.sub_status !== 'RESERVE_INSUFFICIENT')
    throw new Error(`beyond its reserve a mint is ${beyond.sub_status}`);
  say('refused: 2000.000001 more than the reserve holds');
  const units = (await logged(minted)) + (await logged(redeemed));
  const { supply } = await client.tokens.get(issued.id);
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
