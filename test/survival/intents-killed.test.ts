/**
 * Clients pay while gateways, coordinator, nodes and Redis die at random. Afterwards the books must be right to the
 * smallest unit: every order paid once or failed as it should, the ledger and the chains agree, and the events tell it.
 * The seed of the choices is printed.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type IntentStatus, intentTransitions } from '../../wallets/custody/intents/states.ts';
import { nodeWaits } from '../support/busy-machine.ts';
import { startCluster, type TestCluster } from '../support/cluster.ts';
import { RestClient } from '../support/rest.ts';
import { isThorough, runs } from '../support/thorough.ts';
import {
  type BookedEvent,
  type BookedIntent,
  type BookedWallet,
  type ChainBooks,
  readAll,
  readChains,
  readHashes,
  readOrders,
  readWhenOver,
  Sums,
  tenantOf,
  unitsOf,
} from './support/books.ts';
import { FurtherGateway } from './support/further-gateway.ts';
import { killAtRandom, type Moments, type Target } from './support/killing.ts';
import { Needles } from './support/needles.ts';
import { nonceUse } from './support/nonces.ts';
import { type Answered, drawOrder, endings, type Order, PaymentClient } from './support/payment-client.ts';
import {
  evm,
  onChain,
  openFixtures,
  ownerOf,
  type PayingWallet,
  type PaymentFixtures,
  testFunds,
} from './support/payment-fixtures.ts';
import { announcedSeed, Seeded } from './support/seeded.ts';

const clients = runs(8, 20);
/**
 * Of every client, at least: they go on until the killing is over. A call that was cut is answered when the lease of its
 * key ends, so there are many clients: the others pay meanwhile.
 */
const ordersMin = 4;
/** What dies at one moment. A step whose gateway died is taken up when its lease ends, so gateways die early. */
const early: Moments = [
  ['gateway', 'a node'],
  ['further gateway', 'redis'],
  ...(isThorough ? ([['gateway'], ['further gateway'], ['redis'], ['coordinator']] as const) : []),
];
const late: Moments = [
  ['coordinator'],
  ...(isThorough ? ([['a node', 'a node'], ['redis'], ['redis'], ['coordinator'], ['a node']] as const) : []),
];

const seed = announcedSeed('intents');
const apiKey = 'key-of-a-custodian-never-to-show';
const answered: Answered[] = [];
let repeats = 0;
let killed: readonly Target[];
let fixtures: PaymentFixtures;
let cluster: TestCluster;
let further: FurtherGateway;
let redis: Redis;
let api: RestClient;

let intents: readonly BookedIntent[];
let booked: readonly BookedWallet[];
let events: readonly BookedEvent[];
let chains: ChainBooks;

beforeAll(async () => {
  cluster = await startCluster({
    nodes: 3,
    nodesApart: true,
    environment: {
      SIGNMESH_SEED: 'random',
      SIGNMESH_LOG_LEVEL: 'debug',
      SIGNMESH_CHAIN_BLOCK_MS: '100',
      ...nodeWaits(1_000, 400),
    },
  });
  further = await FurtherGateway.start(cluster);
  api = new RestClient(cluster.httpUrl, cluster.token);
  fixtures = await openFixtures(api, new Seeded(`${seed}/fixtures`), apiKey);
  let isOver = false;
  const killing = killAtRandom(cluster, further, [early, late], new Seeded(`${seed}/killer`)).finally(() => {
    isOver = true;
  });
  const paying = Array.from({ length: clients }, (_, index) => payUntil(() => isOver, `client${index + 1}`));
  [killed] = await Promise.all([killing, ...paying]);
  await cluster.untilHealth('ok');
  await further.untilOk();
  await Promise.all(ownWallets().map(payTogether));
  const walletIds = fixtures.wallets.map(({ id }) => id);
  intents = await readWhenOver(api, walletIds);
  booked = await readAll<BookedWallet>(api, '/v1/wallets', 'wallets');
  events = await readAll<BookedEvent>(api, '/v1/events', 'events');
  redis = new Redis(cluster.redisUrl());
  chains = await readChains(redis);
  process.stdout.write(
    `intents: killed ${killed.join(', ')}; ${intents.length} intents, ${repeats} calls repeated, ` +
      `${events.length} events, ${chains.transactions.length} transactions\n`,
  );
});
afterAll(async () => {
  redis?.disconnect();
  await cluster?.stop();
});

function clientOf(chance: Seeded): PaymentClient {
  const { token, approver_token: approverToken } = cluster.ready;
  const urls = [cluster.httpUrl, further.url];
  return new PaymentClient({ urls, token, approverToken, chance });
}

