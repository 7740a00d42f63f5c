/** The run's record of the wallet API: the answers of its steps, the intents of its idempotency keys, and its webhooks. */
import { owner } from './custody-format.ts';

/** A webhook that a step registered. */
export interface WebhookNote {
  readonly id: string;
  readonly url: string;
  /** Newest first: a rotated secret still signs for a while. */
  readonly secrets: readonly string[];
  readonly events: readonly string[];
  readonly by: string;
}

export class CustodyBook {
  readonly #answers = new Map<string, unknown>();
  readonly webhooks = new Map<string, WebhookNote>();
  /** By idempotency key: the ids of intents in its answers. There must be only one. */
  readonly #told = new Map<string, Set<string>>();

  /** The body of the last answer of a step; undefined: none. */
  answer(step: string): unknown {
    return this.#answers.get(step);
  }

  learn(step: string, body: unknown): void {
    this.#answers.set(step, body);
  }

  /** The id of the resource that a step made; undefined: it made none. */
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

  /** The answer to a request with this key names this intent. */
  told(by: string, key: string, id: string): void {
    const name = `${by.split('@')[1] ?? ''} ${key}`;
    this.#told.set(name, (this.#told.get(name) ?? new Set()).add(id));
  }

  /** The contradiction to "a key has one intent"; undefined: none. */
  keyToldTwice(): string | undefined {
    for (const [name, ids] of this.#told) {
      if (ids.size > 1) return `the idempotency key ${name.trim()} was told ${[...ids].join(' and ')}`;
    }
    return undefined;
  }

  /** All principals that call: `owner` first. */
  static principals(steps: Iterable<object>): readonly string[] {
    const named = [...steps].flatMap((step) => ('by' in step && typeof step.by === 'string' ? [step.by] : []));
    return [...new Set([owner, ...named])];
  }
}
