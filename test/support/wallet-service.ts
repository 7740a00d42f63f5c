/**
 * The whole wallet API in this process: every route, the driver, a real Redis, and a cluster of one whose keys are in
 * this file's hands. What it signs, libraries verify as they would a cluster's signatures.
 */
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, toJson } from '@bufbuild/protobuf';
import { ed25519 } from '@noble/curves/ed25519.js';
import { schnorr, secp256k1 } from '@noble/curves/secp256k1.js';
import type { FastifyInstance } from 'fastify';
import type { Redis } from 'ioredis';
import { systemClock, systemRandom } from '../../core/actors/live/ports.ts';
import { TokenStore } from '../../gateway/auth/token-store.ts';
import { liveWalletPorts } from '../../gateway/live-wallet-ports.ts';
import type { SandboxSessions } from '../../gateway/sandbox/sessions.ts';
import type { SessionReads } from '../../gateway/signing/session-reads.ts';
import { composeWalletApi, type WalletApi, type WalletPorts } from '../../gateway/wallet-api.ts';
import { DiagnosticReceiptSchema, SessionCheckpointSchema } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { KeyScheme } from '../../proto/key-schemes.ts';
import type { ClusterEnvironment } from '../../proto/roster.ts';
import type { SandboxControl } from '../../scenarios/faults/control.ts';
import type {
  KeyOrder,
  MadeKey,
  MessageOrder,
  MessageSignature,
  VaultCluster,
} from '../../wallets/companions/vaults/cluster.ts';
import { ProviderRejected, ProviderUnavailable } from '../../wallets/providers/port/port.ts';
import type { ClusterSigner, SignerCurve } from '../../wallets/providers/self-hosted/cluster-signer.ts';
import { childKey } from './child-key.ts';
import { FakeControl, FakeSessions } from './fake-control.ts';
import { callJson, type JsonAnswer, MemoryTokens, openGateway, tokenKey } from './gateway.ts';
import type { LogLine } from './log.ts';
import { openConnection } from './redis-connection.ts';
import { openDatabase, type RedisDatabase } from './redis-database.ts';
import { testRecordKey } from './store-ports.ts';

/** A cluster as the control plane sees it, with whole keys made from wallet ids. */
/** A coordinator that knows no sessions. */
export const noSessions: SessionReads = {
  one: async () => undefined,
  page: async () => ({ sessions: [], next: undefined }),
};

export class LocalSigner implements ClusterSigner {
  readonly #curves = new Map<string, SignerCurve>();
  readonly closed = new Set<string>();
  /** Signatures by what they were for. */
  readonly signed = new Map<string, string>();
  away = false;

  async createKey(_meta: unknown, walletId: string, curve: SignerCurve): Promise<Uint8Array> {
    this.#assertHere();
    this.#curves.set(walletId, curve);
    const secret = secretOf(walletId);
    return curve === 'secp256k1' ? secp256k1.getPublicKey(secret) : ed25519.getPublicKey(secret);
  }

  async childKey(_meta: unknown, walletId: string, _networkId: string, path: string): Promise<Uint8Array> {
    this.#assertHere();
    return childOf(walletId, path).publicKey;
  }

