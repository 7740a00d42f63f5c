/**
 * What a signature costs while more and more finished sessions are stored: CPU of each role, Redis commands, memory. The
 * sessions are put into Redis by the coordinator's own store, in the cluster's own tenant, as a cluster of another number:
 * each is begun and completed, with its intent's guard and both events.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { systemRandom } from '../../actors/live/ports.ts';
import { sandboxTenant } from '../../cli/cluster-files/sandbox.ts';
import type { CoordinatorWrite } from '../../coordinator/contract/messages.ts';
import { advance, openRecord, type SigningRecord } from '../../coordinator/contract/record.ts';
import { changeEvent } from '../../coordinator/session/events.ts';
import { openRedisStore } from '../../coordinator/store/redis-store.ts';
import { cpuSeconds, memory } from '../../load/measure/processes.ts';
import { ApprovalMode, KeystoreType, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { newId } from '../../proto/ids.ts';
import type { BenchCluster } from '../cluster/cluster.ts';
import { runLoad } from '../load/load.ts';

export interface FlatPoint {
  /** Finished sessions in Redis when the signatures began. */
  readonly sessions: number;
  readonly signatures: number;
  readonly perSecond: number;
  /** CPU milliseconds a signature, by role; `nodes` together. */
  readonly cpuMs: Readonly<Record<string, number>>;
  /** Commands that Redis performed for a signature, those of scripts included. */
  readonly redisCommands: number;
  /** Resident MiB by role, and what Redis itself says it uses. */
  readonly mib: Readonly<Record<string, number>>;
  readonly redisUsedMib: number;
}

const inFlight = 16;
const fillAtOnce = 256;
/** A number that no cluster has: its fence and its lifetimes are its own. */
const fillerCluster = 1_000;
const day = 86_400_000;

export async function flatPoints(
  cluster: BenchCluster,
  counts: readonly number[],
  countMs: number,
  ceremony: () => Promise<void>,
  say: (line: string) => void,
): Promise<readonly FlatPoint[]> {
  const redis = new Redis(cluster.redisUrl);
  const store = await openRedisStore({
    redisUrl: cluster.redisUrl,
    ...{ clusterId: 'bench', cluster: fillerCluster, resumeKey: randomBytes(32) },
    onStatus: () => undefined,
    onFenced: () => undefined,
    onTampered: () => undefined,
  });
  const commands = async () => Number(/total_commands_processed:(\d+)/.exec(await redis.info('stats'))?.[1]);
  const points: FlatPoint[] = [];
  try {
    let stored = 0;
    for (const sessions of counts) {
      const beganMs = performance.now();
      const left = sessions - stored;
      await fill(left, async () => {
        for (const write of finishedSession(cluster.key('secp256k1').walletId)) {
          const { kind } = await store.write(write);
          if (kind !== 'written') throw new Error(`a session was not stored: ${kind}`);
        }
      });
      stored = Math.max(stored, sessions);
      say(`flat: ${sessions} sessions stored, ${left} in ${((performance.now() - beganMs) / 1000).toFixed(0)} s`);
      let before: Record<string, number> = {};
      let after: Record<string, number> = {};
      let performed = 0;
      await runLoad({ inFlight, warmMs: 0, countMs: 1_000, ceremony });
      const commandsBefore = await commands();
      const run = await runLoad({
        ...{ inFlight, warmMs: 0, countMs, ceremony },
        onCounting: () => {
          before = cpuSeconds(cluster.pids);
        },
        onCounted: () => {
          after = cpuSeconds(cluster.pids);
        },
      });
      performed = (await commands()) - commandsBefore;
      if (run.errors > 0) throw new Error(`flat: ${run.errors} errors: ${run.errorTexts.join('; ')}`);
      stored += run.completed;
      const used = Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
      const point = {
        sessions,
        signatures: run.completed,
        perSecond: run.perSecond,
        cpuMs: byRole(after, (name, seconds) => ((seconds - (before[name] ?? seconds)) * 1000) / run.completed),
        redisCommands: performed / run.completed,
        mib: byRole(memory(cluster.pids), (_, { rss }) => rss / 1024 / 1024),
        redisUsedMib: used / 1024 / 1024,
      };
      points.push(point);
      say(
        `flat: ${sessions} sessions: ${run.perSecond.toFixed(0)}/s, CPU ms ${rounded(point.cpuMs, 2)}, ` +
          `${point.redisCommands.toFixed(1)} Redis commands, MiB ${rounded(point.mib, 0)}, Redis uses ${used >> 20} MiB`,
      );
    }
    return points;
  } finally {
    await store.close();
    redis.disconnect();
  }
}

async function fill(count: number, one: () => Promise<void>): Promise<void> {
  let left = count;
  const worker = async () => {
    for (; left > 0; ) {
      left -= 1;
      await one();
    }
  };
  await Promise.all(Array.from({ length: fillAtOnce }, worker));
}

/** As a session of mock ECDSA begins and ends. */
function finishedSession(keyId: string): readonly CoordinatorWrite[] {
  const moment = { nowMs: Date.now(), random: systemRandom };
  const intentId = randomUUID();
  const ceremony: SigningRecord = {
    kind: 'signing',
    facts: {
      ...{ intentId, keyId, curve: '', derivationPath: '', networkId: '' },
      ...{ messageHash: randomBytes(32).toString('hex'), keystoreType: KeystoreType.UNSPECIFIED },
      ...{ approvalMode: ApprovalMode.DIRECT_ALLOWED, intentsOnly: false, walletService: false },
    },
    ...{ curve: 'secp256k1', witnessMissing: false, policyApprovalTokenSha256: '', witnessSha256: '', attempt: 0 },
    ...{ submitted: [], given: [], guarded: true, excluded: [], signature: '', recoveryId: -1 },
  };
  const session = openRecord(
    {
      ...{ tenant: sandboxTenant, sessionId: newId('sig', moment.nowMs, moment.random), ceremony },
      ...{ state: ReceiptState.ACCEPTED, reasonCode: 'SESSION_ACCEPTED', message: 'The session is open.' },
      ...{ expiresMs: moment.nowMs + day, correlationId: newId('cor', moment.nowMs, moment.random) },
      ...{ approvalMode: ApprovalMode.DIRECT_ALLOWED, keystoreType: KeystoreType.MOCK_THRESHOLD },
    },
    moment,
  );
  const done = {
    state: ReceiptState.BACKEND_COMPLETED as const,
    reasonCode: 'SIGNATURE_COMPLETED' as const,
    message: `signature by nodes 1, 2, 3, verified under the derived public key ${'02'.repeat(33)}`,
  };
  const signature = randomBytes(64).toString('hex');
  const completed = advance(session, done, moment, { attempt: 1, submitted: [1, 2, 3], signature, recoveryId: 0 });
  return [
    { kind: 'create', session, event: changeEvent(session, moment), guardIntent: intentId, nowMs: moment.nowMs },
    { kind: 'update', session: completed, event: changeEvent(completed, moment) },
  ];
}

function byRole<T>(of: Readonly<Record<string, T>>, value: (name: string, one: T) => number): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [name, one] of Object.entries(of)) {
    const role = name.replace(/^node.*/, 'nodes');
    sums[role] = (sums[role] ?? 0) + value(name, one);
  }
  return sums;
}

function rounded(values: Readonly<Record<string, number>>, digits: number): string {
  return Object.entries(values)
    .map(([name, value]) => `${name} ${value.toFixed(digits)}`)
    .join(', ');
}
