/**
 * Random money: parallel clients of two tenants transfer, freeze and rename while gateway, Redis,
 * coordinator and nodes are killed (kill -9). A ledger written from the docs (support/documented-ledger.ts) then follows the
 * event log and must find every balance, every event and every read in it.
 *
 * In a thorough run alone: intents-killed.test.ts kills in `npm test`, and the same ledger follows the simulated search.
 * SURVIVAL_SEED repeats the choices, SURVIVAL_MONEY_SECONDS sets how long the clients go on (60 by default).
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  DocumentedLedger,
  decimal,
  type IntentTold,
  type ToldEvent,
  type ToldWallet,
} from '../../simulation/service/invariants/documented-ledger.ts';
import { type RestAnswer, RestClient } from '../support/rest.ts';
import { type BorrowedCluster, borrowCluster, borrowWithinMs } from '../support/shared-cluster.ts';
import { isThorough } from '../support/thorough.ts';
import { until } from '../support/until.ts';
import { readAll } from './support/books.ts';
import { announcedSeed, Seeded } from './support/seeded.ts';

const seconds = Number(process.env.SURVIVAL_MONEY_SECONDS ?? 60);
const clientsPerTenant = 6;
const seed = announcedSeed('random money');
/** Intents an hour of a wallet named `limited`. */
const hourlyMax = 7;

interface Intent extends IntentTold {
  readonly id: string;
  readonly provider: string;
  readonly metadata: { readonly order?: string };
  readonly provider_tx_id: string | null;
  readonly provider_details: object | null;
  readonly gap_transaction: object | null;
}

interface Wallet extends ToldWallet {
  readonly name: string;
  readonly network: string;
  readonly addresses: readonly { readonly address: string }[];
}

interface Book {
  readonly api: RestClient;
  readonly wallets: Wallet[];
  /** By idempotency key: the intent that was told, or null for a refusal. */
  readonly told: Map<string, string | null>;
  readonly reads: ToldWallet[];
}

let cluster: BorrowedCluster;
let books: Book[];
let calls = 0;
let kills = 0;

beforeAll(
  async () => {
    cluster = await borrowCluster();
    const chance = new Seeded(`${seed}/tokens`);
    const tokens = [cluster.token, `svc_sk_test_${chance.bytes(12).toString('hex')}`];
    books = await Promise.all(tokens.map(openBook));
    const endsAtMs = performance.now() + seconds * 1_000;
    const isOver = () => performance.now() > endsAtMs;
    const clients = books.flatMap((book, tenant) =>
      Array.from({ length: clientsPerTenant }, (_, k) => work(book, `t${tenant}c${k}`, isOver)),
    );
    await Promise.all([...clients, killUntil(isOver)]);
    await cluster.untilHealth('ok');
    process.stdout.write(`random money: ${calls} calls, ${kills} kills\n`);
  },
  borrowWithinMs + seconds * 3_000,
);
afterAll(() => cluster?.stop());

/** The tenant's policy: an hourly limit on one wallet, half of what is available at most on another. */
async function openBook(token: string): Promise<Book> {
  const api = new RestClient(cluster.httpUrl, token);
  const connection = await api.made('/v1/provider-connections', {
    provider: 'self_hosted',
    name: 'ours',
    credentials: {},
  });
  const evm = 'eip155:11155111';
  const solana = 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';
  const open = (name: string, network: string) =>
    api.made<Wallet>('/v1/wallets', { name, provider_connection_id: connection.id, network });
  const wallets = await Promise.all([open('limited', evm), open('half', evm), open('free', evm), open('free', solana)]);
  await api.made('/v1/policies', {
    name: 'default',
    rules: [
      {
        id: 'hourly',
        effect: 'deny',
        when: `tx.wallet_name == "limited" && history.intents_last_hour >= ${hourlyMax}`,
      },
      { id: 'half', effect: 'deny', when: 'tx.wallet_name == "half" && tx.amount * 2 > tx.available' },
      { id: 'rest', effect: 'allow', when: 'true' },
    ],
  });
  return { api, wallets, told: new Map(), reads: [] };
}

