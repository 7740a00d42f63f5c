/**
 * Whole simulated transfers beside whole simulated signatures, by CPU time of this one thread, with the model of cryptography.
 * A scenario of transfers: a world with one gateway, one worker and five nodes starts, makes two wallets, and pays from one to
 * the other, all at once; each client reads its transfer until it is completed. A scenario of signatures is that of play.ts.
 */
import { withCryptography } from '../../../core/crypto/model/switch.ts';
import type { Client } from '../../../simulation/service/client.ts';
import { CustodyWorld } from '../../../simulation/service/custody-world.ts';
import { play } from './play.ts';

const transfersEach = 100;
/** Two blocks confirm a transfer: reads before that are useless. */
const firstReadMs = 2_200;

export interface TransferRates {
  readonly transfers: number;
  /** CPU milliseconds, including the collector and the compilers; the median of the rounds. */
  readonly cpuMsPerTransfer: number;
  readonly cpuMsPerSignature: number;
  /** Simulated transfers in simulated signatures, per CPU second: the median of the rounds. */
  readonly ratio: number;
}

/**
 * @param forMs of the signatures in a round, and at least of the transfers
 * @param rounds of each; they alternate, so that both have the same conditions
 */
export async function transferRates(
  forMs: number,
  rounds: number,
  say: (line: string) => void,
): Promise<TransferRates> {
  say('bench: simulation, transfers …');
  await transfersFor('warm', forMs);
  signaturesFor('warm', forMs);
  const measured: { signature: number; transfer: number; count: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const signature = signaturesFor(`round ${round}`, forMs);
    const { cpuMs: transfer, count } = await transfersFor(`round ${round}`, forMs);
    measured.push({ signature, transfer, count });
  }
  return {
    transfers: measured.reduce((sum, { count }) => sum + count, 0),
    cpuMsPerTransfer: median(measured.map(({ transfer }) => transfer)),
    cpuMsPerSignature: median(measured.map(({ signature }) => signature)),
    ratio: median(measured.map(({ signature, transfer }) => signature / transfer)),
  };
}

/** CPU milliseconds a signature. */
function signaturesFor(label: string, forMs: number): number {
  const beganMs = cpuMs();
  let count = 0;
  withCryptography('model', () => {
    while (cpuMs() - beganMs < forMs) count += play(`${label} ${count}`, 'ecdsa').signatures.length;
  });
  return (cpuMs() - beganMs) / count;
}

async function transfersFor(label: string, forMs: number): Promise<{ readonly cpuMs: number; readonly count: number }> {
  const beganMs = cpuMs();
  let count = 0;
  while (cpuMs() - beganMs < forMs) {
    await payAll(`${label} ${count}`);
    count += transfersEach;
  }
  return { cpuMs: (cpuMs() - beganMs) / count, count };
}

/** Throws Error when a transfer is not completed. */
async function payAll(seed: string): Promise<void> {
  const world = new CustodyWorld({ seed, cryptography: 'model', codec: 'none', objectTable: true, keepTrace: false });
  const token = await world.run(world.token({ tenant: 'tn_bench', environment: 'sandbox', name: 'owner' }));
  const client = world.client(token);
  await world.run(payments(client));
}

async function payments(client: Client): Promise<void> {
  const made = async (path: string, body: object, key: string) => {
    const answer = await client.call('POST', path, body, key);
    if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const connection = await made(
    '/v1/provider-connections',
    { provider: 'self_hosted', name: 'bench', credentials: {} },
    'connection',
  );
  const wallet = (name: string) =>
    made('/v1/wallets', { name, provider_connection_id: connection.id, network: 'eip155:11155111' }, `wallet-${name}`);
  const from = await wallet('from');
  const to = await wallet('to');
  const path = `/v1/wallets/${from.id}/transaction-intents`;
  const body = { asset: 'ETH', amount: '0.001', destination: { address: to.addresses[0].address } };
  const pay = async (_: unknown, number: number) => {
    const intent = await made(path, body, `transfer-${number}`);
    await client.pause(firstReadMs);
    const { body: ended } = await client.until(`${path}/${intent.id}`, ({ body: { status } }) => ends.has(status));
    if (ended.status !== 'completed') throw new Error(`a transfer is ${ended.status}`);
  };
  await Promise.all(Array.from({ length: transfersEach }, pay));
}

const ends: ReadonlySet<string> = new Set(['completed', 'failed', 'denied', 'cancelled', 'expired', 'rejected']);

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}
