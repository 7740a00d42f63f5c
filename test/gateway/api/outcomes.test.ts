/** What a request comes to: whose turn it is, what follows a commit, which answers a key keeps, what a caller hears of ports. */
import { describe, expect, test } from 'vitest';
import { ConflictLocks } from '../../../gateway/api/conflict-queue.ts';
import { freshAttempt } from '../../../gateway/api/context.ts';
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { execute } from '../../../gateway/api/execute.ts';
import { toServiceError } from '../../../gateway/api/failures.ts';
import type { Answer } from '../../../gateway/api/route.ts';
import { isStored } from '../../../gateway/api/stored-answers.ts';
import { scanJson } from '../../../gateway/api/validate.ts';
import { ProviderUnavailable } from '../../../wallets/providers/port/port.ts';
import type { CommitOutcome, TenantStore } from '../../../wallets/store/contract.ts';
import { collectLog } from '../../support/log.ts';
import { VirtualTimers } from '../../support/virtual-timers.ts';

describe('turns', () => {
  test('of one key come one after the other, in the order of the requests', async () => {
    const turns = new ConflictLocks(new VirtualTimers());
    const begun: string[] = [];
    const first = await turns.take('k', 100);
    expect([turns.isTaken('k'), turns.isTaken('l')]).toEqual([true, false]);
    const [second, third] = ['second', 'third'].map(async (name) => {
      const turn = await turns.take('k', 100);
      begun.push(name);
      return turn;
    });
    first!.end();
    (await second!)!.end();
    (await third!)!.end();
    expect(begun).toEqual(['second', 'third']);
    expect(turns.isIdle).toBe(true);
  });

  test('a request that no longer waits has none: the next one gets it', async () => {
    const timers = new VirtualTimers();
    const turns = new ConflictLocks(timers);
    const first = await turns.take('k', 100);
    const impatient = turns.take('k', 100);
    const patient = turns.take('k', 1_000);
    await timers.advance(100);
    expect(await impatient).toBeUndefined();
    first!.end();
    const turn = await patient;
    expect(turn?.key).toBe('k');
    turn!.end();
    expect([turns.isIdle, timers.pending]).toEqual([true, 0]);
  });
});

describe('a change', () => {
  const run = (result: CommitOutcome, answer: Partial<Answer>) => {
    const { log, lines } = collectLog();
    const timers = new VirtualTimers();
    const principal = {
      tenant: 't',
      environment: 'sandbox',
      scopes: new Set<never>(),
      tokenId: '',
      actorId: '',
    } as const;
    const executed = execute({
      base: {
        ...{ tenant: 't', requestId: 'req_1', traceparent: '', log, cursorKey: new Uint8Array(32) },
        principal: { ...principal, providerConnectionIds: undefined },
        store: { commit: async () => result } as unknown as TenantStore,
      },
      attempt: freshAttempt(0, (length) => new Uint8Array(length)),
      ports: { clock: timers, timers, random: (length) => new Uint8Array(length) },
      handle: async () => ({ status: 200, body: {}, change: {}, ...answer }),
      markOf: undefined,
      turns: new ConflictLocks(timers),
    });
    return { executed, lines };
  };
  const committed: CommitOutcome = { committed: true, sequence: 1, allocated: undefined, balances: undefined };

  test('that was committed is answered, whatever becomes of what follows it', async () => {
    const { executed, lines } = run(committed, {
      afterCommit: () => {
        throw new Error('no one to wake');
      },
    });
    expect(await executed).toMatchObject({ kind: 'done', outcome: { kind: 'answer', answer: { status: 200 } } });
    expect(lines).toMatchObject([{ level: 'error', fields: { request_id: 'req_1' } }]);
  });
});

test.each<[ConstructorParameters<typeof ServiceError>[0], string, boolean]>([
  ['notFound', 'x', true],
  ['conflict', 'state_conflict', true],
  ['providerRejected', 'x', true],
  ['conflict', 'request_in_progress', false],
  ['conflict', 'version_conflict', false],
  ['invalidRequest', 'x', false],
  ['insufficientScope', 'x', false],
  ['rateLimited', 'x', false],
  ['internalError', 'x', false],
  ['unavailable', 'x', false],
])('a key keeps the answer %s, %s: %s', (kind, issue, isKept) => {
  expect(isStored({ kind: 'error', error: new ServiceError(kind, 'm', { details: [{ field: '', issue }] }) })).toBe(
    isKept,
  );
});

test('a provider that does not answer is retried after whole seconds, and an unknown outcome is told', () => {
  const of = (...asked: ConstructorParameters<typeof ProviderUnavailable>) =>
    toServiceError(new ProviderUnavailable(...asked));
  expect([of('m', 1).retryAfterS, of('m', 1_000).retryAfterS, of('m', 1_001).retryAfterS]).toEqual([1, 1, 2]);
  expect(of('m')).toMatchObject({ kind: 'unavailable', message: 'm', details: undefined });
  expect(of('m', 1_000, true)).toMatchObject({ kind: 'unavailable', details: [{ issue: 'outcome_unknown' }] });
});

test('numbers that a double cannot hold are named with their place', () => {
  const most = Number.MAX_SAFE_INTEGER;
  expect(scanJson({ a: [most, -most, 0.5] }, false)).toEqual([]);
  expect(scanJson({ a: [1, most + 1], b: { c: -most - 1 } }, false)).toMatchObject([
    { field: 'a[1]', issue: 'too_large' },
    { field: 'b.c', issue: 'too_small' },
  ]);
});
