/** A tenant that pays in a simulated world: two wallets of the cluster, a policy, a webhook, and its books. */
import { allScopes } from '../../../../gateway/api/scopes.ts';
import type { Client } from '../../../../simulation/service/client.ts';
import type { CustodyWorld } from '../../../../simulation/service/custody-world.ts';
import {
  type BookedIntent,
  type BookedWebhook,
  type Books,
  checkMoney,
  checkWebhook,
} from '../../../../simulation/service/invariants/books.ts';
import type { ToldEvent, ToldWallet } from '../../../../simulation/service/invariants/documented-ledger.ts';

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
    return checkWebhook(webhook, books.events, received).length === 0;
  };
  await world.loop.until(allCame, 3_600_000);
  books = await world.run(readBooks(client), 3_600_000);
  return [...checkBooks(books, told), ...checkWebhook(webhook, books.events, world.receivers.received)];
}

/** The answer to a client for an idempotency key: the id of the intent, or null after a refusal. */
type AnswersByKey = ReadonlyMap<string, string | null>;

const ends = new Set(['completed', 'denied', 'rejected', 'expired', 'cancelled', 'failed']);

/** Reads everything once every intent has ended. Throws when that takes longer than `withinMs`. */
export async function readBooks(client: Client, withinMs = 600_000): Promise<Books> {
  for (let waitedMs = 0; ; waitedMs += 500) {
    const wallets = await readAll<ToldWallet>(client, '/v1/wallets', 'wallets');
    const lists: BookedIntent[] = [];
    for (const { id } of wallets) {
      lists.push(
        ...(await readAll<BookedIntent>(client, `/v1/wallets/${id}/transaction-intents`, 'transaction_intents')),
      );
    }
    const open = lists.filter(({ status }) => !ends.has(status));
    if (open.length === 0) {
      const events = await readAll<ToldEvent>(client, '/v1/events', 'events');
      return { wallets: await readAll<ToldWallet>(client, '/v1/wallets', 'wallets'), intents: lists, events };
    }
    if (waitedMs >= withinMs)
      throw new Error(`intents have not ended: ${open.map(({ id, status }) => `${id} ${status}`)}`);
    await client.pause(500);
  }
}

async function readAll<T>(client: Client, path: string, list: string): Promise<T[]> {
  const items: T[] = [];
  let cursor: string | null = null;
  do {
    const { status, body } = await client.call('GET', `${path}?limit=100${cursor === null ? '' : `&cursor=${cursor}`}`);
    if (status !== 200) throw new Error(`GET ${path}: ${status} ${JSON.stringify(body)}`);
    items.push(...(body[list] as T[]));
    cursor = body.next_cursor as string | null;
  } while (cursor !== null);
  return items;
}

/** Events without gaps, money as the docs say, one intent a key. */
export function checkBooks(books: Books, told: AnswersByKey): string[] {
  return [...checkMoney(books), ...checkKeys(books.intents, told)];
}

/** An idempotency key has one intent, and the answer names it. */
function checkKeys(intents: readonly BookedIntent[], told: AnswersByKey): string[] {
  const faults: string[] = [];
  const byKey = new Map<string, string[]>();
  for (const { id, metadata } of intents) {
    const key = metadata.key ?? '';
    byKey.set(key, [...(byKey.get(key) ?? []), id]);
  }
  for (const [key, id] of told) {
    const made = byKey.get(key) ?? [];
    if (made.join() !== (id ?? '')) faults.push(`key ${key} was told ${id}, and made ${made.join(', ') || 'nothing'}`);
  }
  for (const key of byKey.keys()) if (!told.has(key)) faults.push(`key ${key} made an intent that no client asked for`);
  return faults;
}
