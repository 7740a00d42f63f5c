/**
 * A role that `signmesh up` can stop and start again within its process: a restored state needs that, without the second that a
 * new process takes.
 */
import { shiftSystemClock } from '../core/actors/live/ports.ts';
import { clockOffsetVariable, type DoneMessage, isOrderMessage, type ProcessOrder } from './common/channel.ts';
import { errorText } from './common/failure.ts';

export interface Running {
  stop(): Promise<unknown>;
  /** The state of the cluster was replaced: drops everything remembered of it. */
  onRestored?(): unknown;
}

export class Restartable {
  readonly #start: () => Promise<Running>;
  #running: Running | undefined;
  /** Orders run one after the other. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(start: () => Promise<Running>) {
    this.#start = start;
  }

  /** The clock first: no part may see the wrong time. */
  async start(environment: NodeJS.ProcessEnv = process.env): Promise<void> {
    const offsetMs = Number(environment[clockOffsetVariable] ?? 0);
    if (Number.isFinite(offsetMs)) shiftSystemClock(offsetMs);
    process.on('message', (message) => {
      if (!isOrderMessage(message)) return;
      const { id, order } = message;
      this.#turn = this.#turn
        .then(() => this.#do(order))
        .then(
          () => answer({ kind: 'done', id }),
          (error: unknown) => answer({ kind: 'done', id, error: errorText(error) }),
        );
    });
    this.#running = await this.#start();
  }

  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    await running?.stop();
  }

  async #do(order: ProcessOrder): Promise<void> {
    switch (order.kind) {
      case 'clock':
        shiftSystemClock(order.offsetMs);
        return;
      case 'quiesce':
        await this.stop();
        return;
      case 'resume':
        this.#running ??= await this.#start();
        return;
      case 'restored':
        await this.#running?.onRestored?.();
        return;
    }
  }
}

function answer(message: DoneMessage): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
}