async function payUntil(isOver: () => boolean, name: string): Promise<void> {
  const chance = new Seeded(`${seed}/${name}`);
  const client = clientOf(chance);
  for (let count = 1; count <= ordersMin || !isOver(); count += 1) {
    await client.pay(drawOrder(`${name}-${count}`, chance, fixtures));
    // The pace of the load, not a wait for anything.
    await new Promise((resolve) => setTimeout(resolve, chance.integer(50, 600)));
  }
  answered.push(...client.answered);
  repeats += client.repeats;
}

/**
 * Good transfers of a wallet and some that are refused, at once, and none after them: what is wrong with a number that
 * was given back while others were on their way, no gateway repairs any more.
 */
async function payTogether({ id, network }: PayingWallet): Promise<void> {
  const client = clientOf(new Seeded(`${seed}/${id}`));
  const [to = ''] = fixtures.foreign[network]!;
  const [asset = ''] = Object.keys(testFunds[network]!);
  const common = { walletId: id, asset, to };
  const orders = Array.from({ length: 12 }, (_, index): Order => {
    const key = `${id}-${index}`;
    if (index % 3 === 0) return { ...common, key, amount: '0.004421', ending: 'refusedLate' };
    return { ...common, key, amount: `0.00${index}1`, ending: 'completed' };
  });
  await Promise.all(orders.map((order) => client.pay(order)));
  answered.push(...client.answered);
}

const walletOf = (id: string): PayingWallet => fixtures.wallets.find((wallet) => wallet.id === id)!;
const ownWallets = (): PayingWallet[] => fixtures.wallets.filter(({ hosting }) => hosting === 'self_hosted');
const statusEvents = (id: string): string[] =>
  events
    .filter(({ resource }) => resource.id === id)
    .map(({ type }) => type.replace('transaction_intent.', ''))
    .filter((type) => type !== 'approval_recorded' && type !== 'updated');

describe('of what was acknowledged', () => {
  test('every kind of process died, and its clients noticed', () => {
    for (const role of ['redis', 'coordinator', 'gateway', 'node-\\d'])
      expect(cluster.output).toMatch(new RegExp(`${role} died \\(SIGKILL\\)`));
    expect(killed).toContain('further gateway');
    expect(repeats).toBeGreaterThan(0);
    expect(intents.length).toBeGreaterThanOrEqual(clients * ordersMin);
  });

  test('every idempotency key made one intent, the one that its client was told', () => {
    const ofKeys = new Map(answered.map(({ order, intentId }) => [order.key, intentId]));
    expect(new Set(answered.map(({ intentId }) => intentId)).size).toBe(ofKeys.size);
    const found = intents.map(({ id, metadata }) => [metadata.order, id]);
    expect(found.sort()).toEqual([...ofKeys].sort());
  });

  test('and answers with it for ever, at any gateway', async () => {
    const client = clientOf(new Seeded(`${seed}/again`));
    const again = await Promise.all(answered.map(async ({ order }) => [order.key, (await client.create(order)).id]));
    expect(again).toEqual(answered.map(({ order, intentId }) => [order.key, intentId]));
  });

  test('every intent ended as its order had to', () => {
    const errors: Readonly<Record<string, string>> = {
      TRANSFER_REFUSED: 'refused',
      SANDBOX_TRANSFER_REFUSED: 'refused',
      TRANSACTION_REVERTED: 'reverted',
      SANDBOX_REVERTED: 'reverted',
    };
    const byId = new Map(intents.map((intent) => [intent.id, intent]));
    for (const { order, intentId } of answered) {
      const {
        status,
        provider_error: error,
        asset,
        amount,
        wallet_id: walletId,
        network,
        destination,
      } = byId.get(intentId)!;
      const named = error === null ? null : (errors[error.code] ?? error.code);
      const { key, ending, to, ...ordered } = order;
      expect({ key, walletId, asset, amount, status, error: named }).toEqual({ key, ...ordered, ...endings[ending] });
      expect([key, onChain(network, destination.address)]).toEqual([key, onChain(network, to)]);
    }
  });
});

