/**
 * The pending promises of the signer's answers: the records to write or delete first, and the effects that follow.
 *
 * Requests that arrive during a write share the next one: a write costs the same for one record as for many.
 * Mutable, and owned by one actor state. A refused write discards everything that waited for it.
 */
import type { NodeEffect } from '../records/messages.ts';
import type { NodeRecord, NodeWrite } from '../records/records.ts';

export class PendingNodeWrite {
  /** By record key; undefined: the record is deleted. */
  readonly #changes = new Map<string, NodeRecord | undefined>();
  readonly #effects: NodeEffect[] = [];

  get isEmpty(): boolean {
    return this.#changes.size === 0;
  }

  /** Whether a change of this key's record waits. */
  holds(key: string): boolean {
    return this.#changes.has(key);
  }

  /** Whether this key's record waits to be deleted. */
  deletes(key: string): boolean {
    return this.#changes.has(key) && this.#changes.get(key) === undefined;
  }

  put(key: string, record: NodeRecord): void {
    this.#changes.set(key, record);
  }

  delete(key: string): void {
    this.#changes.set(key, undefined);
  }

  /** Adds effects for the time when all records put so far are durable. */
  after(effects: readonly NodeEffect[]): void {
    this.#effects.push(...effects);
  }

  /** The whole content: one write, and the effects after it. Another `PendingWrite` then replaces this one. */
  content(): { readonly write: NodeWrite; readonly effects: readonly NodeEffect[] } {
    const puts: { key: string; record: NodeRecord }[] = [];
    const deletes: string[] = [];
    for (const [key, record] of this.#changes) {
      if (record === undefined) deletes.push(key);
      else puts.push({ key, record });
    }
    return { write: { puts, deletes }, effects: this.#effects };
  }
}
