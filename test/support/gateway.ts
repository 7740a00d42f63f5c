/**
 * A gateway in the test's own process around a fake coordinator: HTTP and gRPC, an in-memory token store, and the REST routes
 * that a test brings. It needs no Redis; wallet-service.ts adds the whole wallet API on one.
 */

import { fromBinary, type MessageShape } from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import { Client, credentials, type ServiceError as GrpcError, Metadata, ServerCredentials } from '@grpc/grpc-js';
import type { FastifyInstance } from 'fastify';
import type { Clock, Timers } from '../../core/actors/contract.ts';
import type { Log } from '../../core/actors/live/ports.ts';
import { systemClock, systemPorts, systemRandom, systemTimers } from '../../core/actors/live/ports.ts';
import { allOf, logRequests } from '../../gateway/access-log/access-log.ts';
import { RequestIds } from '../../gateway/api/request-id.ts';
import { allScopes, type Scope } from '../../gateway/api/scopes.ts';
import { Admission } from '../../gateway/auth/admission.ts';
import { Authenticator } from '../../gateway/auth/authenticator.ts';
import { hashToken, newToken } from '../../gateway/auth/token-format.ts';
import type { TokenRecord } from '../../gateway/auth/token-record.ts';
import type { IssuedToken, TokenLookup, TokenRequest } from '../../gateway/auth/token-store.ts';
import { type RpcListener, type RpcRequest, serveRpc } from '../../gateway/grpc/serve-rpc.ts';
import { buildGrpc, type GrpcApiServer } from '../../gateway/grpc/server.ts';
import { buildHttp, type HttpDeps } from '../../gateway/http/app.ts';
import type { ApiServerTls } from '../../gateway/http/server-tls.ts';
import { LoadControl, type LoadLimits } from '../../gateway/limits/load-control.ts';
import type { RateLimits } from '../../gateway/limits/rate-limits.ts';
import { Inboxes } from '../../gateway/sandbox/inboxes.ts';
import { RequestLog } from '../../gateway/sandbox/request-log.ts';
import type { Serve } from '../../gateway/serve/contract.ts';
import { makeServe } from '../../gateway/serve/serve.ts';
import { connectSigning, type SigningRoom } from '../../gateway/signing/connect.ts';
import type { CoordinatorLink } from '../../gateway/signing/coordinator-port.ts';
import { KeyedCalls } from '../../gateway/signing/keyed-calls.ts';
import type { WalletStore } from '../../gateway/signing/wallet-terms.ts';
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from '../../proto/gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../proto/gen/google/rpc/status_pb.ts';
import type { ClusterEnvironment, Roster } from '../../proto/roster.ts';
import type { SandboxControl } from '../../scenarios/faults/control.ts';
import { FakeCoordinator, healthyCluster } from './fake-coordinator.ts';
import { collectLog, type LogLine } from './log.ts';
import { nowhere, unheededOrders } from './orders.ts';

export const testToken = 'svc_sk_test_abcdefghijklmnop';
export const tokenKey = new Uint8Array(32).fill(7);
export const auth = { authorization: `Bearer ${testToken}` };

/** A token store in memory: what a test puts in, and failures on demand. */
export class MemoryTokens implements TokenLookup {
  readonly records = new Map<string, TokenRecord>();
  failing = false;
  lookups = 0;
  /** Where those are that no test has put in. */
  others: Pick<TokenLookup, 'lookup'> | undefined;

  async lookup(hash: string): Promise<TokenRecord | undefined> {
    this.lookups += 1;
    if (this.failing) throw new Error('connection refused');
    return this.records.get(hash) ?? this.others?.lookup(hash);
  }

  async opened(): Promise<void> {}

  put(token: string, record: Partial<TokenRecord> = {}): void {
    this.records.set(hashToken(token, tokenKey), {
      id: 'tok_1',
      actorId: record.id ?? 'tok_1',
      issuers: [],
      tenant: 'tn_acme',
      environment: 'sandbox',
      scopes: allScopes,
      name: '',
      expiresAtMs: undefined,
      revokedAtMs: undefined,
      providerConnectionIds: undefined,
      createdAtMs: 0,
      ...record,
    });
  }

  async issueToken(request: TokenRequest): Promise<IssuedToken> {
    const token = newToken(request.environment, systemRandom);
    const { tenant, environment, scopes, name = '' } = request;
    this.put(token, { id: `tok_${this.records.size}`, tenant, environment, scopes, name });
    return { token, record: this.records.get(hashToken(token, tokenKey))! };
  }

  putScoped(token: string, scopes: readonly Scope[]): void {
    this.put(token, { scopes });
  }
}

