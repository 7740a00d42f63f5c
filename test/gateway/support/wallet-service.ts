/**
 * The whole wallet API in this process: every route, the driver, a real Redis, and a cluster of one whose keys are in
 * this file's hands. What it signs, libraries verify as they would a cluster's signatures.
 */
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ed25519 } from '@noble/curves/ed25519.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import type { FastifyInstance } from 'fastify';
import type { Redis } from 'ioredis';
import type { SandboxControl } from '../../../faults/control.ts';
import { Admission } from '../../../gateway/auth/admission.ts';
import { Authenticator } from '../../../gateway/auth/authenticator.ts';
import { buildHttp } from '../../../gateway/http/app.ts';
import { openRedis } from '../../../gateway/redis.ts';
import type { SandboxSessions } from '../../../gateway/sandbox/sessions.ts';
import { connectSigning } from '../../../gateway/signing/connect.ts';
import { buildWalletApi, type WalletApi } from '../../../gateway/wallet-api.ts';
import type { ClusterEnvironment } from '../../../proto/roster.ts';
import { ProviderUnavailable } from '../../../providers/port/port.ts';
import type { ClusterSigner, Curve } from '../../../providers/self-hosted/cluster-signer.ts';
import { unheededOrders } from '../../support/orders.ts';
import { openDatabase, type RedisDatabase } from '../../support/redis-database.ts';
import { until } from '../../support/until.ts';
import { FakeControl, FakeSessions } from '../sandbox/support/fake-control.ts';
import { FakeCoordinator, healthyCluster } from './fake-coordinator.ts';
import { collectLog, type LogLine, MemoryTokens, tokenKey } from './gateway.ts';

/** A cluster as the control plane sees it, with whole keys made from wallet ids. */
export class LocalSigner implements ClusterSigner {
  readonly #curves = new Map<string, Curve>();
  readonly closed = new Set<string>();
  /** Signatures by what they were for. */
  readonly signed = new Map<string, string>();
  away = false;

  async createKey(_meta: unknown, walletId: string, curve: Curve): Promise<Uint8Array> {
    this.#assertHere();
    this.#curves.set(walletId, curve);
    const secret = secretOf(walletId);
    return curve === 'secp256k1' ? secp256k1.getPublicKey(secret) : ed25519.getPublicKey(secret);
  }

  async sign(_meta: unknown, { walletId, purpose, message }: Parameters<ClusterSigner['sign']>[1]) {
    this.#assertHere();
    if (this.closed.has(walletId)) throw new Error('a closed key was asked to sign');
    const before = this.signed.get(purpose);
    const asked = Buffer.from(message).toString('hex');
    if (before !== undefined && before !== asked) throw new Error(`${purpose} was signed for another message`);
    this.signed.set(purpose, asked);
    const secret = secretOf(walletId);
    if ((this.#curves.get(walletId) ?? 'secp256k1') === 'ed25519') {
      return { sessionId: `sig_${purpose}`, signature: ed25519.sign(message, secret), recoveryId: undefined };
    }
    const [recoveryId, ...signature] = secp256k1.sign(message, secret, { prehash: false, format: 'recovered' });
    return { sessionId: `sig_${purpose}`, signature: Uint8Array.from(signature), recoveryId: recoveryId! };
  }

  async revokeSessions(): Promise<void> {}

  async closeKey(_meta: unknown, walletId: string): Promise<void> {
    this.#assertHere();
    this.closed.add(walletId);
  }

  #assertHere(): void {
    if (this.away) throw new ProviderUnavailable('the cluster is away', 50);
  }
}

function secretOf(walletId: string): Uint8Array {
  return createHash('sha256').update(walletId).digest();
}

export interface WalletService {
  readonly http: FastifyInstance;
  readonly api: WalletApi;
  readonly redis: Redis;
  readonly redisServer: RedisDatabase;
  readonly tokens: MemoryTokens;
  readonly signer: LocalSigner;
  readonly lines: readonly LogLine[];
  /** The access log. */
  readonly requests: readonly LogLine[];
  /** What the clock of the service shows beyond the real one. */
  readonly clock: { offsetMs: number };
  /** As a client; the answer's body parsed. */
  call(method: string, url: string, options?: CallOptions): Promise<ServiceAnswer>;
  /** Another gateway over the same Redis. */
  another(): Promise<WalletService>;
  stop(): Promise<void>;
}

