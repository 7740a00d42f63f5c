/**
 * An HTTP client as you may have one: it pays out of a wallet and waits for the end. It repeats what failed under the same
 * idempotency key, and polls with pauses of its own. `fetch` is a parameter, as in most HTTP clients: with that of a test's
 * cluster it is tested as it is.
 */
export interface PayoutOptions {
  readonly baseUrl: string;
  readonly token: string;
  readonly fetch?: typeof globalThis.fetch;
}

export interface Payout {
  readonly id: string;
  readonly wallet_id: string;
  readonly status: string;
}

const triesMax = 20;
const pauseMs = 20;
const over = new Set(['completed', 'denied', 'rejected', 'expired', 'cancelled', 'failed']);

export class PayoutClient {
  readonly #options: PayoutOptions;

  constructor(options: PayoutOptions) {
    this.#options = options;
  }

  pay(walletId: string, reference: string, amount: string, address: string): Promise<Payout> {
    const path = `/v1/wallets/${walletId}/transaction-intents`;
    const body = { asset: 'ETH', amount, destination: { address } };
    return this.#send('POST', path, body, reference);
  }

  /** Reads until it is over. */
  async end({ id, wallet_id: walletId }: Payout): Promise<Payout> {
    for (;;) {
      const payout = await this.#send<Payout>('GET', `/v1/wallets/${walletId}/transaction-intents/${id}`);
      if (over.has(payout.status)) return payout;
      await sleep(pauseMs);
    }
  }

  async #send<T>(method: string, path: string, body?: object, key?: string): Promise<T> {
    const { baseUrl, token, fetch = globalThis.fetch } = this.#options;
    const headers = {
      authorization: `Bearer ${token}`,
      ...(body && { 'content-type': 'application/json' }),
      ...(key && { 'idempotency-key': key }),
    };
    for (let tries = 1; ; tries += 1) {
      try {
        const response = await fetch(`${baseUrl}${path}`, {
          method,
          headers,
          ...(body && { body: JSON.stringify(body) }),
        });
        if (response.ok) return (await response.json()) as T;
        if (response.status < 500 || tries === triesMax) throw new Error(`${path}: ${await response.text()}`);
      } catch (error) {
        // A lost connection is a TypeError.
        if (!(error instanceof TypeError) || tries === triesMax) throw error;
      }
      await sleep(tries * pauseMs);
    }
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
