/** Follows a tenant's intents on its event stream, so that thousands of open ones need no polls. It begins at `open`. */

interface EventBody {
  readonly type: string;
  readonly resource: { readonly id: string };
  readonly data: { readonly object: { readonly provider_tx_id?: string | null } };
}

const types = ['confirming', 'completed', 'failed', 'denied', 'expired'].map((name) => `transaction_intent.${name}`);
const waitMaxMs = 60_000;

export class IntentFollower {
  readonly #ending = new AbortController();
  readonly #waiting = new Map<string, (type: string, txId: string) => void>();
  /** Events that arrived before a caller waited for them. */
  readonly #early = new Map<string, { readonly type: string; readonly txId: string }>();
  readonly #final = new Map<string, string>();
  #reading: Promise<void> = Promise.resolve();

  /** Resolves when the stream is open: it carries every event from now on. */
  async open(url: string, token: string): Promise<void> {
    const response = await fetch(`${url}/v1/events/stream?type=${types.join(',')}`, {
      headers: { authorization: `Bearer ${token}` },
      signal: this.#ending.signal,
    });
    if (!response.ok || response.body === null) throw new Error(`the event stream answers ${response.status}`);
    this.#reading = this.#read(response.body);
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

  async close(): Promise<void> {
    this.#ending.abort();
    await this.#reading.catch(() => undefined);
  }

  /** Server-sent events: one field a line, an empty line after each event. */
  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    let text = '';
    for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
      const lines = (text + chunk).split('\n');
      text = lines.pop()!;
      for (const line of lines) {
        if (line.startsWith('data: ')) this.#see(JSON.parse(line.slice('data: '.length)) as EventBody);
      }
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
