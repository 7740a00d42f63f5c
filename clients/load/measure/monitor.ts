/** Watches the processes of a service on this machine: CPU and memory, including processes that restart meanwhile. */
import { cpuSeconds, memory, type Pids } from './processes.ts';

/** Over one stage. */
export interface ProcessFigures {
  readonly cpuSeconds: number;
  /** The most resident bytes observed. */
  readonly rssBytes: number;
}

/** At one moment: CPU as a part of one core since the last moment, and resident bytes. */
export type ProcessPoint = Readonly<Record<string, { readonly cpu: number; readonly rssBytes: number }>>;

export class ProcessMonitor {
  readonly #pids: () => Promise<Pids>;
  #known: Pids = {};
  #before: Record<string, number> = {};
  #beforeMs = 0;
  #stage: Record<string, { cpuSeconds: number; rssBytes: number }> = {};

  constructor(pids: () => Promise<Pids>) {
    this.#pids = pids;
  }

  async start(): Promise<void> {
    this.#known = await this.#pids();
    this.#before = cpuSeconds(this.#known);
    this.#beforeMs = performance.now();
  }

  /** Call it often: the CPU time of a process that ends between two calls is lost. */
  async sample(): Promise<ProcessPoint> {
    const fresh = await this.#pids();
    // While the service does not answer, watches the known processes.
    if (Object.keys(fresh).length > 0) {
      const read = new Map(Object.entries(this.#known).map(([name, pid]) => [pid, this.#before[name]]));
      this.#before = Object.fromEntries(Object.entries(fresh).map(([name, pid]) => [name, read.get(pid) ?? 0]));
      this.#known = fresh;
    }
    const now = cpuSeconds(this.#known);
    const used = memory(this.#known);
    const nowMs = performance.now();
    const seconds = (nowMs - this.#beforeMs) / 1000;
    const point = Object.fromEntries(
      Object.entries(now).map(([name, total]) => {
        const spent = Math.max(0, total - (this.#before[name] ?? total));
        const rssBytes = used[name]?.rss ?? 0;
        const stage = this.#stage[name] ?? { cpuSeconds: 0, rssBytes: 0 };
        this.#stage[name] = {
          cpuSeconds: stage.cpuSeconds + spent,
          rssBytes: Math.max(stage.rssBytes, rssBytes),
        };
        return [name, { cpu: seconds === 0 ? 0 : spent / seconds, rssBytes }];
      }),
    );
    this.#before = now;
    this.#beforeMs = nowMs;
    return point;
  }

  /** Since the last call, or the start. */
  stage(): Readonly<Record<string, ProcessFigures>> {
    const figures = this.#stage;
    this.#stage = {};
    return figures;
  }
}
