/** Secrets, pings, delivery logs and redelivery through the API, with workers that really deliver. */
import type { LightMyRequestResponse } from 'fastify';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../../../core/actors/live/ports.ts';
import { newToken } from '../../../../gateway/auth/token-format.ts';
import { openAnswer } from '../../../../wallets/delivery/deliveries/last-answer.ts';
import { deliveryType } from '../../../../wallets/delivery/deliveries/record.ts';
import { deliveryRoutes } from '../../../../wallets/delivery/deliveries/routes.ts';
import { WebhookService } from '../../../../wallets/delivery/deliveries/webhook-service.ts';
import { eventRoutes } from '../../../../wallets/delivery/events/routes.ts';
import { webhookRoutes } from '../../../../wallets/delivery/webhooks/routes.ts';
import { rotated, secretOverlapMs } from '../../../../wallets/delivery/webhooks/secrets.ts';
import { type RestApp, restApp } from '../../../support/rest-app.ts';
import { until } from '../../../support/until.ts';
import { type Receiver, startReceiver } from '../deliveries/support/receiver.ts';
import { type HookService, newTenant, SetClock, startService } from '../deliveries/support/service.ts';

let service: HookService;
let door: RestApp;
let receiver: Receiver;
let tenant: string;
let token: string;
const clock = new SetClock();

beforeAll(async () => {
  service = await startService();
  const { store, hooks, seal } = service;
  const webhookService = new WebhookService(hooks, store, systemClock);
  const routes = [
    ...webhookRoutes({ environment: 'sandbox', seal, random: systemRandom, webhookService }),
    ...deliveryRoutes({ webhookService, seal }),
    ...eventRoutes(),
  ];
  door = await restApp({ routes, store, seal, clock });
  await service.work();
});
beforeEach(async () => {
  receiver = await startReceiver();
  tenant = newTenant();
  token = newToken('sandbox', systemRandom);
  door.tokens.put(token, { tenant });
});
afterEach(() => receiver.stop());
afterAll(async () => {
  await door.app.close();
  await service.stop();
});

function call(method: 'GET' | 'POST' | 'PATCH', path: string, payload?: object, as = token) {
  return door.app.inject({
    method,
    url: `/v1/${path}`,
    headers: { authorization: `Bearer ${as}` },
    ...(payload === undefined ? {} : { payload }),
  });
}

interface Hook {
  readonly id: string;
  readonly secret: string;
  readonly path: string;
}

async function register(events: readonly string[] = ['wallet.*']): Promise<Hook> {
  const answer = await call('POST', 'webhooks', { url: receiver.url, events });
  expect(answer.statusCode, answer.body).toBe(201);
  const { id, secret } = answer.json() as Hook;
  await service.begun(tenant, id);
  return { id, secret, path: `webhooks/${id}` };
}

interface DeliveryBody {
  readonly id: string;
  readonly status: string;
  readonly event_id: string;
  readonly event_type: string;
  readonly sequence: number;
  readonly attempts: readonly { status: number | null; latency_ms: number; error: string | null; at: string }[];
}

async function log({ path }: Hook, query = ''): Promise<readonly DeliveryBody[]> {
  const answer = await call('GET', `${path}/deliveries?${query}`);
  expect(answer.statusCode, answer.body).toBe(200);
  return (answer.json() as { deliveries: DeliveryBody[] }).deliveries;
}

const issueOf = (answer: LightMyRequestResponse) =>
  (answer.json() as { error: { details?: { issue: string }[] } }).error.details?.[0]?.issue;

