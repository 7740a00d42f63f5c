/** Orders to a role process over its channel, and its answers. */
import { isDoneMessage, type OrderMessage, type ProcessOrder } from '../common/channel.ts';
import { Failure } from '../common/failure.ts';
import type { SupervisedChild } from './supervisor.ts';

interface Open {
  readonly child: SupervisedChild;
  readonly settle: (error?: Error) => void;
}

export class Orders {
  readonly #open = new Map<number, Open>();
  #lastId = 0;

  /** Resolves when the child has done it; rejects when it failed, has ended, or does not answer in time. */
  give(child: SupervisedChild, order: ProcessOrder, withinMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#lastId += 1;
      const id = this.#lastId;
      const settle = (error?: Error) => {
        clearTimeout(timer);
        this.#open.delete(id);
        if (error) reject(error);
        else resolve();
      };
      const timer = setTimeout(() => settle(new Failure(`${child.name} does not answer`)), withinMs);
      this.#open.set(id, { child, settle });
      const message: OrderMessage = { kind: 'order', id, order };
      if (!child.send(message)) settle(new Failure(`${child.name} is down`));
    });
  }

  /** Returns whether the message was an answer to an order. */
  take(message: unknown): boolean {
    if (!isDoneMessage(message)) return false;
    const { id, error } = message;
    this.#open.get(id)?.settle(error === undefined ? undefined : new Failure(error));
    return true;
  }

  /** The child has ended: rejects every pending order. */
  gone(child: SupervisedChild): void {
    for (const open of [...this.#open.values()])
      if (open.child === child) open.settle(new Failure(`${child.name} died`));
  }
}
