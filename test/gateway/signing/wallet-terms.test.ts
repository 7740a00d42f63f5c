/** Clients' signing calls about wallets of ours, through HTTP and gRPC. */
import { create, toBinary } from '@bufbuild/protobuf';
import { afterEach, describe, expect, test } from 'vitest';
import { silentLog } from '../../../core/actors/live/ports.ts';
import { startClientCall, type WalletStore } from '../../../gateway/signing/wallet-terms.ts';
import { Scheme } from '../../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import {
  ApprovalMode,
  InitiateDkgRequestSchema,
  InitiateSigningRequestSchema,
} from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { wireScheme } from '../../../proto/key-schemes.ts';
import type { ConnectionRecord } from '../../../wallets/custody/connections/record.ts';
import type { WalletRecord } from '../../../wallets/custody/wallets/record.ts';
import { type RecordType, StoreUnavailable, type Versioned } from '../../../wallets/store/contract.ts';
import { auth, errorDetails, grpcCall, openGateway, type TestGateway } from '../../support/gateway.ts';

const walletId = 'wal_0199a1b2-0000-7000-8000-000000000001';
const initiate = '/svc.mesh.v1.MpcWalletService/InitiateSigning';

class Wallets implements WalletStore {
  readonly asked: string[] = [];
  wallet: Partial<WalletRecord> | undefined;
  connection: Partial<ConnectionRecord> = { status: 'connected' };
  failure: Error | undefined;
  held: Promise<void> = Promise.resolve();

  async read<T extends Versioned>(tenant: string, { name }: RecordType<T>, id: string): Promise<T | undefined> {
    this.asked.push(`${tenant.slice(0, 3)} ${name} ${id}`);
    await this.held;
    if (this.failure !== undefined) throw this.failure;
    return (name === 'wallet' ? this.wallet : this.connection) as unknown as T | undefined;
  }
}

let gateway: TestGateway;
afterEach(() => gateway.stop());

const wallet = (more: Partial<WalletRecord>): Partial<WalletRecord> => ({
  status: 'active',
  connectionId: 'pcn_1',
  provider: 'self_hosted',
  signingApi: 'allowed',
  approvalMode: 'unspecified',
  ...more,
});

async function start(wallets?: Wallets): Promise<void> {
  gateway = await openGateway(wallets === undefined ? {} : { wallets });
}

const overHttp = (wallet_id: string, path = '/v1/signing/initiate') =>
  gateway.http.inject({ method: 'POST', url: path, headers: auth, payload: { wallet_id } });

async function overGrpc(id: string) {
  const bytes = toBinary(InitiateSigningRequestSchema, create(InitiateSigningRequestSchema, { walletId: id }));
  return grpcCall(await gateway.grpcClient(), initiate, bytes);
}

