/** The receivers of webhooks in a simulated world, and the way of a worker to them. */

import type { Send, SendOutcome } from '../delivery/egress/public.ts';
import type { ReceiverBehaviour } from '../faults/vocabulary/engine-contract.ts';
import type { VirtualTime } from '../sim/virtual-time.ts';
import type { ProcessLife } from './process-life.ts';

/** A request that reached a receiver. */
export interface Received {
  /** When it left its worker. */
  readonly sentMs: number;
  readonly atMs: number;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** What it answered. */
  readonly status: number;
}

/** What answers in the place of a receiver; the world's time may stand still meanwhile, or pass. */
export type Attendant = (request: Omit<Received, 'status'>) => Promise<AttendantAnswer>;

export interface AttendantAnswer {
  readonly status: number;
  /** The header of that name. */
  readonly retryAfter?: string | undefined;
}

export class Receivers {
  readonly #time: VirtualTime;
  readonly #wayMs: number;
  readonly #received: Received[] = [];
  readonly #attendants = new Map<string, Attendant>();
  #hears: (received: Received) => void = () => undefined;
  #behaviour: ReceiverBehaviour | undefined;
  /** Of single receivers, by URL. */
  readonly #behaviours = new Map<string, ReceiverBehaviour>();

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

  /** `hears` gets every request with its status; one listener. */
  listen(hears: (received: Received) => void): void {
    this.#hears = hears;
  }

  /** From now on it answers at that address while receivers are well; undefined: no longer. */
  attend(url: string, attendant: Attendant | undefined): void {
    if (attendant === undefined) this.#attendants.delete(url);
    else this.#attendants.set(url, attendant);
  }

  /** From now on; undefined: well. */
  behave(behaviour: ReceiverBehaviour | undefined): void {
    this.#behaviour = behaviour;
  }

  /** From now on the receiver of this URL alone behaves so, whatever the others do. */
  behaveAt(url: string, behaviour: ReceiverBehaviour): void {
    this.#behaviours.set(url, behaviour);
  }

  /** The egress port of a process. */
  sender(life: ProcessLife): Send {
    return ({ url, headers, body, timeoutMs }) => {
      const sentMs = this.#time.nowMs();
      return life.call<SendOutcome>('egress', url, ({ fate, delayMs = 0 }, answer) => {
        const fail = (code: string, message: string, afterMs: number) =>
          this.#time.after(afterMs, () =>
            answer(() => ({ kind: 'failed', code, message, tookMs: this.#time.nowMs() - sentMs })),
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
          const request = { sentMs, atMs: this.#time.nowMs(), url, headers, body: body.toString('utf8') };
          const attendant = this.#behaviour === undefined ? this.#attendants.get(url) : undefined;
          if (attendant !== undefined) {
            void attendant(request).then(({ status, retryAfter }) => {
              this.#note({ ...request, status });
              const tookMs = this.#time.nowMs() - sentMs + this.#wayMs;
              if (fate === 'unanswered' || tookMs >= timeoutMs) timedOut();
              else
                this.#time.after(this.#wayMs, () => answer(() => ({ kind: 'answered', status, retryAfter, tookMs })));
            });
            return;
          }
          const { status = 200, slowMs = 0, reset = false } = this.#behaviours.get(url) ?? this.#behaviour ?? {};
          this.#note({ ...request, status: reset ? 0 : status });
          if (reset) fail('connection_reset', 'the receiver closed the connection', this.#wayMs);
          else if (fate === 'unanswered' || this.#wayMs + delayMs + slowMs >= timeoutMs) timedOut();
          else {
            this.#time.after(slowMs + this.#wayMs, () =>
              answer(() => ({
                kind: 'answered',
                status,
                retryAfter: undefined,
                tookMs: this.#time.nowMs() - sentMs,
              })),
            );
          }
        });
      });
    };
  }

  #note(received: Received): void {
    this.#received.push(received);
    this.#hears(received);
  }
}
