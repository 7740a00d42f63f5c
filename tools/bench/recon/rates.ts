/**
 * Measures the rate and the memory of one worker that compares two sides of many rows. Both sides are generated row by row on
 * demand, so it measures only the engine: its pages, lookups, comparison, exceptions and checkpoints. The cost of the store and
 * its decoding is extra.
 */
import { silentLog, systemPorts } from '../../../core/actors/live/ports.ts';
import { newId } from '../../../proto/ids.ts';
import { firstPlace, type JobRecord, jobType } from '../../../wallets/companions/recon/job-record.ts';
import { JobRunner } from '../../../wallets/companions/recon/runner.ts';
import { type IntentRecord, intentType } from '../../../wallets/custody/intents/record.ts';
import { type WalletRecord, walletType } from '../../../wallets/custody/wallets/record.ts';
import { type Movement, type ProviderStatements, placeOf } from '../../../wallets/providers/port/statement.ts';
import type { Change, ListQuery, RecordType, TenantStore, Versioned } from '../../../wallets/store/contract.ts';

export interface ReconRate {
  /** Of each side. */
  readonly rows: number;
  readonly seconds: number;
  /** Of both sides. */
  readonly rowsPerSecond: number;
  readonly exceptions: number;
  /** Planted differences. */
  readonly planted: number;
  /** Resident memory of this process: before, and the maximum. */
  readonly memoryBeforeMb: number;
  readonly memoryPeakMb: number;
}

/** The distance of rows that the provider lacks. */
export const plantedEvery = 10_000;
const beganMs = 1_800_000_000_000;
const hourMs = 3_600_000;

/** Throws when the findings differ from the planted differences. */
export async function reconRate(rows: number, say: (line: string) => void): Promise<ReconRate> {
  say(`bench: reconciliation, ${rows} rows a side …`);
  const sides = new Sides(rows);
  const memoryBeforeMb = residentMb();
  let memoryPeakMb = memoryBeforeMb;
  const store = sides.store(() => {
    memoryPeakMb = Math.max(memoryPeakMb, residentMb());
  });
  const clock = { nowMs: () => beganMs + 12 * hourMs };
  const runner = new JobRunner({
    ...{ ...systemPorts, clock, store, log: silentLog },
    statements: new Map([['sandbox', sides.statements()]]),
  });
  const startedMs = performance.now();
  await runner.run('bench', sides.job.id);
  const seconds = (performance.now() - startedMs) / 1000;
  assertFound(sides.job, rows);
  return rateOf(sides.job, { rows, seconds, memoryBeforeMb, memoryPeakMb });
}

/** Throws unless the job found exactly the planted differences among this many rows a side. */
export function assertFound({ status, progress }: JobRecord, rows: number): void {
  const planted = plantedIn(rows);
  const isRight = progress.rowsInternal === rows && progress.rowsExternal === rows - planted;
  if (status === 'completed' && isRight && progress.exceptionsFound === planted) return;
  throw new Error(`reconciliation is ${status} with ${JSON.stringify(progress)}, and ${planted} were planted`);
}

export function rateOf(
  { progress }: JobRecord,
  measured: Pick<ReconRate, 'rows' | 'seconds' | 'memoryBeforeMb' | 'memoryPeakMb'>,
): ReconRate {
  const planted = plantedIn(measured.rows);
  const rowsPerSecond = (2 * measured.rows - planted) / measured.seconds;
  return { ...measured, rowsPerSecond, exceptions: progress.exceptionsFound, planted };
}

function plantedIn(rows: number): number {
  return Math.ceil(rows / plantedEvery);
}

export function residentMb(): number {
  return process.memoryUsage.rss() / 2 ** 20;
}

/** A transactions job over all rows, one row a millisecond. */
export function reconJob(wallet: WalletRecord, fromMs: number, rows: number): JobRecord {
  return {
    ...{ id: 'rcj_bench', version: 1, kind: 'transactions', status: 'queued', connectionId: null, asset: null },
    ...{ walletId: wallet.id, fromMs, toMs: fromMs + rows, lagMs: 0, attempts: 0, error: null },
    ...{ tolerance: { absolute: '0', bps: 0 }, checkpoint: firstPlace('transactions'), createdBy: 'bench' },
    ...{ createdAtMs: fromMs, updatedAtMs: fromMs, startedAtMs: null, finishedAtMs: null },
    progress: {
      ...{ walletsTotal: 0, walletsDone: 0, walletsUnsettled: 0, rowsInternal: 0, rowsExternal: 0 },
      ...{ exceptionsFound: 0, exceptionsNew: 0 },
    },
  };
}