describe('forty at once', () => {
  const many = <T>(of: (k: number) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: 40 }, (_, k) => of(k)));

  test('register as many webhooks as a tenant may have; the rest are told so', async () => {
    const replies = await many((k) => call('POST', 'webhooks', { url: `http://127.0.0.1:9/${k}`, events: ['*'] }));
    expect(replies.filter(({ statusCode }) => statusCode === 201)).toHaveLength(20);
    for (const reply of replies.filter(({ statusCode }) => statusCode !== 201)) {
      expect(reply.json()).toMatchObject({ error: { code: 'conflict', details: [{ issue: 'too_many_webhooks' }] } });
    }
  });

  test('change one webhook, all of them', async () => {
    const made = await call('POST', 'webhooks', { url: 'http://127.0.0.1:9/', events: ['*'] });
    const { id } = made.json<{ id: string }>();
    // One that has waited too long for its turn, on a busy machine, is told to repeat its request.
    const change = async (k: number): Promise<Awaited<ReturnType<typeof call>>> => {
      const reply = await call('PATCH', `webhooks/${id}`, { description: `the ${k}th` });
      return reply.body.includes('version_conflict') ? change(k) : reply;
    };
    const replies = await many(change);
    expect(replies.map(({ statusCode }) => statusCode)).toEqual(replies.map(() => 200));
  });
});

describe('rotation', () => {
  test('another one prolongs no secret that ends already', () => {
    const of = (sealed: string, endsAtMs: number | null) => ({ sealed, endsAtMs });
    const before = [of('newest', null), of('ending', 50), of('over', 10)];
    const after = [of('next', null), of('newest', 10 + secretOverlapMs), of('ending', 50)];
    expect(rotated(before, of('next', null), 10, true)).toEqual(after);
  });

  test('shows the new secret once; for a day deliveries verify with both', async () => {
    const hook = await register();
    const answer = await call('POST', `${hook.path}/rotate-secret`);
    expect(answer.statusCode, answer.body).toBe(200);
    const { secret, previous_secret_expires_at: ends } = answer.json() as Record<string, string>;
    expect(secret).toMatch(/^whsec_/);
    expect(secret).not.toBe(hook.secret);
    expect(Date.parse(ends!) - clock.nowMs()).toBeGreaterThan(secretOverlapMs - 60_000);
    const shown = (await call('GET', hook.path)).json() as object;
    expect(shown).toMatchObject({ previous_secret_expires_at: ends });
    expect(JSON.stringify(shown)).not.toContain('whsec_');
    await service.happen(tenant, 1);
    await until(() => receiver.received.length === 1, 'the delivery');
    const [{ raw, headers }] = receiver.received as unknown as [{ raw: Buffer; headers: Record<string, string> }];
    for (const each of [secret!, hook.secret]) expect(() => new Webhook(each).verify(raw, headers)).not.toThrow();
    const events = (await call('GET', 'events?type=webhook.updated')).json() as { events: object[] };
    expect(events.events).toHaveLength(1);
    expect(JSON.stringify(events)).not.toContain('whsec_');
  });

  test('with revoke_previous ends the one before at once', async () => {
    const hook = await register();
    const answer = await call('POST', `${hook.path}/rotate-secret`, { revoke_previous: true });
    const { secret, previous_secret_expires_at: ends } = answer.json() as Record<string, string>;
    expect(ends).toBeNull();
    await service.happen(tenant, 1);
    await until(() => receiver.received.length === 1, 'the delivery');
    const [{ raw, headers }] = receiver.received as unknown as [{ raw: Buffer; headers: Record<string, string> }];
    expect(() => new Webhook(secret!).verify(raw, headers)).not.toThrow();
    expect(() => new Webhook(hook.secret).verify(raw, headers)).toThrow();
  });

  test('repeated under its key gives the same secret; too many at once are refused', async () => {
    const hook = await register();
    const headers = { authorization: `Bearer ${token}`, 'idempotency-key': 'rotate-once' };
    const rotate = () => door.app.inject({ method: 'POST', url: `/v1/${hook.path}/rotate-secret`, headers });
    expect((await rotate()).body).toBe((await rotate()).body);
    const statuses: number[] = [];
    for (let turn = 0; turn < 5; turn += 1) {
      statuses.push((await call('POST', `${hook.path}/rotate-secret`)).statusCode);
    }
    expect(statuses).toEqual([200, 200, 200, 409, 409]);
    clock.advance(secretOverlapMs + 1);
    const later = (await call('GET', hook.path)).json() as object;
    expect(later).toMatchObject({ previous_secret_expires_at: null });
    expect((await call('POST', `${hook.path}/rotate-secret`)).statusCode).toBe(200);
  });
});

