/** The cluster was stopped. */
export class ClusterStopped extends Error {
  override readonly name = 'ClusterStopped';
  constructor() {
    super('this cluster was stopped: make another one with cluster()');
  }
}