export interface CallOptions {
  readonly token?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ServiceAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came back
  readonly body: any;
}

export interface WalletServiceOptions {
  readonly environment?: ClusterEnvironment;
  readonly chainBlockMs?: number;
  /** Who runs the processes; false: nobody. */
  readonly control?: SandboxControl | false;
  readonly sessions?: SandboxSessions;
}

export const walletToken = 'svc_sk_test_walletServiceToken';

interface Shared {
  readonly redisServer: RedisDatabase;
  readonly folder: string;
  readonly tokens: MemoryTokens;
  readonly signer: LocalSigner;
  readonly clock: { offsetMs: number };
}

export async function startWalletService(options: WalletServiceOptions = {}): Promise<WalletService> {
  const folder = mkdtempSync(join(tmpdir(), 'signmesh-wallets-'));
  mkdirSync(join(folder, 'keys'));
  writeFileSync(join(folder, 'keys', '1.key'), `${randomBytes(32).toString('hex')}\n`);
  const redisServer = await openDatabase();
  const shared = { redisServer, folder, tokens: new MemoryTokens(), signer: new LocalSigner(), clock: { offsetMs: 0 } };
  const service = await build(options, shared, true);
  return service;
}

async function build(options: WalletServiceOptions, shared: Shared, owns: boolean): Promise<WalletService> {
  const { environment = 'sandbox', chainBlockMs = 20, control = new FakeControl() } = options;
  const { sessions = new FakeSessions() } = options;
  const { redisServer, folder, tokens, signer, clock } = shared;
  const { log, lines } = collectLog();
  const redis = openRedis(redisServer.url, log);
  await until(() => redis.status === 'ready', 'Redis');
  const coordinator = new FakeCoordinator();
  const room = connectSigning({ link: coordinator, orders: unheededOrders(), log });
  coordinator.status(healthyCluster);
  const time = { nowMs: () => Date.now() + clock.offsetMs };
  const acceptAnyTestToken = environment === 'sandbox';
  const authenticator = new Authenticator({
    environment,
    acceptAnyTestToken,
    tokenKey,
    store: tokens,
    log,
    clock: time,
  });
  const admission = new Admission(authenticator, undefined);
  const config = {
    environment,
    tokenKey,
    receiptSeed: new Uint8Array(32).fill(9),
    credentialKeysDir: join(folder, 'keys'),
    chainBlockMs,
  };
  const sandbox = { control: control === false ? undefined : control, sessions };
  const api = buildWalletApi({
    config,
    redis,
    admission,
    signer,
    log,
    clock: time,
    checkResponses: true,
    ...(environment === 'sandbox' && { sandbox }),
  });
  const { log: accessLog, lines: requests } = collectLog();
  const doors = { admission, log, accessLog, ...room, wallets: api.store };
  const http = await buildHttp({ ...doors, environment, version: '0.0.0-test', rest: api });
  api.start();
  const others: WalletService[] = [];
  return {
    http,
    api,
    redis,
    redisServer,
    tokens,
    signer,
    lines,
    requests,
    clock,
    async call(method, url, { token = walletToken, body, headers = {} } = {}) {
      const response = await http.inject({
        method: method as 'GET',
        url,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { payload: JSON.stringify(body) }),
      });
      const parsed: unknown = response.body === '' ? undefined : JSON.parse(response.body);
      return { status: response.statusCode, headers: response.headers, body: parsed };
    },
    async another() {
      const other = await build(options, shared, false);
      others.push(other);
      return other;
    },
    async stop() {
      for (const other of others.splice(0)) await other.stop();
      await api.stop();
      await http.close();
      redis.disconnect();
      if (!owns) return;
      await redisServer.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