describe('a ping', () => {
  test('reaches the pinged webhook alone, whatever it listens to, and stands in its log', async () => {
    const hook = await register(['policy.created']);
    const other = await register(['*']);
    const answer = await call('POST', `${hook.path}/ping`);
    expect(answer.statusCode, answer.body).toBe(202);
    const { event_id: eventId, delivery_id: deliveryId } = answer.json() as Record<string, string>;
    await until(
      async () => (await call('GET', `${hook.path}/deliveries/${deliveryId}`)).json().status === 'delivered',
      'the delivery',
    );
    const pings = receiver.received.filter(({ event }) => event.type === 'webhook.ping');
    expect(pings).toHaveLength(1);
    expect(pings[0]!.event.id).toBe(eventId);
    expect((await log(other)).filter(({ event_type: type }) => type === 'webhook.ping')).toEqual([]);
    const [delivery] = await log(hook, 'event_type=webhook.ping');
    expect(delivery).toMatchObject({
      id: deliveryId,
      event_id: eventId,
      status: 'delivered',
      attempts: [{ status: 200, error: null, latency_ms: expect.any(Number), at: expect.stringMatching(/Z$/) }],
    });
  });

  test('of a disabled webhook is refused', async () => {
    const hook = await register();
    await call('PATCH', hook.path, { status: 'disabled' });
    const answer = await call('POST', `${hook.path}/ping`);
    expect([answer.statusCode, issueOf(answer)]).toEqual([409, 'state_conflict']);
  });
});

describe('the log', () => {
  test('is listed newest first, filtered and walked', async () => {
    const hook = await register(['*']);
    await service.happen(tenant, 7, 'wallet.created');
    await service.happen(tenant, 5, 'policy.created');
    await service.settled(tenant, hook.id);
    const all = await log(hook);
    expect(all).toHaveLength(12);
    expect((await log(hook, 'event_type=policy.*')).map(({ event_type: type }) => type)).toEqual(
      Array.from({ length: 5 }, () => 'policy.created'),
    );
    expect(await log(hook, 'status=failed')).toEqual([]);
    expect(await log(hook, 'status=delivered&limit=100')).toHaveLength(12);
    expect(await log(hook, `created_after=${new Date(Date.now() + 60_000).toISOString()}`)).toEqual([]);
    for (const query of ['limit=5', 'limit=2&event_type=wallet.created']) {
      const walked: string[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const page = await call('GET', `${hook.path}/deliveries?${query}${cursor === '' ? '' : `&cursor=${cursor}`}`);
        const body = page.json() as { deliveries: DeliveryBody[]; next_cursor: string | null };
        walked.push(...body.deliveries.map(({ id }) => id));
        cursor = body.next_cursor;
      }
      expect(walked).toEqual((await log(hook, query.replace(/limit=\d/, 'limit=100'))).map(({ id }) => id));
    }
    const wrong = await call('GET', `${hook.path}/deliveries?event_type=nothing`);
    expect([wrong.statusCode, issueOf(wrong)]).toEqual([400, 'not_allowed_value']);
  });

  test('shows what the receiver answered last, and holds it sealed', async () => {
    const hook = await register();
    receiver.answer = () => ({ status: 200, headers: { 'x-mine': 'a' }, body: 'taken by an author' });
    await service.happen(tenant, 1);
    await service.settled(tenant, hook.id);
    const [delivery] = await log(hook);
    expect(delivery).not.toHaveProperty('last_answer');
    const { last_answer: last } = (await call('GET', `${hook.path}/deliveries/${delivery!.id}`)).json();
    expect(last).toMatchObject({ headers: { 'x-mine': 'a' }, body: 'taken by an author', truncated: false });
    const stored = await service.store.read(tenant, deliveryType, delivery!.id);
    expect(stored?.lastAnswer).toMatch(/^e1\./);
    expect(openAnswer(service.seal, 'tn_other', stored!)).toBe(null);
  });

  test('of a webhook shows nothing of another one, nor to another tenant', async () => {
    const [hook, other] = [await register(), await register(['policy.*'])];
    await service.happen(tenant, 1);
    await service.settled(tenant, hook.id);
    const [delivery] = await log(hook);
    expect((await call('GET', `${hook.path}/deliveries/${delivery!.id}`)).statusCode).toBe(200);
    const stranger = newToken('sandbox', systemRandom);
    for (const [path, as] of [
      [`${other.path}/deliveries/${delivery!.id}`, token],
      [`${hook.path}/deliveries/${delivery!.id}`, stranger],
      [`${hook.path}/deliveries/${hook.id}`, token],
    ] as const) {
      expect((await call('GET', path, undefined, as)).statusCode).toBe(404);
      expect((await call('POST', `${path}/redeliver`, undefined, as)).statusCode).toBe(404);
    }
    expect((await call('GET', `${hook.path}/deliveries`, undefined, stranger)).statusCode).toBe(404);
  });
});

