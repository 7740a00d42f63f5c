/**
 * The wallet API with `signmesh/client`: a provider connection, a wallet whose key five nodes made, a transfer that a
 * policy allows and one that a person approves. It believes nothing: the policy receipt is checked against the published
 * keys, and the transaction with an independent library.
 *
 *     npm start                                # in one terminal
 *     node dist/examples/wallet-client.js      # in another
 *
 * Options, or the environment variables in brackets: --url [BASE_URL], --token [TOKEN], --approver [APPROVER_TOKEN]. Exit
 * code 0: everything verifies. 1: something failed. 2: a wrong call of this program.
 */
import { createPublicKey, verify } from 'node:crypto';
import { parseArgs } from 'node:util';
import { Transaction } from 'ethers';
import { createClient, type Intent } from 'signmesh/client';

/** The public tokens of a fresh sandbox: one requests, the other approves. */
const sandboxToken = 'svc_sk_test_sandboxTokenForEveryoneToUse001PqAfG';
const sandboxApprover = 'svc_sk_test_approverTokenForEveryoneToUse015dpyB';
const destination = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

interface ReceiptClaims {
  readonly purpose: string;
  readonly sub: string;
  readonly decision: string;
  readonly transaction: Readonly<Record<'wallet_id' | 'asset' | 'amount' | 'to', string>>;
}

interface Settings {
  readonly url: string;
  readonly token: string;
  readonly approver: string;
}

async function main({ url, token, approver }: Settings): Promise<void> {
  const client = createClient({ baseUrl: url, token });
  const approvals = createClient({ baseUrl: url, token: approver });

  const connection = await client.connections.create({
    provider: 'self_hosted',
    name: 'wallet-client',
    credentials: {},
  });
  const wallet = await client.wallets.create({
    name: 'wallet-client',
    provider_connection_id: connection.id,
    network: 'eip155:11155111',
  });
  const address = wallet.addresses[0]?.address;
  print('wallet', `${wallet.id} (self_hosted, key of 3 of 5 nodes)`);
  print('address', `${address}`);
  print('balance', wallet.assets.map(({ symbol, balance }) => `${balance} ${symbol}`).join(', '));

  const send = (amount: string) =>
    client.intents.create(wallet.id, { asset: 'ETH', amount, destination: { address: destination } });

  /** The decision, from its signature alone: no question to the service but for its public keys, once. */
  const { keys } = await client.policies.receiptKeys();
  function verifiedReceipt({ id, amount, policy_receipt: receipt }: Intent): ReceiptClaims {
    const [header = '', payload = '', signature = ''] = (receipt ?? '').split('.');
    const { alg, kid } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { alg: string; kid: string };
    const key = keys.find((candidate) => candidate.kid === kid);
    if (alg !== 'EdDSA' || key === undefined) throw new Error(`no key for a receipt of ${alg} ${kid}`);
    const publicKey = createPublicKey({ key: { ...key }, format: 'jwk' });
    if (!verify(null, Buffer.from(`${header}.${payload}`), publicKey, Buffer.from(signature, 'base64url'))) {
      throw new Error('the policy receipt does not verify');
    }
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as ReceiptClaims;
    const { transaction } = claims;
    if (claims.purpose !== 'transaction_intent' || claims.decision === 'deny') {
      throw new Error(`the receipt stands for no transfer: ${claims.purpose}, ${claims.decision}`);
    }
    const isAboutIt =
      claims.sub === id &&
      transaction.wallet_id === wallet.id &&
      transaction.asset === 'ETH' &&
      transaction.amount === amount &&
      transaction.to === destination;
    if (!isAboutIt) throw new Error('the policy receipt is about another transfer');
    return claims;
  }

  /** The signed transaction: its hash, its sender, and that it sends what was asked for. */
  function verifiedTransaction({ provider_tx_id: hash, provider_details: details }: Intent, wei: bigint): void {
    const raw = details?.raw_transaction;
    if (typeof raw !== 'string') throw new Error('the intent shows no signed transaction');
    const transaction = Transaction.from(raw);
    const { to, value } = transaction;
    if (transaction.hash !== hash) throw new Error('the transaction has another hash than provider_tx_id');
    // Recovered from the signature.
    if (transaction.from !== address) throw new Error('another address signed it');
    if (to !== destination || value !== wei) throw new Error('it sends something else');
  }

  const allowed = await send('0.25');
  print('intent', `${allowed.id} ${allowed.status}, risk score ${allowed.risk_score}`);
  print('receipt', `verified: ${verifiedReceipt(allowed).decision}`);
  const first = await client.waitFor(allowed);
  verifiedTransaction(first, 250_000_000_000_000_000n);
  print('transaction', `${first.provider_tx_id}`);
  print('verified', 'yes: its hash and its sender, the wallet’s address');

  // A test amount: its risk score is 70 or more, and the default policy asks for an approval.
  const risky = await send('0.00477');
  print('intent', `${risky.id} ${risky.status}, risk score ${risky.risk_score}`);
  print('receipt', `verified: ${verifiedReceipt(risky).decision}`);
  const approval = await approvals.intents.approve(wallet.id, risky.id, { comment: 'checked' });
  print('approved', `by another token: ${approval.status}`);
  const second = await client.waitFor(risky);
  verifiedTransaction(second, 4_770_000_000_000_000n);
  print('transaction', `${second.provider_tx_id}`);
  print('verified', 'yes: its hash and its sender, the wallet’s address');

  const archived = await client.wallets.archive(wallet.id, { reason: 'example' });
  print('wallet', archived.status);
}

function print(name: string, value: string): void {
  process.stdout.write(`${name.padEnd(12)} ${value}\n`);
}

function options(): Settings {
  const { BASE_URL: url = 'http://127.0.0.1:8080', TOKEN: token = sandboxToken } = process.env;
  const { APPROVER_TOKEN: approver = sandboxApprover } = process.env;
  const { values } = parseArgs({
    options: {
      url: { type: 'string', default: url },
      token: { type: 'string', default: token },
      approver: { type: 'string', default: approver },
    },
  });
  if (!URL.canParse(values.url)) throw new TypeError(`--url is not a URL: ${values.url}`);
  return values;
}

function fail(error: unknown, exitCode: number): never {
  process.stderr.write(`wallet-client: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(exitCode);
}

try {
  const settings = options();
  await main(settings).catch((error: unknown) => fail(error, 1));
} catch (error) {
  fail(error, 2);
}
