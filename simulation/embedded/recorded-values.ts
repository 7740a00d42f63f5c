/**
 * Values of recorded requests in a form that replays: ids and addresses from earlier answers become references to those answers,
 * and secrets become meaningless words.
 */

import type { AnswerShape } from '../../scenarios/runner/custody-operation.ts';
import { isRecord } from '../../scenarios/runner/explain.ts';
import { referencesIn, unknownField } from '../../scenarios/runner/references.ts';
import { testCredentials } from '../../wallets/providers/port/test-triggers.ts';

/** Fields with secrets, in any place. */
const secretFields = /^(api_key|api_secret|private_key|secret|password|passphrase|access_token|access_key)$/;
/** Fields of credentials, of any custodian. */
const credentialFields = /key|secret|token|pass|pin|seed/i;
const tokenTexts = /svc_sk_[A-Za-z0-9_]+|whsec_[A-Za-z0-9+/=_-]+/g;
/** A secret that simulated custodians accept. */
const placeholder = 'scenario';
/** Patterns of ids, addresses and hashes within a text. */
const words = /[A-Za-z0-9_-]{16,}/g;
const dates = /^\d{4}-\d\d-\d\dT\d\d:/;

/** The reason why it cannot be written. */
export class Unwritable extends Error {}

export class RecordedValues {
  /** References by their values. */
  readonly #references = new Map<string, string>();
  /** Values that clients chose themselves: a replay has the same. */
  readonly #own = new Set<string>();
  readonly #secrets = new Set<string>();

  /** `secrets`: texts that the output must not contain. */
  constructor(secrets: readonly string[]) {
    for (const secret of secrets) this.#secrets.add(secret);
  }

  /** Learns the values in the answer to a step. */
  learn(step: string, answer: unknown, shape: AnswerShape | null): void {
    const walk = (value: unknown, path: readonly string[]): void => {
      if (Array.isArray(value)) for (const [index, item] of value.entries()) walk(item, [...path, String(index)]);
      else if (isRecord(value)) for (const [name, item] of Object.entries(value)) walk(item, [...path, name]);
      else if (typeof value === 'string') this.#learnText(value, step, path, shape);
    };
    walk(answer, []);
  }

  #learnText(text: string, step: string, path: readonly string[], shape: AnswerShape | null): void {
    if (secretFields.test(path.at(-1) ?? '')) {
      this.#secrets.add(text);
      return;
    }
    const isMade = text.length >= 16 && /^[A-Za-z0-9_.:-]+$/.test(text) && /\d/.test(text) && !dates.test(text);
    if (!isMade || this.#own.has(text) || this.#references.has(text)) return;
    const isSayable = path.every((name) => /^[A-Za-z0-9_-]{1,64}$/.test(name));
    if (isSayable && unknownField(shape, path) === undefined) this.#references.set(text, [step, ...path].join('.'));
  }

  /** The values of a client, as a step has them. Throws Unwritable. */
  written(value: unknown, path: readonly string[] = []): unknown {
    const [first] = path;
    const name = path.at(-1) ?? '';
    if (Array.isArray(value)) return value.map((item, index) => this.written(item, [...path, String(index)]));
    if (isRecord(value)) {
      return Object.fromEntries(
        Object.entries(value).map(([field, item]) => [this.#text(field), this.written(item, [...path, field])]),
      );
    }
    if (typeof value !== 'string') return value;
    const isSecret = secretFields.test(name) || (first === 'credentials' && credentialFields.test(name));
    if (isSecret) {
      this.#secrets.add(value);
      return [
        placeholder,
        ...testCredentials.map(({ contains }) => contains).filter((word) => value.includes(word)),
      ].join('-');
    }
    if (dates.test(value) && name !== 'expires_at') throw new Unwritable('a date of the recording');
    return this.#text(value);
  }

  /** Whether an answer contained it. */
  knows(text: string): boolean {
    return this.#references.has(text);
  }

  /** Whether a text of the file contains a secret. */
  tells(text: string): boolean {
    if (new RegExp(tokenTexts).test(text)) return true;
    return [...this.#secrets].some((secret) => secret.length >= 8 && text.includes(secret));
  }

  #text(text: string): string {
    // Nothing says that it means itself.
    if (referencesIn(text).length > 0) throw new Unwritable(`a text with the reference ${referencesIn(text)[0]!.text}`);
    const known = this.#references.get(text);
    if (known !== undefined) return `$${known}`;
    this.#own.add(text);
    return text.replace(words, (word) => {
      const within = this.#references.get(word);
      return within === undefined ? word : `\${${within}}`;
    });
  }
}