async function killUntil(isOver: () => boolean): Promise<void> {
  const chance = new Seeded(`${seed}/killer`);
  while (!isOver()) {
    // The moment of a fault, not a wait for anything.
    await new Promise((resolve) => setTimeout(resolve, chance.integer(300, 2_500)));
    const role = chance.pick(['gateway', 'redis', 'redis', 'coordinator', 'node-1', 'node-2'] as const);
    const dead = await cluster.kill(role);
    kills += 1;
    // Health read after the last kill would else be that of before.
    if (isOver()) await cluster.back(role, dead);
  }
}

async function work(book: Book, name: string, isOver: () => boolean): Promise<void> {
  const chance = new Seeded(`${seed}/${name}`);
  for (let count = 0; !isOver(); count += 1) {
    const wallet = chance.pick(book.wallets);
    const dice = chance.fraction();
    if (dice < 0.6) await transfer(book, wallet, `${name}-${count}`, chance);
    else if (dice < 0.7) await read(book, wallet);
    else if (dice < 0.8) await settled(book, 'POST', `/v1/wallets/${wallet.id}/freeze`, {}, `${name}-${count}`);
    else if (dice < 0.95) await settled(book, 'POST', `/v1/wallets/${wallet.id}/unfreeze`, {}, `${name}-${count}`);
    else await settled(book, 'PATCH', `/v1/wallets/${wallet.id}`, { metadata: { by: `${name}-${count}` } });
    // The pace of the load, not a wait for anything.
    await new Promise((resolve) => setTimeout(resolve, chance.integer(5, 60)));
  }
}

async function transfer(book: Book, wallet: Wallet, key: string, chance: Seeded): Promise<void> {
  const asset = wallet.assets[chance.integer(0, wallet.assets.length - 1)]!.symbol;
  const near = book.wallets.filter(({ network }) => network === wallet.network);
  const to = chance.pick(near).addresses[0]!.address;
  // The last two are test triggers: refused by the provider after the approval; mined and failed.
  const amount = chance.pick([`0.${chance.integer(1, 9)}`, `${chance.integer(1, 4)}`, '0.01', '0.004421', '0.00441']);
  const body = { asset, amount, destination: { address: to }, metadata: { order: key } };
  const path = `/v1/wallets/${wallet.id}/transaction-intents`;
  // Sometimes twice at once: one effect all the same.
  const copies = Array.from({ length: chance.fraction() < 0.2 ? 2 : 1 }, () =>
    settled<Intent>(book, 'POST', path, body, key),
  );
  const answers = await Promise.all(copies);
  const ids = new Set(answers.map(({ status, body: intent }) => (status === 201 ? intent.id : null)));
  expect([key, ids.size]).toEqual([key, 1]);
  book.told.set(key, [...ids][0] ?? null);
}

async function read(book: Book, { id }: Wallet): Promise<void> {
  const { status, body } = await settled<Wallet>(book, 'GET', `/v1/wallets/${id}`);
  expect(status).toBe(200);
  book.reads.push(body);
}

/** Repeats what got no answer, or one that says: again. Under its key, a call has one effect. */
async function settled<B>(
  { api }: Book,
  method: 'GET' | 'POST' | 'PATCH',
  path: string,
  body?: object,
  key?: string,
): Promise<RestAnswer<B>> {
  const headers = key === undefined ? {} : { 'idempotency-key': key };
  let last: RestAnswer<B> | undefined;
  const found = await until(
    async () => {
      calls += 1;
      last = await api.call<B>(method, path, body, { headers }).catch(() => undefined);
      if (last === undefined || last.status === 503) return undefined;
      const again = last.status === 409 && last.headers.has('retry-after');
      return again ? undefined : last;
    },
    () => `an answer to ${method} ${path}; last ${last?.status} ${JSON.stringify(last?.body)}`,
    50,
  );
  if (![200, 201, 409, 422].includes(found.status)) throw new Error(`${method} ${path}: ${found.status}`);
  return found;
}

