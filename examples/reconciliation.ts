/**
 * Reconciliation with nothing but `fetch`: a custodian that books a transfer differently than we do, the job that finds it,
 * and the correction of the ledger that settles it.
 *
 *     npm start                                # in one terminal
 *     node dist/examples/reconciliation.js     # in another
 *
 * Options, or the environment variables in brackets: --url [BASE_URL], --token [TOKEN]. Exit code 0: the difference was
 * found and settled. 1: something failed. 2: a wrong call of this program.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';

/** The public token of a fresh sandbox. */
const sandboxToken = 'svc_sk_test_sandboxTokenForEveryoneToUse001PqAfG';
const destination = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const patienceMs = 60_000;

// biome-ignore lint/suspicious/noExplicitAny: the service's own JSON, of which this program reads a field or two
type Body = any;

interface Settings {
  readonly url: string;
  readonly token: string;
}

function readSettings(): Settings {
  try {
    const { values } = parseArgs({ options: { url: { type: 'string' }, token: { type: 'string' } } });
    const { BASE_URL = 'http://127.0.0.1:8080', TOKEN = sandboxToken } = process.env;
    return { url: values.url ?? BASE_URL, token: values.token ?? TOKEN };
  } catch (error) {
    process.stderr.write(`reconciliation: ${(error as Error).message}\n`);
    return process.exit(2);
  }
}

const { url, token } = readSettings();

async function call(method: string, path: string, body?: object): Promise<Body> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answers ${response.status}: ${text}`);
  return text === '' ? {} : JSON.parse(text);
}

async function until(path: string, isOver: (body: Body) => boolean): Promise<Body> {
  const endMs = Date.now() + patienceMs;
  for (;;) {
    const body = await call('GET', path);
    if (isOver(body)) return body;
    if (Date.now() > endMs) throw new Error(`${path} is still ${body.status}`);
    await pause(100);
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function run(): Promise<void> {
  const connection = await call('POST', '/v1/providers/connect', {
    type: 'sandbox',
    name: 'custodian',
    credentials: {},
  });
  const wallet = await call('POST', '/v1/wallets', {
    name: 'reconciled',
    provider_connection_id: connection.id,
    network: 'eip155:11155111',
  });
  const transfers = `/v1/wallets/${wallet.id}/transaction-intents`;
  const transfer = { asset: 'ETH', amount: '0.5', destination: { address: destination } };
  const intent = await call('POST', transfers, transfer);
  await until(`${transfers}/${intent.id}`, ({ status }) => status === 'completed');
  say(`${intent.id} sent 0.5 ETH`);

  // The custodian says that it sent 0.1 ETH more than we asked for.
  await call('POST', `/v1/sandbox/provider-connections/${connection.id}/drift`, {
    kind: 'amount',
    wallet_id: wallet.id,
    transaction_intent_id: intent.id,
    amount: '0.1',
  });
  const scope = { wallet_id: wallet.id };
  const { id } = await call('POST', '/v1/recon/jobs', { kind: 'transactions', scope, lag_s: 0 });
  const job = await until(`/v1/recon/jobs/${id}`, ({ finished_at }) => finished_at !== null);
  say(`${id} ${job.status}: ${job.progress.exceptions_found} exception`);

  const { exceptions } = await call('GET', `/v1/recon/exceptions?job_id=${id}`);
  const [found] = exceptions;
  if (found?.type !== 'amount_mismatch' || found.delta !== '-0.1') throw new Error('the difference was not found');
  say(`${found.id} ${found.type}: expected ${found.expected.amount}, actual ${found.actual.amount}`);

  const settled = await call('POST', `/v1/recon/exceptions/${found.id}/resolve`, { resolution: 'adjusted' });
  const balances = await call('POST', '/v1/recon/jobs', { kind: 'balances', scope, lag_s: 0 });
  const check = await until(`/v1/recon/jobs/${balances.id}`, ({ finished_at }) => finished_at !== null);
  if (check.progress.exceptions_found !== 0) throw new Error('the ledger was not corrected');
  say(`${settled.id} ${settled.resolution.resolution}: the balances agree`);
}

run().catch((error: unknown) => {
  process.stderr.write(`reconciliation: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
