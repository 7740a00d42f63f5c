/**
 * The whole product in one process and in virtual time: the simulated signing cluster, gateways and workers that run the real
 * code of the control plane over one Redis in memory, simulated custodians and chains, receivers of webhooks, and clients.
 * Deterministic: the same seed and the same calls give the same trace, byte for byte.
 */

import type { SessionRecord } from '../../coordinator/contract/record.ts';
import type { RandomBytes } from '../../core/actors/contract.ts';
import type { Log } from '../../core/actors/live/ports.ts';
import type { Cryptography } from '../../core/crypto/backend.ts';
import { holdCryptography } from '../../core/crypto/model/switch.ts';
import type { Route } from '../../gateway/api/route.ts';
import { allScopes, isScope } from '../../gateway/api/scopes.ts';
import { type IssuedToken, type TokenRequest, TokenStore } from '../../gateway/auth/token-store.ts';
import type { RateLimitConfig } from '../../gateway/limits/rate-limits.ts';
import type { ServeRequest, ServeResponse } from '../../gateway/serve/contract.ts';
import type { PlainRequest } from '../../gateway/serve/plain-request.ts';
import type {
  ApiServerRequest,
  ApiServerVerdict,
  ProcessName,
} from '../../scenarios/faults/vocabulary/engine-contract.ts';
import type { ReconTask } from '../../wallets/companions/recon/public.ts';
import type { RelayOptions, WebhookJob } from '../../wallets/delivery/deliveries/public.ts';
import type { Send } from '../../wallets/delivery/egress/public.ts';
import { ObjectTable } from '../../wallets/store/event-text.ts';
import type { KeyRing } from '../../wallets/store/secrets/key-ring.ts';
import type { SimCluster } from '../cluster/cluster.ts';
import { type ClustersSnapshot, SimClusters, type SimClustersOptions } from '../cluster/clusters.ts';
import type { ExternalProcess } from '../cluster/external-processes.ts';
import { randomStream } from '../cluster/random.ts';
import { VirtualTime } from '../cluster/virtual-time.ts';
import type { Packing } from '../redis/blocks.ts';
import type { KeyspaceSnapshot } from '../redis/keyspace.ts';
import { announceForever } from './announcements.ts';
import { Client, type ClientOptions, type Response } from './client.ts';
import { Exchange } from './exchange.ts';
import {
  type ServedGateway,
  type SimGateway,
  type SimulatedClusterLink,
  startGateway,
  type WorldConfig,
} from './gateway-process.ts';
import { type PortCall, type PortPlan, ProcessLife } from './process-life.ts';
import { Providers } from './providers-side.ts';
import { Queues, reconQueueOf, webhookQueueOf } from './queues.ts';
import { Receivers } from './receivers.ts';
import { type ReplyListener, SimRedis, type WayMs } from './redis-side.ts';
import { callRpc, type RpcAnswer, type RpcCall } from './rpc-exchange.ts';
import { RunLoop } from './run-loop.ts';
import { StoredSessions } from './session-side.ts';
import { startWorker } from './worker-process.ts';

export interface WorldOptions
  extends Omit<SimClustersOptions, 'external' | 'externalCounts' | 'receiver' | 'deliveryScheduleMs'> {
  /** Gateway processes; 1 by default. The first is named "gateway", the others "gateway/2" and so on. */
  readonly gateways?: number;
  /** Likewise "worker", "worker/2". */
  readonly workers?: number;
  /** 0 to 1 ms by default. */
  readonly redisWay?: WayMs;
  /** For a world that lasts (simulation/redis/keyspace.ts); by default nothing is packed. */
  readonly packing?: Packing;
  readonly replied?: ReplyListener;
  readonly chainBlockMs?: number;
  /** Deadline of a request to a custodian or the venue; the product's own by default. */
  readonly providerTimeoutMs?: number;
  /** Calls a window of each tenant, as the gateways count them; unlimited by default. */
  readonly rateLimits?: RateLimitConfig | undefined;
  /** Answers that do not match their schemas are errors of the gateway. */
  readonly checkResponses?: boolean;
  /** Pauses after the first, second, … failed try of a webhook; the product's own by default. */
  readonly retryScheduleMs?: readonly number[];
  readonly relay?: Partial<RelayOptions>;
  /** Whether `logged` is kept; false by default. */
  readonly keepLog?: boolean;
  /** Decides the fate of every call of a port. */
  readonly plan?: PortPlan;
  /** Connects its workers to receivers; by default `receivers` answer. */
  readonly egress?: (life: ProcessLife) => Send;
  /** For a world with clients outside of it. */
  readonly served?: ServedGateway;
  /** 32 bytes each; fixed ones by default. */
  readonly secrets?: WorldSecrets;
  /** Gets errors that a process threw outside of any promise; by default they end the run. */
  readonly onFailure?: (error: unknown) => void;
  /** The log of processes; by default the trace. */
  readonly logOf?: (process: ProcessName) => Log;
  /** 'model' is fast and protects nothing; 'real' by default. */
  readonly cryptography?: Cryptography;
  /** Larger objects are not packed, but lie in a table beside Redis (wallets/store/event-text.ts), which is faster; false by default. */
  readonly objectTable?: boolean;
}

