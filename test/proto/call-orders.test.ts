/** What a gateway orders of the nodes for a call, and what it does not whatever the coordinator would answer. */
import { create } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';
import { macFor, type OrderedCall, ordersOf } from '../../proto/call-orders.ts';
import { CloseKeyRequestSchema } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import {
  ApprovalMode,
  InitiateSigningRequestSchema,
  KeystoreType,
  ResumeSessionRequestSchema,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { isVaultKey, isWalletKey } from '../../proto/limits.ts';

const mac = () => new Uint8Array(16).fill(1);
const macs = { order: mac, witness: mac, deletion: mac, refresh: mac };
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

describe('the terms of an order', () => {
  /** MACs that say what they cover. */
  const covering = {
    order: (covered: object) => Buffer.from(JSON.stringify(covered)),
    witness: (covered: object) => Buffer.from(JSON.stringify(covered)),
    deletion: (covered: object) => Buffer.from(JSON.stringify(covered)),
    refresh: (covered: object) => Buffer.from(JSON.stringify(covered)),
  };
  const read = (bytes?: Uint8Array) => bytes && JSON.parse(Buffer.from(bytes).toString());
  const sessionId = 'sig_00000000-03e8-7000-8000-000000000000';
  const request = {
    transactionIntentId: 'intent',
    walletId: 'dkg_1',
    derivation: { curve: 'secp256k1', derivationPath: 'm/0/5' },
    messageHash: Uint8Array.of(1, 2),
    keystoreType: KeystoreType.MOCK_THRESHOLD,
  };
  const ordered = (more: object = {}, approvalMode?: ApprovalMode) => {
    const value = create(InitiateSigningRequestSchema, { ...request, ...more });
    const walletTerms = approvalMode === undefined ? undefined : { ...terms, approvalMode };
    const call = { tenant: 'acme', walletService: false, walletTerms };
    const random = (length: number) => new Uint8Array(length);
    return ordersOf({ ...call, request: { case: 'initiateSigning', value } }, covering, {
      nowMs: 1_000.7,
      random,
    });
  };

  test('are all that the nodes sign for; the order lives for 31 days', () => {
    const { order, witnessMacs } = ordered();
    const expiresMs = 1_000 + 31 * 24 * 3_600_000;
    expect(order).toMatchObject({ expiresEpochMs: BigInt(expiresMs), needsWitness: false });
    expect(order!.sessionId).toMatch(/^sig_00000000-03e8-7/);
    expect(witnessMacs).toBeUndefined();
    expect(read(order!.macs)).toEqual({
      tenant: 'acme',
      sessionId: order!.sessionId,
      keyId: 'dkg_1',
      keystoreType: 1,
      curve: 'secp256k1',
      derivationPath: 'm/0/5',
      message: { 0: 1, 1: 2 },
      intentId: 'intent',
      walletService: false,
      needsWitness: false,
      expiresMs,
    });
  });

  test.each([
    ['the request', { approvalMode: ApprovalMode.HUMAN_REQUIRED }, undefined],
    ['the wallet', {}, ApprovalMode.HUMAN_REQUIRED],
  ] as const)('need a witness when %s does; it has an order of its own once it is there', (_who, more, mode) => {
    const without = ordered(more, mode);
    expect([without.order!.needsWitness, without.witnessMacs]).toEqual([true, undefined]);
    expect(read(without.order!.macs)).toMatchObject({ needsWitness: true });
    const { order, witnessMacs } = ordered({ ...more, humanApprovalWitness: Uint8Array.of(1) }, mode);
    expect(read(witnessMacs)).toEqual({ tenant: 'acme', sessionId: order!.sessionId });
  });

  test('of a witness that nothing needs are none', () => {
    expect(
      ordered({ humanApprovalWitness: Uint8Array.of(1) }, ApprovalMode.DIRECT_ALLOWED).witnessMacs,
    ).toBeUndefined();
  });

  test('of a resumed session are those of its witness', () => {
    const resumed = (witness: number[]) => {
      const value = create(ResumeSessionRequestSchema, { sessionId, humanApprovalWitness: Uint8Array.from(witness) });
      const call = { tenant: 'acme', walletService: false, walletTerms: undefined };
      return ordersOf({ ...call, request: { case: 'resumeSession', value } }, covering, moment);
    };
    expect(resumed([])).toEqual({});
    expect(read(resumed([1]).witnessMacs)).toEqual({ tenant: 'acme', sessionId });
  });

  test.each([
    [false, true, { tenant: 'acme', keyId: 'wal_1' }],
    [true, true, undefined],
    [false, false, undefined],
    [true, false, undefined],
  ])('of a deletion: revoked only %s, by the wallet service %s', (revokeOnly, walletService, expected) => {
    const value = create(CloseKeyRequestSchema, { keyId: 'wal_1', revokeOnly });
    const call = { tenant: 'acme', walletService, walletTerms: undefined };
    expect(read(ordersOf({ ...call, request: { case: 'closeKey', value } }, covering, moment).deletionMacs)).toEqual(
      expected,
    );
  });

  test('give each node its own 16 bytes', () => {
    const all = Uint8Array.from({ length: 48 }, (_, index) => index);
    expect([1, 2, 3, 4].map((id) => [...macFor(id, all)])).toEqual([
      [...all.subarray(0, 16)],
      [...all.subarray(16, 32)],
      [...all.subarray(32)],
      [],
    ]);
    expect([...macFor(1, new Uint8Array(0))]).toEqual([]);
  });
});

test('keys of wallets and of vaults are told apart by their names', () => {
  expect(['wal_1', 'vky_1', 'dkg_1', 'xwal_1'].map(isWalletKey)).toEqual([true, true, false, false]);
  expect(['wal_1', 'vky_1', 'dkg_1'].map(isVaultKey)).toEqual([false, true, false]);
});
