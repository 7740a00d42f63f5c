/** One key, one effect, one answer: beside each other, across gateways, and across crashes. On a real Redis. */

import type { LightMyRequestResponse } from 'fastify';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { MachineMs, Timers } from '../../../core/actors/contract.ts';
import { systemRandom, systemTimers } from '../../../core/actors/live/ports.ts';
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { canonicalJson, duplicatePollMs, duplicateWaitMs, hashRequest } from '../../../gateway/api/idempotency.ts';
import type { TokenRecord } from '../../../gateway/auth/token-record.ts';
import { eventRoutes } from '../../../wallets/delivery/events/routes.ts';
import { ProviderRejected, ProviderUnavailable } from '../../../wallets/providers/port/port.ts';
import { StoreUnavailable, type TenantStore } from '../../../wallets/store/contract.ts';
import type { RedisTenantStore } from '../../../wallets/store/redis-tenant-store.ts';
import { answerSeal } from '../../../wallets/store/secrets/answer-seal.ts';
import { type RestApp, type RestAppOptions, restApp, tokenOf } from '../../support/rest-app.ts';
import { type StoreUnderTest, startStore } from '../../support/store.ts';
import { until } from '../../support/until.ts';
import { type Notes, notes } from './support/notes.ts';

let redis: StoreUnderTest;
const apps: RestApp[] = [];

beforeAll(async () => {
  redis = await startStore();
});
afterEach(async () => {
  for (const { app } of apps.splice(0)) await app.close();
});
afterAll(async () => {
  await redis.stop();
});

let tenants = 0;

interface Gateway extends RestApp {
  /** POST /v1/notes by default. */
  post(key: string | undefined, body?: object, url?: string, headers?: object): Promise<LightMyRequestResponse>;
}

/** A gateway of its own over the Redis of all; `token` is a tenant of the test's own. */
async function gateway(room: Notes, token: object, options: Partial<RestAppOptions> = {}): Promise<Gateway> {
  const clock = options.clock;
  const store = await redis.open(clock);
  const made = await restApp({ routes: [...room.routes, ...eventRoutes()], store, ...options });
  apps.push(made);
  return {
    ...made,
    post: (key, body = { text: 'hello' }, url = '/v1/notes', headers = {}) =>
      made.app.inject({
        method: 'POST',
        url,
        headers: { ...token, ...(key === undefined ? {} : { 'idempotency-key': key }), ...headers },
        payload: body,
      }),
  };
}

function ownTenant(): { authorization: string } {
  tenants += 1;
  return tokenOf(`idem${tenants}`);
}

async function countNotes(gate: Gateway, token: { authorization: string }): Promise<number> {
  const list = await gate.app.inject({ url: '/v1/notes?limit=100', headers: token });
  return (list.json() as { notes: unknown[] }).notes.length;
}

/** Holds its callers until it is opened. */
function gate(): {
  readonly held: Promise<void>;
  open(): void;
  readonly reached: () => boolean;
  enter(): Promise<void>;
} {
  let open = (): void => {};
  let reached = false;
  const held = new Promise<void>((resolve) => {
    open = resolve;
  });
  return {
    held,
    open: () => open(),
    reached: () => reached,
    enter: () => {
      reached = true;
      return held;
    },
  };
}

const replayed = (answer: LightMyRequestResponse): boolean => answer.headers['idempotent-replayed'] === 'true';

describe('a hundred equal requests at once, over two gateways', () => {
  it('have one effect, and every answer is that effect', async () => {
    const room = notes();
    const token = ownTenant();
    const [one, two] = [await gateway(room, token), await gateway(room, token)];
    const answers = await Promise.all(Array.from({ length: 100 }, (_, at) => (at % 2 === 0 ? one : two).post('k')));
    expect(new Set(answers.map(({ statusCode, body }) => `${statusCode} ${body}`)).size).toBe(1);
    expect(answers[0]?.statusCode).toBe(201);
    expect(new Set(answers.map(({ headers }) => headers.location)).size).toBe(1);
    expect(answers.filter(replayed)).toHaveLength(99);
    expect(room.made).toHaveLength(1);
    expect(await countNotes(one, token)).toBe(1);
    expect(room.committed).toBe(1);
    const events = await one.app.inject({ url: '/v1/events', headers: token });
    expect(events.json().events).toMatchObject([{ sequence: 1, resource: { id: room.made[0] } }]);
  });
});