/** The result of `snapshot`: maps, lists and plain values. */
export interface WorldSnapshot extends ClustersSnapshot {
  readonly redis: KeyspaceSnapshot;
  readonly webhooks: readonly WebhookJob[];
  readonly recon: readonly ReconTask[];
}

/** With every scope, if it names none. */
export type WorldToken = Partial<Omit<TokenRequest, 'scopes'>> &
  Pick<TokenRequest, 'tenant'> & { readonly scopes?: readonly string[] };

/** The secrets of an installation's processes. */
export interface WorldSecrets {
  readonly token: Uint8Array;
  readonly receipt: Uint8Array;
  readonly record: Uint8Array;
  readonly seal: Uint8Array;
}

const fill = (byte: number) => new Uint8Array(32).fill(byte);
const fixedSecrets: WorldSecrets = { token: fill(7), receipt: fill(9), record: fill(11), seal: fill(5) };

/** A process in this world. */
interface Member {
  readonly name: ProcessName;
  life: ProcessLife | undefined;
  gateway: SimGateway | undefined;
  /** Calls of clients that wait for its answer; each fails when it dies. */
  readonly callers: Set<() => void>;
}

const defaultWay: WayMs = { minMs: 0, maxMs: 1 };
const receiverWayMs = 5;

export class CustodyWorld {
  readonly time: VirtualTime;
  readonly loop: RunLoop;
  /** All clusters as one, for faults and clocks. */
  readonly clusters: SimClusters;
  readonly receivers: Receivers;
  /** Every call of a port, log line, request and answer, one line each; empty without `keepTrace`. */
  readonly trace: string[] = [];
  /** The log of the processes, one line each; with `keepLog`. */
  readonly logged: string[] = [];
  readonly #options: WorldOptions;
  readonly #members: readonly Member[];
  readonly #config: WorldConfig;
  readonly #ring: KeyRing;
  readonly #sessions: StoredSessions;
  readonly #redis: SimRedis;
  readonly #queues: Queues;
  readonly #providers: Providers;
  /** By cluster: counts a call to it. Empty with one cluster, which announces nothing. */
  #called: readonly (() => void)[] = [];
  #portCalls = 0;
  #clients = 0;
  #tokens = 0;

