/** How outcomes of a scenario are compared with its expectations: every field finds its mismatch, and nothing else. Pure. */
import { describe, expect, test } from 'vitest';
import { CustodyBook } from '../../../scenarios/runner/custody-book.ts';
import {
  type CustodyOutcome,
  callMismatches,
  custodyOutcomeText,
  isSuccess,
  mayRepeat,
  repeatAfterMs,
} from '../../../scenarios/runner/custody-outcome.ts';
import { mismatchText, stepMismatches, tookMismatches } from '../../../scenarios/runner/expectations.ts';
import { finalMismatches } from '../../../scenarios/runner/final.ts';
import type { Expectation } from '../../../scenarios/runner/format.ts';
import {
  failureOfCode,
  outcomeOf,
  outcomeText,
  type StepAnswer,
  type StepOutcome,
} from '../../../scenarios/runner/outcome.ts';
import {
  fieldOf,
  ReferenceMissing,
  referencesIn,
  resolved,
  unknownField,
} from '../../../scenarios/runner/references.ts';
import { SessionBook } from '../../../scenarios/runner/sessions.ts';
import { awaitCondition } from '../../../scenarios/runner/waiting.ts';
import type { ScenarioWorld } from '../../../scenarios/runner/world.ts';

const answer: StepAnswer = {
  ...{
    state: 'BACKEND_COMPLETED',
    reasonCode: 'SIGNATURE_COMPLETED',
    message: 'nodes 1 and 2 signed',
    resumable: false,
  },
  ...{ sessionState: 'BACKEND_COMPLETED', sessionId: 'sig_1', resumeToken: '', verified: true, isComplete: true },
};
const answered: StepOutcome = { call: 'sign', answer };
const failed = (kind: NonNullable<StepOutcome['failure']>['kind'], more: object = {}): StepOutcome => ({
  call: 'sign',
  failure: { kind, message: '', ...more },
});
const fieldsOf = (found: readonly { readonly field: string }[]) =>
  found.map(({ field }) => field.replace('expect.', ''));

describe('a step of the signing API', () => {
  type Expected = Parameters<typeof stepMismatches>[0];

  test.each<[Expected, Expected]>([
    [{ state: 'BACKEND_COMPLETED' }, { state: 'ACCEPTED' }],
    [{ verified: true }, { verified: false }],
    [{ is_complete: true }, { is_complete: false }],
    [{ resumable: false }, { resumable: true }],
    [{ reason_code: 'SIGNATURE_COMPLETED' }, { reason_code: 'SESSION_EXPIRED' }],
    [{ reason_code: ['SESSION_EXPIRED', 'SIGNATURE_COMPLETED'] }, { reason_code: ['SESSION_EXPIRED'] }],
    [{ message_names: 'nodes 1' }, { message_names: 'node 3' }],
    [{ at_least_ms: 100, within_ms: 100 }, { at_least_ms: 101 }],
    [{}, { within_ms: 99 }],
    [{}, { grpc: 'UNAVAILABLE' }],
    [{}, { grpc_reason: 'RATE_LIMITED' }],
    [{}, { error: 'any' }],
  ])('that was answered is as %j says, and not as %j', (right, wrong) => {
    expect(stepMismatches(right, answered, 100, 'simulated')).toEqual([]);
    expect(fieldsOf(stepMismatches(wrong, answered, 100, 'simulated'))).toEqual(Object.keys(wrong));
    // Without an answer no field of one is right.
    if ('state' in right || 'verified' in right || 'reason_code' in right || 'message_names' in right) {
      expect(fieldsOf(stepMismatches(right, failed('UNAVAILABLE'), 100, 'simulated'))).toEqual(Object.keys(right));
    }
  });

  test('a call without an answer ends as it should: lost ones are late ones for a client', () => {
    const kinds = ['UNAVAILABLE', 'OVERLOADED', 'DEADLINE_EXCEEDED', 'INTERNAL', 'MALFORMED', 'LOST'] as const;
    for (const kind of kinds) {
      const holding = [...kinds, 'any' as const].filter(
        (error) => stepMismatches({ error } as object, failed(kind), 0, 'simulated').length === 0,
      );
      expect(holding).toEqual([kind === 'LOST' ? 'DEADLINE_EXCEEDED' : kind, 'any']);
    }
    const ended = failed('OVERLOADED', { grpc: { code: 'RESOURCE_EXHAUSTED', reason: 'RATE_LIMITED' } });
    expect(stepMismatches({ grpc: 'RESOURCE_EXHAUSTED', grpc_reason: 'RATE_LIMITED' }, ended, 0, 'live')).toEqual([]);
    expect(fieldsOf(stepMismatches({ grpc: 'UNAVAILABLE', grpc_reason: 'X' }, ended, 0, 'live'))).toEqual([
      'grpc',
      'grpc_reason',
    ]);
  });

  test('a live step is given 2 s more, and no less is asked of it', () => {
    const within = (tookMs: number, world: 'simulated' | 'live') =>
      tookMismatches({ within_ms: 50 }, tookMs, world).length;
    expect([within(50, 'simulated'), within(51, 'simulated'), within(2_050, 'live'), within(2_051, 'live')]).toEqual([
      0, 1, 0, 1,
    ]);
    const least = (tookMs: number) => tookMismatches({ at_least_ms: 50 }, tookMs, 'live').length;
    expect([least(49), least(50)]).toEqual([1, 0]);
    expect(mismatchText({ field: 'expect.state', expected: 'A', found: 'B' })).toBe('expect.state is A, found B');
  });

  test('its outcome in one line, and the meaning of gRPC statuses', () => {
    expect(outcomeText(answered)).toBe('BACKEND_COMPLETED SIGNATURE_COMPLETED: nodes 1 and 2 signed');
    expect(outcomeText({ call: 'sign', answer: { ...answer, message: '' } })).toBe(
      'BACKEND_COMPLETED SIGNATURE_COMPLETED',
    );
    expect(outcomeText(failed('LOST'))).toBe('no answer (LOST)');
    const grpc = { code: 'UNAVAILABLE', reason: '' };
    expect(outcomeText(failed('UNAVAILABLE', { grpc, message: 'away' }))).toBe('no answer (UNAVAILABLE: away)');
    const codes = [
      'INVALID_ARGUMENT',
      'DEADLINE_EXCEEDED',
      'RESOURCE_EXHAUSTED',
      'UNAVAILABLE',
      'UNKNOWN',
      'INTERNAL',
    ] as const;
    expect(codes.map(failureOfCode)).toEqual([
      ...['MALFORMED', 'DEADLINE_EXCEEDED', 'OVERLOADED', 'UNAVAILABLE', 'INTERNAL', 'INTERNAL'],
    ]);
    expect(outcomeOf('sign', { failure: 'LOST', message: 'm' }).failure).toEqual({ kind: 'LOST', message: 'm' });
  });
});