describe('a repeat', () => {
  it('gets the first answer again, with its headers, from any gateway', async () => {
    const room = notes();
    const token = ownTenant();
    const one = await gateway(room, token);
    const first = await one.post('k');
    const again = await (await gateway(room, token)).post('k');
    expect(replayed(first)).toBe(false);
    expect(replayed(again)).toBe(true);
    expect([again.statusCode, again.body, again.headers.location]).toEqual([201, first.body, first.headers.location]);
    expect(again.headers['x-request-id']).not.toBe(first.headers['x-request-id']);
    expect(room.made).toHaveLength(1);
  });

  it('is the same whatever the order of its fields, and whichever place its key stands in', async () => {
    const room = notes();
    const one = await gateway(room, ownTenant());
    const first = await one.post('k', { text: 'a' });
    const inBody = await one.post(undefined, { idempotency_key: 'k', text: 'a' });
    const inBoth = await one.post('k', { text: 'a', idempotency_key: 'k' });
    expect([inBody.body, inBoth.body]).toEqual([first.body, first.body]);
    expect([inBody, inBoth].every(replayed)).toBe(true);
  });

  it('with other parameters is a conflict that names the reuse', async () => {
    const one = await gateway(notes(), ownTenant());
    await one.post('k', { text: 'a' });
    for (const other of [
      await one.post('k', { text: 'b' }),
      await one.post('k', { text: 'a' }, '/v1/notes?dry_run=false'),
    ]) {
      expect(other.statusCode).toBe(409);
      expect(other.json().error).toMatchObject({
        code: 'conflict',
        details: [{ field: 'idempotency_key', issue: 'idempotency_key_reused' }],
      });
    }
  });

  it('of another caller is a conflict, and its answer is not shown to them; a rotated token is the same caller', async () => {
    const room = notes();
    const one = await gateway(room, {});
    const as = (name: string, record: Partial<TokenRecord>) => {
      const headers = tokenOf(name);
      one.tokens.put(headers.authorization.slice(7), { tenant: 'tn_callers', ...record });
      return headers;
    };
    const ann = as('ann', { id: 'tok_ann' });
    const annAnew = as('annanew', { id: 'tok_new', actorId: 'tok_ann' });
    const others = [as('bob', { id: 'tok_bob' }), as('limited', { id: 'tok_ann', providerConnectionIds: ['pcn_1'] })];
    const first = await one.post('k', undefined, undefined, ann);
    expect(first.statusCode).toBe(201);
    for (const other of others) {
      const refused = await one.post('k', undefined, undefined, other);
      expect(refused.statusCode).toBe(409);
      expect(refused.json().error).toMatchObject({
        message: 'the idempotency key was used by another caller or with other parameters',
        details: [{ field: 'idempotency_key', issue: 'idempotency_key_reused' }],
      });
      expect((await one.post('own', undefined, undefined, other)).statusCode).toBe(other === others[0] ? 201 : 409);
    }
    const again = await one.post('k', undefined, undefined, annAnew);
    expect([again.body, replayed(again)]).toEqual([first.body, true]);
    expect(room.made).toHaveLength(2);
  });

  it('belongs to its tenant, and to its path', async () => {
    const room = notes();
    const [mine, theirs] = [ownTenant(), ownTenant()];
    const one = await gateway(room, mine);
    const first = await one.post('k');
    const other = await one.app.inject({
      method: 'POST',
      url: '/v1/notes',
      headers: { ...theirs, 'idempotency-key': 'k' },
      payload: { text: 'hello' },
    });
    expect(other.statusCode).toBe(201);
    expect(other.json().id).not.toBe(first.json().id);
    const { id } = first.json() as { id: string };
    const second = (await one.post('other')).json() as { id: string };
    const bumps = [
      await one.post('k', {}, `/v1/notes/${id}/bump`),
      await one.post('k', {}, `/v1/notes/${second.id}/bump`),
      // The same path, written otherwise.
      await one.post('k', {}, `/v1/notes/%77${second.id.slice(1)}/bump`),
    ];
    expect(bumps.map((bump) => [bump.statusCode, bump.json().id, replayed(bump)])).toEqual([
      [200, id, false],
      [200, second.id, false],
      [200, second.id, true],
    ]);
  });

  it('is answered only to callers who could have made the request', async () => {
    const room = notes();
    const token = ownTenant();
    const one = await gateway(room, token);
    await one.post('k');
    expect((await one.post('k', { text: 'hello' }, '/v1/notes', { authorization: 'Bearer nonsense' })).statusCode).toBe(
      401,
    );
    one.tokens.putScoped('svc_sk_test_readeronly000000', ['wallets:read']);
    const reader = { authorization: 'Bearer svc_sk_test_readeronly000000' };
    expect((await one.post('k', { text: 'hello' }, '/v1/notes', reader)).statusCode).toBe(403);
  });

  it('of a dry run is no repeat: a read-only request keeps nothing', async () => {
    const room = notes();
    const one = await gateway(room, ownTenant());
    const dry = [await one.post('k', { text: 'a' }, '/v1/notes?dry_run=true')];
    dry.push(await one.post('k', { text: 'b' }, '/v1/notes?dry_run=true'));
    expect(dry.map((answer) => [answer.statusCode, replayed(answer)])).toEqual([
      [200, false],
      [200, false],
    ]);
    expect((await one.post('k', { text: 'c' })).statusCode).toBe(201);
  });
});

