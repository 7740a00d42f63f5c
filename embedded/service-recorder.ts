/**
 * Records what clients of an embedded service do by the signing API, over either door, and what its sandbox API orders,
 * in the order in which it begins. recorded-scenario.ts makes a scenario of it.
 */
import type { ControlMethod, ControlTakes, SandboxControl } from '../faults/control.ts';
import { type CallOutcome, Calls, type Done, type SigningCall } from '../gateway/signing/signing-calls.ts';

export interface RecordedCall {
  readonly kind: 'call';
  readonly beganMs: number;
  readonly call: SigningCall;
  /** undefined: none came. */
  outcome: CallOutcome | undefined;
  endedMs: number;
}

export interface RecordedOrder<M extends ControlMethod = ControlMethod> {
  readonly kind: 'order';
  readonly beganMs: number;
  readonly method: M;
  readonly takes: ControlTakes<M>;
  endedMs: number;
}

export type Recorded = RecordedCall | RecordedOrder;

/** A scenario has no more steps of one client, with the pauses between them. */
const recordedMax = 480;
const steering: ReadonlySet<ControlMethod> = new Set<ControlMethod>([
  'faults.create',
  'faults.delete',
  'faults.reset',
  'processes.act',
  'clock.advance',
]);
/** From then on the service is as after its start. */
const beginsAnew: ReadonlySet<ControlMethod> = new Set<ControlMethod>(['reset', 'snapshots.restore']);

export class ServiceRecorder {
  readonly #nowMs: () => number;
  #recorded: Recorded[] = [];
  #left = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  get recorded(): readonly Recorded[] {
    return this.#recorded;
  }

  /** How much was too much to record. */
  get left(): number {
    return this.#left;
  }

  /** What was before is forgotten. */
  begin(): void {
    this.#recorded = [];
    this.#left = 0;
  }

  /** Records clients' calls on their way to a coordinator. */
  calls(inner: Calls): Calls {
    return new RecordedCalls(inner, (call) => {
      const nowMs = this.#nowMs();
      const one: RecordedCall = { kind: 'call', beganMs: nowMs, call, outcome: undefined, endedMs: nowMs };
      this.#add(one);
      return (outcome) => {
        one.outcome = outcome;
        one.endedMs = this.#nowMs();
      };
    });
  }

  /** Records what succeeds. */
  control(inner: SandboxControl): SandboxControl {
    return {
      ask: async (method, takes) => {
        const beganMs = this.#nowMs();
        const gives = await inner.ask(method, takes);
        if (steering.has(method)) this.#add({ kind: 'order', beganMs, method, takes, endedMs: this.#nowMs() });
        if (beginsAnew.has(method)) this.begin();
        return gives;
      },
    };
  }

  #add(one: Recorded): void {
    if (this.#recorded.length < recordedMax) this.#recorded.push(one);
    else this.#left += 1;
  }
}

class RecordedCalls extends Calls {
  readonly #inner: Calls;
  readonly #began: (call: SigningCall) => Done;

  constructor(inner: Calls, began: (call: SigningCall) => Done) {
    super();
    this.#inner = inner;
    this.#began = began;
  }

  get inFlight(): number {
    return this.#inner.inFlight;
  }

  start(call: SigningCall, done: Done): () => void {
    const ended = this.#began(call);
    return this.#inner.start(call, (outcome) => {
      ended(outcome);
      done(outcome);
    });
  }
}