export interface TestGateway {
  readonly coordinator: FakeCoordinator;
  readonly tokens: MemoryTokens;
  readonly room: SigningRoom;
  readonly http: FastifyInstance;
  /** The same without a door. */
  readonly serve: Serve;
  /** undefined: nothing is refused for load. */
  readonly load: LoadControl | undefined;
  /** A gRPC call without its socket. */
  readonly rpc: (request: RpcRequest, listener: RpcListener) => void;
  readonly lines: LogLine[];
  /** The access log. */
  readonly requests: LogLine[];
  readonly clock: TestClock;
  /** Resolves with the port. */
  listenGrpc(how: ServerCredentials): Promise<number>;
  /** Listens and connects on first use. */
  grpcClient(): Promise<Client>;
  /** Over gRPC. */
  announceStop(): void;
  stop(): Promise<void>;
}

export interface TestClock {
  /** What the clock shows beyond the real one. */
  offsetMs: number;
  /** What it shows in place of the real one, for as long as it is set. */
  heldMs?: number | undefined;
}

/** What every gateway has, for the routes of a test. */
export interface GatewayParts {
  readonly room: SigningRoom;
  readonly environment: ClusterEnvironment;
  readonly admission: Admission;
  readonly log: Log;
  readonly clock: Clock;
  /** As a sandbox keeps them. */
  readonly seen: RequestLog;
  readonly inboxes: Inboxes;
}

export interface GatewayOptions {
  readonly environment?: ClusterEnvironment;
  readonly acceptAnyTestToken?: boolean;
  readonly limits?: RateLimits;
  /** Without it, nothing is refused for load. */
  readonly load?: Partial<LoadLimits>;
  /** Of what refuses calls: their admission and the load. The system's by default. */
  readonly timers?: Timers;
  readonly inFlightMax?: number;
  readonly requestTimeoutMs?: number;
  readonly connectionsMax?: number;
  readonly tls?: ApiServerTls;
  readonly corsOrigins?: readonly string[] | undefined;
  readonly allowedHosts?: readonly string[] | undefined;
  readonly consoleFiles?: HttpDeps['consoleFiles'];
  readonly publicToken?: string;
  /** Says how receivers behave. */
  readonly control?: SandboxControl;
  /** Those of another gateway, where several serve one tenant. */
  readonly tokens?: MemoryTokens;
  readonly clock?: TestClock;
  /** The way to a coordinator of the test's own. */
  readonly link?: CoordinatorLink;
  /** Of the cluster that it leads to. */
  readonly roster?: Roster | undefined;
  /** Where the signing API finds wallets. */
  readonly wallets?: WalletStore;
  /** REST routes beside the signing API, and where that finds their wallets. */
  readonly rest?: (parts: GatewayParts) => NonNullable<HttpDeps['rest']> & { readonly wallets?: WalletStore };
}

/** The one way in which tests open a gateway in their own process. */
export async function openGateway(options: GatewayOptions = {}): Promise<TestGateway> {
  const { environment = 'sandbox', acceptAnyTestToken = environment === 'sandbox', limits } = options;
  const {
    tokens = new MemoryTokens(),
    clock = { offsetMs: 0, heldMs: undefined },
    inFlightMax,
    requestTimeoutMs,
    connectionsMax,
    tls,
    corsOrigins,
    allowedHosts,
  } = options;
  const coordinator = new FakeCoordinator();
  const { log, lines } = collectLog();
  const { log: accessLog, lines: accessLines } = collectLog();
  const time = { nowMs: () => (clock.heldMs ?? Date.now()) + clock.offsetMs };
  const room = connectSigning({
    link: options.link ?? coordinator,
    orders: unheededOrders(),
    roster: options.roster ?? nowhere,
    clock: systemClock,
    timers: systemTimers,
    log,
    ...(inFlightMax !== undefined && { inFlightMax }),
  });
  coordinator.status(healthyCluster);
  const identity = {
    environment,
    acceptAnyTestToken,
    tokenKey,
    store: tokens,
    log,
    clock: time,
    timers: { elapsedMs: time.nowMs },
  };
  const { timers = systemTimers } = options;
  const load = options.load && new LoadControl({ timers, limits: options.load });
  const admission = new Admission(new Authenticator(identity), limits, timers, load);
  const seen = new RequestLog(systemTimers);
  const inboxes = new Inboxes(systemPorts);
  const rest = options.rest?.({ room, environment, admission, log, clock: time, seen, inboxes });
  const wallets = options.wallets ?? rest?.wallets;
  const common = {
    admission,
    timers: systemTimers,
    requestIds: new RequestIds(systemPorts),
    log,
    requests: allOf([logRequests(accessLog), seen]),
  };
  const bounds = {
    ...(requestTimeoutMs !== undefined && { requestTimeoutMs }),
    ...(connectionsMax !== undefined && { connectionsMax }),
  };
  const doors = {
    tls,
    ...common,
    ...bounds,
    ...room,
    ...(wallets !== undefined && { wallets }),
    keyed:
      rest === undefined
        ? { answer: () => Promise.reject(new Error('this gateway has no store')) }
        : new KeyedCalls(rest.deps),
  };
  const served = {
    ...doors,
    corsOrigins,
    allowedHosts,
    environment,
    consoleFiles: options.consoleFiles,
    ...{ inboxes, control: options.control },
    version: '0.0.0-test',
    ...(options.publicToken !== undefined && { publicToken: options.publicToken }),
    ...(rest !== undefined && { rest }),
  };
  const http = await buildHttp(served);
  let grpc: GrpcApiServer | undefined;
  let client: Client | undefined;
  const listenGrpc = (how: ServerCredentials) => {
    grpc = buildGrpc({ ...doors, loadRefusals: admission });
    const { server } = grpc;
    return new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', how, (error, bound) => (error ? reject(error) : resolve(bound)));
    });
  };
  return {
    coordinator,
    tokens,
    room,
    http,
    serve: makeServe(served),
    load,
    rpc: (request, listener) => serveRpc(doors, request, listener),
    lines,
    requests: accessLines,
    clock,
    listenGrpc,
    async grpcClient() {
      if (client !== undefined) return client;
      const port = await listenGrpc(ServerCredentials.createInsecure());
      client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
      return client;
    },
    announceStop: () => grpc?.announceStop(),
    async stop() {
      client?.close();
      grpc?.server.forceShutdown();
      await http.close();
    },
  };
}

