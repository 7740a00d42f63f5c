/** The verdict on the signing API: each planted violation is found. */
import { describe, expect, test } from 'vitest';
import { type OpenIntent, ReceiptChecks } from '../../../clients/load/verdict/receipts.ts';
import { ecdsaEvidence } from './support/evidence.ts';

const answer = (receiptId: string, sessionId = 'sig_1') => ({
  receiptId,
  sessionId,
  reasonCode: 'SESSION_ACCEPTED',
  resumeToken: '',
});

/** A record of `count` intents that were signed as they should be. */
function recordOf(count: number) {
  const record = new ReceiptChecks();
  const evidence = ecdsaEvidence(count);
  const intents = evidence.map(({ key, text, message }, index): OpenIntent => {
    return { intentId: `intent-${index}`, key, text, message };
  });
  for (const [index, { sessionId, signature, recoveryId }] of evidence.entries()) {
    record.opened(intents[index]!);
    record.answered('InitiateSigning', answer(`rcp_a${index}`));
    record.answered('SubmitSignatureShare', answer(`rcp_b${index}`));
    record.signed(intents[index]!, sessionId, signature, recoveryId);
  }
  return { record, intents, evidence };
}

const broken = (record: ReceiptChecks) =>
  record
    .checks()
    .filter(({ holds }) => !holds)
    .map(({ name, faults }) => [name, ...faults]);

describe('the verdict', () => {
  test('holds for intents that are signed once, also when they are asked for again', () => {
    const { record, intents, evidence } = recordOf(3);
    record.signed(intents[0]!, evidence[0]!.sessionId, evidence[0]!.signature, evidence[0]!.recoveryId);
    expect(broken(record)).toEqual([]);
    expect(record.sample(2)).toHaveLength(2);
  });

  test('does not blame the service for what it refused, or ended with a final receipt', () => {
    const { record, intents } = recordOf(1);
    for (const end of ['refused', 'failed'] as const) {
      record.opened({ ...intents[0]!, intentId: end });
      record[end](end);
    }
    expect(broken(record)).toEqual([]);
  });

  test('finds a lost receipt', () => {
    const { record, intents } = recordOf(1);
    record.opened({ ...intents[0]!, intentId: 'lost' });
    expect(broken(record)).toEqual([['receipts', 'lost: no final receipt']]);
  });

  test('finds a receipt that came twice, and an answer without one', () => {
    const { record } = recordOf(1);
    record.answered('InitiateSigning', answer('rcp_a0', 'sig_9'));
    record.answered('InitiateSigning', answer('', 'sig_8'));
    expect(broken(record)).toEqual([
      ['receipts', 'InitiateSigning sig_9: rcp_a0 came twice', 'InitiateSigning sig_8: an answer without a receipt'],
    ]);
  });

  test('finds a second signature of an intent', () => {
    const { record, intents, evidence } = recordOf(2);
    record.signed(intents[0]!, 'sig_other', evidence[1]!.signature, 0);
    expect(broken(record)).toEqual([['intents', 'intent-0: a second signature, sig_other after sig_0']]);
  });

  test('finds a signature of another message', () => {
    const { record, intents, evidence } = recordOf(2);
    record.signed({ ...intents[0]!, intentId: 'wrong' }, 'sig_wrong', evidence[1]!.signature.slice().reverse(), 0);
    expect(broken(record)).toEqual([['signatures', 'sig_wrong: the signature does not verify']]);
  });

  test('finds an intent that the service no longer knows', () => {
    const { record } = recordOf(1);
    record.forgotten('intent-0', 'SESSION_NOT_FOUND');
    expect(broken(record)).toEqual([['intents', 'intent-0: signed before, and now SESSION_NOT_FOUND']]);
  });
});
