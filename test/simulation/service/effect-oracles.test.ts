/** The checks of events' effects, of outcomes, of envelopes and of answers at rest find what is planted for them. */
import { describe, expect, test } from 'vitest';
import { type Exercise, refused, sameIds, shows } from '../../../simulation/search/wallets/exercise.ts';
import type { ToldEvent } from '../../../simulation/service/invariants/documented-ledger.ts';
import { checkEffects } from '../../../simulation/service/invariants/event-effects.ts';
import { checkEnvelope } from '../../../simulation/service/invariants/headers.ts';
import { checkOutcomes } from '../../../simulation/service/invariants/outcomes.ts';

const beganMs = Date.parse('2026-01-01T00:00:00.000Z');

type Told = readonly [type: string, object: Readonly<Record<string, unknown>>];

/** Events of one resource, five seconds apart; each is of the version that its object shows, or of version 1. */
function log(resource: string, ...told: readonly Told[]): ToldEvent[] {
  return told.map(([type, object], at) => ({
    ...{ id: `evt_${at + 1}`, type, sequence: at + 1, timestamp: new Date(beganMs + at * 5_000).toISOString() },
    resource: { type: resource, id: 'x_1', version: (object.version as number) ?? 1 },
    data: { object },
  }));
}

describe('an event with another effect than its type has', () => {
  const wallet = { status: 'active', name: 'a', archived_at: null, archive_reason: null, version: 1 };
  const follow =
    (...told: readonly Told[]) =>
    () =>
      checkEffects(log('wallet', ['wallet.created', wallet], ...told));

  test('touches a field that is not its own', () => {
    const frozen = { ...wallet, status: 'frozen', version: 2 };
    expect(follow(['wallet.frozen', frozen])).not.toThrow();
    expect(follow(['wallet.frozen', { ...frozen, name: 'b' }])).toThrow('changes name from "a" to "b"');
    expect(follow(['wallet.updated', frozen])).toThrow('changes status');
  });

  test('leaves out a version, or shows another one', () => {
    expect(follow(['wallet.updated', { ...wallet, name: 'b', version: 3 }])).toThrow('is of version 3, after 1');
    const [event] = log('wallet', ['wallet.created', wallet]) as [ToldEvent];
    const other = { ...event, resource: { ...event.resource, version: 2 } };
    expect(() => checkEffects([other])).toThrow('is of version 2, and shows 1');
  });

  test('knows what its state does not', () => {
    expect(follow(['wallet.archived', { ...wallet, status: 'archived', version: 2 }])).toThrow('archived_at null');
    const intent = { status: 'approved', provider_tx_id: '0x1', version: 1 };
    expect(() => checkEffects(log('transaction_intent', ['transaction_intent.created', intent]))).toThrow(
      'provider_tx_id',
    );
  });

  test('rewrites the history, or votes', () => {
    const [created, screening] = [{ status: 'created' }, { status: 'screening' }];
    const first = {
      status: 'created',
      status_history: [created],
      approvals: [{ by: 'a' }],
      fee: { paid: null },
      message: null,
    };
    const run = (after: object) => () =>
      checkEffects(
        log(
          'transaction_intent',
          ['transaction_intent.created', first],
          ['transaction_intent.screening', { ...first, status: 'screening', ...after }],
        ),
      );
    expect(run({ status_history: [created, screening] })).not.toThrow();
    expect(run({ status_history: [created] })).toThrow('makes the history');
    expect(run({ status_history: [screening] })).toThrow('makes the history');
    expect(run({ status_history: [created, screening], approvals: [] })).toThrow('approvals');
  });

  test('completes a transfer without a transaction, or a message without a signature', () => {
    const ended = (shown: object, status = 'completed') =>
      checkEffects(
        log('transaction_intent', [
          `transaction_intent.${status}`,
          {
            status,
            status_history: [{ status }],
            approvals: [],
            fee: { paid: '0' },
            provider_tx_id: null,
            message: null,
            ...shown,
          },
        ]),
      );
    expect(() => ended({})).toThrow('provider_tx_id');
    expect(() => ended({ message: { signature: null } })).toThrow('message');
    expect(() => ended({ message: { signature: '0x1' }, provider_tx_id: '0x2' })).toThrow('message');
    expect(() => ended({ message: { signature: '0x1' } }, 'signing')).toThrow('message');
    const about = { approvals: [], fee: { paid: '0' }, provider_tx_id: null, provider_status: 'SIGNED' };
    const [signing, completed] = [{ status: 'signing' }, { status: 'completed' }];
    const signed = (before: object, after: object) => () =>
      checkEffects(
        log(
          'transaction_intent',
          ['transaction_intent.signing', { ...about, ...signing, status_history: [signing], message: before }],
          [
            'transaction_intent.completed',
            { ...about, ...completed, status_history: [signing, completed], message: after },
          ],
        ),
      );
    expect(signed({ signature: null }, { signature: '0x1' })).not.toThrow();
    expect(signed({ signature: null }, { signature: null })).toThrow('message');
  });
});

