/** A tenant that pays in a simulated world: two wallets of the cluster, a policy, a webhook, and its books. */
import { allScopes } from '../../../../gateway/api/scopes.ts';
import type { Client } from '../../../../simulation/service/client.ts';
import type { CustodyWorld } from '../../../../simulation/service/custody-world.ts';
import {
  type BookedWebhook,
  type Books,
  checkBooks,
  checkWebhook,
  isDelivered,
  readBooks,
} from '../../../../simulation/service/invariants/books.ts';

export const evm = 'eip155:11155111';

export interface Tenant {
  readonly client: Client;
  readonly approver: Client;
  readonly wallets: readonly { readonly id: string; readonly address: string }[];
  readonly webhook: BookedWebhook;
  readonly told: Map<string, string | null>;
}

export type Provider = 'self_hosted' | 'fireblocks';

export async function openTenant(
  world: CustodyWorld,
  tenant = 'tn_world',
  provider: Provider = 'self_hosted',
): Promise<Tenant> {
  const [own, other] = await world.run(
    Promise.all(
      ['owner', 'approver'].map((name) => world.token({ tenant, environment: 'sandbox', scopes: allScopes, name })),
    ),
  );
  const client = world.client(own!);
  const approver = world.client(other!);
  return { client, approver, ...(await world.run(fixtures(client, tenant, provider))), told: new Map() };
}

async function fixtures(
  client: Client,
  tenant: string,
  provider: Provider,
): Promise<Pick<Tenant, 'wallets' | 'webhook'>> {
  const made = async (path: string, body: object) => {
    const answer = await client.call('POST', path, body);
    if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const credentials = provider === 'fireblocks' ? { api_key: 'key', api_secret: 'secret' } : {};
  const connection = await made('/v1/provider-connections', { provider, name: 'ours', credentials });
  const wallets = [];
  for (const name of ['one', 'two']) {
    const wallet = await made('/v1/wallets', { name, provider_connection_id: connection.id, network: evm });
    wallets.push({ id: wallet.id as string, address: wallet.addresses[0].address as string });
  }
  await made('/v1/policies', {
    name: 'default',
    rules: [
      { id: 'large', effect: 'require_approval', when: 'tx.amount >= 200000000000000000', approvals: { quorum: 1 } },
      { id: 'rest', effect: 'allow', when: 'true' },
    ],
  });
  const url = `https://hooks.example.com/${tenant}`;
  const { id, secret } = await made('/v1/webhooks', { url, events: ['*'] });
  return { wallets, webhook: { id, url, secret } };
}

/** Sends a transfer from the first wallet to the second, approves it where it must be, and returns its end. */
export async function pay({ client, approver, wallets, told }: Tenant, key: string, amount: string): Promise<string> {
  const [from, to] = wallets as [Tenant['wallets'][0], Tenant['wallets'][0]];
  const path = `/v1/wallets/${from.id}/transaction-intents`;
  const body = { asset: 'ETH', amount, destination: { address: to.address }, metadata: { key } };
  const answer = await client.call('POST', path, body, key);
  told.set(key, answer.status === 201 ? answer.body.id : null);
  if (answer.status !== 201) return `${answer.status} ${JSON.stringify(answer.body)}`;
  const intent = `${path}/${answer.body.id}`;
  if (answer.body.status === 'pending_approval') {
    const vote = await approver.call('POST', `${intent}/approve`, { decision: 'approve' }, `${key}-approval`);
    if (vote.status !== 200) throw new Error(`${key}: ${vote.status} ${JSON.stringify(vote.body)}`);
  }
  const ends = ['completed', 'failed', 'denied'];
  const end = await client.until(intent, ({ body: { status } }) => ends.includes(status));
  return end.body.status;
}

/** Waits until everything has ended and was delivered, and returns what is wrong. */
export async function settledFaults(world: CustodyWorld, tenant: Tenant): Promise<string[]> {
  const { client, told, webhook } = tenant;
  let books: Books = await world.run(readBooks(client), 3_600_000);
  let seen = -1;
  const allCame = () => {
    const { received } = world.receivers;
    if (received.length === seen) return false;
    seen = received.length;
    return isDelivered(webhook, books.events, received);
  };
  await world.loop.until(allCame, 3_600_000);
  books = await world.run(readBooks(client), 3_600_000);
  return [...checkBooks(books, told), ...checkWebhook(webhook, books.events, world.receivers.received)];
}