describe('a call of the wallet API', () => {
  const call = (http: number, body: unknown = {}, retryAfterS?: number): CustodyOutcome => ({
    call: 'wallets.create',
    answer: { http, body, ...(retryAfterS !== undefined && { retryAfterS }) },
  });
  const refused = (http: number, code: string, issue: string): CustodyOutcome =>
    call(http, { error: { code, message: 'no', details: [{ issue }] } }, 2);
  const lost: CustodyOutcome = { call: 'wallets.create', failure: { kind: 'LOST', message: '' } };
  const made = call(201, { id: 'wal_1', status: 'active', assets: [{ symbol: 'ETH' }] });
  const conflict = refused(409, 'conflict', 'version_conflict');
  const mismatches = (wanted: object, outcome: CustodyOutcome) =>
    fieldsOf(callMismatches(wanted, outcome, 10, 'simulated', () => ({ id: 'wal_1' })));

  test.each<[CustodyOutcome, object, object, readonly string[]]>([
    [made, {}, { http: 200 }, ['http']],
    [made, { http: 201 }, { code: 'conflict' }, ['code']],
    [made, { status: 'active' }, { status: 'frozen' }, ['status']],
    [
      made,
      { fields: { 'assets.0.symbol': 'ETH' } },
      { fields: { 'assets.1.symbol': 'ETH' } },
      ['fields.assets.1.symbol'],
    ],
    [made, {}, { error: 'any' }, ['error']],
    [made, {}, { retry_after_max_s: 5 }, ['retry_after_max_s']],
    [made, {}, { same_as: 'first' }, ['same_as']],
    [call(200, { id: 'wal_1' }), { same_as: 'first' }, { within_ms: 9 }, ['within_ms']],
    [conflict, { http: 409, code: 'conflict', issue: 'version_conflict' }, {}, ['http']],
    [conflict, { issue: 'version_conflict' }, { issue: 'request_in_progress' }, ['issue']],
    [
      conflict,
      { code: 'conflict', retry_after_max_s: 2 },
      { code: 'conflict', retry_after_max_s: 1 },
      ['retry_after_max_s'],
    ],
    [refused(503, 'provider_unavailable', ''), { error: 'UNAVAILABLE' }, { error: 'OVERLOADED' }, ['error']],
    [refused(429, 'rate_limited', ''), { error: 'OVERLOADED' }, { error: 'MALFORMED' }, ['error']],
    [call(418), { http: 418 }, { error: 'any' }, ['error']],
    [lost, { error: 'DEADLINE_EXCEEDED' }, {}, ['http']],
    [lost, { error: 'any' }, { error: 'UNAVAILABLE' }, ['error']],
  ])('%j is as %j says, and not as %j', (outcome, right, wrong, fields) => {
    expect(mismatches(right, outcome)).toEqual([]);
    expect(mismatches(wrong, outcome)).toEqual(fields);
  });

  test('is repeated where that may help, after the pause that the service asks for', () => {
    const statuses = [200, 400, 401, 404, 409, 422, 429, 500, 502, 503, 504].filter((http) => mayRepeat(call(http)));
    expect(statuses).toEqual([429, 500, 503, 504]);
    const issues = ['request_in_progress', 'version_conflict', 'idempotency_key_reused'];
    expect(issues.filter((issue) => mayRepeat(refused(409, 'conflict', issue)))).toEqual(issues.slice(0, 2));
    expect(mayRepeat(refused(422, 'provider_rejected', 'version_conflict'))).toBe(false);
    const kinds = ['LOST', 'UNAVAILABLE', 'MALFORMED'] as const;
    expect(kinds.map((kind) => mayRepeat({ call: 'c', failure: { kind, message: '' } }))).toEqual([true, true, false]);
    expect([
      repeatAfterMs(call(503), 100),
      repeatAfterMs(call(503, {}, 2), 100),
      repeatAfterMs(call(503, {}, 2), 3_000),
    ]).toEqual([...[100, 2_000, 3_000]]);
    const late: CustodyOutcome = { call: 'c', failure: { kind: 'OVERLOADED', message: '', retryAfterS: 4 } };
    expect(repeatAfterMs(late, 100)).toBe(4_000);
  });

  test('its outcome in one line', () => {
    expect([made, conflict, lost, call(204, undefined)].map(custodyOutcomeText)).toEqual([
      ...['wallets.create: 201 wal_1 active', 'wallets.create: 409 conflict version_conflict: no'],
      ...['wallets.create: no answer (LOST)', 'wallets.create: 204'],
    ]);
    expect([199, 200, 299, 300].map((http) => isSuccess(call(http)))).toEqual([false, true, true, false]);
    expect(isSuccess(lost)).toBe(false);
  });

  test('an idempotency key is told one intent, for each tenant', () => {
    const book = new CustodyBook();
    book.told('owner', 'k', 'txi_1');
    book.told('approver', 'k', 'txi_1');
    book.told('owner@other', 'k', 'txi_2');
    expect(book.keyToldTwice()).toBeUndefined();
    book.told('viewer@other', 'k', 'txi_3');
    expect(book.keyToldTwice()).toBe('the idempotency key other k was told txi_2 and txi_3');
    const note = { url: 'u', events: [], by: 'owner' };
    book.webhooks.set('hook', { ...note, id: 'whk_1', secrets: ['old'] });
    book.webhooks.set('other', { ...note, id: 'whk_2', secrets: ['own'] });
    book.rotated('whk_1', 'new');
    expect([...book.webhooks.values()].map(({ secrets }) => secrets)).toEqual([['new', 'old'], ['own']]);
    expect(CustodyBook.principals([{ by: 'b' }, {}, { by: 'owner' }, { by: 'b' }])).toEqual(['owner', 'b']);
  });
});

