/**
 * States of all clusters, under <data directory>/snapshots: the content of their Redis and the stores of their nodes.
 *
 * A snapshot is taken while coordinator, nodes and workers are paused, for milliseconds: it equals the state after their sudden
 * death, for which they are designed, and open sessions continue afterwards. Before a restore the roles release everything; then
 * they start again on the restored state, with new boot ids, so that no earlier nonce is valid. The gateway stays up throughout.
 *
 * Invariants: a snapshot is whole or does not exist; a restore gives exactly the saved state, or changes nothing
 * (state-change.ts).
 */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { systemRandom } from '../../core/actors/live/ports.ts';
import { uuidV7 } from '../../proto/ids.ts';
import { ControlError, type SnapshotStatus } from '../../scenarios/faults/control.ts';
import type { SnapshotControl } from '../../scenarios/injection/ports.ts';
import { dataFormat, firstSealedFormat, isReadable, versionOf } from '../cluster-files/data-format.ts';
import { makeDirectory } from '../common/files.ts';
import { nodeFolder, storeFolder, type UpProcesses } from './process-control.ts';
import { dumpRedis } from './redis-state.ts';
import {
  DamagedSnapshot,
  digestOf,
  prepareChange,
  redisFile,
  type StateTarget,
  snapshotsFolder,
} from './state-change.ts';
import type { SupervisedChild } from './supervisor.ts';

export interface SnapshotOptions {
  readonly dataDir: string;
  /** By their fault names. */
  readonly nodes: readonly string[];
  readonly redisUrl: string;
  readonly processes: UpProcesses;
  /** Resolves when every node and the gateway have their link again. */
  readonly untilLinked: () => Promise<void>;
  readonly makeReadyKeys: () => Promise<unknown>;
}

interface Meta extends SnapshotStatus {
  readonly clockOffsetMs: number;
  /** The format of its content; format 1 had no number. */
  readonly dataFormat?: number;
  /** Of its files. */
  readonly digest: string;
}

const snapshotsMax = 20;
const bytesMax = 2 * 1024 * 1024 * 1024;
const quiesceWithinMs = 2000;
const resumeWithinMs = 10_000;
const standingWithinMs = 3000;

export class Snapshots implements SnapshotControl {
  readonly #options: SnapshotOptions;
  readonly #folder: string;

