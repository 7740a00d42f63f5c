/** One try, over stores that only pretend: what it sends, what it leaves to others, and what it records of an answer. */
import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { systemPorts } from '../../../../core/actors/live/ports.ts';
import { Deliverer, type DelivererDeps } from '../../../../wallets/delivery/deliveries/deliver.ts';
import type { DeliveryMove } from '../../../../wallets/delivery/deliveries/outbox-store.ts';
import type { DeliveryRecord } from '../../../../wallets/delivery/deliveries/record.ts';
import type { SendOutcome } from '../../../../wallets/delivery/egress/public.ts';
import type { WebhookRecord } from '../../../../wallets/delivery/webhooks/public.ts';
import { StoreUnavailable } from '../../../../wallets/store/contract.ts';
import { collectLog } from '../../../support/log.ts';

const dayMs = 86_400_000;
/** The sandbox is 90 days ahead of it. */
const machineMs = 10 * dayMs;
const job = { tenant: 'tn_1', webhookId: 'whk_1', deliveryId: 'dlv_1', tries: 0, sequence: 3 };

/** A delivery to a webhook; secrets are sealed by a letter before them. */
function delivering(webhook: Partial<WebhookRecord> = {}, delivery: Partial<DeliveryRecord> = {}) {
  const nowMs = 100 * dayMs;
  const records = {
    dlv_1: {
      ...{ id: 'dlv_1', version: 1, webhookId: 'whk_1', eventId: 'evt_1', eventType: 'wallet.created', sequence: 3 },
      ...{ status: 'queued', attempts: [], attemptCount: 0, failedTries: 0, nextAttemptAtMs: null },
      ...{ createdAtMs: nowMs, updatedAtMs: nowMs, ...delivery },
    } as DeliveryRecord,
    whk_1: {
      ...{ id: 'whk_1', version: 1, url: 'https://a.test', events: ['*'], description: null, status: 'enabled' },
      ...{ secrets: [{ sealed: 'x-whsec_b25l', endsAtMs: null }], createdAtMs: 0, updatedAtMs: 0, ...webhook },
    } as WebhookRecord,
  };
  const sent: Record<string, string>[] = [];
  const moves: DeliveryMove[] = [];
  const released: string[] = [];
  const changed: WebhookRecord['status'][] = [];
  const opened: string[] = [];
  const next = {
    outcome: { kind: 'answered', status: 200, retryAfter: undefined, tookMs: 5 } as SendOutcome,
    move: async (): Promise<object | undefined> => ({ failingSinceMs: null as number | null, behind: false }),
  };
  const deps = {
    ...systemPorts,
    clock: { nowMs: () => nowMs },
    timers: {
      epochMs: () => machineMs,
      elapsedMs: () => 0,
      start: (_: number, run: () => void) => void setImmediate(run),
    },
    log: collectLog().log,
    version: '1',
    store: {
      read: async (_: string, { name }: { name: string }) => records[name === 'webhook' ? 'whk_1' : 'dlv_1'],
      commit: async (_: string, { puts }: { puts: { after: WebhookRecord }[] }) => {
        changed.push(puts[0]!.after.status);
        return { committed: true };
      },
    },
    hooks: {
      release: async (_: string, __: string, ___: string, how: string) => void released.push(how),
      move: (_: string, move: DeliveryMove) => {
        moves.push(move);
        return next.move();
      },
    },
    bodies: { find: async () => Buffer.from('{}') },
    seal: {
      seal: (plain: string, about: string) => `sealed for ${about}: ${plain}`,
      open: (sealed: string, about: string) => {
        opened.push(`${about} ${sealed}`);
        return sealed.slice(2);
      },
    },
    send: async ({ headers }: { headers: Record<string, string> }) => {
      sent.push(headers);
      return next.outcome;
    },
  } as unknown as DelivererDeps;
  const deliverer = new Deliverer(deps);
  return { deliverer, records, sent, moves, released, changed, opened, next, nowMs };
}

test('a try that another process has made already is not made again', async () => {
  const { deliverer, sent, moves } = delivering({}, { attemptCount: 1, status: 'retrying' });
  await deliverer.deliver(job);
  expect([sent, moves]).toEqual([[], []]);
});

test.each([
  ['disabled', 'hold'],
  ['suspended', 'hold'],
] as const)('to a webhook that is %s nothing is sent, and the delivery waits', async (status, how) => {
  const { deliverer, sent, released } = delivering({ status });
  await deliverer.deliver(job);
  expect([sent, released]).toEqual([[], [how]]);
});

