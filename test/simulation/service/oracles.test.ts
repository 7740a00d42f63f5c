/** Each check of a random run that reads the event log finds what is planted for it. */
import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { checkStreams } from '../../../simulation/search/wallets/streams.ts';
import { checkCreated } from '../../../simulation/service/invariants/created-once.ts';
import { DocumentedLedger, type ToldEvent } from '../../../simulation/service/invariants/documented-ledger.ts';
import { DocumentedModules } from '../../../simulation/service/invariants/documented-modules.ts';
import { checkHook, type HookFacts } from '../../../simulation/service/invariants/hooks.ts';
import { checkTimes } from '../../../simulation/service/invariants/timely.ts';
import type { DeliveredRequest } from '../../../simulation/service/receivers.ts';

const beganMs = Date.parse('2026-01-01T00:00:00.000Z');

interface Told {
  readonly type: string;
  readonly id: string;
  readonly object?: object;
  readonly version?: number;
  readonly atMs?: number;
}

/** Events a second apart, unless `atMs` says otherwise. */
function log(...told: readonly Told[]) {
  return told.map(
    ({ type, id, object = {}, version = 1, atMs }, at): ToldEvent => ({
      id: `evt_${at + 1}`,
      type,
      sequence: at + 1,
      timestamp: new Date(beganMs + (atMs ?? at * 1_000)).toISOString(),
      resource: { type: type.slice(0, type.lastIndexOf('.')).replace('.', '_'), id, version },
      data: { object },
    }),
  );
}

test('a resource that no answer showed', () => {
  const events = log({ type: 'token.order.created', id: 'ord_1' }, { type: 'token.order.created', id: 'ord_2' });
  expect(() => checkCreated(new Set(['ord_1', 'ord_2']), events)).not.toThrow();
  expect(() => checkCreated(new Set(['ord_1']), events)).toThrow('ord_2 was made and told to no caller');
  const ofPlan = log({
    type: 'transaction_intent.created',
    id: 'txi_1',
    object: { origin: { kind: 'treasury-plan' } },
  });
  expect(() => checkCreated(new Set(), ofPlan)).not.toThrow();
});

describe('a stream of events', () => {
  const events = log({ type: 'a.b', id: '1' }, { type: 'a.c', id: '1' }, { type: 'a.d', id: '1' });
  const messages = events.slice(1).map((event) => ({ id: event.sequence, data: JSON.stringify(event) }));

  test('as the log has it', () => expect(() => checkStreams([{ after: 1, messages, due: 3 }], events)).not.toThrow());

  test('that leaves one out, tells one twice, or ends early', () => {
    const stream = (told: typeof messages) => () => checkStreams([{ after: 1, messages: told, due: 3 }], events);
    expect(stream(messages.slice(1))).toThrow('tells event 3 in place of 2');
    expect(stream([messages[0]!, messages[0]!])).toThrow('tells event 2 in place of 3');
    expect(stream(messages.slice(0, 1))).toThrow('told 1 events while the log grew to 3');
  });
});

describe('a webhook', () => {
  const secretOf = (name: string) => `whsec_${Buffer.from(name.repeat(8)).toString('base64')}`;
  const facts = (...revokes: readonly boolean[]): HookFacts => ({
    ...{ id: 'whk_1', url: 'https://a.example', deletedMs: undefined, wasDisturbed: false },
    secrets: revokes.map((isRevoking, at) => ({
      ...{ secret: secretOf(`key${at}`), version: at + 1, revokes: isRevoking },
      ...{ askedMs: beganMs + at * 100, madeMs: beganMs + at * 100 },
    })),
  });
  const events = log(
    { type: 'webhook.created', id: 'whk_1', object: { events: ['*'], status: 'enabled' } },
    { type: 'wallet.frozen', id: 'wal_1', atMs: 60_000 },
  );
  const delivered = (event: ToldEvent, atMs: number, ...names: readonly string[]): DeliveredRequest => {
    const body = JSON.stringify(event);
    const signatures = names.map((name) => {
      const key = Buffer.from(secretOf(name).slice('whsec_'.length), 'base64');
      return `v1,${createHmac('sha256', key).update(`${event.id}.1.${body}`).digest('base64')}`;
    });
    const headers = {
      ...{ 'webhook-id': event.id, 'webhook-timestamp': '1', 'webhook-signature': signatures.join(' ') },
      'x-svc-signature': createHmac('sha256', secretOf(names[0]!)).update(body).digest('hex'),
    };
    return { url: 'https://a.example', sentMs: beganMs + atMs, atMs: beganMs + atMs, headers, body, status: 200 };
  };
  const check =
    (hook: HookFacts, told: readonly ToldEvent[], ...received: readonly DeliveredRequest[]) =>
    () =>
      checkHook(hook, told, received, true);

  test('is signed under every valid secret and no other', () => {
    const [, event] = events as [ToldEvent, ToldEvent];
    expect(check(facts(false, false), events, delivered(event, 60_000, 'key1', 'key0'))).not.toThrow();
    expect(check(facts(false, false), events, delivered(event, 60_000, 'key1'))).toThrow('wrong signature');
    expect(check(facts(false, true), events, delivered(event, 60_000, 'key1'))).not.toThrow();
    expect(check(facts(false, true), events, delivered(event, 60_000, 'key1', 'key0'))).toThrow('wrong signature');
  });

  test('gets nothing while it is disabled', () => {
    const off = log(
      { type: 'webhook.created', id: 'whk_1', object: { events: ['*'], status: 'enabled' } },
      { type: 'webhook.updated', id: 'whk_1', object: { events: ['*'], status: 'disabled' }, version: 2 },
    );
    expect(check(facts(false), off, delivered(off[1]!, 9_000, 'key0'))).toThrow('8000 ms after it was disabled');
  });

  test('gets each event once and soon, without faults', () => {
    const [, event] = events as [ToldEvent, ToldEvent];
    const times =
      (...received: readonly DeliveredRequest[]) =>
      () =>
        checkTimes([facts(false)], events, received);
    expect(times(delivered(event, 60_100, 'key0'))).not.toThrow();
    expect(times(delivered(event, 60_100, 'key0'), delivered(event, 60_200, 'key0'))).toThrow('twice');
    expect(times(delivered(event, 69_000, 'key0'))).toThrow('after 9000 ms');
  });
});

