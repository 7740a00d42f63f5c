/**
 * The names of processes with several clusters: those of cluster 2 begin with "cluster/2/". Those of cluster 1 have
 * no prefix, as with a single cluster; "cluster/1/" means the same. Gateways, workers and Redis belong to no cluster.
 */

import type { Fault } from './vocabulary/fault.ts';
import { FaultError } from './vocabulary/options.ts';

const ofCluster = /^cluster\/([1-9]\d{0,2})\/(.+)$/;
/** Processes with the same name in every cluster. */
const shared: ReadonlySet<string> = new Set(['gateway', 'worker', 'redis', 'receiver']);

/** The name of a process in the form of faults, from any that people write: `2`, `node-2` and `node/2` are node 2. */
export function processName(written: string): string {
  const [, cluster = '1', name = written] = /^cluster[/-]([1-9]\d{0,2})[/-](.+)$/.exec(written) ?? [];
  const own = /^\d+$/.test(name) ? `node/${name}` : name.replace(/^(node|gateway|worker)-/, '$1/');
  return cluster === '1' ? own : `cluster/${cluster}/${own}`;
}

/** The number of a node that is meant by any of its names; undefined: it is no node of one cluster. */
export function nodeNumberOf(written: string): number | undefined {
  const [, number] = /^node\/([1-9]\d?|100)$/.exec(processName(written)) ?? [];
  return number === undefined ? undefined : Number(number);
}

/** The fault with the names of its processes in that form. */
export function withProcessNames(fault: Fault): Fault {
  return withNames(fault, processName);
}

/** The full name of a cluster's `name`. */
export function processIn(cluster: number, name: string): string {
  return cluster === 1 || shared.has(name) || name.startsWith('gateway/') ? name : `cluster/${cluster}/${name}`;
}

/** Splits a full name. */
export function splitName(name: string): { readonly cluster: number; readonly name: string } {
  const found = ofCluster.exec(name);
  return found === null ? { cluster: 1, name } : { cluster: Number(found[1]), name: found[2]! };
}

/** Whether it is a node, of any cluster. */
export function isNode(name: string): boolean {
  return splitName(name).name.startsWith('node/');
}

/** A fault with its own cluster's names of the processes. */
export interface ClusterFault {
  readonly cluster: number;
  readonly fault: Fault;
}

/** Throws FaultError if the targets are in several clusters, or outside of the existing `clusters`. */
export function ofOneCluster(fault: Fault, clusters: number): ClusterFault {
  const found = new Set<number>();
  const own = withNames(fault, (full) => {
    const { cluster, name } = splitName(full);
    found.add(cluster);
    return name;
  });
  const [cluster = 1, ...others] = found;
  if (others.length > 0) {
    throw new FaultError('target', 'a fault has targets in one cluster: arm one fault for each cluster');
  }
  if (cluster > clusters) {
    const there = clusters === 1 ? 'there is one cluster' : `there are clusters 1 to ${clusters}`;
    throw new FaultError('target', `there is no cluster ${cluster}: ${there}`);
  }
  return { cluster, fault: own };
}

/** In the form for users: the link of a gateway to this cluster is `cluster/2/gateway`. */
export function asSeen(cluster: number, fault: Fault): Fault {
  return cluster === 1 ? fault : withNames(fault, (name) => `cluster/${cluster}/${name}`);
}

/** Faults whose cluster is remembered before those that no engine lists are dropped. */
const rememberedMax = 1_000;

/** The faults of several clusters as one list: each cluster has an engine, and its own names. */
export class ClusterFaults {
  readonly #count: number;
  readonly #clusters = new Map<string, number>();
  #named = 0;

  /** `count`: of the clusters. */
  constructor(count: number) {
    this.#count = count;
  }

  /** Arms the fault in its own cluster, by `arm`. Throws FaultError where its targets are in several clusters, or in none of these. */
  arm<S extends { readonly id: string }>(fault: Fault, arm: (cluster: number, own: Fault) => S): S {
    const { cluster, fault: own } = ofOneCluster(fault, this.#count);
    this.#named += 1;
    // Each engine names its own faults: those of further clusters get other names.
    const armed = arm(
      cluster,
      own.id !== undefined || cluster === 1 ? own : { ...own, id: `flt_c${cluster}_${this.#named}` },
    );
    this.#clusters.set(armed.id, cluster);
    return armed;
  }

  /** The cluster of the fault with this id; the first one if there is no such fault. */
  clusterOf(id: string): number {
    return this.#clusters.get(id) ?? 1;
  }

  /** `listOf`: a cluster's own. */
  list<S extends { readonly id: string; readonly fault: Fault }>(
    listOf: (cluster: number) => readonly S[],
  ): readonly S[] {
    const listed = Array.from({ length: this.#count }, (_, index) => index + 1).flatMap((cluster) =>
      listOf(cluster)
        .filter(({ id }) => this.clusterOf(id) === cluster)
        .map((one) => this.seen(one)),
    );
    if (this.#clusters.size > rememberedMax) {
      const ids = new Set(listed.map(({ id }) => id));
      for (const id of [...this.#clusters.keys()]) if (!ids.has(id)) this.#clusters.delete(id);
    }
    return listed;
  }

  /** With the names for users. */
  seen<S extends { readonly id: string; readonly fault: Fault }>(armed: S): S {
    return { ...armed, fault: asSeen(this.clusterOf(armed.id), armed.fault) };
  }
}

/** The fault with other names of its processes. */
function withNames(fault: Fault, named: (name: string) => string): Fault {
  const { target, at } = fault as { target?: string | string[]; at?: Fault['at'] };
  return {
    ...fault,
    ...(target !== undefined && { target: typeof target === 'string' ? named(target) : target.map(named) }),
    ...(at !== undefined && { at: { ...at, ...(at.of !== undefined && { of: named(at.of) }) } }),
  } as Fault;
}