describe('a key', () => {
  it.each([
    ['empty', ''],
    ['256 characters long', 'k'.repeat(256)],
    ['with a space', 'a b'],
    ['outside of ASCII', 'schlüssel'],
  ])('that is %s is refused', async (_name, key) => {
    const one = await gateway(notes(), ownTenant());
    for (const answer of [await one.post(key), await one.post(undefined, { text: 'x', idempotency_key: key })]) {
      expect(answer.statusCode).toBe(400);
      expect(answer.json().error.details).toMatchObject([{ field: 'idempotency_key', issue: 'invalid_format' }]);
    }
  });

  it('of 255 visible characters is taken', async () => {
    const one = await gateway(notes(), ownTenant());
    const key = Array.from({ length: 255 }, (_, at) => String.fromCharCode(0x21 + (at % 94))).join('');
    expect((await one.post(undefined, { text: 'x', idempotency_key: key })).statusCode).toBe(201);
    expect(replayed(await one.post(key, { text: 'x' }))).toBe(true);
  });

  it('in header and body must be one and the same', async () => {
    const one = await gateway(notes(), ownTenant());
    const answer = await one.post('k', { text: 'x', idempotency_key: 'other' });
    expect(answer.statusCode).toBe(400);
    expect(answer.json().error.details).toMatchObject([{ field: 'idempotency_key', issue: 'duplicate_field' }]);
  });
});

