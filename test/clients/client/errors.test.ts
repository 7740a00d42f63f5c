/** Errors of the client: what they say of the effect of a call, and the resume token that no log shows. */
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { apiError, type ErrorAnswer, isServiceCode, NoAnswerError } from '../../../clients/client/errors.ts';
import type { DiagnosticReceipt, SessionCheckpoint } from '../../../clients/client/generated-api.ts';
import { SigningError } from '../../../clients/client/signing-error.ts';

const facts = { operation: 'createIntent', attempts: 1, idempotencyKey: undefined, isRead: false };
const answer: ErrorAnswer = {
  ...{ status: 400, code: 'invalid_request', message: 'the request is not valid', details: [] },
  ...{ requestId: 'req_1', retryAfterMs: undefined },
};
const failed = (over: Partial<ErrorAnswer>, attempts = 1) => apiError({ ...answer, ...over }, { ...facts, attempts });

describe('an answer that is an error', () => {
  test('leaves the effect open from 500 on alone', () => {
    const effects = [400, 409, 429, 499, 500, 503].map((status) => failed({ status }).effect);
    expect(effects).toEqual(['none', 'none', 'none', 'none', 'unknown', 'unknown']);
  });

  test('has the class of its code', () => {
    const names = (['not_found', 'rate_limited', 'internal_error', 'conflict'] as const).map((code) =>
      failed({ code }),
    );
    expect(names.map(({ name }) => name)).toEqual([
      'NotFoundError',
      'RateLimitedError',
      'InternalServerError',
      'ConflictError',
    ]);
    expect(['conflict', 'toString', '', 7, undefined].map(isServiceCode)).toEqual([true, false, false, false, false]);
  });

  test('names each detail once, the attempts and the remedy', () => {
    const asset = { field: 'asset', issue: 'unknown_asset' };
    const amount = { field: 'amount', issue: 'too_large', message: 'at most 9' };
    const said = (message: string, details: ErrorAnswer['details']) => failed({ message, details }).message;
    const head = 'createIntent: 400 invalid_request';
    expect(said('not valid', [])).toBe(`${head}: not valid`);
    expect(said('not valid: asset: unknown_asset', [asset])).toBe(`${head}: not valid: asset: unknown_asset`);
    expect(said('not valid: asset: unknown_asset, and 1 more', [asset, amount])).toBe(
      `${head}: not valid: asset: unknown_asset; amount: too_large (at most 9)`,
    );
    expect(said('asset: unknown_asset is not there', [asset])).toBe(
      `${head}: asset: unknown_asset is not there: asset: unknown_asset`,
    );
    expect(said('not valid: too_large', [{ ...amount, field: '' }])).toBe(`${head}: not valid: too_large (at most 9)`);
    const stale = { field: 'expected_version', issue: 'version_conflict', message: 'the wallet is at version 2' };
    expect(said('the wallet is at version 2', [stale])).toBe(
      `${head}: the wallet is at version 2: expected_version: version_conflict`,
    );
    expect(failed({}, 3).message).toBe(`${head}: the request is not valid (after 3 attempts)`);
    expect(failed({ code: 'internal_error', status: 500 }).message).toMatch(/report it with the request id$/);
    const forbidden = (details: ErrorAnswer['details']) => failed({ code: 'insufficient_scope', details }).message;
    expect(forbidden([])).toMatch(/Use a token with the scope that the operation needs$/);
    expect(forbidden([{ field: '', issue: 'module_access_needed', message: 'POST it' }])).toMatch(
      /needed \(POST it\)$/,
    );
  });

  test('has an issue for one field, or for any', () => {
    const error = failed({ details: [{ field: 'asset', issue: 'unknown_asset' }] });
    expect([error.has('unknown_asset'), error.has('unknown_asset', 'asset')]).toEqual([true, true]);
    expect([error.has('unknown_asset', 'amount'), error.has('too_large')]).toEqual([false, false]);
  });
});

test('a call without an answer says whether it may have taken effect, and how to repeat it', () => {
  const said = (effect: 'none' | 'unknown', idempotencyKey?: string) =>
    new NoAnswerError('attempt_timed_out', 'no answer', effect, { ...facts, idempotencyKey }).message;
  expect(said('none', 'k')).toBe('createIntent: no answer. Nothing was done');
  expect(said('unknown', 'k')).toMatch(/unknown: send it again with the same idempotencyKey$/);
  expect(said('unknown')).toMatch(/unknown: read the resource before you send it again$/);
});

test('a refusal of a signing call has the session, and its resume token where no log shows it', () => {
  const receipt = {
    ...{ reason_code: 'QUORUM_UNAVAILABLE', message: 'too few nodes', state: 'paused', session_id: 'sig_1' },
    resumable: true,
  } as unknown as DiagnosticReceipt;
  const checkpoint = { checkpoint_id: 'ckp_1', resume_token: 'secret-token' } as unknown as SessionCheckpoint;
  const error = new SigningError('sign', receipt, checkpoint);
  expect(error).toMatchObject({ reasonCode: 'QUORUM_UNAVAILABLE', state: 'paused', sessionId: 'sig_1', receipt });
  expect(error.message).toMatch(/too few nodes; the session is paused: resume it with the token/);
  expect(error.checkpoint!.resume_token).toBe('secret-token');
  expect(`${inspect(error, { depth: 9 })} ${JSON.stringify(error)}`).not.toContain('secret-token');
  const final = new SigningError('sign', { ...receipt, resumable: false }, null);
  expect([final.checkpoint, final.message]).toEqual([null, 'sign: QUORUM_UNAVAILABLE: too few nodes']);
});
