/**
 * The simulated custodians of a world, and a process's connection to them. A custodian is a separate party: requests that reached
 * it take effect whatever happens to the calling process, and a failure of our Redis does not affect it. Its data is in the same
 * memory, under its own keys.
 */
import type { WalletPorts } from '../../gateway/wallet-api.ts';
import type { ProviderKind } from '../../wallets/providers/port/kinds.ts';
import { ProviderUnavailable } from '../../wallets/providers/port/port.ts';
import type { CustodianBooks } from '../../wallets/providers/simulated/custodian-books.ts';
import type { CustodianRecords } from '../../wallets/providers/simulated/custodian-records.ts';
import { RedisCustodianBooks } from '../../wallets/providers/simulated/redis-custodian-books.ts';
import { RedisCustodianRecords } from '../../wallets/providers/simulated/redis-custodian-records.ts';
import type { VirtualTime } from '../cluster/virtual-time.ts';
import type { MemoryRedis } from '../redis/memory-redis.ts';
import type { ProcessLife } from './process-life.ts';

export type ProviderPorts = Pick<WalletPorts, 'custodianRecords' | 'custodianBooks'>;

const wayMs = 1;

export class Providers {
  readonly #time: VirtualTime;
  readonly #memory: MemoryRedis;

  constructor(time: VirtualTime, memory: MemoryRedis) {
    this.#time = time;
    this.#memory = memory;
  }

  /** The ports of this process. */
  of(life: ProcessLife): ProviderPorts {
    const theirs = this.#memory.client();
    return {
      custodianRecords: (kind): CustodianRecords => {
        const records = new RedisCustodianRecords(theirs, kind);
        return {
          putOnce: (...of) => this.#ask(life, kind, () => records.putOnce(...of)),
          find: (...of) => this.#ask(life, kind, () => records.find(...of)),
        };
      },
      custodianBooks: (kind): CustodianBooks => {
        const books = new RedisCustodianBooks(theirs, kind);
        return {
          open: (...of) => this.#ask(life, kind, () => books.open(...of)),
          post: (...of) => this.#ask(life, kind, () => books.post(...of)),
          rows: (...of) => this.#ask(life, kind, () => books.rows(...of)),
          find: (...of) => this.#ask(life, kind, () => books.find(...of)),
          balances: (...of) => this.#ask(life, kind, () => books.balances(...of)),
        };
      },
    };
  }

  #ask<T>(life: ProcessLife, kind: ProviderKind, perform: () => Promise<T>): Promise<T> {
    return life.call<T>('provider', kind, ({ fate, delayMs = 0 }, answer) => {
      if (fate === 'lost') return;
      const after = (ms: number, run: () => void) =>
        this.#time.after(ms, () => {
          this.#time.woken();
          run();
        });
      const settle = (outcome: () => T): void => {
        if (fate !== 'unanswered') after(wayMs + delayMs, () => answer(outcome));
      };
      const failing = (error: unknown) => () => {
        throw error;
      };
      after(wayMs, () => {
        if (fate === 'refused') {
          settle(failing(new ProviderUnavailable('the custodian refuses requests')));
          return;
        }
        const first = perform();
        const last = fate === 'twice' ? first.then(perform) : first;
        last.then(
          (value) => settle(() => value),
          (error: unknown) => settle(failing(error)),
        );
      });
    });
  }
}