describe('redelivery', () => {
  test('of one sends the same body under the same id again', async () => {
    const hook = await register();
    await service.happen(tenant, 1);
    await service.settled(tenant, hook.id);
    const [delivery] = await log(hook);
    const answer = await call('POST', `${hook.path}/deliveries/${delivery!.id}/redeliver`);
    expect([answer.statusCode, answer.json().status]).toEqual([202, 'retrying']);
    await service.settled(tenant, hook.id);
    expect(receiver.received).toHaveLength(2);
    const [one, two] = receiver.received;
    expect(two!.raw.equals(one!.raw)).toBe(true);
    expect(two!.headers['webhook-id']).toBe(one!.headers['webhook-id']);
    expect((await log(hook))[0]!.attempts).toHaveLength(2);
  });

  test('of a range sends what failed again, by type and sequence', async () => {
    const hook = await register(['wallet.*', 'policy.*']);
    receiver.answer = () => 500;
    const wallets = await service.happen(tenant, 6, 'wallet.created');
    await service.happen(tenant, 3, 'policy.created');
    await service.settled(tenant, hook.id);
    expect(await log(hook, 'status=failed&limit=100')).toHaveLength(9);
    const tries = receiver.received.length;
    receiver.answer = () => 200;
    const body = { types: ['wallet.*'], after_sequence: wallets[1], before_sequence: wallets[5] };
    const answer = await call('POST', `${hook.path}/redeliver`, body);
    expect([answer.statusCode, answer.json()]).toEqual([
      202,
      { queued: 3, not_kept: 0, queue_full: false, has_more: false, next_cursor: null },
    ]);
    await service.settled(tenant, hook.id);
    const again = receiver.received.slice(tries).map(({ event }) => event.sequence);
    expect(again.sort((a, b) => a - b)).toEqual(wallets.slice(2, 5));
    expect((await call('POST', `${hook.path}/redeliver`)).json()).toMatchObject({ queued: 6 });
    await service.settled(tenant, hook.id);
    expect(await log(hook, 'status=failed')).toEqual([]);
    expect((await call('POST', `${hook.path}/redeliver`, { status: 'delivered', types: ['*'] })).json()).toMatchObject({
      queued: 9,
    });
  });

  test('of more than a call takes on continues with its cursor, which belongs to its range', async () => {
    const hook = await register();
    await service.happen(tenant, 1_250);
    await service.settled(tenant, hook.id);
    let queued = 0;
    let cursor: string | null = null;
    let calls = 0;
    do {
      const answer: LightMyRequestResponse = await call('POST', `${hook.path}/redeliver`, {
        status: 'delivered',
        ...(cursor === null ? {} : { cursor }),
      });
      expect(answer.statusCode, answer.body).toBe(202);
      const body = answer.json() as { queued: number; next_cursor: string | null };
      if (body.next_cursor !== null && cursor === null) {
        const other = await call('POST', `${hook.path}/redeliver`, { status: 'failed', cursor: body.next_cursor });
        expect([other.statusCode, issueOf(other)]).toEqual([400, 'invalid_format']);
      }
      queued += body.queued;
      cursor = body.next_cursor;
      calls += 1;
    } while (cursor !== null);
    expect(calls).toBe(2);
    expect(queued).toBe(1_250);
  });

  test.each([
    [{ types: ['nothing.here'] }, 'not_allowed_value'],
    [{ types: [] }, 'too_few_items'],
    [{ status: 'retrying' }, 'not_allowed_value'],
    [{ after_sequence: -1 }, 'too_small'],
    [{ after_sequence: '1' }, 'wrong_type'],
    [{ created_after: '2026-01-02T00:00:00Z', created_before: '2026-01-01T00:00:00Z' }, 'too_large'],
    [{ cursor: 'abc' }, 'invalid_format'],
    [{ event: 'x' }, 'unknown_field'],
  ])('of %j is refused', async (body, issue) => {
    const hook = await register();
    const answer = await call('POST', `${hook.path}/redeliver`, body);
    expect([answer.statusCode, issueOf(answer)]).toEqual([400, issue]);
  });

  test('to a disabled webhook, or of an event that is no longer kept, is refused', async () => {
    const hook = await register();
    await service.happen(tenant, 2);
    await service.settled(tenant, hook.id);
    const [delivery] = await log(hook);
    const path = `${hook.path}/deliveries/${delivery!.id}/redeliver`;
    await service.redis.del(`sm:{t:${tenant}}:evt`);
    const gone = await call('POST', path);
    expect([gone.statusCode, issueOf(gone)]).toEqual([409, 'event_not_kept']);
    await call('PATCH', hook.path, { status: 'disabled' });
    for (const each of [path, `${hook.path}/redeliver`]) {
      const answer = await call('POST', each);
      expect([answer.statusCode, issueOf(answer)]).toEqual([409, 'state_conflict']);
    }
  });
});