  async sign(_meta: unknown, { walletId, purpose, message, path = '' }: Parameters<ClusterSigner['sign']>[1]) {
    this.#assertHere();
    if (this.closed.has(walletId)) throw new Error('a closed key was asked to sign');
    const before = this.signed.get(purpose);
    const asked = Buffer.from(message).toString('hex');
    if (before !== undefined && before !== asked) throw new Error(`${purpose} was signed for another message`);
    this.signed.set(purpose, asked);
    if ((this.#curves.get(walletId) ?? 'secp256k1') === 'ed25519') {
      const signature = ed25519.sign(message, secretOf(walletId));
      return { sessionId: `sig_${purpose}`, signature, recoveryId: undefined };
    }
    const { secret } = childOf(walletId, path);
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

/** The same cluster for vaults: whole keys made from their ids. It derives children for ECDSA alone. */
export class LocalVaultCluster implements VaultCluster {
  readonly #keys = new Map<string, KeyOrder>();
  /** Signatures by what they were for. */
  readonly signed = new Map<string, MessageSignature>();
  readonly closed = new Set<string>();
  /** Calls that ended in a signature. */
  signatures = 0;
  away = false;
  /** The next signature is made, and its answer does not arrive. */
  losesNextAnswer = false;
  /** Runs while the cluster signs. */
  meanwhile: () => Promise<void> = async () => {};

  async makeKey(_meta: unknown, order: KeyOrder): Promise<MadeKey> {
    this.#assertHere();
    const scheme = schemeOf(order);
    if (scheme === undefined) {
      throw new ProviderRejected('no such keys', {
        issue: 'unsupported_keystore',
        providerCode: 'UNSUPPORTED_KEYSTORE',
      });
    }
    this.#keys.set(order.keyId, order);
    const secret = secretOf(order.keyId);
    const publicKey = order.curve === 'secp256k1' ? secp256k1.getPublicKey(secret) : ed25519.getPublicKey(secret);
    const participants = Array.from({ length: order.totalNodes }, (_, index) => index + 1);
    return { scheme, publicKey, chainCode: secretOf(`${order.keyId}/chain`), ownerKeys: [], participants };
  }

  async sign(_meta: unknown, order: MessageOrder): Promise<MessageSignature> {
    this.#assertHere();
    if (this.closed.has(order.keyId)) throw new Error('a closed key was asked to sign');
    const before = this.signed.get(order.purpose);
    if (before !== undefined) return before;
    const sessionId = `sig_${order.purpose}`;
    const { receipt, checkpoint } = proofOf(sessionId);
    if (order.needsHuman && order.witness.length === 0) {
      const status = 'pending_human_approval' as const;
      return { sessionId, status, signature: new Uint8Array(), recoveryId: undefined, receipt, checkpoint };
    }
    this.signatures += 1;
    const key = this.#keys.get(order.keyId);
    if (key === undefined) throw new Error('no such key');
    const made = { sessionId, status: 'completed' as const, ...signWith(key, order), receipt, checkpoint };
    this.signed.set(order.purpose, made);
    await this.meanwhile();
    if (this.losesNextAnswer) {
      this.losesNextAnswer = false;
      throw new ProviderUnavailable('the answer was lost', 50);
    }
    return made;
  }

  async closeKey(_meta: unknown, keyId: string): Promise<void> {
    this.#assertHere();
    this.closed.add(keyId);
  }

  #assertHere(): void {
    if (this.away) throw new ProviderUnavailable('the cluster is away', 50);
  }
}

/** As the signing API writes them. */
function proofOf(sessionId: string): Pick<MessageSignature, 'receipt' | 'checkpoint'> {
  const options = { useProtoFieldName: true, alwaysEmitImplicit: true } as const;
  return {
    receipt: toJson(DiagnosticReceiptSchema, create(DiagnosticReceiptSchema, { sessionId }), options) as object,
    checkpoint: toJson(SessionCheckpointSchema, create(SessionCheckpointSchema), options) as object,
  };
}

function schemeOf({ keystoreType, curve }: KeyOrder): KeyScheme | undefined {
  if (keystoreType !== 'mock_threshold' && keystoreType !== 'mpc_frost') return undefined;
  if (curve === 'ed25519') return 'frost_ed25519';
  return keystoreType === 'mpc_frost' ? 'frost_bip340' : 'mock_ecdsa';
}

function signWith(
  key: KeyOrder,
  { message, derivationPath }: MessageOrder,
): Pick<MessageSignature, 'signature' | 'recoveryId'> {
  const secret = secretOf(key.keyId);
  switch (schemeOf(key)) {
    case 'frost_ed25519':
      return { signature: ed25519.sign(message, secret), recoveryId: undefined };
    case 'frost_bip340':
      return { signature: schnorr.sign(message, secret), recoveryId: undefined };
    default: {
      const child = childOf(key.keyId, derivationPath);
      const [recoveryId, ...signature] = secp256k1.sign(message, child.secret, { prehash: false, format: 'recovered' });
      return { signature: Uint8Array.from(signature), recoveryId: recoveryId! };
    }
  }
}

function childOf(keyId: string, path: string) {
  return childKey(secretOf(keyId), secretOf(`${keyId}/chain`), path);
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
  readonly vaultCluster: LocalVaultCluster;
  readonly lines: readonly LogLine[];
  /** The access log. */
  readonly requests: readonly LogLine[];
  /** What the clock of the service shows beyond the real one. */
  readonly clock: { offsetMs: number };
  /** As a client; the answer's body parsed. */
  call(method: string, url: string, options?: CallOptions): Promise<JsonAnswer>;
  /** Another gateway over the same Redis. */
  another(): Promise<WalletService>;
  stop(): Promise<void>;
}

export interface CallOptions {
  readonly token?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface WalletServiceOptions {
  readonly environment?: ClusterEnvironment;
  readonly chainBlockMs?: number;
  /** The control of the processes; false: none. */
  readonly control?: SandboxControl | false;
  readonly sessions?: SandboxSessions;
  readonly reads?: SessionReads;
  /** Access to modules that are PLANNED: by hand, not automatic. */
  readonly modulesByOperator?: boolean;
  readonly providerTimeoutMs?: number;
  /** Ports that replace the live ones. */
  readonly ports?: (live: WalletPorts) => Partial<WalletPorts>;
}

export const walletToken = 'svc_sk_test_walletServiceToken';

interface Shared {
  readonly redisServer: RedisDatabase;
  readonly folder: string;
  readonly tokens: MemoryTokens;
  readonly signer: LocalSigner;
  readonly vaultCluster: LocalVaultCluster;
  readonly clock: { offsetMs: number };
}

export async function startWalletService(options: WalletServiceOptions = {}): Promise<WalletService> {
  const folder = mkdtempSync(join(tmpdir(), 'signmesh-wallets-'));
  mkdirSync(join(folder, 'keys'));
  writeFileSync(join(folder, 'keys', '1.key'), `${randomBytes(32).toString('hex')}\n`);
  const redisServer = await openDatabase();
  const shared = {
    redisServer,
    folder,
    tokens: new MemoryTokens(),
    signer: new LocalSigner(),
    vaultCluster: new LocalVaultCluster(),
    clock: { offsetMs: 0 },
  };
  const service = await build(options, shared, true);
  return service;
}

async function build(options: WalletServiceOptions, shared: Shared, owns: boolean): Promise<WalletService> {
  const { environment = 'sandbox', chainBlockMs = 20, control = new FakeControl() } = options;
  const { sessions = new FakeSessions() } = options;
  const { redisServer, folder, tokens, signer, vaultCluster, clock } = shared;
  const redis = await openConnection(redisServer.url);
  const config = {
    environment,
    tokenKey,
    receiptSeed: new Uint8Array(32).fill(9),
    chainBlockMs,
    modulesByOperator: options.modulesByOperator ?? false,
    ...(options.providerTimeoutMs !== undefined && { providerTimeoutMs: options.providerTimeoutMs }),
  };
  const issuing = new TokenStore(redis, tokenKey, {
    clock: { nowMs: () => systemClock.nowMs() + clock.offsetMs },
    random: systemRandom,
  });
  tokens.others = issuing;
  const sandbox = { version: '0.0.0-test', control: control === false ? undefined : control, sessions, tokens };
  let built: WalletApi | undefined;
  const gateway = await openGateway({
    environment,
    tokens,
    clock,
    rest: ({ admission, log, clock: time, seen, inboxes }) => {
      inboxes.reachedAt('127.0.0.1:8080');
      const ports = liveWalletPorts({
        redis,
        credentialKeysDir: join(folder, 'keys'),
        recordKey: testRecordKey,
        signer,
        vaultCluster,
        sessions: options.reads ?? noSessions,
        log,
        clock: time,
      });
      built = composeWalletApi(
        { ...ports, ...options.ports?.(ports) },
        {
          config,
          admission,
          tokens: issuing,
          checkResponses: true,
          ...(environment === 'sandbox' && { sandbox: { ...sandbox, requests: seen, inboxes } }),
        },
      );
      return { routes: built.routes, deps: built.deps, wallets: built.store };
    },
  });
  const api = built!;
  const { http, lines, requests } = gateway;
  api.start();
  const others: WalletService[] = [];
  return {
    http,
    api,
    redis,
    redisServer,
    tokens,
    signer,
    vaultCluster,
    lines,
    requests,
    clock,
    call: (method, url, { token = walletToken, body, headers = {} } = {}) =>
      callJson(http, { method, url, token, body, headers }),
    async another() {
      const other = await build(options, shared, false);
      others.push(other);
      return other;
    },
    async stop() {
      for (const other of others.splice(0)) await other.stop();
      await api.stop();
      await gateway.stop();
      redis.disconnect();
      if (!owns) return;
      await redisServer.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