describe('on the chains', () => {
  test('every transfer is one transaction, and there is no other but those that fill a gap', () => {
    const ids = intents.flatMap(({ provider_tx_id: id }) => (id === null ? [] : [id]));
    expect(new Set(ids).size).toBe(ids.length);
    const settled = intents.filter(({ status }) => status === 'completed');
    for (const { id, provider_tx_id: txId } of settled) expect([id, txId]).toEqual([id, expect.any(String)]);
    const submitted = intents.filter(
      ({ wallet_id: id, provider_tx_id }) => provider_tx_id !== null && walletOf(id).hosting === 'self_hosted',
    );
    for (const { id, provider_tx_id: txId, provider_details: details } of submitted) {
      expect([id, txId, details]).toEqual([id, txId, expect.objectContaining({ raw_transaction: expect.any(String) })]);
    }
    const fills = chains.transactions.filter(({ from, to, units }) => from === to && units === 0n);
    const named = intents.flatMap(({ gap_transaction: gap }) => gap?.provider_tx_id ?? []);
    expect(fills.map(({ id }) => id).sort()).toEqual(named.sort());
    const others = chains.transactions.filter((transaction) => !fills.includes(transaction));
    expect(others.map(({ id }) => id).sort()).toEqual(submitted.map(({ provider_tx_id: id }) => id).sort());
    expect(chains.transactions.filter(({ isMined }) => !isMined)).toEqual([]);
  });

  test('the nonces of a wallet run from 0 without a hole, none twice, and none waits', async () => {
    for (const wallet of ownWallets().filter(({ network }) => network === evm)) {
      const address = onChain(evm, wallet.address);
      const used = chains.transactions.filter(({ from }) => from === address).map(({ nonce }) => nonce!);
      expect(used.sort((a, b) => a - b)).toEqual(Array.from({ length: used.length }, (_, index) => index));
      const { next, waiting } = chains.nonces.get(address)!;
      expect({ next, waiting }).toEqual({ next: used.length, waiting: [] });
      // What was allocated and is not used is free again.
      const prefix = `sm:{t:${await tenantOf(redis, wallet.id)}}:`;
      const allocated = Number((await redis.get(`${prefix}ctr:nonce:${wallet.id}`)) ?? 0);
      const free = (await redis.zrange(`${prefix}free:nonce:${wallet.id}`, '0', '-1'))
        .map(Number)
        .sort((a, b) => a - b);
      expect(free).toEqual(Array.from({ length: allocated - next }, (_, index) => next + index));
    }
  });

  test('no purpose had two messages, no message two signatures, and no signing nonce was spent twice', async () => {
    const messages = new Map<string, Set<string>>();
    const signed: string[] = [];
    for (const { purpose, keyId, message, signature } of await readOrders(redis)) {
      messages.set(purpose, (messages.get(purpose) ?? new Set()).add(message));
      if (signature !== '') signed.push(`${keyId} ${message}`);
    }
    expect([...messages].filter(([, { size }]) => size > 1)).toEqual([]);
    // Every transfer of a wallet has a message of its own: twice signed it is one that was signed under two names.
    expect(signed.filter((message, index) => signed.indexOf(message) !== index)).toEqual([]);
    expect(signed.length).toBeGreaterThanOrEqual(chains.transactions.length);
    expect(nonceUse(cluster).spentTwice).toEqual([]);
  });
});

