/**
 * The sandbox's own two tokens. They are registered at every connection to Redis (an emptied Redis gets them again), with
 * retries. Until then a call with one of them gets 503: unlike other test tokens it never opens an empty tenant.
 */
import type { Timers } from '../../core/actors/contract.ts';
import type { Log } from '../../core/actors/live/ports.ts';
import { hashToken } from './token-format.ts';
import type { TokenStore } from './token-store.ts';

export interface SandboxTokensOptions {
  readonly store: TokenStore;
  readonly tokenKey: Uint8Array;
  readonly banner: { readonly token: string; readonly tenant: string };
  readonly approverToken: string | undefined;
  readonly timers: Timers;
  readonly log: Log;
  /** Called once, when they are registered for the first time. */
  readonly onRegistered: () => void;
}

const firstRetryMs = 50;
const retryMsMax = 1_000;

export class SandboxTokens {
  /** Their keyed hashes. */
  readonly hashes: ReadonlySet<string>;
  readonly #options: SandboxTokensOptions;
  #wereRegistered = false;
  #running: Promise<void> | undefined;
  /** Requested while a registration ran, which may have written before the data was lost. */
  #again = false;
  #stopped = false;
  #endPause: () => void = () => undefined;

  constructor(options: SandboxTokensOptions) {
    this.#options = options;
    const tokens = [options.banner.token, options.approverToken].filter((token) => token !== undefined);
    this.hashes = new Set(tokens.map((token) => hashToken(token, options.tokenKey)));
  }

  /** Resolves when they are registered by a write that began after this call, or after `stop`. Never rejects. */
  register(): Promise<void> {
    if (this.#running !== undefined) {
      this.#again = true;
      this.#endPause();
      return this.#running;
    }
    this.#running = this.#untilRegistered().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  stop(): void {
    this.#stopped = true;
    this.#endPause();
  }

  async #untilRegistered(): Promise<void> {
    const { store, banner, approverToken, log, onRegistered } = this.#options;
    for (let failures = 0; !this.#stopped; ) {
      this.#again = false;
      try {
        await store.ensureSandboxToken(banner.token, banner.tenant, approverToken);
        if (this.#again) continue;
        if (!this.#wereRegistered || failures > 0) log.info({}, 'the sandbox’s own tokens are registered');
        if (!this.#wereRegistered) onRegistered();
        this.#wereRegistered = true;
        return;
      } catch (error) {
        failures += 1;
        const reason = error instanceof Error ? error.message : '';
        if (failures === 1) log.warn({ reason }, 'the sandbox’s own tokens are not registered yet; retrying');
      }
      await this.#pause(Math.min(retryMsMax, firstRetryMs * 2 ** failures));
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#options.timers.start(ms, resolve);
      this.#endPause = () => {
        cancel();
        resolve();
      };
    });
  }
}
