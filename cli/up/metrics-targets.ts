/**
 * The metrics addresses of each process of `signmesh up`: the first gets the port of the settings, the others the ports after it,
 * in order of creation; with port 0, each takes a free one and reports it. `metrics-targets.json` in the data directory lists them
 * in the format of Prometheus's file_sd_configs.
 */
import { join } from 'node:path';
import { exitCodes, Failure } from '../common/failure.ts';
import { replaceShortLived } from '../common/files.ts';
import type { Listener } from '../common/ports.ts';
import type { Settings } from '../settings/config.ts';
import type { ChildPort } from './child-ports.ts';

export const targetsFile = 'metrics-targets.json';
export const metricsVariable = 'SIGNMESH_METRICS_PORT';

const portMax = 65_535;

export class MetricsTargets {
  readonly #host: string;
  /** undefined: metrics are off. */
  readonly #first: number | undefined;
  readonly #count: number;
  /** By process, in order of creation; 0: not known yet. */
  readonly #ports = new Map<string, number>();

  /** For `count` processes. Throws a Failure when there are fewer ports. */
  constructor({ SIGNMESH_METRICS_HOST: host, SIGNMESH_METRICS_PORT: first }: Settings, count: number) {
    if (first !== undefined && first + count - 1 > portMax) {
      const message = `${metricsVariable}: ${count} processes need ports after ${first}. Set it to a lower one.`;
      throw new Failure(message, exitCodes.usage);
    }
    this.#host = host;
    this.#first = first;
    this.#count = count;
  }

  /** The configured ones. */
  get listeners(): readonly Listener[] {
    const first = this.#first ?? 0;
    if (first === 0) return [];
    return Array.from({ length: this.#count }, (_, index) => ({
      ...{ host: this.#host, port: first + index, what: 'metrics', variable: metricsVariable },
    }));
  }

  /** The metrics port of the next process, by its variable; empty without metrics. */
  next(process: string): Readonly<Record<string, ChildPort>> {
    if (this.#first === undefined) return {};
    const configured = this.#first === 0 ? 0 : this.#first + this.#ports.size;
    this.#ports.set(process, configured);
    return { [metricsVariable]: { configured } };
  }

  /** It listens there. */
  report(process: string, port: number, dataDir: string): void {
    this.#ports.set(process, port);
    this.write(dataDir);
  }

  /** Does nothing without metrics. */
  write(dataDir: string): void {
    if (this.#first === undefined) return;
    const name = this.#host.includes(':') ? `[${this.#host}]` : this.#host;
    const targets = [...this.#ports]
      .filter(([, port]) => port !== 0)
      .map(([process, port]) => ({ targets: [`${name}:${port}`], labels: { job: 'signmesh', process } }));
    replaceShortLived(join(dataDir, targetsFile), `${JSON.stringify(targets, undefined, 2)}\n`);
  }
}