  constructor(options: WorldOptions) {
    this.#options = options;
    const { gateways = 1, workers = 1, cryptography = 'real', secrets = fixedSecrets } = options;
    const named = (role: string, count: number): Member[] =>
      Array.from({ length: count }, (_, index) => ({
        name: index === 0 ? role : `${role}/${index + 1}`,
        life: undefined,
        gateway: undefined,
        callers: new Set(),
      }));
    this.#members = [...named('gateway', gateways), ...named('worker', workers)];
    this.#config = {
      environment: 'sandbox',
      tokenKey: secrets.token,
      receiptSeed: secrets.receipt,
      recordKey: secrets.record,
      chainBlockMs: options.chainBlockMs ?? 1_000,
      ...(options.providerTimeoutMs !== undefined && { providerTimeoutMs: options.providerTimeoutMs }),
    };
    const { redisWay = defaultWay, packing, replied, onFailure, objectTable, time = new VirtualTime() } = options;
    this.time = time;
    this.#redis = new SimRedis(time, redisWay, packing, replied);
    this.loop = new RunLoop(time, cryptography, onFailure, objectTable === true ? new ObjectTable() : undefined);
    this.#providers = new Providers(time, this.#redis.memory);
    this.receivers = new Receivers(time, receiverWayMs);
    this.#queues = new Queues({ start: (afterMs, run) => time.after(afterMs, run, true) });
    const key = { id: '1', key: secrets.seal };
    this.#ring = {
      random: this.#stream('ring'),
      current: () => key,
      find: (id) => (id === key.id ? key : undefined),
    };
    this.#sessions = new StoredSessions(this.redis, this.loop, () => this.clusters);
    const restore = holdCryptography(cryptography);
    this.clusters = new SimClusters({
      ...{ sweeping: true, ...options, time, externalCounts: { gateways, workers } },
      external: {
        all: this.#members.map((member) => this.#external(member)),
        sessions: this.#sessions.of,
        redis: this.#redis.reach,
        perform: (order) => {
          if (order.kind === 'receiver') this.receivers.behave(order.behaviour);
          else if (order.kind === 'worker') this.#queues.webhooks.stall(order.stalled);
          else if (order.kind === 'queue' && order.what === 'double_delivery') this.#queues.webhooks.double();
          else return false;
          return true;
        },
      },
    });
    this.clusters.open();
    if (this.eachCluster.length > 1) {
      this.#called = this.eachCluster.map((cluster) => announceForever(cluster, this.redis, this.loop));
    }
    restore();
  }

  /** The first cluster, which also has the processes of no cluster. */
  get cluster(): SimCluster {
    return this.clusters.first;
  }

  /** Each cluster with its own names, by number from 1. */
  get eachCluster(): readonly SimCluster[] {
    return this.clusters.each;
  }

  get nowMs(): number {
    return this.time.nowMs();
  }

  /** The number of port calls so far. */
  get portCalls(): number {
    return this.#portCalls;
  }

  /** Gateways and workers. */
  get processes(): readonly ProcessName[] {
    return this.#members.map(({ name }) => name);
  }

  /** Randomness for a run of this world, by its own label. */
  random(label: string): RandomBytes {
    return this.#stream(`run/${label}`);
  }

  #stream(label: string): RandomBytes {
    const { seed, randomOf = (name: string) => randomStream(seed, name) } = this.#options;
    return randomOf(`guest/${label}`);
  }

  /** The content of Redis. */
  get redis() {
    return this.#redis.memory;
  }

  /** The durable record of a session; undefined: there is none. */
  storedSession(tenant: string, sessionId: string): Promise<SessionRecord | undefined> {
    return this.#sessions.find(tenant, sessionId);
  }

  /** All durable state. Take it apart only to store it. */
  snapshot(): WorldSnapshot {
    const { webhooks, recon } = this.#queues;
    return {
      ...this.clusters.snapshot(),
      redis: this.redis.space.snapshot(),
      webhooks: [...webhooks.jobs],
      recon: [...recon.jobs],
    };
  }

  /**
   * Restores that state: every process restarts, and everything in memory, nonces too, is void. With `gatewaysStay` the gateways
   * drop their caches and continue: an answer in progress still reaches its client.
   */
  async restore(snapshot: WorldSnapshot, gatewaysStay = false): Promise<void> {
    const staying = gatewaysStay ? this.#members.filter(({ gateway }) => gateway !== undefined) : [];
    const release = holdCryptography(this.#options.cryptography ?? 'real');
    try {
      this.redis.space.restore(snapshot.redis);
      this.#queues.webhooks.restore(snapshot.webhooks);
      this.#queues.recon.restore(snapshot.recon);
      this.clusters.restore(
        snapshot,
        staying.map(({ name }) => name),
      );
    } finally {
      release();
    }
    await Promise.all(staying.map(({ gateway }) => gateway?.restored()));
  }

  /** Those that its gateways serve; none is called by way of them. */
  get routes(): readonly Route[] {
    const routes = this.#members.find(({ gateway }) => gateway !== undefined)?.gateway?.routes;
    if (routes === undefined) throw new Error('no gateway of this world runs');
    return routes;
  }

  /** Issues a token outside of the world: without time or faults. Rejects with TypeError for an unknown scope. */
  async token(request: WorldToken): Promise<string> {
    return (await this.issue(request)).token;
  }

  /** The same with its record, which names its actor. */
  async issue({ scopes = allScopes, ...request }: WorldToken): Promise<IssuedToken> {
    const unknown = scopes.find((scope) => !isScope(scope));
    if (unknown !== undefined) throw new TypeError(`scopes: there is no scope ${unknown}`);
    const { environment } = this.#config;
    return this.#tokenStore().issueToken({ environment, scopes: scopes.filter(isScope), ...request });
  }

  /** Outside of the world, too. False: the tenant has no such token. */
  revoke(tenant: string, tokenId: string): Promise<boolean> {
    return this.#tokenStore().revokeToken(tenant, tokenId);
  }

  /** Likewise. undefined: the tenant has no such valid token. */
  rotate(tenant: string, tokenId: string): Promise<IssuedToken | undefined> {
    return this.#tokenStore().rotateToken(tenant, tokenId);
  }

  #tokenStore(): TokenStore {
    this.#tokens += 1;
    const random = this.#stream(`token/${this.#tokens}`);
    return new TokenStore(this.#redis.memory.client(), this.#config.tokenKey, {
      clock: { nowMs: () => this.nowMs },
      random,
    });
  }

  /** A client of the API, with its own randomness. */
  client(token: string, options: ClientOptions = {}): Client {
    this.#clients += 1;
    const gateways = this.#members.filter(({ name }) => name.startsWith('gateway')).map(({ name }) => name);
    return new Client({
      ...{ token, options, gateways },
      random: this.#stream(`client/${this.#clients}`),
      send: (gateway, request) => this.request(gateway, request),
      pause: (ms) => this.time.pause(ms),
    });
  }

  /** A request on a new connection. Throws an Error where there is no gateway of that name. */
  connect(gateway: ProcessName, request: PlainRequest): Exchange {
    const { time } = this;
    const verdict = (method: string, path: string) => this.apiServerVerdict({ door: 'http', method, path });
    const host = { time, verdict, loop: this.loop, note: (text: () => string) => this.#note(text) };
    return new Exchange(host, this.#door(gateway), request);
  }

  /** A gRPC call on a new connection. Throws an Error where there is no gateway of that name. */
  callRpc(gateway: ProcessName, call: RpcCall): Promise<RpcAnswer> {
    const { time } = this;
    const host = {
      ...{ time, note: (text: () => string) => this.#note(text) },
      verdict: (rpc: string) => this.apiServerVerdict({ door: 'grpc', rpc }),
    };
    return callRpc(host, this.#door(gateway), call);
  }

  #door(gateway: ProcessName): Member {
    const door = this.#members.find(({ name }) => name === gateway && name.startsWith('gateway'));
    if (door === undefined) throw new Error(`there is no gateway ${gateway} in this world`);
    return door;
  }

  #member(name: ProcessName): Member {
    return this.#members.find((one) => one.name === name)!;
  }

  /** Runs the world until `work` has its result, which must come within that much virtual time. */
  run<T>(work: Promise<T>, withinMs = 600_000): Promise<T> {
    return this.loop.result(work, withinMs);
  }

  /** Lets this much virtual time pass. */
  async advance(ms: number): Promise<void> {
    await this.loop.until(() => false, ms);
  }

  // --- processes ---------------------------------------------------------------------------------------------------

  #external(member: Member): ExternalProcess {
    const { name } = member;
    const life: ExternalProcess['life'] = {
      start: (boot) => this.#start(member, boot),
      crash: () => {
        member.life?.die();
        member.life = undefined;
        member.gateway = undefined;
        for (const fail of [...member.callers]) fail();
      },
      pause: () => member.life?.pause(),
      resume: () => member.life?.resume(),
    };
    if (!name.startsWith('gateway')) return { name, life };
    return {
      ...{ name, life },
      link: (cluster) => ({
        address: () => `gateway/${this.cluster.bootOf(name)}`,
        arrived: (message) => member.life?.enter(() => member.gateway?.arrived(cluster, message)),
        linked: (up) => member.life?.enter(() => member.gateway?.linked(cluster, up)),
      }),
    };
  }

  /** The clusters as this gateway reaches them. */
  #reachedBy(gateway: ProcessName): readonly SimulatedClusterLink[] {
    return this.eachCluster.map((cluster, index) => ({
      roster: cluster.roster,
      send: (message, trace) => {
        if (message.body.case === 'call') this.#called[index]?.();
        return cluster.sendFrom(gateway, message, trace);
      },
    }));
  }

  #start(member: Member, boot: string): void {
    const { name } = member;
    const life = new ProcessLife(
      {
        time: this.time,
        nowMs: (process) => this.cluster.nowMs(process),
        callLeaves: (call) => this.#callLeaves(call),
        crash: (process) => this.cluster.crash(process, { restartAfterMs: 500 }),
        note: (text) => this.#note(text),
      },
      name,
      boot,
      this.#stream(boot),
    );
    member.life = life;
    const redis = this.#redis.client(life, this.#stream(`way/${boot}`));
    const { egress, served, logOf, rateLimits, checkResponses = false, readyMade } = this.#options;
    const log = logOf?.(name) ?? this.#log(name);
    const ring = this.#ring;
    const reconQueue = reconQueueOf(this.#queues, life, this.#redis, log);
    if (name.startsWith('gateway')) {
      const providers = this.#providers.of(life);
      member.gateway = startGateway(life, {
        clusters: this.#reachedBy(name),
        identitySeed: this.clusters.gatewaySeed,
        ...{
          redis,
          providers,
          ring,
          reconQueue,
          log,
          config: this.#config,
          rateLimits,
          checkResponses,
          served,
          readyMade,
        },
      });
    } else {
      startWorker(life, {
        ...{ redis, ring, reconQueue, log },
        books: this.#providers.of(life).custodianBooks,
        queue: webhookQueueOf(this.#queues, life, this.#redis, log),
        send: egress?.(life) ?? this.receivers.sender(life),
        config: this.#config,
        scheduleMs: this.#options.retryScheduleMs,
        relay: this.#options.relay,
        version: this.#options.served?.version,
      });
    }
    this.time.woken();
  }

  #callLeaves(call: Omit<PortCall, 'number'>) {
    this.#portCalls += 1;
    const number = this.#portCalls;
    this.#note(() => `${call.process} call ${number} ${call.port} ${call.what}`);
    const { process, port, what } = call;
    const ofFaults = this.clusters.portCall({ process, port, call: what });
    const planned = this.#options.plan?.({ ...call, number });
    return ofFaults === undefined ? planned : { ...planned, ...ofFaults };
  }

  // --- clients -----------------------------------------------------------------------------------------------------

  /** undefined: it is down. */
  gatewayAt(name: ProcessName): { readonly life: ProcessLife; readonly gateway: SimGateway } | undefined {
    const { life, gateway } = this.#member(name);
    return life === undefined || gateway === undefined ? undefined : { life, gateway };
  }

  /** The fate of a request to a gateway by the faults of its API server; undefined: no fault is armed. */
  apiServerVerdict(request: ApiServerRequest): ApiServerVerdict | undefined {
    return this.cluster.request(request);
  }

  /** A request that reaches a gateway now. Calls one of the two once; `lost`: it is down, or dies before it answers. */
  receive(
    name: ProcessName,
    request: ServeRequest,
    answered: (response: ServeResponse) => void,
    lost: () => void,
  ): void {
    const { callers } = this.#member(name);
    const open = this.gatewayAt(name);
    if (open === undefined) {
      lost();
      return;
    }
    const cut = (): void => {
      callers.delete(cut);
      lost();
    };
    callers.add(cut);
    open.life.enter(() => {
      open.gateway.serve(request).then(
        (response) => {
          if (callers.delete(cut)) answered(response);
        },
        (error: unknown) => this.loop.failed(error),
      );
    });
  }

  /** A whole answer of a gateway, over the network of the world and its faults; undefined: it was cut before. */
  async request(gateway: ProcessName, request: PlainRequest): Promise<Response | undefined> {
    const exchange = this.connect(gateway, request);
    const answer = await exchange.answer;
    if (answer === undefined) return undefined;
    // A client of a scenario reads whole answers: it leaves a stream at its beginning.
    if (answer.pieces !== undefined) exchange.leave();
    const { status, headers, body } = answer;
    return { status, headers, body: typeof body === 'string' ? body : Buffer.from(body).toString('utf8') };
  }

  // --- the trace ---------------------------------------------------------------------------------------------------

  #note(text: () => string): void {
    if (this.#options.keepTrace === false) return;
    const { time } = this;
    this.trace.push(`${time.nowMs() - time.beganMs} ${text()}`);
  }

  #log(name: ProcessName): Log {
    const say = (level: string) => (fields: object, message: string) => {
      const line = () => `${name} log ${level} ${message} ${JSON.stringify(fields)}`;
      if (this.#options.keepLog === true) this.logged.push(line());
      this.#note(line);
    };
    return { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') };
  }
}
