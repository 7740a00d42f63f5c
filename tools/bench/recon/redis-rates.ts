/**
 * The same comparison with both sides in a private Redis: intents in the format of the tenant store, movements in the book of a
 * simulated custodian. It measures one worker with its store. Writing the rows takes several times as long as comparing them, so
 * this part runs only on request.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { silentLog, systemPorts } from '../../../core/actors/live/ports.ts';
import { jobType } from '../../../wallets/companions/recon/job-record.ts';
import { JobRunner } from '../../../wallets/companions/recon/runner.ts';
import { type IntentRecord, intentType } from '../../../wallets/custody/intents/record.ts';
import { type WalletRecord, walletType } from '../../../wallets/custody/wallets/record.ts';
import { sandboxWords } from '../../../wallets/providers/sandbox/adapter.ts';
import { CustodianBook } from '../../../wallets/providers/simulated/custodian-book.ts';
import type { BookRow, NamedRow, Settlement } from '../../../wallets/providers/simulated/custodian-books.ts';
import { RedisCustodianBooks } from '../../../wallets/providers/simulated/redis-custodian-books.ts';
import { create } from '../../../wallets/store/changes.ts';
import { RedisTenantStore } from '../../../wallets/store/redis-tenant-store.ts';
import { assertFound, idOf, plantedEvery, type ReconRate, rateOf, reconJob, residentMb } from './rates.ts';

const tenant = 'bench';
const writtenAtOnce = 256;
const sampledEveryMs = 200;

/** Throws when the findings differ from the planted differences. */
export async function reconRedisRate(rows: number, say: (line: string) => void): Promise<ReconRate> {
  say(`bench: reconciliation over Redis, writing ${rows} rows a side …`);
  const folder = mkdtempSync(join(tmpdir(), 'signmesh-bench-'));
  const path = join(folder, 'redis.sock');
  const args = ['--port', '0', '--unixsocket', path, '--save', '', '--appendonly', 'no', '--dir', folder];
  const server = spawn('redis-server', args, { stdio: 'ignore' });
  const ended = once(server, 'exit');
  const redis = new Redis({ path, enableAutoPipelining: true, maxRetriesPerRequest: null, retryStrategy: () => 50 });
  redis.on('error', () => undefined);
  try {
    await redis.ping();
    return await measured(redis, rows, say);
  } finally {
    redis.disconnect();
    server.kill();
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measured(redis: Redis, rows: number, say: (line: string) => void): Promise<ReconRate> {
  const store = new RedisTenantStore(redis, { ...systemPorts, recordKey: systemPorts.random(32) });
  const books = new RedisCustodianBooks(redis, 'sandbox');
  // Old enough that the custodian has settled every row.
  const beganMs = systemPorts.clock.nowMs() - rows - 3_600_000;
  const wallet = {
    ...{ id: 'wal_bench', version: 1, status: 'active', provider: 'sandbox', connectionId: 'pcn_bench' },
    ...{ providerWalletId: 'bench', network: 'eip155:11155111', assets: ['ETH'], environment: 'sandbox' },
  } as unknown as WalletRecord;
  const job = reconJob(wallet, beganMs, rows);
  await store.commit(tenant, { puts: [create(walletType, wallet), create(jobType, job)] });
  let left = rows;
  const writer = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const row = left;
      const intent = intentOf(wallet, row, beganMs);
      await store.commit(tenant, { puts: [create(intentType, intent)] });
      if (row % plantedEvery !== 0) await books.post(tenant, 'bench', ...movementOf(intent));
    }
  };
  await Promise.all(Array.from({ length: writtenAtOnce }, writer));
  const used = /used_memory:(\d+)/.exec(await redis.info('memory'))?.[1];
  say(`bench: comparing them; Redis holds ${Math.round(Number(used) / 2 ** 20)} MB …`);

  const memoryBeforeMb = residentMb();
  let memoryPeakMb = memoryBeforeMb;
  const sampling = setInterval(() => {
    memoryPeakMb = Math.max(memoryPeakMb, residentMb());
  }, sampledEveryMs);
  const statements = new Map([['sandbox', new CustodianBook(books, sandboxWords).statements()]] as const);
  const startedMs = performance.now();
  try {
    await new JobRunner({ ...systemPorts, store, log: silentLog, statements }).run(tenant, job.id);
  } finally {
    clearInterval(sampling);
  }
  const seconds = (performance.now() - startedMs) / 1000;
  const ended = (await store.read(tenant, jobType, job.id))!;
  assertFound(ended, rows);
  return rateOf(ended, { rows, seconds, memoryBeforeMb, memoryPeakMb });
}

function intentOf(wallet: WalletRecord, row: number, beganMs: number): IntentRecord {
  const atMs = beganMs + row;
  return {
    ...{
      id: idOf(row, beganMs),
      version: 1,
      walletId: wallet.id,
      connectionId: wallet.connectionId,
      provider: 'sandbox',
    },
    ...{ status: 'completed', asset: 'ETH', units: '1000', destination: { address: 'bench' }, submission: null },
    ...{ feeReserve: { asset: 'ETH', units: fee }, feePaid: { asset: 'ETH', units: fee }, providerTxId: `t${row}` },
    ...{ createdAtMs: atMs, updatedAtMs: atMs },
  } as unknown as IntentRecord;
}

/** The custodian's fee for a transfer of the coin. */
const fee = String(42_000_000_000_000n);

function movementOf({ id, createdAtMs: bookedAtMs }: IntentRecord): [NamedRow, Settlement] {
  const row: BookRow = {
    ...{ id, reference: id, txId: null, assetId: 'ETH', amount: '0.000000000000001', counterparty: 'bench' },
    ...{ direction: 'out', environment: 'sandbox', bookedAtMs },
  };
  const effect = [{ asset: 'ETH', units: -1000n - BigInt(fee) }];
  return [
    { name: `out:${id}`, row },
    { atMs: bookedAtMs, effect },
  ];
}
