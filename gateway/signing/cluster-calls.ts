/**
 * Calls to several clusters: each goes to the cluster of the session or key that it names, a new key to the least loaded
 * cluster that fits. Clusters share one Redis; core/redis/clusters.ts describes what they do not share.
 *
 * Invariants
 * - A call goes to one cluster, once. Routing is no authorization: a cluster refuses calls about another cluster's session or
 *   key.
 * - A session's and a key's cluster never changes, but with the whole stored state (`restored`). So it may be cached.
 * - A call about a session or key of a cluster that is unreachable is answered here: `BACKEND_FAILED` / `QUORUM_UNAVAILABLE`.
 *   Others are not affected.
 */
import type { Cancel, Clock, RandomBytes, Timers } from '../../core/actors/contract.ts';
import { type Log, silentLog } from '../../core/actors/live/ports.ts';
import { recentlyUsed } from '../../core/actors/recently-used.ts';
import { chooseCluster } from '../../core/redis/choose-cluster.ts';
import { type ClusterEntry, type ClusterRegistry, firstCluster } from '../../core/redis/clusters.ts';
import { namedBy, sessionOf, unreachableAnswer, unreachableText } from '../../proto/cluster-named.ts';
import { internalError, ServiceError } from '../api/errors/service-error.ts';
import type { ClusterView } from './cluster-view.ts';
import { Calls, type Done, type SigningCall, type SigningCalls } from './signing-calls.ts';

export interface ClusterCallsOptions {
  /** By the cluster's number; two or more. */
  readonly clusters: ReadonlyMap<number, SigningCalls>;
  readonly view: ClusterView;
  readonly registry: ClusterRegistry;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: RandomBytes;
  /** Keys that are made in cluster 1 alone: those of a sandbox. */
  readonly readyMade?: { readonly tenant: string; readonly schemes: object } | undefined;
  readonly log?: Log;
}

/** Ids whose cluster is cached; one takes about 150 bytes. */
const cachedMax = 100_000;
const listEveryMs = 1_000;

export class ClusterCalls extends Calls {
  readonly #options: ClusterCallsOptions;
  readonly #log: Log;
  readonly #known = recentlyUsed<number>(cachedMax);
  #entries = new Map<number, ClusterEntry>();
  /** Keys placed so far, by cluster: as the registry says, and what this gateway has placed since. */
  readonly #placed = new Map<number, number>();
  #cancelTimer: Cancel | undefined;
  #stopped = false;

  constructor(options: ClusterCallsOptions) {
    super();
    this.#options = options;
    this.#log = options.log ?? silentLog;
  }