describe('of the money', () => {
  test('each wallet holds what came in less what went out, and so says its chain', () => {
    const expected = new Sums();
    for (const { id, network } of fixtures.wallets) {
      for (const [asset, amount] of Object.entries(testFunds[network]!)) {
        expected.add(`${id} ${asset}`, unitsOf(asset, amount));
      }
    }
    for (const { wallet_id: id, network, asset, amount, destination, status, fee } of intents) {
      expected.add(`${id} ${fee.asset}`, -unitsOf(fee.asset, fee.paid ?? '0'));
      if (status !== 'completed') continue;
      expected.add(`${id} ${asset}`, -unitsOf(asset, amount));
      const owner = ownerOf(fixtures, network, destination.address);
      if (owner !== undefined) expected.add(`${owner.id} ${asset}`, unitsOf(asset, amount));
    }
    const shown = new Sums();
    const chained = new Sums();
    for (const { id, assets } of booked) {
      for (const { symbol, balance } of assets) shown.add(`${id} ${symbol}`, unitsOf(symbol, balance));
    }
    expect(shown.entries).toEqual(expected.entries);
    for (const { id, network, address } of ownWallets()) {
      for (const asset of Object.keys(testFunds[network]!)) {
        chained.add(`${id} ${asset}`, chains.held.get(`${network} ${onChain(network, address)} ${asset}`) ?? 0n);
      }
    }
    const ofChains = expected.entries.filter(([name]) => walletOf(name.split(' ')[0]!).hosting === 'self_hosted');
    expect(chained.entries).toEqual(ofChains);
  });

  test('nothing is set aside any more, and no coin is held', async () => {
    expect(booked.flatMap(({ assets }) => assets).filter(({ pending }) => pending !== '0')).toEqual([]);
    const balances = await readHashes(redis, 'sm:{t:*}:bal:*');
    expect(balances.length).toBeGreaterThanOrEqual(fixtures.wallets.length);
    const reserved = balances.flatMap(([, fields]) => Object.entries(fields).filter(([name]) => name.endsWith('|r')));
    expect(reserved.filter(([, units]) => units !== '0')).toEqual([]);
    expect(chains.heldCoins).toEqual([]);
    const due = await redis.zrange(`sm:{t:${await tenantOf(redis, fixtures.wallets[0]!.id)}}:due`, '0', '-1');
    expect(due.filter((member) => member.startsWith('intent/'))).toEqual([]);
  });

  test('all that the faucets gave is in the accounts or was burned as a fee', () => {
    const given = new Sums();
    const found = new Sums();
    for (const { network } of ownWallets()) {
      for (const [asset, amount] of Object.entries(testFunds[network]!)) given.add(asset, unitsOf(asset, amount));
    }
    for (const [name, units] of chains.held) found.add(name.split(' ')[2]!, units);
    for (const { network, fee } of chains.transactions) found.add(Object.keys(testFunds[network]!)[0]!, fee);
    expect(found.entries).toEqual(given.entries);
  });

  test('the fees that a wallet paid are those of its transactions', () => {
    const paid = new Sums();
    const burned = new Sums();
    for (const { wallet_id: id, network, fee } of intents) {
      const wallet = walletOf(id);
      if (wallet.hosting === 'self_hosted') {
        paid.add(`${network} ${onChain(network, wallet.address)}`, unitsOf(fee.asset, fee.paid ?? '0'));
      }
    }
    for (const { network, from, fee } of chains.transactions) burned.add(`${network} ${from}`, fee);
    expect(burned.entries).toEqual(paid.entries);
  });
});

describe('of the events', () => {
  test('the sequence has no hole, and no event is there twice', () => {
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  });

  test('those of an intent tell its way, in an order that the table of states allows', () => {
    for (const { id, status, status_history: history, approvals, version } of intents) {
      const way = statusEvents(id);
      expect([id, way]).toEqual([id, history.map((change) => change.status)]);
      expect([id, way[0], way.at(-1)]).toEqual([id, 'created', status]);
      for (const [index, to] of way.slice(1).entries()) {
        expect(intentTransitions[way[index] as IntentStatus]).toContain(to);
      }
      const own = events.filter(({ resource }) => resource.id === id);
      expect(own.filter(({ type }) => type.endsWith('.approval_recorded'))).toHaveLength(approvals.length);
      const versions = own.map(({ resource }) => resource.version);
      expect([...versions].sort((a, b) => a - b)).toEqual(versions);
      expect([id, [...new Set(versions)]]).toEqual([id, Array.from({ length: version }, (_, index) => index + 1)]);
    }
  });

  test('every payment to a wallet of ours was received once', () => {
    const received = events.filter(({ type }) => type === 'wallet.deposit_received');
    const expected = intents.flatMap(({ status, network, destination, provider_tx_id: id }) => {
      const owner = status === 'completed' ? ownerOf(fixtures, network, destination.address) : undefined;
      return owner === undefined ? [] : [`${owner.id} ${id}`];
    });
    const found = received.map(({ resource, data }) => `${resource.id} ${data.object.deposit!.tx_id}`);
    expect(found.sort()).toEqual(expected.sort());
  });
});

test('no token and no credential stands in a log, in the events or in the files of Redis', () => {
  const needles = new Needles();
  const secrets = { token: cluster.token, approver: cluster.ready.approver_token, credential: apiKey };
  for (const [name, text] of Object.entries(secrets)) needles.addText(name, text);
  const texts = [...cluster.logs(), { name: 'the further gateway', text: further.output }];
  texts.push({ name: 'the events', text: JSON.stringify(events) });
  const found = texts.flatMap(({ name, text }) => needles.search(name, text));
  const folder = join(cluster.dataDir, 'redis');
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(files.some(({ name }) => name.includes('.aof'))).toBe(true);
  for (const { name, parentPath } of files) {
    const bytes = readFileSync(join(parentPath, name));
    // Bytes as they are: the search for every form would take long.
    for (const [secret, text] of Object.entries(secrets)) {
      if (bytes.includes(text)) found.push({ secret, form: 'raw', where: name });
    }
  }
  expect(found).toEqual([]);
});
