/** The faults of a scenario, armed during a load by the sandbox's API; and the times of their effects. */

import type { Fault } from '../../../scenarios/faults/vocabulary/fault.ts';
import type { CreateSandboxFault } from '../../client/generated-api.ts';
import type { Client } from '../../client/index.ts';
import type { FaultWindow } from '../report/results.ts';

interface Armed {
  readonly fault: Fault;
  readonly armedMs: number;
  beganMs: number | null;
  endedMs: number | null;
  triggerCount: number;
}

/** If this process dies, a fault that it leaves ends by itself. */
const spareS = 120;

export class LoadFaults {
  readonly #client: Client;
  readonly #clock: { nowMs(): number };
  readonly #armed = new Map<string, Armed>();

  constructor(client: Client, clock: { nowMs(): number }) {
    this.#client = client;
    this.#clock = clock;
  }

  /** Rejects with the service's message when it refuses one of them. */
  async arm(faults: readonly Fault[], loadMs: number): Promise<void> {
    const expiresInS = Math.min(86_400, Math.ceil(loadMs / 1000) + spareS);
    for (const fault of faults) {
      const body = { ...fault, expires_in_s: expiresInS } as CreateSandboxFault;
      const { id } = await this.#client.sandbox.createFault(body);
      this.#armed.set(id, { fault, armedMs: this.#clock.nowMs(), beganMs: null, endedMs: null, triggerCount: 0 });
    }
  }

  /**
   * Reads their states; `loadBeganMs`: the load's zero. While the service does not answer, they are unchanged. A faulty service
   * answers late: what is known of a fault's times goes before the time of the answer.
   */
  async sample(loadBeganMs: number): Promise<void> {
    if (this.#armed.size === 0) return;
    const views = await this.#client.sandbox
      .faults({ attemptsMax: 1 })
      .toArray()
      .catch(() => undefined);
    const atMs = this.#clock.nowMs() - loadBeganMs;
    for (const { id, state, trigger_count: triggerCount } of views ?? []) {
      const armed = this.#armed.get(id);
      if (armed === undefined) continue;
      armed.triggerCount = triggerCount;
      if (state === 'armed' && triggerCount === 0) continue;
      const isNew = armed.beganMs === null;
      const beganMs = armed.beganMs ?? Math.min(atMs, beginOf(armed, loadBeganMs) ?? atMs);
      armed.beganMs = beganMs;
      if (state !== 'over') continue;
      const { for_ms: forMs } = armed.fault;
      // What is over at the first look and has no length was over at once.
      armed.endedMs ??= isNew && forMs === undefined ? beganMs : Math.min(atMs, beganMs + (forMs ?? atMs));
    }
  }

  /** Removes the remaining ones. A missing one is no failure. */
  async end(): Promise<void> {
    for (const id of this.#armed.keys()) {
      await this.#client.sandbox.deleteFault(id).catch(() => undefined);
    }
  }

  windows(): FaultWindow[] {
    return [...this.#armed].map(([id, { fault, beganMs, endedMs, triggerCount }]) => {
      const target = 'target' in fault ? [fault.target].flat().join(', ') : '';
      return { id, fault: fault.fault, target, beganMs, endedMs, triggerCount };
    });
  }
}

/** Of a fault that begins by time; undefined: at a frame. */
function beginOf({ fault, armedMs }: Armed, loadBeganMs: number): number | undefined {
  const { after_ms: afterMs = 0, point } = fault.at ?? {};
  return point === undefined ? Math.max(0, armedMs + afterMs - loadBeganMs) : undefined;
}