async function reckon(book: Book): Promise<{ ledger: DocumentedLedger; intents: Intent[]; events: ToldEvent[] }> {
  const { api, wallets } = book;
  for (const { id } of wallets) await settled(book, 'POST', `/v1/wallets/${id}/unfreeze`, {}, `end-${id}`);
  const ends = new Set(['completed', 'denied', 'failed']);
  let open: readonly Intent[] = [];
  const intents = await until(
    async () => {
      const lists = wallets.map(({ id }) =>
        readAll<Intent>(api, `/v1/wallets/${id}/transaction-intents`, 'transaction_intents'),
      );
      const all = (await Promise.all(lists)).flat();
      open = all.filter(({ status }) => !ends.has(status));
      return open.length === 0 ? all : undefined;
    },
    () => `the end of ${JSON.stringify(open.slice(0, 3))} and ${open.length} in all`,
    300,
  );
  const events = await readAll<ToldEvent>(api, '/v1/events', 'events');
  const sent = new Map<string, number>();
  const ledger = new DocumentedLedger((walletId, { amount }, available) => {
    const name = wallets.find(({ id }) => id === walletId)?.name;
    const earlier = sent.get(walletId) ?? 0;
    sent.set(walletId, earlier + 1);
    if (name === 'limited') return earlier >= hourlyMax;
    return name === 'half' ? decimal(amount) * 2n > available : false;
  });
  ledger.follow(events);
  return { ledger, intents, events };
}

test.runIf(isThorough)('every balance, event, read and answer is what the docs make of the others', async () => {
  for (const book of books) {
    const { ledger, intents, events } = await reckon(book);
    for (const wallet of [...book.reads, ...(await readAll<Wallet>(book.api, '/v1/wallets', 'wallets'))]) {
      ledger.wasRead(wallet);
    }
    expect(ledger.faults).toEqual([]);
    // What was told is what there is: one intent a key, and none for a refusal.
    const found = intents.map(({ id, metadata }) => [metadata.order, id]);
    expect(found.sort()).toEqual([...book.told].filter(([, id]) => id !== null).sort());
    for (const { id, status, version } of intents) {
      const { status: last, version: newest } = ledger.intents.get(id)!;
      expect([id, last, newest]).toEqual([id, status, version]);
    }
    for (const { id, version } of await readAll<Wallet>(book.api, '/v1/wallets', 'wallets')) {
      expect([id, ledger.accounts.get(id)?.version]).toEqual([id, version]);
      expect([...ledger.accounts.get(id)!.pending.values()].filter((units) => units !== 0n)).toEqual([]);
    }
    // A fee was paid by a transaction that the intent names.
    for (const { id, provider_tx_id: txId, provider_details: details, gap_transaction: gap, fee, status } of intents) {
      if (status !== 'completed' && decimal(fee.paid ?? '0') === 0n) continue;
      expect([id, gap === null ? (details === null ? 'nothing' : typeof txId) : 'gap']).toEqual([
        id,
        gap === null ? 'string' : 'gap',
      ]);
    }
    expect(events.length).toBeGreaterThan(intents.length);
  }
  expect(kills).toBeGreaterThan(2);
});

test.runIf(isThorough)('nothing of one tenant shows to the other', async () => {
  const [one, other] = books as [Book, Book];
  for (const { id } of one.wallets) expect((await other.api.get(`/v1/wallets/${id}`)).status).toBe(404);
  const texts = JSON.stringify(await readAll(other.api, '/v1/events', 'events'));
  for (const { id } of one.wallets) expect(texts).not.toContain(id);
});
