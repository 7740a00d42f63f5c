/**
 * The metrics addresses of each process of `signmesh up`: the first gets the port of the settings, the others the ports after it,
 * in order of creation; with port 0, each a free one. `metrics-targets.json` in the data directory lists them in the format of
 * Prometheus's file_sd_configs.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exitCodes, Failure } from '../common/failure.ts';
import type { Environment, Settings } from '../settings/config.ts';
import { freePorts } from './ports.ts';

export const targetsFile = 'metrics-targets.json';

const portMax = 65_535;

interface Target {
  readonly targets: readonly [string];
  readonly labels: { readonly job: 'signmesh'; readonly process: string };
}

export class MetricsTargets {
  readonly #host: string;
  /** Unassigned ports; undefined: metrics are off. */
  readonly #ports: number[] | undefined;
  readonly #targets: Target[] = [];

  private constructor(host: string, ports: number[] | undefined) {
    this.#host = host;
    this.#ports = ports;
  }

  /** For `count` processes. Throws a Failure when there are fewer ports. */
  static async choose(
    { SIGNMESH_METRICS_HOST: host, SIGNMESH_METRICS_PORT: first }: Settings,
    count: number,
  ): Promise<MetricsTargets> {
    if (first === undefined) return new MetricsTargets(host, undefined);
    if (first === 0) return new MetricsTargets(host, await freePorts(count));
    if (first + count - 1 > portMax) {
      const message = `SIGNMESH_METRICS_PORT: ${count} processes need ports after ${first}. Set it to a lower one.`;
      throw new Failure(message, exitCodes.usage);
    }
    return new MetricsTargets(
      host,
      Array.from({ length: count }, (_, index) => first + index),
    );
  }

  /** The metrics variables for the environment of the next process. */
  next(process: string): Environment {
    const port = this.#ports?.shift();
    if (port === undefined) return {};
    const address = this.#host.includes(':') ? `[${this.#host}]:${port}` : `${this.#host}:${port}`;
    this.#targets.push({ targets: [address], labels: { job: 'signmesh', process } });
    return { SIGNMESH_METRICS_PORT: String(port) };
  }

  /** Does nothing without metrics. */
  write(dataDir: string): void {
    if (this.#ports === undefined) return;
    writeFileSync(join(dataDir, targetsFile), `${JSON.stringify(this.#targets, undefined, 2)}\n`);
  }
}
