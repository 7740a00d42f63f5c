/** Who sees an evaluation: the callers of its connection, and of one without a connection the caller who asked for it. */
import { expect, test } from 'vitest';
import type { Principal } from '../../../../gateway/api/principal.ts';
import { type EvaluationRecord, maySee } from '../../../../wallets/policy/rules/evaluation-record.ts';

const caller = (actorId: string, connections?: readonly string[]): Principal => ({
  ...{ tenant: 'tn_1', environment: 'sandbox', scopes: new Set(), tokenId: actorId, actorId },
  providerConnectionIds: connections,
});
const evaluation = (connectionId: string | null) => ({ connectionId, by: 'tok_1' }) as EvaluationRecord;

test('a token that is limited to connections sees the evaluations of these alone', () => {
  const sees = (record: EvaluationRecord, ...connections: readonly string[]) =>
    maySee(caller('tok_2', connections), record);
  expect(sees(evaluation('pcn_1'), 'pcn_1')).toBe(true);
  expect(sees(evaluation('pcn_1'), 'pcn_2', 'pcn_1')).toBe(true);
  expect(sees(evaluation('pcn_1'), 'pcn_2')).toBe(false);
  expect(sees(evaluation(null), 'pcn_1')).toBe(false);
});

test('it sees what it asked for itself, and a token of the whole tenant sees everything', () => {
  expect(maySee(caller('tok_1', ['pcn_1']), evaluation(null))).toBe(true);
  expect(maySee(caller('tok_2'), evaluation('pcn_1'))).toBe(true);
  expect(maySee(caller('tok_2'), evaluation(null))).toBe(true);
});