  constructor(options: SnapshotOptions) {
    this.#options = options;
    this.#folder = snapshotsFolder(options.dataDir);
    if (!existsSync(this.#folder)) return;
    // Removes snapshots that an earlier start did not finish.
    for (const name of readdirSync(this.#folder)) {
      if (name.endsWith('.part')) rmSync(join(this.#folder, name), { recursive: true, force: true });
    }
  }

  async take(name: string, clockOffsetMs: number): Promise<SnapshotStatus> {
    this.#checkRedis();
    const kept = this.#metas();
    const keptBytes = kept.reduce((sum, { bytes }) => sum + bytes, 0);
    if (kept.length >= snapshotsMax || keptBytes > bytesMax) {
      const what = kept.length >= snapshotsMax ? `${snapshotsMax} snapshots` : 'the space for snapshots';
      throw new ControlError({ code: 'conflict', message: `${what} exist: delete one first` });
    }
    const id = `snp_${uuidV7(Date.now(), systemRandom)}`;
    const part = join(this.#folder, `${id}.part`);
    for (const folder of [this.#folder, part]) makeDirectory(folder);
    try {
      await this.#standingStill(async () => {
        const [redis] = await Promise.all([dumpRedis(this.#options.redisUrl), this.#copyStores(part)]);
        writeFileSync(join(part, redisFile), redis, { mode: 0o600 });
      });
      const status = { id, name, takenMs: Date.now(), bytes: sizeOf(part) };
      const meta: Meta = { ...status, dataFormat, clockOffsetMs, digest: digestOf(part) };
      writeFileSync(join(part, 'meta.json'), JSON.stringify(meta), { mode: 0o600 });
      renameSync(part, join(this.#folder, id));
      return status;
    } catch (error) {
      rmSync(part, { recursive: true, force: true });
      throw error;
    }
  }

  list(): readonly SnapshotStatus[] {
    return this.#metas().map(statusOf);
  }

  clockOffsetMs(id: string): number {
    return this.#find(id).clockOffsetMs;
  }

  async restore(id: string): Promise<SnapshotStatus> {
    const meta = this.#find(id);
    const { dataFormat: format = 1 } = meta;
    if (!isReadable(format)) {
      const message = `snapshot ${id} was taken by ${versionOf(format)}: delete it, and take it again`;
      throw new ControlError({ code: 'conflict', message });
    }
    await this.#becomes({ id, digest: meta.digest, seals: format < firstSealedFormat });
    return statusOf(meta);
  }

  delete(id: string): SnapshotStatus {
    const snapshot = statusOf(this.#find(id));
    rmSync(join(this.#folder, id), { recursive: true, force: true });
    return snapshot;
  }

  async reset(): Promise<void> {
    await this.#becomes(null);
    await this.#options.makeReadyKeys();
  }

  async #becomes(target: StateTarget): Promise<void> {
    const change = await prepareChange(this.#options, target).catch((error: unknown) => {
      if (error instanceof DamagedSnapshot) throw new ControlError({ code: 'conflict', message: error.message });
      throw error;
    });
    try {
      await this.#startedAnew(() => change.perform());
    } finally {
      change.discard();
    }
  }

  /** All but the gateway, which sends the requests, and Redis, which gets them. */
  get #roles(): readonly SupervisedChild[] {
    const { processes } = this.#options;
    const names = processes.names.filter((name) => name !== 'gateway' && name !== 'redis');
    // Nodes may share one.
    return [...new Set(names.flatMap((name) => processes.of(name)))];
  }

  #checkRedis(): void {
    const redis = this.#options.processes.list().find(({ process }) => process === 'redis');
    if (redis?.state === 'running') return;
    throw new ControlError({
      code: 'unavailable',
      message: `Redis is ${redis?.state ?? 'not there'}: start it first`,
    });
  }

  async #standingStill(work: () => Promise<void>): Promise<void> {
    const frozen = this.#roles.filter((child) => child.freeze());
    try {
      const untilMs = performance.now() + standingWithinMs;
      const moving = () => frozen.find((child) => !child.isStopped)?.name;
      while (moving() !== undefined && performance.now() < untilMs) await turn();
      const name = moving();
      if (name !== undefined) {
        throw new ControlError({
          code: 'unavailable',
          message: `${name} keeps writing while its store is copied: try again`,
        });
      }
      await work();
    } finally {
      for (const child of frozen) child.thaw();
    }
  }

  /** Makes every role release its resources, calls `change` on the state, and starts all roles on it, also those that were down. */
  async #startedAnew(change: () => Promise<void>): Promise<void> {
    const { processes, untilLinked } = this.#options;
    for (const process of processes.names) processes.resume(process);
    await Promise.all(['redis', 'gateway'].flatMap((name) => processes.of(name)).map(bringUp));
    const roles = this.#roles;
    await Promise.all(roles.map((child) => this.#quiesce(child)));
    const changed = await settled(change());
    const back = await Promise.all(roles.map((child) => settled(this.#resume(child))));
    for (const outcome of [changed, ...back]) if (outcome.status === 'rejected') throw outcome.reason;
    await Promise.all(processes.of('gateway').map((child) => processes.order(child, { kind: 'restored' })));
    await untilLinked();
  }

  /** Ends a process that does not release its resources in time, or does not serve yet: it starts again as a new process. */
  async #quiesce(child: SupervisedChild): Promise<void> {
    try {
      if (child.state !== 'running') throw new Error('it is not running and cannot release its resources in order');
      await this.#options.processes.order(child, { kind: 'quiesce' }, quiesceWithinMs);
    } catch {
      await child.crash(null, () => undefined);
    }
  }

  async #resume(child: SupervisedChild): Promise<void> {
    try {
      await this.#options.processes.order(child, { kind: 'resume' }, resumeWithinMs);
    } catch {
      await child.restart(quiesceWithinMs);
    }
  }

  async #copyStores(into: string): Promise<void> {
    await Promise.all(
      this.#options.nodes.map(async (node) => {
        const store = storeFolder(this.#options.dataDir, node);
        if (existsSync(store)) await cp(store, join(into, nodeFolder(node)), { recursive: true });
      }),
    );
  }

  #find(id: string): Meta {
    const found = this.#metas().find((meta) => meta.id === id);
    if (found !== undefined) return found;
    throw new ControlError({ code: 'not_found', message: `there is no snapshot ${id}` });
  }

  /** Oldest first. Unreadable ones are skipped. */
  #metas(): readonly Meta[] {
    if (!existsSync(this.#folder)) return [];
    return readdirSync(this.#folder)
      .filter((name) => name.startsWith('snp_') && !name.endsWith('.part'))
      .sort()
      .flatMap((name) => {
        try {
          return [JSON.parse(readFileSync(join(this.#folder, name, 'meta.json'), 'utf8')) as Meta];
        } catch {
          return [];
        }
      });
  }
}

async function bringUp(child: SupervisedChild): Promise<void> {
  if (child.state === 'running') return;
  if (child.state === 'starting') await child.whenBack();
  else await child.restart(quiesceWithinMs);
}

async function settled(work: Promise<void>): Promise<PromiseSettledResult<void>> {
  const [outcome] = await Promise.allSettled([work]);
  return outcome;
}

function statusOf({ id, name, takenMs, bytes }: Meta): SnapshotStatus {
  return { id, name, takenMs, bytes };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function sizeOf(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}
