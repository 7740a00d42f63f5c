/**
 * Reports records that something else than this service changed in Redis: a line `store.tampered` in the log, and the event
 * `record.tampered` of their tenant. Each record is reported once in a while, however often it is read.
 */
import type { Clock, Ports, RandomBytes } from '../../core/actors/contract.ts';
import { type Log, silentLog } from '../../core/actors/live/ports.ts';
import { recentlyUsed } from '../../core/actors/recently-used.ts';
import { newId } from '../../proto/ids.ts';
import type { NewEvent, TenantStore } from './contract.ts';

const againAfterMs = 60_000;
const rememberedMax = 1_000;

export interface TamperedDeps {
  readonly clock: Clock;
  readonly random: RandomBytes;
  /** Silent by default. */
  readonly log?: Log;
  readonly write: (tenant: string, event: NewEvent) => Promise<unknown>;
}

/** Reports of the records of tokens, which another store reads and logs. */
export function tokenReports({ clock, random, store }: Ports & { readonly store: Pick<TenantStore, 'commit'> }) {
  return new TamperedReports({ clock, random, write: (tenant, event) => store.commit(tenant, { events: [event] }) });
}

export class TamperedReports {
  readonly #deps: TamperedDeps;
  /** When each was last reported. */
  readonly #reported = recentlyUsed<number>(rememberedMax);

  constructor(deps: TamperedDeps) {
    this.#deps = deps;
  }

  /** `kind`: e.g. "wallet". Returns at once; the event may get lost while Redis does not answer, the line does not. */
  report(tenant: string, kind: string, id: string, reason: string): void {
    const { clock, random, log = silentLog, write } = this.#deps;
    const nowMs = clock.nowMs();
    const name = `${tenant} ${id}`;
    const lastMs = this.#reported.get(name);
    if (lastMs !== undefined && Math.abs(nowMs - lastMs) < againAfterMs) return;
    this.#reported.set(name, nowMs);
    log.error({ event: 'store.tampered', tenant, kind, record: id, reason }, 'a record was changed in Redis');
    const event: NewEvent = {
      id: newId('evt', nowMs, random),
      type: 'record.tampered',
      atMs: nowMs,
      resource: { type: 'record', id, version: 0 },
      correlationId: id,
      provider: null,
      connectionId: null,
      object: { id, kind },
    };
    write(tenant, event).catch(() => undefined);
  }
}