describe('a client’s InitiateSigning', () => {
  test.each([
    ['allowed', wallet({}), { intentsOnly: false, approvalMode: ApprovalMode.APPROVAL_MODE_UNSPECIFIED }],
    [
      'for intents only',
      wallet({ signingApi: 'intents_only', approvalMode: 'direct_allowed' }),
      { intentsOnly: true, approvalMode: ApprovalMode.DIRECT_ALLOWED },
    ],
    [
      'one that asks for a human',
      wallet({ approvalMode: 'human_required' }),
      { intentsOnly: false, approvalMode: ApprovalMode.HUMAN_REQUIRED },
    ],
    ['frozen', wallet({ status: 'frozen' }), { intentsOnly: true, approvalMode: 0, archived: false }],
    ['archived', wallet({ status: 'archived' }), { intentsOnly: true, approvalMode: 0, archived: true, custodian: '' }],
    ['a custodian’s', wallet({ provider: 'fireblocks' }), { intentsOnly: false, custodian: 'fireblocks' }],
    ['the sandbox’s', wallet({ provider: 'sandbox' }), { custodian: 'sandbox' }],
  ])('carries the terms of its wallet: %s', async (_, record, terms) => {
    const wallets = new Wallets();
    wallets.wallet = record;
    await start(wallets);
    expect((await overHttp(walletId)).statusCode).toBe(200);
    expect(gateway.coordinator.last.call.walletTerms).toMatchObject(terms);
    expect((await overGrpc(walletId)).error).toBeUndefined();
    expect(gateway.coordinator.last.call.walletTerms).toMatchObject(terms);
    const asked = [`tn_ wallet ${walletId}`, `tn_ provider_connection pcn_1`];
    expect(wallets.asked).toEqual([...asked, ...asked]);
    expect(gateway.coordinator.sent.some(({ call }) => call.walletService)).toBe(false);
  });

  test('for a wallet of a disconnected connection is for intents only: it signs nothing for a client', async () => {
    const wallets = new Wallets();
    wallets.wallet = wallet({});
    wallets.connection = { status: 'disconnected' };
    await start(wallets);
    await overHttp(walletId);
    expect(gateway.coordinator.last.call.walletTerms).toMatchObject({ intentsOnly: true });
  });

  test('for a wallet that does not exist goes as it is', async () => {
    const wallets = new Wallets();
    await start(wallets);
    await overHttp(walletId);
    expect(gateway.coordinator.last.call.walletTerms).toBeUndefined();
    expect(wallets.asked).toHaveLength(1);
  });

  test.each(['', 'treasury-1', 'wal_', 'wal_1', `${walletId}0`, walletId.toUpperCase(), `x${walletId}`])(
    'about anything else (%j) asks no store',
    async (id) => {
      const wallets = new Wallets();
      wallets.failure = new StoreUnavailable('gone');
      await start(wallets);
      expect((await overHttp(id)).statusCode).toBe(200);
      expect((await overGrpc(id)).error).toBeUndefined();
      expect(wallets.asked).toEqual([]);
    },
  );

  test('is the only call that asks', async () => {
    const wallets = new Wallets();
    await start(wallets);
    for (const path of ['/v1/signing/share', '/v1/dkg/initiate', '/v1/dkg/shares', '/v1/sessions/resume']) {
      expect((await overHttp(walletId, path)).statusCode).toBe(200);
    }
    expect(wallets.asked).toEqual([]);
  });

  test('answers 503 while the store is away, and sends nothing', async () => {
    const wallets = new Wallets();
    wallets.failure = new StoreUnavailable('gone');
    await start(wallets);
    const answer = await overHttp(walletId);
    expect(answer.statusCode).toBe(503);
    expect(answer.headers['retry-after']).toBe('1');
    expect(answer.json()).toMatchObject({ error: { code: 'provider_unavailable' } });
    expect(errorDetails((await overGrpc(walletId)).error).reason).toBe('UNAVAILABLE');
    expect(gateway.coordinator.sent).toEqual([]);
  });

  test('answers 500 for a bug of the store, and says nothing of it', async () => {
    const wallets = new Wallets();
    wallets.failure = new TypeError('x is not a function');
    await start(wallets);
    const answer = await overHttp(walletId);
    expect(answer.statusCode).toBe(500);
    expect(answer.body).not.toContain('function');
  });

  test('that was cancelled while the wallet was read is not sent', async () => {
    const wallets = new Wallets();
    let release = (): void => {};
    wallets.held = new Promise((resolve) => {
      release = resolve;
    });
    await start(wallets);
    const answers: unknown[] = [];
    const { room, lines } = gateway;
    const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
    const cancel = startClientCall(
      { calls: room.calls, log, wallets },
      {
        request: { case: 'initiateSigning', value: create(InitiateSigningRequestSchema, { walletId }) },
        tenant: 't',
        correlationId: '',
        traceparent: '',
      },
      (outcome) => answers.push(outcome),
    );
    cancel();
    release();
    await wallets.held;
    expect((await overHttp('other')).statusCode).toBe(200);
    expect([answers, gateway.coordinator.sent.length, lines]).toEqual([[], 1, []]);
  });

  test('for a ready-made key of a sandbox names its scheme, for its tenant alone', async () => {
    await start();
    const schemes: unknown[] = [];
    const begin = (tenant: string, sessionId: string) =>
      startClientCall(
        {
          calls: { start: ({ keyScheme }: { keyScheme?: unknown }) => schemes.push(keyScheme) } as never,
          log: silentLog,
          readyMadeKeys: { tenant: 'own', schemes: { ready: 'mock_ecdsa' } },
        },
        {
          request: { case: 'initiateDkg', value: create(InitiateDkgRequestSchema, { sessionId }) },
          ...{ tenant, correlationId: '', traceparent: '' },
        },
        () => undefined,
      );
    begin('own', 'ready');
    begin('own', 'another');
    begin('own', 'toString');
    begin('other', 'ready');
    const { UNSPECIFIED } = Scheme;
    expect(schemes).toEqual([wireScheme('mock_ecdsa'), UNSPECIFIED, UNSPECIFIED, UNSPECIFIED]);
  });

  test('needs no wallet API', async () => {
    await start();
    expect((await overHttp(walletId)).statusCode).toBe(200);
  });
});
