/** The receivers of webhooks in a simulated world, and the way of a worker to them. */

import type { Send, SendOutcome } from '../delivery/egress/public.ts';
import type { ReceiverBehaviour } from '../faults/vocabulary/engine-contract.ts';
import type { VirtualTime } from '../sim/virtual-time.ts';
import type { ProcessLife } from './process-life.ts';

/** A request that reached a receiver. */
export interface Received {
  readonly atMs: number;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** What it answered. */
  readonly status: number;
}

export class Receivers {
  readonly #time: VirtualTime;
  readonly #wayMs: number;
  readonly #received: Received[] = [];
  #behaviour: ReceiverBehaviour | undefined;

  constructor(time: VirtualTime, wayMs: number) {
    this.#time = time;
    this.#wayMs = wayMs;
  }

  /** Oldest first. */
  get received(): readonly Received[] {
    return this.#received;
  }

  /** undefined: well. */
  get behaviour(): ReceiverBehaviour | undefined {
    return this.#behaviour;
  }

  /** From now on; undefined: well. */
  behave(behaviour: ReceiverBehaviour | undefined): void {
    this.#behaviour = behaviour;
  }

  /** The egress port of a process. */
  sender(life: ProcessLife): Send {
    return ({ url, headers, body, timeoutMs }) => {
      const beganMs = this.#time.nowMs();
      return life.call<SendOutcome>('egress', url, ({ fate, delayMs = 0 }, answer) => {
        const fail = (code: string, message: string, afterMs: number) =>
          this.#time.after(afterMs, () =>
            answer(() => ({ kind: 'failed', code, message, tookMs: this.#time.nowMs() - beganMs })),
          );
        const timedOut = () => fail('timeout', 'the receiver did not answer in time', timeoutMs);
        if (fate === 'lost') {
          timedOut();
          return;
        }
        if (fate === 'refused') {
          fail('connection_refused', 'the receiver refuses connections', this.#wayMs);
          return;
        }
        this.#time.after(this.#wayMs + delayMs, () => {
          const { status = 200, slowMs = 0, reset = false } = this.#behaviour ?? {};
          this.#received.push({ atMs: this.#time.nowMs(), url, headers, body: body.toString('utf8'), status });
          if (reset) fail('connection_reset', 'the receiver closed the connection', this.#wayMs);
          else if (fate === 'unanswered' || this.#wayMs + delayMs + slowMs >= timeoutMs) timedOut();
          else {
            this.#time.after(slowMs + this.#wayMs, () =>
              answer(() => ({
                kind: 'answered',
                status,
                retryAfter: undefined,
                tookMs: this.#time.nowMs() - beganMs,
              })),
            );
          }
        });
      });
    };
  }
}
