/** The receivers of webhooks in a simulated world, and a worker's connection to them. */

import type { ReceiverBehaviour } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import type { Send, SendOutcome } from '../../wallets/delivery/egress/public.ts';
import type { VirtualTime } from '../cluster/virtual-time.ts';
import type { ProcessLife } from './process-life.ts';

/** A request that reached a receiver. */
export interface DeliveredRequest {
  /** The time at which it left its worker. */
  readonly sentMs: number;
  readonly atMs: number;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** What it answered. */
  readonly status: number;
}

/** A replacement for a receiver; the world's time may stand still meanwhile, or pass. */
export type Attendant = (request: Omit<DeliveredRequest, 'status'>) => Promise<AttendantAnswer>;

export interface AttendantAnswer {
  readonly status: number;
  /** The header of that name. */
  readonly retryAfter?: string | undefined;
}

/** A status; `never`: no answer; `reset`: the connection is cut. */
export type ReceiverReply = number | 'never' | 'reset';

export interface FailingReceiver {
  readonly status: number;
  /** Failed tries of an event. */
  readonly times: number;
  readonly events: number;
}

export class Receivers {
  readonly #time: VirtualTime;
  readonly #wayMs: number;
  readonly #received: DeliveredRequest[] = [];
  readonly #attendants = new Map<string, Attendant>();
  #hears: (received: DeliveredRequest) => void = () => undefined;
  #behaviour: ReceiverBehaviour | undefined;
  /** Of single receivers, by URL. */
  readonly #behaviours = new Map<string, ReceiverBehaviour>();
  readonly #failing = new Map<string, FailingReceiver & { readonly tries: Map<string, number> }>();
  /** By address. */
  readonly #answers = new Map<string, ReceiverReply[]>();

  constructor(time: VirtualTime, wayMs: number) {
    this.#time = time;
    this.#wayMs = wayMs;
  }

  /** Oldest first. */
  get received(): readonly DeliveredRequest[] {
    return this.#received;
  }

  /** undefined: healthy. */
  get behaviour(): ReceiverBehaviour | undefined {
    return this.#behaviour;
  }

  /** `hears` gets every request with its status; one listener. */
  listen(hears: (received: DeliveredRequest) => void): void {
    this.#hears = hears;
  }

  /** From now on it answers at that address while receivers are healthy; undefined: no longer. */
  attend(url: string, attendant: Attendant | undefined): void {
    if (attendant === undefined) this.#attendants.delete(url);
    else this.#attendants.set(url, attendant);
  }

  /** From now on; undefined: healthy. */
  behave(behaviour: ReceiverBehaviour | undefined): void {
    this.#behaviour = behaviour;
  }

  /** From now on only the receiver of this URL behaves so, whatever the others do. */
  behaveAt(url: string, behaviour: ReceiverBehaviour): void {
    this.#behaviours.set(url, behaviour);
  }

  /** Sets the answers of the receiver at this address to its next requests, in turn; the last one repeats. */
  answer(url: string, answers: readonly ReceiverReply[]): void {
    this.#answers.set(url, [...answers]);
  }

  /** It fails the first so many tries of each of its next events, and accepts the others. Once for an address. */
  failEach(url: string, failing: FailingReceiver): void {
    if (!this.#failing.has(url)) this.#failing.set(url, { ...failing, tries: new Map() });
  }

  #failureOf(url: string, messageId: string): number | undefined {
    const failing = this.#failing.get(url);
    if (failing === undefined) return undefined;
    const { tries, events, times, status } = failing;
    const before = tries.get(messageId) ?? (tries.size < events ? 0 : times);
    if (before >= times) return undefined;
    tries.set(messageId, before + 1);
    return status;
  }

  /** A fault of all receivers overrides the answers of one of them. */
  #behaviourAt(url: string, messageId: string): ReceiverBehaviour & { readonly never?: boolean } {
    const own = this.#behaviours.get(url);
    if (own !== undefined) return own;
    const failure = this.#failureOf(url, messageId);
    if (failure !== undefined) return { status: failure };
    const answers = this.#answers.get(url) ?? [];
    const told = answers.length > 1 ? answers.shift() : answers[0];
    if (this.#behaviour !== undefined || told === undefined) return this.#behaviour ?? {};
    if (typeof told === 'number') return { status: told };
    return told === 'never' ? { never: true } : { reset: true };
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
              else this.#time.after(this.#wayMs, () => answer(() => answered({ status, retryAfter }, tookMs)));
            });
            return;
          }
          const {
            status = 200,
            slowMs = 0,
            reset = false,
            never = false,
          } = this.#behaviourAt(url, headers['webhook-id'] ?? '');
          this.#note({ ...request, status: reset || never ? 0 : status });
          if (reset) fail('connection_reset', 'the receiver closed the connection', this.#wayMs);
          else if (never || fate === 'unanswered' || this.#wayMs + delayMs + slowMs >= timeoutMs) timedOut();
          else {
            this.#time.after(slowMs + this.#wayMs, () =>
              answer(() => answered({ status }, this.#time.nowMs() - sentMs)),
            );
          }
        });
      });
    };
  }

  #note(received: DeliveredRequest): void {
    this.#received.push(received);
    this.#hears(received);
  }
}

/** As a worker of a sandbox tells it: simulated receivers send no body. */
function answered({ status, retryAfter }: AttendantAnswer, tookMs: number): SendOutcome {
  const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
  return { kind: 'answered', status, retryAfter, tookMs, answer: { headers, body: '', truncated: false } };
}