describe('references', () => {
  const answers: Record<string, unknown> = { pay: { id: 'txi_1', approvals: [{ by: 'a' }, { by: 'b' }], n: 2 } };
  /** As it is written within a text. */
  const within = (reference: string) => `$\{${reference}}`;
  const of = (value: unknown) => resolved(value, (step) => answers[step]);

  test('stand for answers: whole values keep their type, parts of a text become text', () => {
    expect(
      of({ a: ['$pay.n', '$pay.approvals.1.by', `n ${within('pay.n')} of ${within('pay.id')}`], b: 7, c: null }),
    ).toEqual({
      ...{ a: [2, 'b', 'n 2 of txi_1'], b: 7, c: null },
    });
    expect(of('$pay')).toBe(answers.pay);
    for (const text of ['pay.id', '$ pay', '$pay.', '$pay.id!', within('pay.id').slice(0, -1)])
      expect(of(text)).toBe(text);
    for (const text of ['$pay.status', '$pay.approvals.2', `x ${within('other.id')}`, '$pay.id.length']) {
      expect(() => of(text)).toThrow(ReferenceMissing);
    }
    expect(referencesIn(`${within('a.b.0')} and ${within('c')}`).map(({ step, field }) => [step, ...field])).toEqual([
      ['a', 'b', '0'],
      ['c'],
    ]);
    expect([fieldOf({ a: [1] }, ['a', '0']), fieldOf({}, ['constructor']), fieldOf('text', ['length'])]).toEqual([
      1,
      undefined,
      undefined,
    ]);
  });

  test('of a field that answers lack name the fields that exist', () => {
    const shape = { id: 0, list: [{ by: 0 }], any: null } as const;
    const unknown = (field: string) => unknownField(shape as never, field.split('.'));
    for (const field of ['id', 'id.x', 'list', 'list.0.by', 'list.99999.by', 'any'])
      expect(unknown(field)).toBeUndefined();
    expect(unknown('no')).toEqual({ name: 'no', known: ['id', 'list', 'any'] });
    expect(unknown('list.by')).toMatchObject({ name: 'by' });
    expect(unknown('list.00')).toMatchObject({ name: '00' });
    expect(unknown('list.0.at')).toEqual({ name: 'at', known: ['by'] });
    expect(unknown('any.x')).toEqual({ name: 'x', known: [] });
  });
});

