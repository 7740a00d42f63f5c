/**
 * One simulated process: actors of the contract, run one input at a time by a world that owns time and order.
 *
 * It keeps the law of durability as the live runtime does: a step with a write takes hold when the store has answered,
 * and until then its actor gets no other input. A crash forgets everything but the store.
 */
import type {
  ActorEvent,
  Address,
  Behaviour,
  Context,
  Effect,
  Envelope,
  Input,
  RandomBytes,
  Refusal,
  Trace,
  UndeliveredReason,
  WriteOutcome,
} from '../actors/contract.ts';
import { noTrace } from '../actors/contract.ts';
import { persistOf } from '../actors/step.ts';
import { StoreUnavailable, type SyncStore } from './memory-stores.ts';

const loadRetryMs = 50;

// biome-ignore lint/suspicious/noExplicitAny: behaviours of different states in one list
type AnyBehaviour<M, W, R> = Behaviour<any, M, W, R>;

/** What the machine asks of the world. */
export interface World<M> {
  nowMs(): number;
  /** Runs `task` after a delay of virtual time; returns how to call it off. */
  after(delayMs: number, task: () => void): () => void;
  /** Takes a message to another machine; undefined: it is on its way. */
  carry(envelope: Envelope<M>): UndeliveredReason | undefined;
  observe(address: Address, event: ActorEvent): void;
}

interface Cell<M, W, R> {
  readonly behaviour: AnyBehaviour<M, W, R>;
  state: unknown;
  started: boolean;
  busy: boolean;
  readonly inbox: Input<M, W, R>[];
  readonly timers: Map<string, () => void>;
}

export interface MachineOptions<M, W, R> {
  readonly behaviours: readonly AnyBehaviour<M, W, R>[];
  readonly store: SyncStore<W, R>;
  readonly random: RandomBytes;
  /** How long the store takes. */
  readonly storeLatencyMs: number;
}

export class Machine<M, W, R> {
  readonly #world: World<M>;
  readonly #options: MachineOptions<M, W, R>;
  readonly #cells = new Map<Address, Cell<M, W, R>>();
  #crashed = false;

  constructor(world: World<M>, options: MachineOptions<M, W, R>) {
    this.#world = world;
    this.#options = options;
  }

  /** Everything in memory is gone; whatever was under way does not arrive any more. */
  crash(): void {
    this.#crashed = true;
    for (const cell of this.#cells.values()) for (const cancel of cell.timers.values()) cancel();
    this.#cells.clear();
  }

  deliver({ from, to, message, trace }: Envelope<M>, fresh = false): UndeliveredReason | undefined {
    const cell = this.#cell(to, fresh);
    if (!cell) return 'noRoute';
    if (cell.inbox.length >= cell.behaviour.mailboxMax) return 'mailboxFull';
    this.#enqueue(to, cell, { kind: 'message', from, message, trace });
    return undefined;
  }

  #cell(address: Address, fresh: boolean): Cell<M, W, R> | undefined {
    const known = this.#cells.get(address);
    if (known || this.#crashed) return known;
    const matching = this.#options.behaviours.filter(
      ({ prefix }) => address === prefix || address.startsWith(`${prefix}/`),
    );
    const behaviour = matching.sort((a, b) => b.prefix.length - a.prefix.length)[0];
    if (!behaviour) return undefined;
    const cell: Cell<M, W, R> = {
      behaviour,
      state: undefined,
      started: false,
      busy: true,
      inbox: [],
      timers: new Map(),
    };
    this.#cells.set(address, cell);
    const key = fresh ? undefined : behaviour.durableKey(address);
    const start = () => {
      let record: R | undefined;
      try {
        record = key === undefined ? undefined : this.#options.store.loadNow(key);
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        // As the live runtime does: what waits for the actor goes on waiting, and the load is repeated.
        this.#world.after(loadRetryMs, () => this.#alive(address, cell, start));
        return;
      }
      const { state, effects } = behaviour.start(record, this.#context(address));
      cell.state = state;
      cell.started = true;
      cell.busy = false;
      this.#perform(address, cell, effects, undefined);
      this.#next(address, cell);
    };
    this.#world.after(key === undefined ? 0 : this.#options.storeLatencyMs, () => this.#alive(address, cell, start));
    return cell;
  }

  #enqueue(address: Address, cell: Cell<M, W, R>, input: Input<M, W, R>): void {
    cell.inbox.push(input);
    this.#next(address, cell);
  }

