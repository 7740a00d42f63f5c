/**
 * Follows a tenant's events, so that thousands of intents under way cost a request now and then instead of a poll each.
 * Only changes of intents are followed, from the moment of `open` on.
 */
import type { HttpClient } from '../http.ts';

interface EventBody {
  readonly sequence: number;
  readonly type: string;
  readonly resource: { readonly id: string };
  readonly data: { readonly object: { readonly provider_tx_id?: string | null } };
}

interface Page {
  readonly events: readonly EventBody[];
  readonly has_more: boolean;
}

const types = ['confirming', 'completed', 'failed', 'denied', 'expired'].map((name) => `transaction_intent.${name}`);
const pauseMs = 10;
const waitMaxMs = 60_000;

export class IntentFollower {
  readonly #client: HttpClient;
  readonly #waiting = new Map<string, (type: string, txId: string) => void>();
  /** What came before anybody asked. */
  readonly #early = new Map<string, { readonly type: string; readonly txId: string }>();
  readonly #final = new Map<string, string>();
  #after = 0;
  #over = false;
  #loop: Promise<void> = Promise.resolve();

  constructor(client: HttpClient) {
    this.#client = client;
  }

  /** From the beginning of the tenant's events on. */
  open(): void {
    this.#loop = this.#run();
  }

  /** Resolves with the transaction id when the provider took it; rejects when the intent failed. */
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

  /** How many of the intents seen ended how, e.g. completed. */
  endings(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const type of this.#final.values()) counts[type] = (counts[type] ?? 0) + 1;
    return counts;
  }

  async close(): Promise<void> {
    this.#over = true;
    await this.#loop;
  }

  async #run(): Promise<void> {
    while (!this.#over) {
      const path = `/v1/events?limit=100&type=${types.join(',')}&after_sequence=${this.#after}`;
      const { status, text } = await this.#client.send('GET', path).catch(() => ({ status: 0, text: '' }));
      if (status !== 200) {
        await sleep(pauseMs * 10);
        continue;
      }
      const page = JSON.parse(text) as Page;
      for (const event of page.events) this.#see(event);
      this.#after = page.events.at(-1)?.sequence ?? this.#after;
      if (!page.has_more) await sleep(pauseMs);
    }
  }

  #see({ type, resource: { id }, data }: EventBody): void {
    if (type !== 'transaction_intent.confirming') this.#final.set(id, type);
    const txId = data.object.provider_tx_id ?? '';
    const waiting = this.#waiting.get(id);
    if (waiting) {
      this.#waiting.delete(id);
      waiting(type, txId);
    } else if (!this.#early.has(id)) this.#early.set(id, { type, txId });
  }
}

function sleep(forMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, forMs));
}