describe('the end of a run, and what is waited for', () => {
  const facts = { state: 'ACCEPTED', reasonCode: 'SESSION_ACCEPTED', attempt: 2, culprits: [3] };
  const reads: Record<string, object> = {
    '/v1/wallets/wal_1': { assets: [{ symbol: 'ETH', balance: '1.50' }] },
    '/v1/wallets/wal_1/transaction-intents/txi_1': { status: 'completed' },
    '/v1/events?limit=100&after_sequence=0': {
      events: ['a', 'b'].map((type, index) => ({
        type,
        sequence: index + 1,
        resource: { type: 'x', id: `r${index}` },
      })),
      has_more: true,
    },
    '/v1/events?limit=100&after_sequence=2': {
      events: [{ type: 'a', sequence: 3, resource: { type: 'x', id: 'r1' } }],
      has_more: false,
    },
  };
  const received = [
    { status: 500, type: 'a', resource: 'txi_1' },
    { status: 204, type: 'b', resource: 'txi_1' },
  ];
  let nowMs = 0;
  const answers: Record<string, (asks: never) => unknown> = {
    session: ({ sessionId }: { sessionId: string }) => (sessionId === 'real-s' ? facts : undefined),
    events: () => [
      { resource: { id: 'real-s' }, object: { culprits: [2] } },
      { resource: { id: 'other' }, object: { culprits: [5] } },
    ],
    delivered: () => ['dkg.session.completed'],
    triggerCount: ({ id }: { id: string }) => (id === 'flt_1' ? 2 : 0),
    nodesReady: () => 4,
    received: () => received,
    request: ({ target }: { target: string }) =>
      reads[target] ? { status: 200, body: reads[target] } : { status: 404, body: {} },
    wait: ({ ms }: { ms: number }) => {
      nowMs += ms;
    },
  };
  const world = {
    kind: 'simulated',
    nowMs: () => nowMs,
    ask: (question: string, asks: never, gets: (answer: unknown) => void) => gets(answers[question]!(asks)),
  } as unknown as ScenarioWorld;
  const scenario = {
    clients: {
      main: [
        { step: 's', call: 'make_key', session: 's' },
        { step: 'x', call: 'sign', session: 'x', key: 's' },
      ],
    },
  };
  const book = new SessionBook(scenario as never, (name) => name);
  book.note('s').id = 'real-s';
  const custody = new CustodyBook();
  custody.learn('pay', { id: 'txi_1', wallet_id: 'wal_1' });
  custody.learn('wallet', { id: 'wal_1' });
  custody.learn('r', { id: 'r1' });
  const names = { book, custody, faultId: (id: string) => ({ lie: 'flt_1', drop: 'flt_2' })[id] };

  function finalOf(expectation: object): string[] | undefined {
    let found: string[] | undefined;
    finalMismatches(expectation as Expectation, world, names, (wrong) => {
      found = wrong.map(mismatchText);
    });
    return found;
  }

  test.each<[object, object, string]>([
    [{ session: 's', state: 'ACCEPTED' }, { session: 's', state: 'EXPIRED' }, 'state of s is EXPIRED, found ACCEPTED'],
    [{}, { session: 'x', state: 'EXPIRED' }, 'state of x is EXPIRED, found no such session'],
    [
      { session: 's', reason_code: 'SESSION_ACCEPTED' },
      { session: 's', reason_code: 'SESSION_EXPIRED' },
      'reason_code of s is SESSION_EXPIRED, found SESSION_ACCEPTED',
    ],
    [{ session: 's', attempts: 2 }, { session: 's', attempts: 1 }, 'attempts of s is 1, found 2'],
    [{ session: 's', culprits: [3, 2] }, { session: 's', culprits: [3] }, 'culprits of s is node 3, found node 2, 3'],
    [{ culprits: [2, 3] }, { culprits: [] }, 'culprits is no node, found node 2, 3'],
    [{ signatures: 0 }, { signatures: 1 }, 'signatures is 1, found 0'],
    [
      { delivered: ['dkg.session.completed'] },
      { delivered: ['dkg.session.failed'] },
      'delivered is dkg.session.failed, found dkg.session.completed',
    ],
    [{ fired: 'lie' }, { fired: 'drop' }, 'trigger_count of the fault drop is at least 1, found 0'],
    [
      { fired: 'lie', trigger_count: 2 },
      { fired: 'lie', trigger_count: 1 },
      'trigger_count of the fault lie is 1, found 2',
    ],
    [
      { intent: 'pay', status: 'completed' },
      { intent: 'pay', status: 'failed' },
      'status of pay is failed, found completed',
    ],
    [{}, { intent: 'nothing', status: 'failed' }, 'status of nothing is failed, found no such intent'],
    [
      { wallet: 'wallet', balances: { ETH: '01.5', BTC: '0.00' } },
      { wallet: 'wallet', balances: { ETH: '15' } },
      'ETH of wallet is 15, found 1.50',
    ],
    [{}, { wallet: 'nothing', balances: { ETH: '1' } }, 'ETH of nothing is 1, found no such wallet'],
    [{ events: ['a', 'b', 'a'] }, { events: ['b', 'b'] }, 'events is b, b, found a, b, a'],
    [{ events: ['b', 'a'], of: 'r' }, { events: ['a', 'b'], of: 'r' }, 'events of r is a, b, found b, a'],
    [{ webhook: 'h', delivered: ['b'] }, { webhook: 'h', delivered: ['a', 'b'] }, 'delivered of h is a, found b'],
    [{ webhook: 'h', tries: 2 }, { webhook: 'h', tries: 1 }, 'tries of h is 1, found 2'],
  ])('%j holds, and %j does not', (right, wrong, text) => {
    expect(finalOf(right)).toEqual([]);
    expect(finalOf(wrong)).toEqual([text]);
  });

  test('every wrong field of one expectation is named', () => {
    expect(
      finalOf({ session: 's', state: 'EXPIRED', attempts: 1, fired: 'drop', intent: 'pay', status: 'failed' }),
    ).toHaveLength(4);
  });

  const sight = (wait: object): string | undefined => {
    let ended: string | undefined = 'nothing';
    const waited = {
      session: (name: string) => (name === 's' ? 'real-s' : undefined),
      fault: (id: string) => names.faultId(id),
      ended: (step: string) => step === 'first',
      custody,
    };
    awaitCondition({ within_ms: 20, ...wait } as never, world, waited, (failure) => {
      ended = failure;
    });
    return ended;
  };

  test.each<[object, object, string]>([
    [{ session: 's', state: 'ACCEPTED' }, { session: 's', state: 'EXPIRED' }, 'session s in state EXPIRED'],
    [{ ended: 'first' }, { ended: 'second' }, 'the end of step second'],
    [{ nodes_ready: 4 }, { nodes_ready: 5 }, '5 nodes ready'],
    [{ fired: 'lie' }, { fired: 'drop' }, 'the fault drop'],
    [
      { intent: 'pay', status: 'completed' },
      { intent: 'pay', status: 'failed' },
      'the intent of pay with the status failed',
    ],
    [{ event: 'b' }, { event: 'c' }, 'the event c'],
    [{ event: 'b', of: 'r' }, { event: 'b', of: 'pay' }, 'the event b of pay'],
    [{ webhook: 'h', delivered: 'b' }, { webhook: 'h', delivered: 'a' }, 'delivery of a to h'],
    [{ webhook: 'h', delivered: 'b', of: 'pay' }, { webhook: 'h', delivered: 'b', of: 'r' }, 'delivery of b to h'],
    [{ delivered: 'dkg.session.completed' }, { delivered: 'x' }, 'delivery of x'],
  ])('a wait for %j ends at once, and that for %j when its time is over', (right, wrong, text) => {
    const before = nowMs;
    expect([sight(right), nowMs - before]).toEqual([undefined, 0]);
    expect(sight(wrong)).toContain(`${text} is waited for since 20 ms, found `);
    expect(nowMs - before).toBe(20);
    expect([sight({ ms: 7 }), nowMs - before]).toEqual([undefined, 27]);
  });
});
