/** Checks that every due event reached the receiver at least once, with a valid signature each time. */
import { createHmac } from 'node:crypto';
import { type Check, Faults } from './check.ts';

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

export class WebhookChecks {
  readonly #expected = new Map<string, () => void>();
  readonly #received = new Map<string, number>();
  readonly #open = new Set<string>();
  readonly #faults = new Faults();
  #deliveries = 0;
  #awaited = 0;

  /** The caller is about to make a change with this key; `onReceived` is called when its event arrives. */
  expect(key: string, onReceived: () => void): void {
    this.#expected.set(key, onReceived);
  }

  /** The change was made: its event must come. */
  due(key: string): void {
    if (!this.#received.has(key)) this.#open.add(key);
    this.#awaited += 1;
  }

  /** The change was not made. */
  notDue(key: string): void {
    this.#expected.delete(key);
  }

  get open(): number {
    return this.#open.size;
  }

  /** One delivery, as received. `secret` as the service gave it: `whsec_…`. Returns whether its signature is valid. */
  received(body: Buffer, headers: Headers, secret: string, keyOf: (event: unknown) => string): boolean {
    this.#deliveries += 1;
    if (!isSigned(body, headers, secret)) {
      this.#faults.add(`${String(headers['webhook-id'])}: the signature is not valid`);
      return false;
    }
    const key = keyOf(JSON.parse(body.toString()));
    this.#received.set(key, (this.#received.get(key) ?? 0) + 1);
    this.#open.delete(key);
    this.#expected.get(key)?.();
    this.#expected.delete(key);
    return true;
  }

  check(): Check {
    for (const key of this.#open) this.#faults.add(`${key}: no webhook came`);
    let again = 0;
    for (const count of this.#received.values()) again += count - 1;
    return this.#faults.check(
      'webhooks',
      `${this.#awaited} events, each received at least once; ${this.#deliveries} deliveries, ${again} of them repeated`,
    );
  }
}

/** Both signatures: Standard Webhooks' over id, time and body, and the one only over the body. */
export function isSigned(body: Buffer, headers: Headers, secret: string): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers;
  const plain = headers['x-svc-signature'];
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string') return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64');
  const own = createHmac('sha256', secret).update(body).digest('hex');
  return signatures.split(' ').includes(`v1,${expected}`) && plain === own;
}