export interface JsonCall {
  readonly method: string;
  readonly url: string;
  readonly token: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface JsonAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
  readonly body: any;
}

/** One call as a client makes it; a text as body goes out as it stands. */
export async function callJson(http: FastifyInstance, call: JsonCall): Promise<JsonAnswer> {
  const { method, url, token, body, headers = {} } = call;
  const response = await http.inject({
    method: method as 'GET',
    url,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const parsed: unknown = response.body === '' ? undefined : JSON.parse(response.body);
  return { status: response.statusCode, headers: response.headers, body: parsed };
}

export interface GrpcAnswer {
  readonly error: GrpcError | undefined;
  readonly response: Buffer | undefined;
  readonly initial: Metadata;
}

const asTheyAre = (bytes: Buffer): Buffer => bytes;

/** One unary call with raw bytes. */
export function grpcCall(
  client: Client,
  path: string,
  bytes: Uint8Array,
  metadata: Record<string, string> = auth,
  options: { deadline?: number; cancelWhen?: Promise<unknown> } = {},
): Promise<GrpcAnswer> {
  return new Promise((resolve) => {
    const entries = new Metadata();
    for (const [key, value] of Object.entries(metadata)) entries.add(key, value);
    let initial = new Metadata();
    const { deadline } = options;
    const call = client.makeUnaryRequest<Buffer, Buffer>(
      path,
      asTheyAre,
      asTheyAre,
      Buffer.from(bytes),
      entries,
      deadline === undefined ? {} : { deadline },
      (error, response) => resolve({ error: error ?? undefined, response, initial }),
    );
    call.on('metadata', (received: Metadata) => {
      initial = received;
    });
    options.cancelWhen?.then(() => call.cancel());
  });
}

export interface ErrorDetails {
  readonly reason: string;
  readonly domain: string;
  readonly violations: readonly { field: string; description: string }[];
  readonly retryS: number | undefined;
}

/** What stands in `grpc-status-details-bin`. */
export function errorDetails(error: GrpcError | undefined): ErrorDetails {
  const [bytes] = error?.metadata.get('grpc-status-details-bin') ?? [];
  if (!(bytes instanceof Buffer)) throw new Error('no status details');
  const { details } = fromBinary(StatusSchema, bytes);
  const found = <T>(pick: (any: (typeof details)[number]) => T | undefined): T | undefined =>
    details.map(pick).find((one) => one !== undefined);
  const info: MessageShape<typeof ErrorInfoSchema> | undefined = found((any) => anyUnpack(any, ErrorInfoSchema));
  const bad = found((any) => anyUnpack(any, BadRequestSchema));
  const retry = found((any) => anyUnpack(any, RetryInfoSchema));
  return {
    reason: info?.reason ?? '',
    domain: info?.domain ?? '',
    violations: bad?.fieldViolations.map(({ field, description }) => ({ field, description })) ?? [],
    retryS: retry === undefined ? undefined : Number(retry.retryDelay?.seconds ?? 0n),
  };
}
