/**
 * Counts the cost of a transfer and the deliveries of its events in the simulated world: calls of Redis by process and script,
 * frames and durable writes of the cluster, calls of custodians and receivers. The code is the control plane's; time, Redis and
 * the queue are simulated, so counts are exact and the same in every run.
 */
import { allScopes } from '../../../gateway/api/scopes.ts';
import type { Client } from '../../../simulation/service/client.ts';
import { CustodyWorld } from '../../../simulation/service/custody-world.ts';
import type { TransferKind } from './model.ts';

/** Of one transfer, on average: "gateway store/commit.lua", "worker egress", "frame partialRequest", "node writes". */
export type WalletCounts = Readonly<Record<string, number>>;

const network = 'eip155:11155111';
/** Periodic work of processes, and polls for the end of the transfer: not the cost of a transfer. */
const byTheClock =
  /^(gateway|worker) (ping|zcard|redis\/due-|store\/take-due|delivery\/deliveries\/outboxes)|^frame (dealNonces|noncesDealt|clusterStatus)/;
const settleMs = 60_000;

/** @throws Error when a transfer does not complete */
export async function countTransfers(kind: TransferKind, transfers: number): Promise<WalletCounts> {
  const counts: Record<string, number> = {};
  const add = (what: string) => {
    counts[what] = (counts[what] ?? 0) + 1;
  };
  const world = new CustodyWorld({
    ...{ seed: `costs ${kind}`, keepTrace: false, cryptography: 'model', redisWay: { minMs: 1, maxMs: 1 } },
    plan: ({ process, port, what }) => {
      add(port === 'redis' ? `${process} ${what}` : `${process} ${port}`);
      return undefined;
    },
    observe: (seen) => {
      if (seen.kind === 'frame') add(`frame ${seen.envelope.message.body.case}`);
      if (seen.kind === 'written') add(seen.process === 'coordinator' ? 'coordinator writes' : 'node writes');
    },
  });
  const token = await world.run(
    world.token({ tenant: 'tn_costs', environment: 'sandbox', scopes: allScopes, name: 'owner' }),
  );
  const client = world.client(token);
  const [from, to] = await world.run(wallets(client, kind));
  await world.advance(settleMs);
  const before = { ...counts };
  for (let index = 0; index < transfers; index += 1) await world.run(transfer(client, from!, to!, `costs-${index}`));
  await world.advance(settleMs);
  return Object.fromEntries(
    Object.entries(counts)
      .map(([what, count]) => [what, (count - (before[what] ?? 0)) / transfers] as const)
      .filter(([what, each]) => each > 0 && !byTheClock.test(what))
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  );
}

interface Wallet {
  readonly id: string;
  readonly address: string;
}

async function wallets(client: Client, kind: TransferKind): Promise<readonly Wallet[]> {
  const made = async (path: string, body: object) => {
    const answer = await client.call('POST', path, body);
    if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const provider = kind === 'custodian' ? 'fireblocks' : 'self_hosted';
  const credentials = kind === 'custodian' ? { api_key: 'key', api_secret: 'secret' } : {};
  const connection = await made('/v1/provider-connections', { provider, name: 'ours', credentials });
  await made('/v1/policies', { name: 'all', rules: [{ id: 'rest', effect: 'allow', when: 'true' }] });
  await made('/v1/webhooks', { url: 'https://hooks.example.com/costs', events: ['*'] });
  const found: Wallet[] = [];
  for (const name of ['one', 'two']) {
    const { id, addresses } = await made('/v1/wallets', { name, provider_connection_id: connection.id, network });
    found.push({ id, address: addresses[0].address });
  }
  return found;
}

/** Until it completes, without polls meanwhile: reads would be counted. */
async function transfer(client: Client, from: Wallet, to: Wallet, key: string): Promise<void> {
  const path = `/v1/wallets/${from.id}/transaction-intents`;
  const body = { asset: 'ETH', amount: '0.001', destination: { address: to.address } };
  const { status, body: intent } = await client.call('POST', path, body, key);
  if (status !== 201) throw new Error(`${status} ${JSON.stringify(intent)}`);
  await client.pause(settleMs);
}
