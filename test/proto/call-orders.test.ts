/** What a gateway orders of the nodes for a call, and what it does not whatever the coordinator would answer. */
import { create } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';
import { type OrderedCall, ordersOf } from '../../proto/call-orders.ts';
import { ApprovalMode, InitiateSigningRequestSchema } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';

const mac = () => new Uint8Array(16).fill(1);
const macs = { order: mac, witness: mac, deletion: mac };
const moment = { nowMs: 1_000, random: (length: number) => new Uint8Array(length) };
const terms = { approvalMode: ApprovalMode.DIRECT_ALLOWED, intentsOnly: false, archived: false, custodian: '' };

function isOrdered(walletId: string, more: Partial<Omit<OrderedCall, 'request'>> = {}): boolean {
  const value = create(InitiateSigningRequestSchema, { walletId, transactionIntentId: 'intent' });
  const call = { tenant: 'acme', walletService: false, walletTerms: undefined, ...more };
  return ordersOf({ ...call, request: { case: 'initiateSigning', value } }, macs, moment).order !== undefined;
}

describe('a signature is ordered', () => {
  test('for a client with a key of its own, or of a wallet that it may use', () => {
    expect(isOrdered('dkg_1')).toBe(true);
    expect(isOrdered('wal_1', { walletTerms: terms })).toBe(true);
  });

  test('with a vault’s key for the wallet service alone', () => {
    expect(isOrdered('vky_1')).toBe(false);
    expect(isOrdered('vky_1', { walletService: true })).toBe(true);
  });

  test.each([{ intentsOnly: true }, { archived: true }, { custodian: 'fireblocks' }])(
    'not for a client of a wallet with %j',
    (more) => {
      expect(isOrdered('wal_1', { walletTerms: { ...terms, ...more } })).toBe(false);
    },
  );
});
