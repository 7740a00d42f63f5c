/**
 * Set-up of a run with tests of the tier `system`: starts each kind of cluster when a worker asks for it, and ends them after
 * the last test.
 *
 * A borrower keeps its connection open for as long as it has the cluster, so a worker that dies gives it back too.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import type { ReadyLine } from '../../clients/testing/ready-line.ts';
import type { Place } from '../../clients/testing/up-process.ts';
import { startCluster, type TestCluster } from './cluster.ts';
import { type ClusterKind, clusterKinds, clusterOptions } from './cluster-kinds.ts';
import { until } from './until.ts';

/** What a worker gets, in one line of JSON. */
export interface Running {
  readonly place: Place;
  readonly ready: ReadyLine;
  readonly outputFile: string;
}

let server: Server | undefined;
const lenders = new Map<string, Lender>();

/** The cluster of one kind. */
class Lender {
  readonly #kind: ClusterKind;
  #starting: Promise<TestCluster> | undefined;
  #outputFile = '';
  /** Until the borrowers so far have given it back. */
  #turn: Promise<void> = Promise.resolve();

  constructor(kind: ClusterKind) {
    this.#kind = kind;
  }

  /** To any number of tests at once. */
  async share(response: ServerResponse): Promise<void> {
    if (await this.#answer(response)) response.end();
  }

  /** To one test at a time, in the order of their requests. */
  lend(response: ServerResponse): void {
    const isClosed = once(response, 'close');
    this.#turn = this.#turn.then(async () => {
      if (response.destroyed || !(await this.#answer(response))) return;
      await isClosed;
      const cluster = await this.#starting!;
      if (!(await heals(cluster))) {
        this.#starting = undefined;
        await cluster.stop();
      }
    });
  }

  async stop(): Promise<void> {
    await this.#starting?.then((cluster) => cluster.stop()).catch(() => undefined);
  }

  /** Whether the cluster has started. */
  async #answer(response: ServerResponse): Promise<boolean> {
    if (this.#starting === undefined) {
      this.#outputFile = join(tmpdir(), `signmesh-${this.#kind}-${randomUUID()}.log`);
      this.#starting = startCluster({ ...clusterOptions(this.#kind), outputFile: this.#outputFile });
    }
    try {
      const { place, ready } = await this.#starting;
      response.write(`${JSON.stringify({ place, ready, outputFile: this.#outputFile } satisfies Running)}\n`);
      return true;
    } catch (error) {
      response.writeHead(500).end(String(error));
      return false;
    }
  }
}

/** Whether every process serves again. */
async function heals(cluster: TestCluster): Promise<boolean> {
  for (const role of cluster.roles) cluster.signal(role, 'SIGCONT');
  const isWhole = async () =>
    cluster.roles.every((role) => cluster.pid(role) !== undefined) && (await cluster.health()).status === 'ok';
  return until(isWhole, 'a whole cluster').catch(() => false);
}

export async function setup(project: TestProject): Promise<void> {
  for (const kind of clusterKinds) lenders.set(kind, new Lender(kind));
  server = createServer(({ url = '' }, response) => {
    const [, way = '', kind = ''] = url.split('/');
    const lender = lenders.get(kind);
    if (lender === undefined) response.writeHead(404).end();
    else if (way === 'lend') lender.lend(response);
    else void lender.share(response);
  });
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
  project.provide('clustersUrl', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

export async function teardown(): Promise<void> {
  await Promise.all([...lenders.values()].map((lender) => lender.stop()));
  server?.closeAllConnections();
  await new Promise((resolve) => server?.close(resolve) ?? resolve(undefined));
}