describe('kept and not kept', () => {
  const fails = (error: unknown) => () => {
    throw error;
  };

  it.each([
    [
      'a provider’s refusal',
      new ProviderRejected('too little gas', { issue: 'low_gas', providerCode: 'E7', field: 'fee' }),
      422,
    ],
    ['a missing resource', new ServiceError('notFound', 'no such wallet'), 404],
    [
      'a state that forbids it',
      new ServiceError('conflict', 'archived', { details: [{ field: '', issue: 'archived' }] }),
      409,
    ],
  ])('%s is kept and answered again', async (_name, error, status) => {
    const room = notes();
    const one = await gateway(room, ownTenant());
    room.before.push(fails(error));
    const [first, again] = [await one.post('k'), await one.post('k')];
    expect([first.statusCode, again.statusCode]).toEqual([status, status]);
    const { request_id: firstId, ...firstError } = first.json().error;
    const { request_id: againId, ...againError } = again.json().error;
    expect(againError).toEqual(firstError);
    expect([firstId, againId]).toEqual([first.headers['x-request-id'], again.headers['x-request-id']]);
    expect([replayed(first), replayed(again)]).toEqual([false, true]);
    expect(room.made).toHaveLength(1);
  });

  it.each([
    ['a malformed request', new ServiceError('invalidRequest', 'too many decimals'), 400],
    ['too many requests', new ServiceError('overloaded', 'full'), 429],
    ['a provider that is away', new ProviderUnavailable('away', 2_500), 503],
    ['a store that is away', new StoreUnavailable('no answer'), 503],
    ['a bug', new Error('oops'), 500],
  ])('%s is not kept: the key is free at once, for any body', async (_name, error, status) => {
    const room = notes();
    const one = await gateway(room, ownTenant());
    room.before.push(fails(error));
    const first = await one.post('k', { text: 'a' });
    expect(first.statusCode).toBe(status);
    if (error instanceof ProviderUnavailable) expect(first.headers['retry-after']).toBe('3');
    const second = await one.post('k', { text: 'b' });
    expect([second.statusCode, replayed(second)]).toEqual([201, false]);
  });

  it('what validation refuses never takes the key', async () => {
    const one = await gateway(notes(), ownTenant());
    expect((await one.post('k', { text: 5 })).statusCode).toBe(400);
    expect((await one.post('k', { text: 'x' })).statusCode).toBe(201);
  });

  it('a provider’s refusal carries the provider’s words', async () => {
    const room = notes();
    const one = await gateway(room, ownTenant());
    room.before.push(
      fails(new ProviderRejected('too little gas', { issue: 'low_gas', providerCode: 'E7', field: 'fee' })),
    );
    expect((await one.post(undefined)).json().error).toMatchObject({
      code: 'provider_rejected',
      details: [{ field: 'fee', issue: 'low_gas', message: 'E7: too little gas' }],
    });
  });

  it('an answer lies sealed in Redis', async () => {
    const ring = {
      current: () => ({ id: '1', key: new Uint8Array(32).fill(3) }),
      find: () => ring.current(),
      random: systemRandom,
    };
    const one = await gateway(notes(), ownTenant(), { seal: answerSeal(ring) });
    const secret = 'whsec_very-secret-words';
    await one.post('sealed', { text: secret });
    expect(replayed(await one.post('sealed', { text: secret }))).toBe(true);
    const answers: string[] = [];
    for (const key of await redis.redis.keys('*')) {
      const answer = (await redis.redis.type(key)) === 'hash' ? await redis.redis.hget(key, 'a') : null;
      if (answer !== null) answers.push(answer);
    }
    expect(answers.length).toBeGreaterThan(0);
    expect(answers.some((answer) => answer.includes(secret))).toBe(false);
  });
});

describe('while the first request runs', () => {
  it.each(['in the same gateway', 'in another gateway'])('a duplicate %s waits for its answer', async (where) => {
    const room = notes();
    const token = ownTenant();
    const one = await gateway(room, token);
    const two = where === 'in the same gateway' ? one : await gateway(room, token);
    const hold = gate();
    room.before.push(() => hold.enter());
    const first = one.post('k');
    await until(hold.reached, 'the first request to run');
    const duplicates = [two.post('k'), two.post('k')];
    hold.open();
    const answers = [await first, ...(await Promise.all(duplicates))];
    expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
    expect(answers.map(replayed)).toEqual([false, true, true]);
    expect(room.made).toHaveLength(1);
  });

  it('another body is refused at once', async () => {
    const room = notes();
    const one = await gateway(room, ownTenant());
    const hold = gate();
    room.before.push(() => hold.enter());
    const first = one.post('k');
    await until(hold.reached, 'the first request to run');
    expect((await one.post('k', { text: 'other' })).json().error.details[0].issue).toBe('idempotency_key_reused');
    hold.open();
    expect((await first).statusCode).toBe(201);
  });

  it.each(['in the same gateway', 'in another gateway'])(
    'a duplicate %s waits ten seconds and is told so',
    async (where) => {
      const room = notes();
      const token = ownTenant();
      let pausedMs = 0;
      const timers: Timers = {
        epochMs: systemTimers.epochMs,
        elapsedMs: () => pausedMs,
        start: (afterMs, run) => {
          pausedMs += afterMs;
          const soon = setImmediate(run);
          return () => clearImmediate(soon);
        },
      };
      const one = await gateway(room, token, { timers });
      const two = where === 'in the same gateway' ? one : await gateway(room, token, { timers });
      const hold = gate();
      room.before.push(() => hold.enter());
      const first = one.post('k');
      await until(hold.reached, 'the first request to run');
      const late = await two.post('k');
      expect(late.statusCode).toBe(409);
      expect(late.headers['retry-after']).toBe('1');
      expect(late.json().error.details).toEqual([{ field: 'idempotency_key', issue: 'request_in_progress' }]);
      expect(pausedMs).toBe(duplicateWaitMs);
      expect(duplicateWaitMs % duplicatePollMs).toBe(0);
      hold.open();
      expect((await first).statusCode).toBe(201);
      expect(replayed(await two.post('k'))).toBe(true);
    },
  );

  it('a duplicate runs it itself when the first one failed', async () => {
    const room = notes();
    const token = ownTenant();
    const [one, two] = [await gateway(room, token), await gateway(room, token)];
    const hold = gate();
    room.before.push(async () => {
      await hold.enter();
      throw new Error('oops');
    });
    const first = one.post('k');
    await until(hold.reached, 'the first request to run');
    const duplicates = [one.post('k'), two.post('k'), one.post('k'), two.post('k')];
    hold.open();
    expect((await first).statusCode).toBe(500);
    const answers = await Promise.all(duplicates);
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([201, 201, 201, 201]);
    expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
    expect(answers.filter(replayed)).toHaveLength(3);
  });
});