  /** Reads the registry, now and every second. */
  watch(): void {
    if (this.#stopped) return;
    this.#options.registry
      .list()
      .then((entries) => this.#listed(entries))
      // Its connection says why; the loads that were read last count on.
      .catch(() => undefined)
      .finally(() => {
        if (!this.#stopped) this.#cancelTimer = this.#options.timers.start(listEveryMs, () => this.watch());
      });
  }

  /** The stored state was replaced: sessions and keys may belong to other clusters. */
  restored(): void {
    this.#known.clear();
    this.#entries.clear();
    this.#placed.clear();
  }

  async stop(graceMs: number): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    await Promise.all([...this.#options.clusters.values()].map((calls) => calls.stop(graceMs)));
  }

  get inFlight(): number {
    return [...this.#options.clusters.values()].reduce((sum, calls) => sum + calls.inFlight, 0);
  }

  start(call: SigningCall, done: Done): () => void {
    if (call.cluster !== undefined) return this.#send(call.cluster, call, done);
    const { id, makesKey } = namedBy(call.request);
    const fixed = this.#fixed(call.tenant, id) ?? (id === '' ? undefined : this.#known.get(cacheKey(call.tenant, id)));
    if (fixed !== undefined) return this.#send(fixed, call, done);
    if (id === '') return this.#send(makesKey ? this.#place(call) : this.#any(), call, done);
    let cancelled = false;
    let cancel = (): void => {
      cancelled = true;
    };
    this.#options.registry
      .locate(call.tenant, id)
      .then(
        (found) => {
          if (cancelled) return;
          if (found !== undefined) this.#known.set(cacheKey(call.tenant, id), found);
          cancel = this.#send(found ?? (makesKey ? this.#place(call) : this.#any()), call, done);
        },
        (error: unknown) => {
          const text = 'the store that says which cluster holds a session does not answer: repeat the call';
          if (!cancelled) done({ failure: new ServiceError('unavailable', text, { cause: error }) });
        },
      )
      .catch((error: unknown) => this.#bug(error));
    return () => cancel();
  }

  /** Cluster 1 for ready-made keys, whose dealers it has. */
  #fixed(tenant: string, id: string): number | undefined {
    const { readyMade } = this.#options;
    return readyMade?.tenant === tenant && Object.hasOwn(readyMade.schemes, id) ? firstCluster : undefined;
  }

  #send(cluster: number, call: SigningCall, done: Done): () => void {
    const { clusters, view } = this.#options;
    const calls = clusters.get(cluster);
    if (calls === undefined || !view.isConnected(cluster)) return this.#unreachable(cluster, call, done);
    return calls.start(call, (outcome) => {
      const sessionId = sessionOf(outcome.response);
      if (sessionId !== '') this.#known.set(cacheKey(call.tenant, sessionId), cluster);
      done(outcome);
    });
  }

  #unreachable(cluster: number, call: SigningCall, done: Done): () => void {
    const { registry, clock, random } = this.#options;
    const { id } = namedBy(call.request);
    // What would begin a session names its key.
    const begins = call.request.case === 'initiateSigning' || call.request.case === 'sign' || id === '';
    let cancelled = false;
    (begins ? Promise.resolve(undefined) : registry.session(call.tenant, id))
      .catch(() => undefined)
      .then((session) => {
        const response = unreachableAnswer(cluster, call.request, session, { nowMs: clock.nowMs(), random });
        const text = `${unreachableText(cluster)}: repeat the call when it is back`;
        if (!cancelled)
          done(response ? { response, changedSession: false } : { failure: new ServiceError('unavailable', text) });
      })
      .catch((error: unknown) => {
        this.#bug(error);
        if (!cancelled) done({ failure: internalError(error) });
      });
    return () => {
      cancelled = true;
    };
  }

  /** The cluster of a new key, which counts at once: many keys may be placed before the registry is read again. */
  #place({ request }: SigningCall): number {
    const wanted = request.case === 'initiateDkg' || request.case === 'makeKey' ? request.value.totalNodes : 0;
    const chosen = chooseCluster(this.#candidates(), wanted);
    if (chosen === undefined) return this.#any();
    this.#placed.set(chosen, (this.#placed.get(chosen) ?? 0) + 1);
    this.#options.registry.placed(chosen).catch(() => undefined);
    return chosen;
  }

  #candidates() {
    const { clusters, view } = this.#options;
    return [...clusters.keys()].map((number) => {
      const entry = this.#entries.get(number);
      const status = view.statusOf(number);
      const nodesTotal = status?.nodesTotal ?? entry?.nodesTotal ?? 0;
      return {
        number,
        isUp: status?.storeReady === true,
        nodesTotal,
        nodesReady: status?.nodesReady.length ?? 0,
        keyNodes: entry?.keyNodes ?? nodesTotal,
        load: entry?.load ?? 0,
        placed: this.#placed.get(number) ?? 0,
      };
    });
  }

  /** Any cluster will do: preferably one that answers. */
  #any(): number {
    const { clusters, view } = this.#options;
    return [...clusters.keys()].find((number) => view.isConnected(number)) ?? firstCluster;
  }

  #listed(entries: readonly ClusterEntry[]): void {
    this.#entries = new Map(entries.map((entry) => [entry.number, entry]));
    for (const { number, placed } of entries) this.#placed.set(number, Math.max(placed, this.#placed.get(number) ?? 0));
  }

  #bug(error: unknown): void {
    const reason = error instanceof Error ? error.stack : String(error);
    this.#log.error({ reason }, 'a call failed with an internal error');
  }
}

function cacheKey(tenant: string, id: string): string {
  return `${tenant}/${id}`;
}