  #next(address: Address, cell: Cell<M, W, R>): void {
    if (cell.busy || cell.inbox.length === 0) return;
    cell.busy = true;
    this.#world.after(0, () => this.#alive(address, cell, () => this.#take(address, cell, cell.inbox.shift()!)));
  }

  #take(address: Address, cell: Cell<M, W, R>, input: Input<M, W, R>): void {
    const step = cell.behaviour.receive(cell.state, input, this.#context(address));
    const { state, effects } = step;
    const persist = persistOf(step, true);
    const adopt = () => {
      cell.state = state;
      this.#perform(address, cell, effects, input);
      cell.busy = false;
      if (this.#cells.get(address) === cell) this.#next(address, cell);
    };
    if (!persist) {
      adopt();
      return;
    }
    const { storeLatencyMs, store } = this.#options;
    this.#world.after(storeLatencyMs / 2, () =>
      this.#alive(address, cell, () => {
        const outcome = attemptWrite(store, persist.write);
        this.#world.after(storeLatencyMs / 2, () =>
          this.#alive(address, cell, () => {
            if (outcome.kind === 'written') {
              adopt();
              return;
            }
            cell.inbox.unshift({ kind: 'persistRefused', write: persist.write, refusal: outcome });
            cell.busy = false;
            this.#next(address, cell);
          }),
        );
      }),
    );
  }

  #perform(
    address: Address,
    cell: Cell<M, W, R>,
    effects: readonly Effect<M, W>[],
    input: Input<M, W, R> | undefined,
  ): void {
    const origin = input?.kind === 'message' ? input : undefined;
    for (const effect of effects) {
      // The world may have crashed this machine at one of the effects: what follows never happened.
      if (this.#crashed) return;
      switch (effect.kind) {
        case 'send':
          this.#send(
            address,
            cell,
            effect.to,
            effect.message,
            effect.trace ?? origin?.trace ?? noTrace,
            effect.fresh ?? false,
          );
          break;
        case 'reply':
          if (origin) this.#send(address, cell, origin.from, effect.message, origin.trace, false);
          break;
        case 'persist':
          break;
        case 'load': {
          const { key } = effect;
          this.#world.after(this.#options.storeLatencyMs, () =>
            this.#alive(address, cell, () => {
              this.#enqueue(address, cell, this.#loaded(key));
            }),
          );
          break;
        }
        case 'startTimer': {
          cell.timers.get(effect.name)?.();
          const { name } = effect;
          const cancel = this.#world.after(effect.afterMs, () =>
            this.#alive(address, cell, () => {
              cell.timers.delete(name);
              this.#enqueue(address, cell, { kind: 'timer', name });
            }),
          );
          cell.timers.set(name, cancel);
          break;
        }
        case 'cancelTimer':
          cell.timers.get(effect.name)?.();
          cell.timers.delete(effect.name);
          break;
        case 'emit':
          this.#world.observe(address, effect.event);
          break;
        case 'stop':
          this.#stop(address, cell);
          break;
      }
    }
  }

  #send(from: Address, cell: Cell<M, W, R>, to: Address, message: M, trace: Trace, fresh: boolean): void {
    const envelope = { from, to, message, trace };
    let reason = this.deliver(envelope, fresh);
    if (reason === 'noRoute') reason = this.#world.carry(envelope);
    if (reason) this.#enqueue(from, cell, { kind: 'undelivered', to, message, reason });
  }

  #loaded(key: string): Input<M, W, R> {
    try {
      return { kind: 'loaded', key, record: this.#options.store.loadNow(key) };
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      return { kind: 'loadFailed', key, message: error.message };
    }
  }

  /** Messages that wait start the actor again, from its record. */
  #stop(address: Address, cell: Cell<M, W, R>): void {
    for (const cancel of cell.timers.values()) cancel();
    this.#cells.delete(address);
    for (const input of cell.inbox) {
      if (input.kind === 'message')
        this.deliver({ from: input.from, to: address, message: input.message, trace: input.trace });
    }
  }

  #alive(address: Address, cell: Cell<M, W, R>, task: () => void): void {
    if (!this.#crashed && this.#cells.get(address) === cell) task();
  }

  #context(self: Address): Context {
    return { self, nowMs: this.#world.nowMs(), random: this.#options.random };
  }
}

/** A store that does not answer leaves the write's fate unknown. */
function attemptWrite<W, R>(
  store: SyncStore<W, R>,
  write: W,
): WriteOutcome<R> | Extract<Refusal<R>, { kind: 'unavailable' }> {
  try {
    return store.writeNow(write);
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    return { kind: 'unavailable', message: error.message };
  }
}
