/** The receivers of webhooks of a live world, and their faults, which an engine of its own decides about. */
import { randomBytes } from 'node:crypto';
import { faultEngine } from '../../scenarios/faults/engine.ts';
import type { FaultEngine, Order, ReceiverBehaviour } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import type { Fault } from '../../scenarios/faults/vocabulary/generated-types.ts';
import { WebhookReceiver } from './webhook-receiver.ts';
import type { OpenReceiver } from './webhooks.ts';

export class LiveReceivers {
  /** Every receiver that faults apply to. */
  readonly #all = new Set<WebhookReceiver>();
  readonly #faults: FaultEngine;
  readonly #nowMs: () => number;
  readonly #ids = new Set<string>();
  #behaviour: ReceiverBehaviour | undefined;
  #waking: NodeJS.Timeout | undefined;

  /** `own`: the receiver of the world itself. `nodes`: of the sandbox. */
  constructor(own: WebhookReceiver | undefined, nodes: number, nowMs: () => number) {
    if (own !== undefined) this.#all.add(own);
    this.#nowMs = nowMs;
    this.#faults = faultEngine({
      nodesTotal: nodes,
      random: randomBytes,
      // Faults of a receiver sign nothing: no identities are needed.
      roster: { clusterId: '', nodes: [], coordinator: new Uint8Array(), gateway: new Uint8Array() },
      identitySeed: () => undefined,
      world: 'live',
    });
  }

  readonly open: OpenReceiver = async (hears, respond) => {
    const receiver = await WebhookReceiver.start(hears, respond);
    receiver.behave(this.#behaviour);
    this.#all.add(receiver);
    return {
      url: receiver.url,
      close: async () => {
        if (this.#all.delete(receiver)) await receiver.stop();
      },
    };
  };

  async stop(): Promise<void> {
    clearTimeout(this.#waking);
    const receivers = [...this.#all];
    this.#all.clear();
    await Promise.all(receivers.map((receiver) => receiver.stop()));
  }

  /** Returns the id of the fault. */
  arm(fault: Fault): string {
    const { id, orders } = this.#faults.arm(fault, this.#nowMs());
    this.#ids.add(id);
    this.#perform(orders);
    return id;
  }

  /** undefined: no fault of a receiver has that id. */
  triggerCount(id: string): number | undefined {
    if (!this.#ids.has(id)) return undefined;
    return this.#faults.list(this.#nowMs()).find((status) => status.id === id)?.triggerCount ?? 0;
  }

  step(step: string): void {
    this.#perform(this.#faults.step(step, this.#nowMs()));
  }

  clear(): void {
    this.#perform(this.#faults.clear(this.#nowMs()));
  }

  #perform(orders: readonly Order[]): void {
    for (const order of orders) {
      if (order.kind !== 'receiver') continue;
      this.#behaviour = order.behaviour;
      for (const receiver of this.#all) receiver.behave(order.behaviour);
    }
    clearTimeout(this.#waking);
    const wakeMs = this.#faults.nextWakeMs();
    if (wakeMs === Number.POSITIVE_INFINITY) return;
    const wake = () => this.#perform(this.#faults.wake(this.#nowMs()));
    this.#waking = setTimeout(wake, Math.max(0, wakeMs - this.#nowMs()) + 1);
  }
}