/** Row n has the time `beganMs` + n: its index follows from its id. */
class Sides {
  readonly #rows: number;
  readonly #records = new Map<string, Versioned>();
  readonly #wallet = { id: 'wal_bench', version: 1, provider: 'sandbox', connectionId: 'pcn_bench' } as WalletRecord;

  constructor(rows: number) {
    this.#rows = rows;
    const job = reconJob(this.#wallet, beganMs, rows);
    this.#records.set(job.id, job);
    this.#records.set(this.#wallet.id, this.#wallet);
  }

  get job(): JobRecord {
    return this.#records.get('rcj_bench') as JobRecord;
  }

  /** The part that a job reads and writes. */
  store(onCommit: () => void): TenantStore {
    const page = (items: readonly Versioned[], hasMore: boolean) => ({
      ...{ items, hasMore, balances: new Map(), nextId: hasMore ? items.at(-1)?.id : undefined },
    });
    const store: Partial<Record<keyof TenantStore, unknown>> = {
      read: async (_tenant: string, _type: RecordType<Versioned>, id: string) => this.#records.get(id),
      readMany: async (_tenant: string, { name }: RecordType<Versioned>, ids: readonly string[]) =>
        ids.map((id) => (name === intentType.name ? this.#intent(placeIn(id)) : undefined)),
      count: async () => 0,
      list: async (_tenant: string, { name }: RecordType<Versioned>, { afterId, limit }: ListQuery) => {
        if (name === walletType.name) return page(afterId === undefined ? [this.#wallet] : [], false);
        if (name !== intentType.name) return page([], false);
        const first = afterId === undefined ? 0 : placeIn(afterId) + 1;
        const size = Math.min(limit, this.#rows - first);
        return page(
          Array.from({ length: size }, (_, index) => this.#intent(first + index)),
          first + size < this.#rows,
        );
      },
      commit: async (_tenant: string, { puts = [] }: Change) => {
        for (const { type, after } of puts) if (type.name === jobType.name) this.#records.set(after.id, after);
        onCommit();
        return { committed: true, sequence: 0, allocated: undefined, balances: undefined };
      },
    };
    return store as unknown as TenantStore;
  }

  statements(): ProviderStatements {
    return {
      joinsBy: 'reference',
      balances: async () => new Map(),
      find: async (_meta, _wallet, _direction, keys) =>
        keys.map((key) => (placeIn(key) % plantedEvery === 0 ? [] : [movement(placeIn(key))])),
      page: async (_meta, _wallet, { after, limit }) => {
        const movements: Movement[] = [];
        let row = after === undefined ? 0 : placeIn(after.slice(after.indexOf('txi_'))) + 1;
        for (; row < this.#rows && movements.length < limit; row += 1) {
          if (row % plantedEvery !== 0) movements.push(movement(row));
        }
        return { movements, next: row < this.#rows ? placeOf(movements.at(-1)!) : undefined };
      },
    };
  }

  #intent(row: number): IntentRecord {
    return {
      ...{ id: idOf(row), version: 5, walletId: this.#wallet.id, status: 'completed', asset: 'ETH', units: '1000' },
      ...{ feeReserve: { asset: 'ETH', units: '42' }, feePaid: { asset: 'ETH', units: '42' }, providerTxId: `t${row}` },
      ...{ createdAtMs: beganMs + row, updatedAtMs: beganMs + row, submission: null },
    } as unknown as IntentRecord;
  }
}

const zeros = new Uint8Array(10);

export function idOf(row: number, fromMs = beganMs): string {
  return newId('txi', fromMs + row, () => zeros);
}

function placeIn(id: string): number {
  return Number.parseInt(id.slice(4, 12) + id.slice(13, 17), 16) - beganMs;
}

function movement(row: number): Movement {
  const key = idOf(row);
  return {
    ...{ id: `p${row}`, key, direction: 'out', reference: key, txId: null, asset: 'ETH', units: 1_000n },
    ...{ fee: { asset: 'ETH', units: 42n }, counterparty: null, state: 'completed', providerStatus: 'DONE' },
    ...{ bookedAtMs: beganMs + row, settledAtMs: beganMs + row, hasMoved: true },
  };
}
