/** A store that refuses a new session for want of room: the caller is told, nothing is left behind. */
import { expect, test } from 'vitest';
import type { CoordinatorInput } from '../../coordinator/contract/messages.ts';
import { continueOpeningDkg } from '../../coordinator/dkg/initiation.ts';
import { continueOpening } from '../../coordinator/signing/initiation.ts';
import type { Context } from '../../core/actors/contract.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';

const context: Context = { self: 'signing/t/sig_1', nowMs: 0, random: (length) => new Uint8Array(length) };
const refused = {
  kind: 'persistRefused',
  refusal: { kind: 'conflict', code: 'QUOTA' },
} as unknown as CoordinatorInput;
const call = (asked: string) => ({
  callId: 1n,
  asked,
  gateway: 'gateway/1',
  tenant: 't',
  receiptId: 'rcp_1',
  request: {},
});

test.each([
  ['initiateSigning', continueOpening],
  ['initiateDkg', continueOpeningDkg],
] as const)('%s is answered DENIED, TENANT_QUOTA_EXCEEDED, without a session', (asked, opening) => {
  const facts = { approvalMode: 0, keystoreType: 0 };
  const state = { phase: 'opening', call: call(asked), facts } as never;
  const { effects } = opening(state, refused, context, { resumeKey: new Uint8Array(32) } as never);
  expect(effects.map(({ kind }) => kind)).toEqual(['send', 'stop']);
  const { body } = (effects[0] as unknown as { message: { body: { value: { outcome: { value: unknown } } } } }).message;
  const { receipt } = body.value.outcome.value as { receipt: { message: string } };
  expect(receipt).toMatchObject({ state: ReceiptState.DENIED, reasonCode: 'TENANT_QUOTA_EXCEEDED', sessionId: '' });
  expect(receipt.message).toContain('SIGNMESH_TENANT_BYTES');
});

test('a wallet with too many sessions that have not ended is told so', () => {
  const state = {
    phase: 'opening',
    call: call('initiateSigning'),
    facts: { approvalMode: 0, keystoreType: 0 },
  } as never;
  const full = {
    kind: 'persistRefused',
    refusal: { kind: 'conflict', code: 'OPEN_QUOTA' },
  } as unknown as CoordinatorInput;
  const { effects } = continueOpening(state, full, context, { resumeKey: new Uint8Array(32) } as never);
  expect(JSON.stringify(effects[0], (_, value) => (typeof value === 'bigint' ? String(value) : value))).toMatch(
    /TENANT_QUOTA_EXCEEDED.*10,000 sessions that have not ended/,
  );
});
