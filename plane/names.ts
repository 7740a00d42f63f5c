/**
 * The names of processes where there are several clusters: those of cluster 2 begin with "cluster/2/". Those of cluster 1 have
 * no such beginning, as where there is one; "cluster/1/" means the same. Gateways, workers and Redis belong to no cluster.
 */

const ofCluster = /^cluster\/([1-9]\d{0,2})\/(.+)$/;
/** Known in every cluster by the same name. */
const shared: ReadonlySet<string> = new Set(['gateway', 'worker', 'redis', 'receiver']);

/** The full name of what a cluster calls `name`. */
export function processIn(cluster: number, name: string): string {
  return cluster === 1 || shared.has(name) || name.startsWith('gateway/') ? name : `cluster/${cluster}/${name}`;
}

/** A full name apart. */
export function splitName(name: string): { readonly cluster: number; readonly name: string } {
  const found = ofCluster.exec(name);
  return found === null ? { cluster: 1, name } : { cluster: Number(found[1]), name: found[2]! };
}

/** Whether it is a node, of any cluster. */
export function isNode(name: string): boolean {
  return splitName(name).name.startsWith('node/');
}
