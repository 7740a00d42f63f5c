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
import { recentlyUsed } from '../../core/actors/recently-used.ts';
import { chooseCluster } from '../../core/redis/choose-cluster.ts';
import { type ClusterEntry, type ClusterRegistry, firstCluster } from '../../core/redis/clusters.ts';
import { namedBy, type SessionSeen, sessionOf, unreachableAnswer, unreachableText } from '../../proto/cluster-named.ts';
import { ServiceError } from '../api/errors/service-error.ts';
import { Calls, type Done, type SigningCall, type SigningCalls } from './signing-calls.ts';

/** Where sessions and keys are. Each method calls back at most once, at once or later. */
export interface ClusterBook {
  /** `found` gets the cluster of the session or key; undefined: there is neither. */
  locate(
    tenant: string,
    id: string,
    found: (cluster: number | undefined) => void,
    failed: (error: unknown) => void,
  ): void;
  /** `found` gets undefined also when the record cannot be read. */
  session(tenant: string, id: string, found: (session: SessionSeen | undefined) => void): void;
  /** Counts a key that was placed there. */
  placed(cluster: number): void;
}

export interface ClusterCallsOptions {
  /** By the cluster's number; two or more. */
  readonly clusters: ReadonlyMap<number, Calls & Partial<Pick<SigningCalls, 'stop'>>>;
  readonly view: {
    isConnected(cluster: number): boolean;
    /** undefined: it is not known. */
    statusOf(
      cluster: number,
    ):
      | { readonly nodesTotal: number; readonly nodesReady: { readonly length: number }; readonly storeReady: boolean }
      | undefined;
  };
  readonly book: ClusterBook;
  readonly clock: Clock;
  readonly random: RandomBytes;
  /** Keys that are made in cluster 1 alone: those of a sandbox. */
  readonly readyMade?: { readonly tenant: string; readonly schemes: object } | undefined;
}

/** Ids whose cluster is cached; one takes about 150 bytes. */
const cachedMax = 100_000;
const listEveryMs = 1_000;

export class ClusterCalls extends Calls {
  readonly #options: ClusterCallsOptions;
  readonly #known = recentlyUsed<number>(cachedMax);
  #entries = new Map<number, ClusterEntry>();
  /** Keys placed so far, by cluster: as the registry says, and what this gateway has placed since. */
  readonly #placed = new Map<number, number>();
  #cancelTimer: Cancel | undefined;
  #stopped = false;

  constructor(options: ClusterCallsOptions) {
    super();
    this.#options = options;
  }

  /** Reads the registry, now and every second. */
  watch(registry: Pick<ClusterRegistry, 'list'>, timers: Timers): void {
    if (this.#stopped) return;
    registry
      .list()
      .then((entries) => this.#listed(entries))
      // Its connection says why; the loads that were read last count on.
      .catch(() => undefined)
      .finally(() => {
        if (!this.#stopped) this.#cancelTimer = timers.start(listEveryMs, () => this.watch(registry, timers));
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
    await Promise.all([...this.#options.clusters.values()].map((calls) => calls.stop?.(graceMs)));
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
    this.#options.book.locate(
      call.tenant,
      id,
      (found) => {
        if (cancelled) return;
        if (found !== undefined) this.#known.set(cacheKey(call.tenant, id), found);
        cancel = this.#send(found ?? (makesKey ? this.#place(call) : this.#any()), call, done);
      },
      (error) => {
        const text = 'the store that says which cluster holds a session does not answer: repeat the call';
        if (!cancelled) done({ failure: new ServiceError('unavailable', text, { cause: error }) });
      },
    );
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
    const { book, clock, random } = this.#options;
    const { id } = namedBy(call.request);
    let cancelled = false;
    const answer = (session: SessionSeen | undefined): void => {
      if (cancelled) return;
      const response = unreachableAnswer(cluster, call.request, session, { nowMs: clock.nowMs(), random });
      const text = `${unreachableText(cluster)}: repeat the call when it is back`;
      done(response ? { response, changedSession: false } : { failure: new ServiceError('unavailable', text) });
    };
    // What would begin a session names its key.
    if (call.request.case === 'initiateSigning' || call.request.case === 'sign' || id === '') answer(undefined);
    else book.session(call.tenant, id, answer);
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
    this.#options.book.placed(chosen);
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
}

function cacheKey(tenant: string, id: string): string {
  return `${tenant}/${id}`;
}
