/** Follows a tenant's intents, so that thousands of open ones need no polls. */
import type { Event, Intent } from '../../../clients/client/generated-api.ts';
import { followEvents } from '../../../clients/load/calls/event-stream.ts';

const types = ['confirming', 'completed', 'failed', 'denied', 'expired'].map((name) => `transaction_intent.${name}`);
const waitMaxMs = 60_000;

export class IntentFollower {
  readonly #waiting = new Map<string, (type: string, txId: string) => void>();
  /** Events that arrived before a caller waited for them. */
  readonly #early = new Map<string, { readonly type: string; readonly txId: string }>();
  readonly #final = new Map<string, string>();
  #stop = async (): Promise<void> => undefined;

  /** Resolves when the stream is open: it carries every event from now on. */
  async open(url: string, token: string): Promise<void> {
    this.#stop = await followEvents(url, token, types, (event) => this.#see(event));
  }

  /** Resolves with the transaction id when the provider accepted it; rejects when the intent failed. */
  providerTook(intentId: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('an intent got no provider_tx_id')), waitMaxMs);
      const settle = (type: string, txId: string) => {
        clearTimeout(timer);
        if (txId !== '' && type !== 'transaction_intent.failed') resolve(txId);
        else reject(new Error(type));
      };
      const early = this.#early.get(intentId);
      if (early) settle(early.type, early.txId);
      else this.#waiting.set(intentId, settle);
    });
  }

  /** The number of seen intents by final status, e.g. completed. */
  endings(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const type of this.#final.values()) counts[type] = (counts[type] ?? 0) + 1;
    return counts;
  }

  close(): Promise<void> {
    return this.#stop();
  }

  #see({ type, resource: { id }, data }: Event): void {
    if (type !== 'transaction_intent.confirming') this.#final.set(id, type);
    const txId = (data.object as Intent).provider_tx_id ?? '';
    const waiting = this.#waiting.get(id);
    if (waiting) {
      this.#waiting.delete(id);
      waiting(type, txId);
    } else if (!this.#early.has(id)) this.#early.set(id, { type, txId });
  }
}