test('a transfer that waits, and one that expires late', () => {
  const intent = (status: string, atMs: number, expiresMs = 3_600_000) => ({
    type: `transaction_intent.${status}`,
    id: 'txi_1',
    object: { status, sub_status: null, expires_at: new Date(beganMs + expiresMs).toISOString() },
    atMs,
  });
  const check =
    (...told: readonly Told[]) =>
    () =>
      checkTimes([], log(...told), []);
  expect(check(intent('approved', 0), intent('signing', 4_000))).not.toThrow();
  expect(check(intent('approved', 0), intent('signing', 9_000))).toThrow('waits for 9000 ms');
  expect(check(intent('pending_approval', 0), intent('expired', 70_000, 60_000))).toThrow('expires 10000 ms late');
});

describe('books of the modules', () => {
  const asset = (symbol: string, available: string, pending = '0') => ({
    ...{ symbol, available, pending },
    balance: String(Number(available) + Number(pending)),
  });
  const wallet = (name: string, version: number, ...assets: readonly ReturnType<typeof asset>[]) => ({
    ...{ id: 'wal_1', name, version, status: 'active', assets },
  });
  const faultsOf = (...told: readonly Told[]) => {
    const ledger = new DocumentedLedger(undefined, new DocumentedModules());
    ledger.follow(log(...told));
    return ledger.faults.join();
  };
  const frozen = (name: string, ...assets: readonly ReturnType<typeof asset>[]) => ({
    ...{ type: 'wallet.frozen', id: 'wal_1', version: 2 },
    object: { ...wallet(name, 2, ...assets), status: 'frozen' },
  });

  test('the reserve of an order is pending while it is processed, and not after', () => {
    const reserve = { type: 'wallet', wallet_id: 'wal_1', asset: 'USDC' };
    const order = (status: string) => ({
      ...{ type: `token.order.${status}`, id: 'ord_1' },
      object: { status, reserve_reference: reserve, reserve_check: { required: '30' } },
    });
    const opened = { type: 'wallet.created', id: 'wal_1', object: wallet('a', 1, asset('USDC', '100')) };
    expect(faultsOf(opened, order('processing'), frozen('a', asset('USDC', '70', '30')))).toBe('');
    expect(faultsOf(opened, order('processing'), frozen('a', asset('USDC', '100')))).toContain('shows');
    const over = [opened, order('processing'), order('completed')] as const;
    expect(faultsOf(...over, frozen('a', asset('USDC', '100')))).toBe('');
    expect(faultsOf(...over, frozen('a', asset('USDC', '70', '30')))).toContain('shows');
  });

  test('an exchange at the venue is booked once, on both sides', () => {
    const name = 'Venue Sepolia';
    const opened = {
      type: 'wallet.created',
      id: 'wal_1',
      object: wallet(name, 1, asset('ETH', '1'), asset('USDC', '0')),
    };
    const trade = { sell: { asset: 'ETH' }, buy: { asset: 'USDC' }, sold: '1', bought: '2000' };
    const plan = { type: 'treasury.plan.updated', id: 'pln_1', object: { trades: [trade] } };
    expect(faultsOf(opened, plan, plan, frozen(name, asset('ETH', '0'), asset('USDC', '2000')))).toBe('');
    expect(faultsOf(opened, plan, frozen(name, asset('ETH', '1'), asset('USDC', '2000')))).toContain('shows');
    expect(faultsOf(opened, plan, frozen(name, asset('ETH', '0'), asset('USDC', '4000')))).toContain('shows');
  });
});
