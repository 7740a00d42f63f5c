/**
 * The wallet API with nothing but `fetch`: a provider connection, a wallet whose key five nodes made, a transfer that a
 * policy allows and one that a person approves. It believes nothing: the policy receipt is checked against the published
 * keys, and the transaction with an independent library.
 *
 *     npm start                                # in one terminal
 *     node dist/examples/wallet-client.js      # in another
 *
 * Options, or the environment variables in brackets: --url [BASE_URL], --token [TOKEN], --approver [APPROVER_TOKEN]. Exit
 * code 0: everything verifies. 1: something failed. 2: a wrong call of this program.
 */
import { createPublicKey, type JsonWebKey, randomUUID, verify } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Transaction } from 'ethers';

/** The public tokens of a fresh sandbox: one requests, the other approves. */
const sandboxToken = 'svc_sk_test_sandboxTokenForEveryoneToUse001PqAfG';
const sandboxApprover = 'svc_sk_test_approverTokenForEveryoneToUse015dpyB';
const destination = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const patienceMs = 60_000;

/** Fields that this program does not read are left out. */
interface Wallet {
  readonly id: string;
  readonly addresses: readonly [{ readonly address: string }];
  readonly assets: readonly { readonly symbol: string; readonly balance: string }[];
}

interface Intent {
  readonly id: string;
  readonly status: string;
  readonly amount: string;
  readonly risk_score: number;
  readonly policy_receipt: string;
  readonly provider_tx_id: string | null;
  readonly provider_details: { readonly raw_transaction: string } | null;
  readonly provider_error: { readonly message: string } | null;
}

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
  async function call<T>(method: string, path: string, body?: object, bearer = token): Promise<T> {
    const response = await fetch(new URL(path, url), {
      method,
      headers: {
        authorization: `Bearer ${bearer}`,
        // So a repeat after a lost answer would be the same request.
        ...(method === 'POST' && { 'content-type': 'application/json', 'idempotency-key': randomUUID() }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path} answers ${response.status}: ${await response.text()}`);
    return (await response.json()) as T;
  }

  const connection = await call<{ id: string }>('POST', '/v1/provider-connections', {
    provider: 'self_hosted',
    name: 'wallet-client',
    credentials: {},
  });
  const wallet = await call<Wallet>('POST', '/v1/wallets', {
    name: 'wallet-client',
    provider_connection_id: connection.id,
    network: 'eip155:11155111',
  });
  const [{ address }] = wallet.addresses;
  print('wallet', `${wallet.id} (self_hosted, key of 3 of 5 nodes)`);
  print('address', address);
  print('balance', wallet.assets.map(({ symbol, balance }) => `${balance} ${symbol}`).join(', '));

  const intentsPath = `/v1/wallets/${wallet.id}/transaction-intents`;
  const send = (amount: string) =>
    call<Intent>('POST', intentsPath, { asset: 'ETH', amount, destination: { address: destination } });

  /** Reads the intent until it is over. */
  async function completed({ id }: Intent): Promise<Intent> {
    for (const startMs = Date.now(); Date.now() - startMs < patienceMs; await pause(200)) {
      const intent = await call<Intent>('GET', `${intentsPath}/${id}`);
      if (intent.status === 'completed') return intent;
      if (['denied', 'rejected', 'expired', 'cancelled', 'failed'].includes(intent.status)) {
        throw new Error(`the intent is ${intent.status}: ${intent.provider_error?.message ?? ''}`);
      }
    }
    throw new Error(`the intent ${id} takes longer than ${patienceMs / 1000} s`);
  }

  /** The decision, from its signature alone: no question to the service but for its public keys, once. */
  const { keys } = await call<{ keys: (JsonWebKey & { kid: string })[] }>('GET', '/v1/.well-known/jwks.json');
  function verifiedReceipt({ id, amount, policy_receipt: receipt }: Intent): ReceiptClaims {
    const [header = '', payload = '', signature = ''] = receipt.split('.');
    const { alg, kid } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { alg: string; kid: string };
    const key = keys.find((candidate) => candidate.kid === kid);
    if (alg !== 'EdDSA' || key === undefined) throw new Error(`no key for a receipt of ${alg} ${kid}`);
    const publicKey = createPublicKey({ key, format: 'jwk' });
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
    if (details === null) throw new Error('the intent shows no signed transaction');
    const transaction = Transaction.from(details.raw_transaction);
    const { to, value } = transaction;
    if (transaction.hash !== hash) throw new Error('the transaction has another hash than provider_tx_id');
    // Recovered from the signature.
    if (transaction.from !== address) throw new Error('another address signed it');
    if (to !== destination || value !== wei) throw new Error('it sends something else');
  }

  const allowed = await send('0.25');
  print('intent', `${allowed.id} ${allowed.status}, risk score ${allowed.risk_score}`);
  print('receipt', `verified: ${verifiedReceipt(allowed).decision}`);
  const first = await completed(allowed);
  verifiedTransaction(first, 250_000_000_000_000_000n);
  print('transaction', `${first.provider_tx_id}`);
  print('verified', 'yes: its hash and its sender, the wallet’s address');

  // A test amount: its risk score is 70 or more, and the default policy asks for an approval.
  const risky = await send('0.00477');
  print('intent', `${risky.id} ${risky.status}, risk score ${risky.risk_score}`);
  print('receipt', `verified: ${verifiedReceipt(risky).decision}`);
  const approval = await call<Intent>('POST', `${intentsPath}/${risky.id}/approve`, { comment: 'checked' }, approver);
  print('approved', `by another token: ${approval.status}`);
  const second = await completed(risky);
  verifiedTransaction(second, 4_770_000_000_000_000n);
  print('transaction', `${second.provider_tx_id}`);
  print('verified', 'yes: its hash and its sender, the wallet’s address');

  const archived = await call<{ status: string }>('POST', `/v1/wallets/${wallet.id}/archive`, { reason: 'example' });
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
  const text = error instanceof Error ? error.message : String(error);
  // fetch says only that it failed; the reason is below.
  const cause = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : '';
  process.stderr.write(`wallet-client: ${text}${cause}\n`);
  process.exit(exitCode);
}

try {
  const settings = options();
  await main(settings).catch((error: unknown) => fail(error, 1));
} catch (error) {
  fail(error, 2);
}
