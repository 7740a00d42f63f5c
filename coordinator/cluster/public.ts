/** What the rest of the coordinator uses of the cluster actor. */
export { clusterBehaviour } from './cluster.ts';
