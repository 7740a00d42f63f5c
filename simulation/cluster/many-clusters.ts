/**
 * Several simulated clusters in one world: each has its own coordinator, nodes, links and faults, and its own names for them
 * (scenarios/faults/cluster-names.ts); they share time, Redis, gateways and the worker. Outside a cluster the full names apply.
 *
 * The gateway sends each call to the cluster of its session or key, and a new key to the best fitting cluster, by the rules of
 * the live gateway (proto/cluster-named.ts, core/redis/choose-cluster.ts). Load is 0: a simulated cluster gets fewer calls a second
 * than the first step of a load.
 */
import type { DescMessage, MessageInitShape } from '@bufbuild/protobuf';
import { create } from '@bufbuild/protobuf';
import { type Candidate, chooseCluster } from '../../core/redis/choose-cluster.ts';
import { firstCluster } from '../../core/redis/clusters.ts';
import { namedBy, type SessionSeen, sessionOf, unreachableAnswer, unreachableText } from '../../proto/cluster-named.ts';
import { complete } from '../../proto/complete.ts';
import { CallErrorCode, CallErrorSchema, CloseKeyRequestSchema } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import {
  InspectSessionRequestSchema,
  PreviewPartialRequestSchema,
} from '../../proto/gen/signmesh/wire/v1/sandbox_pb.ts';
import { ReadSessionsRequestSchema } from '../../proto/gen/signmesh/wire/v1/sessions_pb.ts';
import {
  DkgShareExchangeRequestSchema,
  InitiateDkgRequestSchema,
  InitiateSigningRequestSchema,
  ResumeSessionRequestSchema,
  SignatureShareRequestSchema,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { CallCase, CallRequest, CallResponse, ResponseOf } from '../../proto/wire.ts';
import { ofOneCluster, processIn } from '../../scenarios/faults/cluster-names.ts';
import type { RunEvent } from '../../scenarios/faults/recording.ts';
import type { FaultStatus } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import type { Fault } from '../../scenarios/faults/vocabulary/fault.ts';
import { apiServerMs, SimCall, type SimCaller } from './calls.ts';
import { SimCluster } from './cluster.ts';
import type { ExternalProcesses, ExternalProcessHost } from './external-processes.ts';
import type { Observation } from './observation.ts';
import type { SimOptions } from './options.ts';
import { randomStream } from './random.ts';
import { SharedWorld } from './shared.ts';

export interface ManyClustersOptions extends Omit<SimOptions, 'observe' | 'number' | 'shared' | 'guests' | 'faults'> {
  /** 2 or more. */
  readonly clusters: number;
  /** Processes of another room that have a link to every cluster; without them the clusters share one simulated gateway. */
  readonly externalProcessesOf?: (cluster: number, host: ExternalProcessHost) => ExternalProcesses;
  /** The observations of a cluster, in that cluster's own names. */
  readonly observe?: ((cluster: number, observation: Observation) => void) | undefined;
}

/** The interface of scenarios to the simulated clusters, one or many. */
export type ScenarioClusters = Pick<
  SimCluster,
  | 'advance'
  | 'arm'
  | 'closeKey'
  | 'delivered'
  | 'eventLog'
  | 'exchangeDkgShares'
  | 'faultStatuses'
  | 'heal'
  | 'initiateDkg'
  | 'initiateSigning'
  | 'inspectSession'
  | 'makeKey'
  | 'nodesReady'
  | 'previewPartial'
  | 'readSessions'
  | 'resumeSession'
  | 'scenarioMs'
  | 'sign'
  | 'step'
  | 'storedSession'
  | 'submitSignatureShare'
  | 'time'
>;

export class ManyClusters implements ScenarioClusters {
  /** By number, from 1. */
  readonly #clusters: readonly SimCluster[];
  readonly #shared: SharedWorld;
  /** Keys placed so far, by number. */
  readonly #placed: number[];
  readonly #known = new Map<string, number>();
  readonly #readyMade: SimOptions['readyMade'];
  readonly #random;
  #named = 0;

  constructor({ clusters, observe, record, externalProcessesOf, ...options }: ManyClustersOptions) {
    this.#readyMade = options.readyMade;
    this.#random = randomStream(options.seed, 'clusters');
    this.#shared = new SharedWorld(options.time);
    this.#placed = Array.from({ length: clusters }, () => 0);
    this.#clusters = this.#placed.map((_, index) => {
      const number = index + 1;
      return new SimCluster({
        ...options,
        ...randomnessIn(number, options),
        number,
        shared: this.#shared,
        ...(externalProcessesOf && { guests: (host: ExternalProcessHost) => externalProcessesOf(number, host) }),
        // The world has one worker and one receiver.
        receiver: options.receiver === true && number === firstCluster,
        ...(observe && { observe: (observation) => observe(number, observation) }),
        ...(record && { record: (event) => record(withFullNames(number, event)) }),
      });
    });
  }

  get time() {
    return this.#shared.time;
  }

  /** Of all clusters, one after the other. */
  get trace(): readonly string[] {
    return this.#clusters.flatMap((cluster, index) =>
      index === 0 ? cluster.trace : cluster.trace.map((line) => `cluster ${index + 1}: ${line}`),
    );
  }

  /** From 1. */
  cluster(number: number): SimCluster {
    return this.#of(number);
  }

  get scenarioMs(): number {
    return this.#clusters[0]!.scenarioMs;
  }

  /** Of all clusters. */
  nodesReady(): number {
    return this.#clusters.reduce((sum, cluster) => sum + cluster.nodesReady(), 0);
  }

  /** The cluster of a session or key; undefined: there is neither. */
  locate(tenant: string, id: string): number | undefined {
    return this.#shared.store.locate(tenant, id);
  }

  storedSession: SimCluster['storedSession'] = (tenant, id) =>
    this.#of(this.locate(tenant, id) ?? firstCluster).storedSession(tenant, id);

  eventLog: SimCluster['eventLog'] = (tenant) => this.#shared.store.events(tenant);

  delivered(): readonly string[] {
    return this.#clusters[0]!.delivered();
  }

  advance(byMs: number): void {
    for (const cluster of this.#clusters) cluster.advance(byMs);
  }

  heal(): void {
    for (const cluster of this.#clusters) cluster.heal();
  }

  /** Throws FaultError where its targets are in several clusters, or in none of these. */
  arm(fault: Fault): string {
    const { cluster, fault: own } = ofOneCluster(fault, this.#clusters.length);
    this.#named += 1;
    // Each engine names its own faults: faults of further clusters get other names.
    const named = own.id !== undefined || cluster === firstCluster ? own : { ...own, id: `c${cluster}-${this.#named}` };
    return this.#of(cluster).arm(named);
  }

  faultStatuses(): readonly FaultStatus[] {
    return this.#clusters.flatMap((cluster) => cluster.faultStatuses());
  }

  step(name: string): void {
    for (const cluster of this.#clusters) cluster.step(name);
  }

  initiateDkg = this.#routed('initiateDkg', InitiateDkgRequestSchema);
  exchangeDkgShares = this.#routed('exchangeDkgShares', DkgShareExchangeRequestSchema);
  initiateSigning = this.#routed('initiateSigning', InitiateSigningRequestSchema);
  submitSignatureShare = this.#routed('submitSignatureShare', SignatureShareRequestSchema);
  resumeSession = this.#routed('resumeSession', ResumeSessionRequestSchema);
  makeKey = this.#routed('makeKey', InitiateDkgRequestSchema);
  sign = this.#routed('sign', InitiateSigningRequestSchema);
  closeKey = this.#routed('closeKey', CloseKeyRequestSchema);
  inspectSession = this.#routed('inspectSession', InspectSessionRequestSchema);
  previewPartial = this.#routed('previewPartial', PreviewPartialRequestSchema);
  /** A page is of one cluster's sessions. */
  readSessions = this.#routed('readSessions', ReadSessionsRequestSchema);

  #routed<K extends CallCase & keyof SimCluster, Q extends DescMessage>(asked: K, schema: Q) {
    return (init: MessageInitShape<Q>, tenant = 'tn_sim', caller: SimCaller = {}): SimCall<ResponseOf<K>> => {
      const request = { case: asked, value: complete(schema, init) } as unknown as CallRequest;
      const { id, makesKey } = namedBy(request);
      const found = id === '' ? undefined : this.#find(tenant, id);
      if (found === 'unknown') return this.#failed('the store that says which cluster holds a session does not answer');
      const number = found ?? (makesKey ? this.#place(request) : this.#any());
      if (!this.#of(number).isGatewayLinked) return this.#unreachable(number, request, tenant);
      const send = this.#of(number)[asked] as unknown as (...of: unknown[]) => SimCall<ResponseOf<K>>;
      const call = send(init, tenant, caller);
      call.onAnswer((answer) => {
        const session = sessionOf({ case: asked, value: answer } as unknown as CallResponse);
        if (session !== '') this.#known.set(`${tenant}/${session}`, number);
      });
      return call;
    };
  }

  /** Reads uncached entries from Redis: `unknown` while Redis does not answer. Ready-made keys are in cluster 1. */
  #find(tenant: string, id: string): number | 'unknown' | undefined {
    if (this.#readyMade?.tenant === tenant && this.#readyMade.sessions.includes(id)) return firstCluster;
    const known = this.#known.get(`${tenant}/${id}`);
    if (known !== undefined) return known;
    return this.#shared.redis.isUp ? this.locate(tenant, id) : 'unknown';
  }

  #place(request: CallRequest): number {
    const wanted = request.case === 'initiateDkg' || request.case === 'makeKey' ? request.value.totalNodes : 0;
    const chosen = chooseCluster(this.#candidates(), wanted);
    if (chosen === undefined) return this.#any();
    this.#placed[chosen - 1]! += 1;
    return chosen;
  }

  #candidates(): readonly Candidate[] {
    return this.#clusters.map((cluster, index) => {
      const nodesTotal = cluster.roster.nodes.length;
      return {
        number: index + 1,
        isUp: cluster.isGatewayLinked && this.#shared.redis.isUp,
        nodesTotal,
        nodesReady: cluster.nodesReady(),
        keyNodes: nodesTotal,
        load: 0,
        placed: this.#placed[index]!,
      };
    });
  }

  #any(): number {
    return this.#clusters.findIndex((cluster) => cluster.isGatewayLinked) + 1 || firstCluster;
  }

  #unreachable<T>(number: number, request: CallRequest, tenant: string): SimCall<T> {
    const begins = request.case === 'initiateSigning' || request.case === 'sign';
    const { id } = namedBy(request);
    const session: SessionSeen | undefined =
      begins || !this.#shared.redis.isUp ? undefined : this.#of(number).storedSession(tenant, id);
    const moment = { nowMs: this.time.nowMs(), random: this.#random };
    const response = unreachableAnswer(number, request, session, moment);
    if (response === undefined) return this.#failed(`${unreachableText(number)}: repeat the call when it is back`);
    const call = new SimCall<T>(this.time);
    this.time.after(apiServerMs, () => call.answered(response.value as T));
    return call;
  }

  #failed<T>(message: string): SimCall<T> {
    const call = new SimCall<T>(this.time);
    const error = create(CallErrorSchema, { code: CallErrorCode.UNAVAILABLE, message });
    this.time.after(apiServerMs, () => call.failed(error));
    return call;
  }

  #of(number: number): SimCluster {
    return this.#clusters[number - 1]!;
  }
}

/** The randomness of a cluster: identities, ids and random numbers follow from it, and no two clusters have the same. */
export function randomnessIn(
  cluster: number,
  { seed, randomOf }: Pick<SimOptions, 'seed' | 'randomOf'>,
): Pick<SimOptions, 'seed' | 'randomOf'> {
  if (cluster === firstCluster) return { seed, ...(randomOf && { randomOf }) };
  const own = `cluster/${cluster}`;
  return { seed: `${seed}/${own}`, ...(randomOf && { randomOf: (label) => randomOf(`${own}/${label}`) }) };
}

/** The event with full names, for reports. */
function withFullNames(cluster: number, event: RunEvent): RunEvent {
  if (cluster === firstCluster) return event;
  const full = (name: string) => processIn(cluster, name);
  switch (event.kind) {
    case 'frame':
      return { ...event, from: full(event.from), to: full(event.to) };
    case 'actor':
    case 'state':
      return { ...event, address: full(event.address) };
    case 'process':
      return { ...event, process: full(event.process) };
    case 'fault':
      return { ...event, targets: event.targets.map(full) };
    case 'violation':
      return { ...event, text: `cluster ${cluster}: ${event.text}` };
    default:
      return event;
  }
}
