/**
 * Group commit: all changes of sessions in one tick of the event loop go to Redis together, with one script per tenant. Each
 * has its own answer, and none waits for an earlier script: concurrent writes share the fixed cost of a script for the client
 * and Redis.
 */
import type { SessionWriteArguments } from './layout.ts';
import type { BatchReply, WriteReply } from './scripts.ts';

/** The most writes of one script, since other Redis clients wait for its end. */
const batchWritesMax = 64;
const batchCharsMax = 1_048_576;

type Send = (tenant: string, writes: readonly SessionWriteArguments[]) => Promise<BatchReply>;

/** A step: its write, and the writes that go before it. */
interface Waiting {
  readonly writes: readonly SessionWriteArguments[];
  readonly resolve: (reply: WriteReply) => void;
  readonly reject: (error: unknown) => void;
}

export class WriteBatches {
  readonly #soon: (flush: () => void) => void;
  readonly #send: Send;
  #gathered = new Map<string, Waiting[]>();

  /** `soon`: calls back when the batch is complete; at once by default. */
  constructor(soon: (flush: () => void) => void = (flush) => flush(), send: Send) {
    this.#soon = soon;
    this.#send = send;
  }

  /** The answer to the last of `writes`; they go in one script. Rejects when its fate is unknown, or with the script's error. */
  write(tenant: string, ...writes: readonly SessionWriteArguments[]): Promise<WriteReply> {
    return new Promise((resolve, reject) => {
      const waiting = { writes, resolve, reject };
      const isFirst = this.#gathered.size === 0;
      const gathered = this.#gathered.get(tenant);
      if (gathered === undefined) this.#gathered.set(tenant, [waiting]);
      else gathered.push(waiting);
      if (isFirst) this.#soon(() => this.#flush());
    });
  }

  #flush(): void {
    const gathered = this.#gathered;
    this.#gathered = new Map();
    for (const [tenant, all] of gathered) {
      let batch: Waiting[] = [];
      let [count, chars] = [0, 0];
      for (const waiting of all) {
        batch.push(waiting);
        count += waiting.writes.length;
        for (const { data } of waiting.writes) chars += data.length;
        if (count < batchWritesMax && chars < batchCharsMax) continue;
        void this.#perform(tenant, batch);
        batch = [];
        [count, chars] = [0, 0];
      }
      if (batch.length > 0) void this.#perform(tenant, batch);
    }
  }

  async #perform(tenant: string, batch: readonly Waiting[]): Promise<void> {
    try {
      const writes = batch.length === 1 ? batch[0]!.writes : batch.flatMap((waiting) => waiting.writes);
      const replies = await this.#send(tenant, writes);
      let at = -1;
      for (const { writes, resolve, reject } of batch) {
        at += writes.length;
        const reply = replies[at]!;
        if (reply[0] === 'ERROR') reject(new Error(reply[1]));
        else resolve(reply);
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
