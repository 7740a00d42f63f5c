/**
 * A coordinator process of its own, over a store of its own (process-copy.ts). A read shows the record as it is when the read is
 * answered.
 */

import { coordinatorBehaviours } from '../../coordinator/behaviours.ts';
import type { SessionConfig } from '../../coordinator/contract/config.ts';
import {
  type CoordinatorMessage,
  type CoordinatorRecord,
  type CoordinatorWrite,
  isLocal,
} from '../../coordinator/contract/messages.ts';
import { failureReply } from '../../coordinator/failure-replies.ts';
import type { Address, Envelope, RandomBytes, UndeliveredReason } from '../../core/actors/contract.ts';
import { noTrace } from '../../core/actors/contract.ts';
import type { DeadLetter } from '../../core/actors/kernel/host.ts';
import { throughCodec } from './frame-codec.ts';
import { type MemoryCoordinatorStore, memoryCoordinatorStore, type SyncStore } from './memory-stores.ts';
import { ProcessCopy, unavailable } from './process-copy.ts';

export interface CoordinatorCopyOptions {
  readonly config: Omit<SessionConfig, 'coordinatorBoot'>;
  readonly nowMs: number;
  readonly random: RandomBytes;
}

export class CoordinatorCopy extends ProcessCopy<CoordinatorMessage, CoordinatorWrite, CoordinatorRecord> {
  readonly store: MemoryCoordinatorStore = memoryCoordinatorStore();
  /** By key: what a read shows instead of what is stored. */
  readonly shown = new Map<string, CoordinatorRecord>();
  readonly #config: CoordinatorCopyOptions['config'];
  /** With the fence of its present start. */
  #own: SyncStore<CoordinatorWrite, CoordinatorRecord> = this.store.as(1);

  constructor({ config, nowMs, random }: CoordinatorCopyOptions) {
    super('coordinator', nowMs, random);
    this.#config = config;
    this.start();
  }

  override deliver(to: Address, message: CoordinatorMessage, from: Address = 'trial'): UndeliveredReason | undefined {
    if (isLocal(message)) return super.deliver(to, message, from);
    return super.deliver(to, throughCodec({ from, to, message, trace: noTrace }, 'none').envelope.message, from);
  }

  protected behaviours(start: number) {
    this.#own = this.store.as(start);
    return coordinatorBehaviours({ ...this.#config, coordinatorBoot: this.boot }, 'simulated');
  }

  protected outcomeOf(write: CoordinatorWrite) {
    return this.#own.writeNow(write);
  }

  protected read(key: string) {
    return () => (this.readsFail ? unavailable : { record: this.shown.get(key) ?? this.#own.loadNow(key) });
  }

  protected override deadLetterReply({ cause }: DeadLetter, envelope: Envelope<CoordinatorMessage>) {
    return failureReply(envelope, cause);
  }
}
