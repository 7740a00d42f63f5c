/**
 * The vendor of the simulated world: one party for all nodes, which survives their processes. An answer takes 2 ms; a callback
 * without a receiving process is repeated a few times.
 */
import { fromHex, toHex } from '../../core/crypto/bytes.ts';
import type { HsmOutcome, HsmRequest, VendorFault } from '../../nodes/records/hsm-port.ts';
import type { VendorOutcome, VendorPort, VendorRequest } from '../../nodes/records/vendor-port.ts';
import {
  VendorBook,
  type VendorConduct,
  type VendorOrder,
  VendorRefusal,
  type VendorStatus,
} from '../../wallets/providers/vendor/public.ts';
import type { VirtualTime } from './virtual-time.ts';

const answerMs = 2;
const redeliveriesMs = [1_000, 5_000, 25_000];

const states: Readonly<Record<VendorStatus, Extract<VendorOutcome, { kind: 'order' }>['state']>> = {
  SUBMITTED: 'open',
  PENDING_SIGNATURE: 'open',
  COMPLETED: 'signed',
  REJECTED: 'rejected',
  CANCELLED: 'cancelled',
  TIMEOUT: 'expired',
};

export interface SimVendorOptions {
  /** 1 ms by default. */
  readonly decideMs?: number;
  /** An hour by default. */
  readonly lifetimeMs?: number;
  /** Gets every order as it changes. */
  readonly changed?: ((order: VendorOrder) => void) | undefined;
}

/** Calls the order's actor back; false: its process is down. */
export type CallBack = (nodeId: number, tenant: string, reference: string) => boolean;

export class SimVendor {
  readonly book: VendorBook;
  readonly #time: VirtualTime;
  readonly #callBack: CallBack;
  #wakeMs = Number.POSITIVE_INFINITY;
  /** False: nodes are configured with no vendor. */
  isConfigured = true;

  constructor(
    time: VirtualTime,
    random: (length: number) => Uint8Array,
    callBack: CallBack,
    { decideMs = 1, lifetimeMs = 3_600_000, changed }: SimVendorOptions = {},
  ) {
    this.#time = time;
    this.#callBack = callBack;
    this.book = new VendorBook({
      ...{ random, decideMs, lifetimeMs },
      changed: changed && ((entry) => 'order' in entry && changed(entry.order)),
    });
  }

  behave(conduct: VendorConduct | undefined): void {
    this.book.conduct = conduct;
  }

  /** The vendor's port for node `nodeId`. */
  portOf(nodeId: number): VendorPort {
    return {
      ask: (request, answer) => this.#later(() => this.#key(request), answer),
      order: (request, answer) => this.#later(() => this.#order(nodeId, request), answer),
    };
  }

  #later<T>(
    work: () => T,
    answer: (outcome: T | { kind: 'failed'; fault: VendorFault; message: string }) => void,
  ): void {
    const failed = (fault: VendorFault, message: string) => ({ kind: 'failed' as const, fault, message });
    const attempt = () => {
      if (!this.isConfigured) return failed('VENDOR_UNCONFIGURED', 'no vendor is configured');
      if (this.book.isUnavailable) return failed('VENDOR_UNAVAILABLE', 'told to be unavailable');
      try {
        return work();
      } catch (error) {
        if (!(error instanceof VendorRefusal)) throw error;
        return failed('VENDOR_UNAVAILABLE', error.message);
      }
    };
    // At a whole millisecond, as everything except the moment of a write.
    const nowMs = this.#time.nowMs();
    this.#time.after(Math.ceil(nowMs) + answerMs / 2 - nowMs, () => {
      const outcome = attempt();
      this.#schedule();
      this.#time.after(answerMs / 2, () => answer(outcome));
    });
  }

  #key(request: HsmRequest): HsmOutcome {
    if (request.kind === 'make') {
      return { kind: 'made', ...this.book.makeKey(request.label, request.curve, request.challenge) };
    }
    if (request.kind === 'destroy') this.book.deleteKey(request.label, this.#time.nowMs());
    return { kind: 'destroyed' };
  }

  #order(nodeId: number, request: VendorRequest): VendorOutcome {
    const nowMs = this.#time.nowMs();
    const { externalId } = request;
    const order =
      request.kind === 'cancel'
        ? this.book.cancel(externalId, nowMs)
        : this.book.place(
            {
              externalId,
              key: request.label,
              message: toHex(request.message),
              callback: `${nodeId}/${request.tenant}/${request.reference}`,
            },
            nowMs,
          );
    const { status, signature, expiresMs } = order;
    return { kind: 'order', state: states[status], signature: fromHex(signature), expiresMs, detail: status };
  }

  /** Wakes up when the next order is due. */
  #schedule(): void {
    const nextMs = this.book.nextMs();
    if (nextMs >= this.#wakeMs) return;
    this.#wakeMs = nextMs;
    this.#time.after(nextMs - this.#time.nowMs(), () => {
      this.#wakeMs = Number.POSITIVE_INFINITY;
      for (const { callback } of this.book.advance(this.#time.nowMs())) this.#notify(callback, 0);
      this.#schedule();
    });
  }

  #notify(callback: string, tries: number): void {
    const [nodeId, tenant, reference] = callback.split('/');
    this.#time.after(answerMs / 2, () => {
      if (this.#callBack(Number(nodeId), tenant!, reference!) || tries >= redeliveriesMs.length) return;
      this.#time.after(redeliveriesMs[tries]!, () => this.#notify(callback, tries + 1));
    });
  }
}
