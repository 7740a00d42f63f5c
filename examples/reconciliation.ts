/**
 * Reconciliation with `signmesh/client`: a custodian that books a transfer differently than we do, the job that finds it,
 * and the correction of the ledger that settles it.
 *
 *     npm start                                # in one terminal
 *     node dist/examples/reconciliation.js     # in another
 *
 * Options, or the environment variables in brackets: --url [BASE_URL], --token [TOKEN]. Exit code 0: the difference was
 * found and settled. 1: something failed. 2: a wrong call of this program.
 */
import { parseArgs } from 'node:util';
import { createClient, type ReconJob } from 'signmesh/client';

/** The public token of a fresh sandbox. */
const sandboxToken = 'svc_sk_test_sandboxTokenForEveryoneToUse001PqAfG';
const destination = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

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

const client = createClient({ baseUrl: url, token });

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function run(): Promise<void> {
  const connection = await client.connections.connect({ type: 'sandbox', name: 'custodian', credentials: {} });
  const wallet = await client.wallets.create({
    name: 'reconciled',
    provider_connection_id: connection.id,
    network: 'eip155:11155111',
  });
  const transfer = { asset: 'ETH', amount: '0.5', destination: { address: destination } };
  const intent = await client.waitFor(await client.intents.create(wallet.id, transfer));
  say(`${intent.id} sent 0.5 ETH`);

  // The custodian says that it sent 0.1 ETH more than we asked for.
  await client.sandbox.addDrift(connection.id, {
    kind: 'amount',
    wallet_id: wallet.id,
    transaction_intent_id: intent.id,
    amount: '0.1',
  });
  const job = await finished('transactions', wallet.id);
  say(`${job.id} ${job.status}: ${job.progress.exceptions_found} exception`);

  const [found] = await client.recon.exceptions({ job_id: job.id }).toArray(1);
  if (found?.type !== 'amount_mismatch' || found.delta !== '-0.1') throw new Error('the difference was not found');
  say(`${found.id} ${found.type}: expected ${found.expected?.amount}, actual ${found.actual?.amount}`);

  const settled = await client.recon.resolveException(found.id, { resolution: 'adjusted' });
  const check = await finished('balances', wallet.id);
  if (check.progress.exceptions_found !== 0) throw new Error('the ledger was not corrected');
  say(`${settled.id} ${settled.resolution?.resolution}: the balances agree`);
}

async function finished(kind: 'transactions' | 'balances', walletId: string): Promise<ReconJob> {
  const { id } = await client.recon.createJob({ kind, scope: { wallet_id: walletId }, lag_s: 0 });
  return client.waitUntil(
    () => client.recon.job(id),
    ({ finished_at }) => finished_at !== null,
  );
}

run().catch((error: unknown) => {
  process.stderr.write(`reconciliation: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