describe('a transfer that ends otherwise than its amount says', () => {
  const ended = (amount: string, status: string, subStatus: string | null) => () => {
    const plain = { kind: 'transfer', origin: null, token: null, fee: { paid: '1' }, amount };
    checkOutcomes(
      log(
        'transaction_intent',
        ['transaction_intent.approved', { ...plain, status: 'approved', sub_status: null }],
        [`transaction_intent.${status}`, { ...plain, status, sub_status: subStatus }],
      ),
    );
  };

  test('is found', () => {
    expect(ended('0.3', 'completed', null)).not.toThrow();
    expect(ended('0.3', 'failed', 'FAILED_ON_CHAIN')).toThrow('ends as failed FAILED_ON_CHAIN, not as completed');
    expect(ended('0.004421', 'failed', 'REJECTED_BY_PROVIDER')).not.toThrow();
    expect(ended('0.004421', 'completed', null)).toThrow('not as failed REJECTED_BY_PROVIDER');
    expect(ended('0.004221', 'completed', null)).toThrow('the provider refuses this amount');
    expect(ended('0.004408', 'completed', null)).toThrow('5000 ms after its approval');
  });
});

describe('an envelope', () => {
  const headers = { 'x-request-id': 'req_12345678' };
  const error = { code: 'not_found', message: 'no such wallet', request_id: 'req_12345678' };
  const heard =
    (status: number, body: unknown, more: object = {}) =>
    () =>
      checkEnvelope('GET /v1/x', { status, body, headers: { ...headers, ...more } });

  test('has a request id, the code of its status, and the time of the next try', () => {
    expect(heard(404, { error })).not.toThrow();
    expect(heard(200, {}, { 'x-request-id': 'x' })).toThrow('with the request id x');
    expect(heard(409, { error })).toThrow('answers 409 with the code not_found');
    expect(heard(404, { error: { ...error, request_id: 'req_other' } })).toThrow('its error names req_other');
    expect(heard(429, { error: { ...error, code: 'rate_limited' } })).toThrow('with Retry-After undefined');
    expect(heard(429, { error: { ...error, code: 'rate_limited' } }, { 'retry-after': '1' })).not.toThrow();
  });
});

describe('an answer at rest', () => {
  const exercise = (status: number, issue: string) =>
    ({
      tenancy: { key: () => 'key-1' },
      operator: { call: async () => ({ status, body: { error: { details: [{ issue }] } }, headers: {} }) },
    }) as unknown as Exercise;

  test('must be the refusal that is due', async () => {
    const run = (status: number, issue: string) => refused(exercise(status, issue), ['GET', '/v1/x'], 409, 'frozen');
    await expect(run(409, 'frozen')).resolves.toBeUndefined();
    await expect(run(409, 'archived')).rejects.toThrow('409 archived');
    await expect(run(422, 'frozen')).rejects.toThrow('not 409 frozen');
  });

  test('must show each wanted field, and list exactly the wanted ids', () => {
    expect(() => shows('x', { a: { b: 1, c: 2 } }, { a: { c: 2, b: 1 } })).not.toThrow();
    expect(() => shows('x', { a: 1 }, { a: 2 })).toThrow('x shows a 1, not 2');
    expect(() => sameIds('x', ['b', 'a'], ['a', 'b'])).not.toThrow();
    expect(() => sameIds('x', ['a', 'a'], ['a'])).toThrow('x lists a,a, not a');
  });
});