describe('a webhook that is enabled again', () => {
  test('continues where it stopped, and its view says what waits', async () => {
    const hook = await register();
    await service.happen(tenant, 2);
    await service.settled(tenant, hook.id);
    await call('PATCH', hook.path, { status: 'disabled' });
    const missed = await service.happen(tenant, 5);
    // Its own change is an event too, and is looked at like any other.
    expect((await call('GET', hook.path)).json()).toMatchObject({
      status: 'disabled',
      queue: { outstanding: 0, retrying: 0, behind: 6 },
      failing_since: null,
      suspended_at: null,
    });
    await call('PATCH', hook.path, { status: 'enabled' });
    await service.settled(tenant, hook.id);
    expect(
      receiver.received
        .slice(2)
        .map(({ event }) => event.sequence)
        .sort((a, b) => a - b),
    ).toEqual(missed);
    const { webhooks } = (await call('GET', 'webhooks')).json() as { webhooks: object[] };
    expect(webhooks).toMatchObject([{ status: 'enabled', queue: { outstanding: 0, retrying: 0, behind: 0 } }]);
  });

  test('after a suspension shows no more that it is suspended', async () => {
    const hook = await register();
    receiver.answer = () => 500;
    await service.happen(tenant, 1);
    await until(async () => (await call('GET', hook.path)).json().failing_since !== null, 'a failure');
    await service.change(tenant, hook.id, { status: 'suspended', suspendedAtMs: 1_000 });
    expect((await call('GET', hook.path)).json()).toMatchObject({
      status: 'suspended',
      suspended_at: '1970-01-01T00:00:01.000Z',
    });
    receiver.answer = () => 200;
    await call('PATCH', hook.path, { status: 'enabled' });
    await service.settled(tenant, hook.id);
    expect((await call('GET', hook.path)).json()).toMatchObject({
      status: 'enabled',
      suspended_at: null,
      failing_since: null,
    });
  });
});