test('secrets are opened once for each webhook and each of their values, and a rotated one signs at once', async () => {
  const { deliverer, records, sent, opened } = delivering();
  await deliverer.deliver(job);
  await deliverer.deliver(job);
  const secrets = [
    { sealed: 'x-whsec_dHdv', endsAtMs: null },
    { sealed: 'x-whsec_b25l', endsAtMs: 101 * dayMs },
  ];
  Object.assign(records, { whk_1: { ...records.whk_1, secrets } });
  await deliverer.deliver(job);
  await deliverer.deliver({ ...job, tenant: 'tn_2' });
  expect(opened).toEqual([
    'webhook/tn_1/whk_1 x-whsec_b25l',
    'webhook/tn_1/whk_1 x-whsec_dHdv',
    'webhook/tn_2/whk_1 x-whsec_dHdv',
    'webhook/tn_2/whk_1 x-whsec_b25l',
  ]);
  const by = (secret: string) => createHmac('sha256', secret).update('{}').digest('hex');
  expect(sent.map((headers) => headers['x-svc-signature'])).toEqual(
    ['whsec_b25l', 'whsec_b25l', 'whsec_dHdv', 'whsec_dHdv'].map(by),
  );
  expect(sent[2]!['webhook-signature']!.split(' ')).toHaveLength(2);
});

test('an answer is recorded while Redis comes back, and once though the reply of its record is lost', async () => {
  const { deliverer, records, sent, moves, next } = delivering();
  next.move = async () => {
    if (moves.length < 3) throw new StoreUnavailable('Redis is not connected', { changedNothing: true });
    // It is written, but the reply says that it was not.
    Object.assign(records, { dlv_1: { ...records.dlv_1, ...moves[2]!.after, status: 'retrying' } });
    return undefined;
  };
  next.outcome = { kind: 'answered', status: 500, retryAfter: undefined, tookMs: 5 };
  const { retryAtMs } = await deliverer.deliver(job);
  expect([sent.length, moves.length, records.dlv_1.attemptCount]).toEqual([1, 3, 1]);
  expect(retryAtMs).toBe(records.dlv_1.nextAttemptAtMs);
});

test('what the receiver answered is recorded sealed, and only that of the latest try', async () => {
  const { deliverer, moves, next } = delivering({}, { lastAnswer: 'of the try before' });
  const answer = { headers: { server: 'mine' }, body: 'no such user', truncated: false };
  next.outcome = { kind: 'answered', status: 500, retryAfter: undefined, tookMs: 5, answer };
  await deliverer.deliver(job);
  expect(moves[0]!.after.lastAnswer).toBe(`sealed for tn_1 dlv_1: ${JSON.stringify(answer)}`);
  next.outcome = { kind: 'failed', code: 'timeout', message: '', tookMs: 5 };
  await deliverer.deliver(job);
  expect(moves[1]!.after.lastAnswer).toBe(null);
});

test('a request has the time of the machine, and so is an HTTP-date of its answer read, wherever a sandbox moved the clock', async () => {
  const { deliverer, sent, moves, next } = delivering();
  const retryAfter = new Date(machineMs + 60_000).toUTCString();
  next.outcome = { kind: 'answered', status: 503, retryAfter, tookMs: 5 };
  await deliverer.deliver(job);
  expect(sent[0]!['webhook-timestamp']).toBe(String(machineMs / 1_000));
  expect(moves[0]!.after.nextAttemptAtMs).toBe(100 * dayMs + 60_000);
});

test.each<[string, number, number | null, Partial<WebhookRecord>, readonly string[]]>([
  ['410 disables it', 410, null, {}, ['disabled']],
  ['five days of failure suspend it', 500, 95 * dayMs, {}, ['suspended']],
  ['a moment less does not', 500, 95 * dayMs + 1, {}, []],
  ['five days count from its last change', 500, 50 * dayMs, { updatedAtMs: 95 * dayMs + 1 }, []],
])('a webhook that fails: %s', async (_, status, failingSinceMs, webhook, expected) => {
  const { deliverer, changed, next } = delivering(webhook);
  next.outcome = { kind: 'answered', status, retryAfter: undefined, tookMs: 5 };
  next.move = async () => ({ failingSinceMs, behind: false });
  await deliverer.deliver(job);
  expect(changed).toEqual(expected);
});

test('a webhook that was enabled anew meanwhile is not suspended', async () => {
  const { deliverer, records, changed, next } = delivering();
  next.outcome = { kind: 'answered', status: 500, retryAfter: undefined, tookMs: 5 };
  next.move = async () => {
    Object.assign(records, { whk_1: { ...records.whk_1, updatedAtMs: 100 * dayMs } });
    return { failingSinceMs: 90 * dayMs, behind: false };
  };
  await deliverer.deliver(job);
  expect(changed).toEqual([]);
});
