/**
 * The simulated vendor of MPC_VENDOR keys: a custodian that decides on raw messages and signs them with its own keys. A pure
 * state machine with a book of orders, the same in the live process (server.ts) and the simulated world (simulation/cluster/vendor.ts).
 *
 * | Status | To |
 * |---|---|
 * | SUBMITTED | PENDING_SIGNATURE, at the first step after its creation |
 * | SUBMITTED, PENDING_SIGNATURE | COMPLETED or REJECTED after `decideMs`; CANCELLED; TIMEOUT when its lifetime is over |
 *
 * An external id has one order. The vendor calls back at each decision; it may send callbacks twice, late or never, and its
 * answers may be wrong: `conduct` controls that.
 */
import type { RandomSource } from '../../../core/crypto/bytes.ts';
import type { Curve } from '../../../core/crypto/group.ts';
import { HeldKeys } from './keys.ts';

export type VendorStatus = 'SUBMITTED' | 'PENDING_SIGNATURE' | 'COMPLETED' | 'REJECTED' | 'CANCELLED' | 'TIMEOUT';

/** An order in the vendor's book, as JSON. Bytes as hex. */
export interface VendorOrder {
  readonly externalId: string;
  readonly key: string;
  readonly message: string;
  readonly status: VendorStatus;
  /** Once it is COMPLETED. */
  readonly signature: string;
  readonly createdMs: number;
  /** The time of the decision; null: never. */
  readonly decideMs: number | null;
  readonly expiresMs: number;
  /** The URL of its callbacks. */
  readonly callback: string;
  readonly fate: 'sign' | 'reject' | 'lie';
}

/** The vendor's misbehaviour. */
export interface VendorConduct {
  readonly by: (typeof vendorConducts)[number];
  /** Of `delay`. */
  readonly by_ms?: number | undefined;
}

export const vendorConducts = [
  'delay',
  'reject',
  'never_answers',
  'answers_twice',
  'lies',
  'callback_lost',
  'callback_out_of_order',
  'unavailable',
] as const;

/** A callback to send. */
export interface Notice {
  readonly callback: string;
  readonly externalId: string;
  readonly status: VendorStatus;
}

export interface PlacedOrder {
  readonly externalId: string;
  readonly key: string;
  /** Hex. */
  readonly message: string;
  readonly callback: string;
}

export interface BookOptions {
  readonly random: RandomSource;
  readonly decideMs: number;
  readonly lifetimeMs: number;
  /** Gets every order as it changes, and every key as it is made or deleted. */
  readonly changed?: ((entry: BookEntry) => void) | undefined;
}

/** The durable form of the book, one change at a time; the last one of a name counts. `secret` null: the key is deleted. */
export type BookEntry =
  | { readonly order: VendorOrder }
  | { readonly key: string; readonly curve: Curve; readonly secret: string | null };

/** The fault of a request: 404 or 409. */
export class VendorRefusal extends Error {
  override readonly name = 'VendorRefusal';
  readonly status: 404 | 409;

  constructor(status: 404 | 409, message: string) {
    super(message);
    this.status = status;
  }
}

export class VendorBook {
  readonly #options: BookOptions;
  readonly #keys: HeldKeys;
  readonly #curves = new Map<string, Curve>();
  readonly #orders = new Map<string, VendorOrder>();
  /** undefined: it behaves well. */
  conduct: VendorConduct | undefined;

  constructor(options: BookOptions, entries: Iterable<BookEntry> = []) {
    this.#options = options;
    this.#keys = new HeldKeys(options.random);
    for (const entry of entries) this.#restore(entry);
  }

  get isUnavailable(): boolean {
    return this.conduct?.by === 'unavailable';
  }

