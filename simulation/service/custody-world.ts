/**
 * The whole product in one process and in virtual time: the simulated signing cluster, gateways and workers that run the real
 * code of the control plane over one Redis in memory, simulated custodians and chains, receivers of webhooks, and clients.
 * Deterministic: the same seed and the same calls give the same trace, byte for byte.
 */

import type { SessionRecord } from '../../coordinator/contract/record.ts';
import type { RandomBytes } from '../../core/actors/contract.ts';
import type { Log } from '../../core/actors/live/ports.ts';
import { holdCryptography } from '../../core/crypto/model/switch.ts';
import type { Route } from '../../gateway/api/route.ts';
import { allScopes, isScope } from '../../gateway/api/scopes.ts';
import { type IssuedToken, type TokenRequest, TokenStore } from '../../gateway/auth/token-store.ts';
import type { ServeRequest, ServeResponse } from '../../gateway/serve/contract.ts';
import type { PlainRequest } from '../../gateway/serve/plain-request.ts';
import type {
  ApiServerRequest,
  ApiServerVerdict,
  ProcessName,
} from '../../scenarios/faults/vocabulary/engine-contract.ts';
import type { ReconTask } from '../../wallets/companions/recon/public.ts';
import type { WebhookJob } from '../../wallets/delivery/deliveries/public.ts';
import { ObjectTable } from '../../wallets/store/event-text.ts';
import type { KeyRing } from '../../wallets/store/secrets/key-ring.ts';
import type { SimCluster } from '../cluster/cluster.ts';
import { type ClustersSnapshot, SimClusters } from '../cluster/clusters.ts';
import { randomStream } from '../cluster/random.ts';
import { VirtualTime } from '../cluster/virtual-time.ts';
import type { KeyspaceSnapshot } from '../redis/keyspace.ts';
import { announceForever } from './announcements.ts';
import { Client, type ClientOptions, type Response } from './client.ts';
import { Exchange } from './exchange.ts';
import type { ApiFaults } from './faulty-serve.ts';
import type { SimGateway, WorldConfig } from './gateway-process.ts';
import { configOf, fixedSecrets, type WorldOptions } from './options.ts';
import type { PortCall, ProcessLife } from './process-life.ts';
import { Providers } from './providers-side.ts';
import { Queues } from './queues.ts';
import { Receivers } from './receivers.ts';
import { SimRedis, type WayMs } from './redis-side.ts';
import { callRpc, type RpcAnswer, type RpcCall } from './rpc-exchange.ts';
import { RunLoop } from './run-loop.ts';
import { type ServiceHost, ServiceProcess } from './service-process.ts';
import { StoredSessions } from './session-side.ts';

export type { IssuedToken as WorldIssuedToken } from '../../gateway/auth/token-store.ts';
export type { WorldOptions } from './options.ts';

/** The result of `snapshot`: maps, lists and plain values. */
export interface WorldSnapshot extends ClustersSnapshot {
  readonly redis: KeyspaceSnapshot;
  readonly webhooks: readonly WebhookJob[];
  readonly recon: readonly ReconTask[];
}

/** With every scope, if it names none. */
export type WorldToken = Partial<Omit<TokenRequest, 'scopes'>> &
  Pick<TokenRequest, 'tenant'> & { readonly scopes?: readonly string[] };

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
  readonly #members: readonly ServiceProcess[];
  readonly #config: WorldConfig;
  readonly #sessions: StoredSessions;
  readonly #redis: SimRedis;
  readonly #queues: Queues;
  /** By cluster: counts a call to it. Empty with one cluster, which announces nothing. */
  #called: readonly (() => void)[] = [];
  #portCalls = 0;
  #clients = 0;
  #tokens = 0;

  constructor(options: WorldOptions) {
    this.#options = options;
    const { gateways = 1, workers = 1, cryptography = 'real', secrets = fixedSecrets } = options;
    this.#config = configOf(options);
    const { redisWay = defaultWay, packing, replied, onFailure, objectTable, time = new VirtualTime() } = options;
    this.time = time;
    this.#redis = new SimRedis(time, redisWay, packing, replied);
    this.loop = new RunLoop(time, cryptography, onFailure, objectTable === true ? new ObjectTable() : undefined);
    this.receivers = new Receivers(time, receiverWayMs);
    this.#queues = new Queues({ start: (afterMs, run) => time.after(afterMs, run, true) });
    const key = { id: '1', key: secrets.seal };
    const ring: KeyRing = {
      random: this.#stream('ring'),
      current: () => key,
      find: (id) => (id === key.id ? key : undefined),
    };
    const clusters = () => this.clusters;
    const host: ServiceHost = {
      ...{ time, options, clusters, ring, config: this.#config, redis: this.#redis, queues: this.#queues },
      ...{ providers: new Providers(time, this.redis), receivers: this.receivers },
      random: (label) => this.#stream(label),
      log: (process) => this.#log(process),
      note: (text) => this.#note(text),
      callLeaves: (call) => this.#callLeaves(call),
      called: (cluster) => this.#called[cluster - 1]?.(),
    };
    const named = (role: string, count: number) =>
      Array.from(
        { length: count },
        (_, index) => new ServiceProcess(index === 0 ? role : `${role}/${index + 1}`, host),
      );
    this.#members = [...named('gateway', gateways), ...named('worker', workers)];
    this.#sessions = new StoredSessions(this.redis, this.loop, clusters);
    const restore = holdCryptography(cryptography);
    this.clusters = new SimClusters({
      ...{ sweeping: true, ...options, time, externalCounts: { gateways, workers } },
      external: {
        all: this.#members.map(({ external }) => external),
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
    const { each } = this.clusters;
    if (each.length > 1) this.#called = each.map((cluster) => announceForever(cluster, this.redis, this.loop));
    restore();
  }

  /** The first cluster, which also has the processes of no cluster. */
  get cluster(): SimCluster {
    return this.clusters.first;
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
    const gateways = this.#members.filter(({ isGateway }) => isGateway).map(({ name }) => name);
    return new Client({
      ...{ token, options, gateways },
      random: this.#stream(`client/${this.#clients}`),
      send: (gateway, request) => this.request(gateway, request),
      pause: (ms) => this.time.pause(ms),
    });
  }

  /** A request on a new connection. Throws an Error where there is no gateway of that name. */
  connect(gateway: ProcessName, request: PlainRequest): Exchange {
    const { time, loop } = this;
    const faults: ApiFaults = (asked) => this.apiServerVerdict(asked);
    const host = { time, loop, faults, note: (text: () => string) => this.#note(text) };
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

  #door(gateway: ProcessName): ServiceProcess {
    const door = this.#members.find(({ name, isGateway }) => name === gateway && isGateway);
    if (door === undefined) throw new Error(`there is no gateway ${gateway} in this world`);
    return door;
  }

  #member(name: ProcessName): ServiceProcess {
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

  #callLeaves(call: Omit<PortCall, 'number'>) {
    this.#portCalls += 1;
    const number = this.#portCalls;
    this.#note(() => `${call.process} call ${number} ${call.port} ${call.what}`);
    const { process, port, what } = call;
    const ofFaults = this.clusters.portCall({ process, port, call: what });
    const planned = this.#options.plan?.({ ...call, number });
    return ofFaults === undefined ? planned : { ...planned, ...ofFaults };
  }
}
