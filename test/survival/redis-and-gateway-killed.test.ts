/** kill -9 of Redis and of the gateway under load: no session that was acknowledged is lost. */
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { ApprovalMode } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { CallFailed } from '../support/client.ts';
import type { RoleName } from '../support/cluster.ts';
import { type BorrowedCluster, borrowCluster, borrowWithinMs } from '../support/shared-cluster.ts';
import { runs } from '../support/thorough.ts';
import { until } from '../support/until.ts';
import { type Key, makeKey, verifies } from './support/ceremonies.ts';
import { Ledger } from './support/ledger.ts';
import { announcedSeed, Seeded } from './support/seeded.ts';

const digest = new Uint8Array(32).fill(0x77);
const ledger = new Ledger();
let cluster: BorrowedCluster;
let key: Key;

const client = () => ({ api: cluster.http(), ledger });

beforeAll(async () => {
  cluster = await borrowCluster();
  key = await makeKey(client(), { sessionId: 'secp', curve: 'secp256k1' });
}, borrowWithinMs);
afterAll(() => cluster?.stop());
afterEach(() => expect(ledger.violations).toEqual([]));

/**
 * Opens sessions one after the other in four lanes while the role is killed repeatedly, then looks for every one that was
 * acknowledged. Whatever else a call may meet then is CallFailed: 503, or an unreachable gateway.
 */
async function openUnderKills(role: RoleName, kills: number, chance: Seeded): Promise<number> {
  const opened: string[] = [];
  const failures = new Set<number>();
  let stop = false;
  const isRight = (signature: Uint8Array) => verifies('mockEcdsa', key.publicKey, digest, signature);
  const load = async (lane: number): Promise<void> => {
    const api = cluster.http();
    for (let count = 1; !stop; count += 1) {
      const intent = `${role}-${lane}-${count}`;
      const request = { transactionIntentId: intent, walletId: key.sessionId, messageHash: digest };
      // Half of them wait for a human, which is the longest that anything has to be kept.
      const approvalMode = count % 2 === 0 ? ApprovalMode.HUMAN_REQUIRED : ApprovalMode.DIRECT_ALLOWED;
      try {
        const begun = await api.initiateSigning({ ...request, approvalMode });
        ledger.told('signing', begun.signingSessionId, intent, isRight);
        ledger.first(begun.signingSessionId, begun);
        opened.push(begun.signingSessionId);
        // The pace of the load, not a wait for anything: every session is asked for again at the end.
        await new Promise((resolve) => setTimeout(resolve, 25));
      } catch (error) {
        if (!(error instanceof CallFailed)) throw error;
        failures.add(error.status);
        // No gateway answers: a pause keeps the client from spinning.
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  };
  const lanes = [1, 2, 3, 4].map(load);
  for (let kill = 1; kill <= kills; kill += 1) {
    const before = opened.length;
    await until(() => opened.length > before + 20, 'sessions opened between two kills');
    await new Promise((resolve) => setTimeout(resolve, chance.integer(0, 300)));
    const dead = await cluster.kill(role);
    await cluster.back(role, dead);
  }
  await cluster.untilHealth('ok');
  stop = true;
  await Promise.all(lanes);
  for (const status of failures) expect([0, 503, 504]).toContain(status);
  const { api } = client();
  for (const sessionId of opened) {
    // No token of its: refused, with the session as it stands, and changes nothing.
    await ledger.ask(sessionId, () => api.resumeSession({ sessionId, resumeToken: 'none' }));
  }
  return opened.length;
}

describe.sequential('under load', () => {
  test('Redis is not in the mode that answers before it hands a write to the system', async () => {
    // Which `everysec` does while its fsync runs: one kill in some dozens then takes an acknowledged session with it.
    const redis = new Redis(cluster.redisUrl());
    const settings = await redis.config('GET', 'append*');
    redis.disconnect();
    expect(settings).toEqual(expect.arrayContaining(['appendonly', 'yes', 'appendfsync', 'no']));
  });

  test.each([
    ['redis', runs(2, 5)],
    ['gateway', runs(1, 3)],
  ] as const)('%s killed %i times: every acknowledged session is there', async (role, kills) => {
    const seed = announcedSeed(`load, ${role}`);
    const opened = await openUnderKills(role, kills, new Seeded(seed));
    process.stdout.write(`load, ${role}: ${opened} sessions\n`);
    expect(opened).toBeGreaterThan(kills * 20);
    expect(cluster.output).toMatch(new RegExp(`${role} died \\(SIGKILL\\); restarting in \\d+ ms`));
    expect(cluster.output).toContain(`${role} is back`);
  });

  test('the health check tells when Redis is away, and when it is back', async () => {
    const release = await cluster.hold('redis');
    await cluster.untilHealth('unavailable');
    const failed = await client()
      .api.initiateSigning({ transactionIntentId: 'away', walletId: key.sessionId, messageHash: digest })
      .catch((error: unknown) => error);
    expect(failed).toMatchObject({ status: 503 });
    release();
    await cluster.untilHealth('ok');
  });
});