  /** For tests: all orders, oldest first. */
  get orders(): readonly VendorOrder[] {
    return [...this.#orders.values()];
  }

  get keys(): readonly string[] {
    return this.#keys.labels;
  }

  /** Creates the key of this name unless it exists, and proves that the vendor has it. */
  makeKey(key: string, curve: Curve, challenge: Uint8Array): { publicKey: Uint8Array; signature: Uint8Array } {
    if ((this.#curves.get(key) ?? curve) !== curve) throw new VendorRefusal(409, 'the key is on another curve');
    const isNew = !this.#keys.has(key);
    const publicKey = this.#keys.make(key, curve);
    this.#curves.set(key, curve);
    if (isNew) this.#options.changed?.({ key, curve, secret: this.#keys.secretOf(key)! });
    return { publicKey, signature: this.#keys.sign(key, challenge)! };
  }

  /** Also cancels its open orders. */
  deleteKey(key: string, nowMs: number): void {
    const curve = this.#curves.get(key);
    if (curve === undefined) return;
    for (const order of this.#orders.values()) if (order.key === key) this.cancel(order.externalId, nowMs);
    this.#keys.delete(key);
    this.#curves.delete(key);
    this.#options.changed?.({ key, curve, secret: null });
  }

  /** A new order, or the existing one with this external id. Throws VendorRefusal. */
  place(placed: PlacedOrder, nowMs: number): VendorOrder {
    this.#expire(nowMs);
    const known = this.#orders.get(placed.externalId);
    if (known !== undefined) {
      if (known.key !== placed.key || known.message !== placed.message) {
        throw new VendorRefusal(409, 'the external id has another order');
      }
      const seen = known.status === 'SUBMITTED' ? ('PENDING_SIGNATURE' as const) : known.status;
      const { callback } = placed;
      return known.callback === callback && known.status === seen
        ? known
        : this.#put({ ...known, status: seen, callback });
    }
    if (!this.#keys.has(placed.key)) throw new VendorRefusal(404, 'there is no such key');
    const { decideMs, lifetimeMs } = this.#options;
    const { by, by_ms: byMs = 60_000 } = this.conduct ?? {};
    return this.#put({
      ...placed,
      status: 'SUBMITTED',
      signature: '',
      createdMs: nowMs,
      decideMs: by === 'never_answers' ? null : nowMs + decideMs + (by === 'delay' ? byMs : 0),
      expiresMs: nowMs + lifetimeMs,
      fate: by === 'reject' ? 'reject' : by === 'lies' ? 'lie' : 'sign',
    });
  }

  /** Returns the order; a decided one stays unchanged. Throws VendorRefusal. */
  cancel(externalId: string, nowMs: number): VendorOrder {
    this.#expire(nowMs);
    const order = this.#orders.get(externalId);
    if (order === undefined) throw new VendorRefusal(404, 'there is no such order');
    return isDecided(order) ? order : this.#put({ ...order, status: 'CANCELLED', decideMs: null });
  }

  /** Decides due orders; returns the callbacks to send now. */
  advance(nowMs: number): readonly Notice[] {
    const expired = this.#expire(nowMs);
    const due = [...this.#orders.values()].filter((one) => !isDecided(one) && (one.decideMs ?? Infinity) <= nowMs);
    return [...expired, ...due.map((order) => this.#decide(order))].flatMap((order) => this.#notices(order));
  }

  /** The time of the next `advance`; Infinity: no order is open. */
  nextMs(): number {
    const open = [...this.#orders.values()].filter((one) => !isDecided(one));
    return open.reduce((next, { decideMs, expiresMs }) => Math.min(next, decideMs ?? Infinity, expiresMs), Infinity);
  }

  #decide(order: VendorOrder): VendorOrder {
    const made = this.#keys.sign(order.key, Buffer.from(order.message, 'hex'));
    if (order.fate === 'reject' || made === undefined) return this.#put({ ...order, status: 'REJECTED' });
    const signature = made.slice();
    if (order.fate === 'lie') signature[9]! ^= 1;
    return this.#put({ ...order, status: 'COMPLETED', signature: Buffer.from(signature).toString('hex') });
  }

  #expire(nowMs: number): VendorOrder[] {
    const over = [...this.#orders.values()].filter((one) => !isDecided(one) && one.expiresMs <= nowMs);
    return over.map((order) => this.#put({ ...order, status: 'TIMEOUT' }));
  }

  #notices({ callback, externalId, status }: VendorOrder): Notice[] {
    const notice = { callback, externalId, status };
    switch (this.conduct?.by) {
      case 'callback_lost':
        return [];
      case 'answers_twice':
        return [notice, notice];
      case 'callback_out_of_order':
        return [notice, { ...notice, status: 'PENDING_SIGNATURE' }];
      default:
        return [notice];
    }
  }

  #put(order: VendorOrder): VendorOrder {
    this.#orders.set(order.externalId, order);
    this.#options.changed?.({ order });
    return order;
  }

  #restore(entry: BookEntry): void {
    if ('order' in entry) {
      this.#orders.set(entry.order.externalId, entry.order);
    } else if (entry.secret === null) {
      this.#keys.delete(entry.key);
      this.#curves.delete(entry.key);
    } else {
      this.#keys.restore(entry.key, entry.curve, entry.secret);
      this.#curves.set(entry.key, entry.curve);
    }
  }
}

function isDecided({ status }: VendorOrder): boolean {
  return status !== 'SUBMITTED' && status !== 'PENDING_SIGNATURE';
}
