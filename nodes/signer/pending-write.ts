/**
 * What the signer has promised in partials that have not left yet: the records that must be durable first, and the effects
 * that may happen after.
 *
 * Requests that arrive while one write is under way share the next one: a write costs the same for one record as for many.
 * Mutable, and owned by one actor state. A write that is refused takes everything with it that waited for it.
 */
import type { NodeEffect } from '../messages.ts';
import type { NodeRecord, NodeWrite } from '../records.ts';

export class PendingWrite {
  #puts = new Map<string, NodeRecord>();
  #effects: NodeEffect[] = [];

  get isEmpty(): boolean {
    return this.#puts.size === 0;
  }

  /** Whether a record of this key waits to be written. */
  holds(key: string): boolean {
    return this.#puts.has(key);
  }

  /** What waits to be written under this key. */
  recordOf(key: string): NodeRecord | undefined {
    return this.#puts.get(key);
  }

  put(key: string, record: NodeRecord): void {
    this.#puts.set(key, record);
  }

  /** What happens once all records put so far are durable. */
  after(effects: readonly NodeEffect[]): void {
    this.#effects.push(...effects);
  }

  /** Takes everything out: one write, and what follows it. */
  take(): { readonly write: NodeWrite; readonly effects: readonly NodeEffect[] } {
    const write = { puts: [...this.#puts].map(([key, record]) => ({ key, record })), deletes: [] };
    const effects = this.#effects;
    this.#puts = new Map();
    this.#effects = [];
    return { write, effects };
  }
}