describe('crashes', () => {
  it('an answer that is lost after the commit is found by the repeat: one effect', async () => {
    const room = notes();
    const token = ownTenant();
    let lose = true;
    const inner = await redis.open();
    const store: TenantStore = new Proxy(inner, {
      get: (target, name: keyof RedisTenantStore) => {
        if (name !== 'commit') return (target[name] as (...args: unknown[]) => unknown).bind(target);
        return async (...args: Parameters<TenantStore['commit']>) => {
          const outcome = await target.commit(...args);
          if (!lose) return outcome;
          lose = false;
          throw new StoreUnavailable('the reply was lost');
        };
      },
    });
    const one = await gateway(room, token, { store });
    const first = await one.post('k');
    expect(first.statusCode).toBe(503);
    expect(first.json().error.code).toBe('provider_unavailable');
    const again = await one.post('k');
    expect([again.statusCode, replayed(again)]).toEqual([201, true]);
    expect(again.json().id).toBe(room.made[0]);
    expect(room.made).toHaveLength(1);
    expect(await countNotes(one, token)).toBe(1);
  });

  it('a change that never arrived leaves the key free: the repeat has the effect', async () => {
    const room = notes();
    const token = ownTenant();
    let lose = true;
    const inner = await redis.open();
    const store: TenantStore = new Proxy(inner, {
      get: (target, name: keyof RedisTenantStore) => {
        if (name !== 'commit' || !lose) return (target[name] as (...args: unknown[]) => unknown).bind(target);
        lose = false;
        return async () => {
          throw new StoreUnavailable('it did not arrive');
        };
      },
    });
    const one = await gateway(room, token, { store });
    expect((await one.post('k')).statusCode).toBe(503);
    const again = await one.post('k');
    expect([again.statusCode, replayed(again)]).toEqual([201, false]);
    expect(await countNotes(one, token)).toBe(1);
  });

  it('a change that arrives after its key was freed is refused, and the repeat has the only effect', async () => {
    const room = notes();
    const token = ownTenant();
    let late: (() => Promise<unknown>) | undefined;
    const inner = await redis.open();
    const store: TenantStore = new Proxy(inner, {
      get: (target, name: keyof RedisTenantStore) => {
        if (name !== 'commit' || late !== undefined)
          return (target[name] as (...args: unknown[]) => unknown).bind(target);
        return async (...args: Parameters<TenantStore['commit']>) => {
          late = () => target.commit(...args);
          throw new StoreUnavailable('it takes long');
        };
      },
    });
    const one = await gateway(room, token, { store });
    expect((await one.post('k')).statusCode).toBe(503);
    const again = await one.post('k');
    expect(await late?.()).toMatchObject({ committed: false, refusal: { kind: 'overtaken' } });
    expect(again.statusCode).toBe(201);
    expect(await countNotes(one, token)).toBe(1);
  });

  it('a gateway that died is taken over when its lease ends; the ids are those of the first attempt', async () => {
    const room = notes();
    const token = ownTenant();
    let aheadMs = 0;
    const timers = { ...systemTimers, epochMs: () => (systemTimers.epochMs() + aheadMs) as MachineMs };
    const [one, two] = [await gateway(room, token, { timers }), await gateway(room, token, { timers })];
    const hold = gate();
    room.before.push(() => hold.enter());
    const first = one.post('k');
    await until(hold.reached, 'the first request to run');
    aheadMs = 60_000;
    const taken = await two.post('k');
    expect([taken.statusCode, replayed(taken)]).toEqual([201, false]);
    expect(new Set(room.made).size).toBe(1);
    // The first one was not dead but slow: it learns that it was overtaken, and gives the other's answer.
    hold.open();
    const late = await first;
    expect([late.statusCode, late.body, replayed(late)]).toEqual([201, taken.body, true]);
    expect(await countNotes(one, token)).toBe(1);
  });
});

