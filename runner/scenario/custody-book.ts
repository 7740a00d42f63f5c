/** What a run knows of the wallet API: the answers of its steps, what their idempotency keys were told, and its webhooks. */
import { owner } from './custody-format.ts';

/** A webhook that a step registered. */
export interface WebhookNote {
  readonly id: string;
  readonly url: string;
  /** The newest first: a rotated one signs for a while yet. */
  readonly secrets: readonly string[];
  readonly events: readonly string[];
  readonly by: string;
}

export class CustodyBook {
  readonly #answers = new Map<string, unknown>();
  readonly webhooks = new Map<string, WebhookNote>();
  /** By idempotency key: the ids of intents that it was told. One, ever. */
  readonly #told = new Map<string, Set<string>>();

  /** The body of the last answer of a step; undefined: none. */
  answer(step: string): unknown {
    return this.#answers.get(step);
  }

  learn(step: string, body: unknown): void {
    this.#answers.set(step, body);
  }

  /** The id of what a step made; undefined: it made nothing. */
  idOf(step: string): string | undefined {
    const { id } = (this.#answers.get(step) ?? {}) as { readonly id?: string };
    return id;
  }

  /** A webhook got another secret. */
  rotated(id: string, secret: string): void {
    for (const [step, note] of this.webhooks) {
      if (note.id === id) this.webhooks.set(step, { ...note, secrets: [secret, ...note.secrets] });
    }
  }

  /** An intent was the answer to a request with this key. */
  told(by: string, key: string, id: string): void {
    const name = `${by.split('@')[1] ?? ''} ${key}`;
    this.#told.set(name, (this.#told.get(name) ?? new Set()).add(id));
  }

  /** What contradicts that a key has one intent; undefined: none. */
  keyToldTwice(): string | undefined {
    for (const [name, ids] of this.#told) {
      if (ids.size > 1) return `the idempotency key ${name.trim()} was told ${[...ids].join(' and ')}`;
    }
    return undefined;
  }

  /** Everyone who calls: `owner` first. */
  static principals(steps: Iterable<object>): readonly string[] {
    const named = [...steps].flatMap((step) => ('by' in step && typeof step.by === 'string' ? [step.by] : []));
    return [...new Set([owner, ...named])];
  }
}
