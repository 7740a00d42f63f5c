/**
 * A second gateway on a cluster's Redis and coordinator, of which `up` knows nothing. When it is killed it is started
 * again on its ports, as a supervisor on another host would.
 */

import type { RoleProcess, TestCluster } from '../../support/cluster.ts';
import { freePort } from '../../support/ports.ts';
import { until } from '../../support/until.ts';

export class FurtherGateway {
  readonly url: string;
  readonly #start: () => RoleProcess;
  readonly #lives: RoleProcess[] = [];

  private constructor(url: string, start: () => RoleProcess) {
    this.url = url;
    this.#start = start;
  }

  /** Resolves when it serves. It ends with the cluster. */
  static async start(cluster: Pick<TestCluster, 'redisUrl' | 'coordinatorUrl' | 'spawnRole'>): Promise<FurtherGateway> {
    const [httpPort, grpcPort] = [await freePort(), await freePort()];
    const settings = {
      REDIS_URL: cluster.redisUrl(),
      SIGNMESH_COORDINATOR_URL: cluster.coordinatorUrl(),
      SIGNMESH_HTTP_PORT: String(httpPort),
      SIGNMESH_GRPC_PORT: String(grpcPort),
    };
    const gateway = new FurtherGateway(`http://127.0.0.1:${httpPort}`, () => cluster.spawnRole(['gateway'], settings));
    gateway.#begin();
    await gateway.untilOk();
    return gateway;
  }

  /** What all its processes said. */
  get output(): string {
    return this.#lives.map(({ output }) => output).join('\n');
  }

  /** kill -9, and another one in its place. Resolves when the old one is gone. */
  async kill(): Promise<void> {
    const life = this.#lives.at(-1)!;
    life.child.kill('SIGKILL');
    await until(() => life.exit !== undefined, 'the end of the further gateway');
    this.#begin();
  }

  async untilOk(): Promise<void> {
    await until(
      async () => {
        const answer = await fetch(`${this.url}/v1/health`, { signal: AbortSignal.timeout(3000) });
        return ((await answer.json()) as { readonly status: string }).status === 'ok';
      },
      () => `the further gateway to be well; it said:\n${this.#lives.at(-1)?.output}`,
      50,
    );
  }

  #begin(): void {
    this.#lives.push(this.#start());
  }
}