describe('conflicts', () => {
  it('run the handler again on fresh reads, with the same ids, until each has its effect', async () => {
    const room = notes();
    const one = await gateway(room, ownTenant());
    const { id } = (await one.post(undefined)).json() as { id: string };
    room.made.length = 0;
    const hold = gate();
    room.before.push(() => hold.enter());
    const slow = one.post('slow', {}, `/v1/notes/${id}/bump`);
    await until(hold.reached, 'the slow request to have read');
    expect((await one.post('fast', {}, `/v1/notes/${id}/bump`)).json().bumps).toBe(1);
    hold.open();
    expect((await slow).json().bumps).toBe(2);
    const [before, , after] = room.made;
    expect(after).toBe(before);
    const many = await Promise.all(Array.from({ length: 5 }, () => one.post(undefined, {}, `/v1/notes/${id}/bump`)));
    expect(many.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200, 200]);
    expect(many.map((answer) => answer.json().bumps).sort()).toEqual([3, 4, 5, 6, 7]);
  });

  it('end after ten tries as a conflict that may be repeated', async () => {
    const room = notes();
    const token = ownTenant();
    const [one, two] = [await gateway(room, token), await gateway(room, token)];
    const { id } = (await one.post(undefined)).json() as { id: string };
    room.made.length = 0;
    const url = `/v1/notes/${id}/bump`;
    // Every run is overtaken by a request at another gateway: those of this one would wait their turn.
    const overtake = async (): Promise<void> => {
      room.before.unshift(() => {});
      await two.post(undefined, {}, url);
    };
    room.before.push(...Array.from({ length: 11 }, () => overtake));
    const slow = await one.post('k', {}, url);
    expect(slow.statusCode).toBe(409);
    expect(slow.json().error.details).toEqual([{ field: '', issue: 'version_conflict' }]);
    expect(slow.headers['retry-after']).toBe('1');
    expect((await one.post('k', {}, url)).json().bumps).toBe(12);
  });
});

describe('hashes', () => {
  it('are those of values, not of texts', () => {
    expect(canonicalJson({ b: [{ d: 1, c: null }], a: 'x' })).toBe('{"a":"x","b":[{"c":null,"d":1}]}');
  });

  it('keep apart what only looks alike', () => {
    const caller = { actor: 'tok_1', connectionIds: undefined };
    const request = { tenant: 't', caller, method: 'POST', path: '/v1/x/:id', params: { id: 'a' }, key: 'k' };
    const hashKey = new Uint8Array(32).fill(1);
    const of = (part: object, key = hashKey) =>
      hashRequest({ ...request, query: {}, body: {}, keyField: undefined, ...part }, key);
    // A body that holds a credential cannot be guessed from its hash alone.
    expect(of({}, new Uint8Array(32).fill(2)).bodyHash).not.toBe(of({}).bodyHash);
    const base = of({});
    for (const part of [
      { tenant: 'u' },
      { method: 'PUT' },
      { params: { id: 'b' } },
      { key: 'l' },
      { path: '/v1/y/:id' },
    ]) {
      expect(of(part).keyHash).not.toBe(base.keyHash);
    }
    expect(of({ body: { a: 1 } }).bodyHash).not.toBe(of({ query: { a: 1 } }).bodyHash);
    const callers = [
      caller,
      { actor: 'tok_2', connectionIds: undefined },
      { actor: 'tok_1', connectionIds: [] },
      { actor: 'tok_1', connectionIds: ['pcn_1'] },
      { actor: 'tok_1', connectionIds: ['pcn_1', 'pcn_2'] },
    ].map((one) => of({ caller: one }));
    expect(new Set(callers.map(({ bodyHash }) => bodyHash)).size).toBe(5);
    expect(new Set(callers.map(({ keyHash }) => keyHash)).size).toBe(1);
    const turned = of({ caller: { actor: 'tok_1', connectionIds: ['pcn_2', 'pcn_1'] } });
    expect(turned.bodyHash).toBe(callers[4]?.bodyHash);
    expect(of({ body: { a: '1' } }).bodyHash).not.toBe(of({ body: { a: 1 } }).bodyHash);
  });
});
