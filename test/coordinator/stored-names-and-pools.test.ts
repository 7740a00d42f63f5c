/** Records that were copied under another name, the parts of a MAC, suspicions, and nonces that a node forgot. No cluster. */
import { describe, expect, test } from 'vitest';
import { depth, forgotten, noNoncePools, put, shortage, take } from '../../coordinator/cluster/nonce-commitments.ts';
import { isSuspect, restarted, type Suspects, suspect, suspectNodes } from '../../coordinator/cluster/suspects.ts';
import { type DrawnNonce, keyRecordKey, sessionKey } from '../../coordinator/contract/messages.ts';
import type { KeyRecord, SessionRecord } from '../../coordinator/contract/record.ts';
import { keyText, redisKeys, storeMacs, writeArguments } from '../../coordinator/store/layout.ts';

import { SessionStore } from '../../coordinator/store/session-store.ts';
import { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { MemoryRedis } from '../../simulation/redis/memory-redis.ts';

const resumeKey = new Uint8Array(32).fill(7);

describe('a stored record', () => {
  const macs = storeMacs(resumeKey, 'cl_1');
  const session = {
    ...{
      tenant: 'acme',
      sessionId: 'sig_1',
      state: ReceiptState.ACCEPTED,
      reasonCode: 'SESSION_ACCEPTED',
      message: '',
    },
    ...{ epoch: 1, checkpointId: 'ckp_1', checkpointMs: 5, createdMs: 5, expiresMs: 900_000, correlationId: 'c' },
    ...{ approvalMode: 0, keystoreType: 0, usedResumeEpochs: [], ceremony: { kind: 'dkg' } },
  } as unknown as SessionRecord;
  const key = { tenant: 'acme', keyId: 'k_1', scheme: '' } as unknown as KeyRecord;

  function open() {
    const redis = new MemoryRedis({ nowMs: () => 0 }).client();
    const told: string[] = [];
    const options = {
      clusterId: 'cl_1',
      clock: { nowMs: () => 0 },
      resumeKey,
      onTampered: (name: string) => told.push(name),
      onFenced: () => undefined,
    };
    return { redis, told, store: new SessionStore(redis, 1, options) };
  }

  async function writeSession(redis: ReturnType<typeof open>['redis'], at: string): Promise<void> {
    const none = {
      event: undefined,
      guardIntent: '',
      change: '',
      nowMs: 0,
      counted: false,
      key: undefined,
      binds: false,
    } as const;
    const written = writeArguments(session, { kind: 'create', ...none }, macs, 1);
    const { epoch, state, reasonCode, message, checkpointId, checkpointMs, expiresMs, data, cluster, mac } = written;
    await redis.hset(at, {
      epoch,
      state,
      reasonCode,
      message,
      checkpointId,
      checkpointMs,
      expiresMs,
      data,
      cluster,
      mac,
    });
  }

  test('of a session counts under its own id and tenant alone', async () => {
    const { redis, told, store } = open();
    for (const [tenant, id] of [
      ['acme', 'sig_1'],
      ['acme', 'sig_2'],
      ['other', 'sig_1'],
    ] as const) {
      await writeSession(redis, redisKeys.session(tenant, id));
    }
    expect(await store.load(sessionKey('acme', 'sig_1'))).toEqual({ kind: 'session', session });
    expect(await store.load(sessionKey('acme', 'sig_2'))).toEqual({ kind: 'tampered' });
    expect(await store.load(sessionKey('other', 'sig_1'))).toEqual({ kind: 'tampered' });
    expect(told).toEqual([sessionKey('acme', 'sig_2'), sessionKey('other', 'sig_1')]);
    expect(await store.load(sessionKey('acme', 'sig_3'))).toBeUndefined();
  });

  test('of a key counts under its own name and tenant alone', async () => {
    const { redis, told, store } = open();
    for (const [tenant, id] of [
      ['acme', 'k_1'],
      ['acme', 'k_2'],
      ['other', 'k_1'],
    ] as const) {
      await redis.set(redisKeys.key(tenant, id), keyText(key, macs, 1));
    }
    expect(await store.load(keyRecordKey('acme', 'k_1'))).toEqual({ kind: 'key', key });
    expect(await store.load(keyRecordKey('acme', 'k_2'))).toEqual({ kind: 'tampered' });
    expect(await store.load(keyRecordKey('other', 'k_1'))).toEqual({ kind: 'tampered' });
    expect(told).toEqual([keyRecordKey('acme', 'k_2'), keyRecordKey('other', 'k_1')]);
  });

  test('that another cluster wrote is that cluster’s where it says so, and counts as tampered with where it does not', async () => {
    const { redis, store } = open();
    await redis.set(redisKeys.key('acme', 'k_1'), keyText(key, storeMacs(resumeKey, 'cl_2'), 2));
    expect(await store.load(keyRecordKey('acme', 'k_1'))).toEqual({ kind: 'elsewhere', sessionId: '' });
    for (const strange of [storeMacs(new Uint8Array(32), 'cl_1'), storeMacs(resumeKey, 'cl_2')]) {
      await redis.set(redisKeys.key('acme', 'k_1'), keyText(key, strange, 1));
      expect(await store.load(keyRecordKey('acme', 'k_1'))).toEqual({ kind: 'tampered' });
    }
  });

  test('has a MAC over its parts, and not over their text in a row', () => {
    const parts = [['a', 'bc'], ['ab', 'c'], ['abc'], ['abc', ''], ['', 'abc'], ['1:a', 'bc']];
    expect(new Set(parts.map((each) => macs.of(each))).size).toBe(parts.length);
    const mac = macs.of(['a', 'bc']);
    expect(mac).toHaveLength(22);
    const given = [mac, `${mac}A`, mac.slice(1), '', undefined, macs.of(['a', 'bd'])];
    expect(given.map((each) => macs.holds(['a', 'bc'], each))).toEqual([true, false, false, false, false, false]);
  });
});

describe('a suspicion', () => {
  test('lasts 10 s, a repeated one twice as long each time, up to 320 s, and is forgotten after ten minutes', () => {
    const suspects: Suspects = new Map();
    let nowMs = 1_000;
    const lengths: number[] = [];
    for (let fault = 0; fault < 7; fault += 1) {
      const untilMs = suspect(suspects, 2, 'bad_nonces', nowMs)!;
      lengths.push(untilMs - nowMs);
      expect([isSuspect(suspects, 2, untilMs - 1), isSuspect(suspects, 2, untilMs)]).toEqual([true, false]);
      nowMs = untilMs + 599_999;
    }
    expect(lengths).toEqual([10_000, 20_000, 40_000, 80_000, 160_000, 320_000, 320_000]);
    nowMs = suspect(suspects, 2, 'silent', nowMs)! + 600_000;
    expect(suspect(suspects, 2, 'silent', nowMs)).toBe(nowMs + 10_000);
  });

  test('that is confirmed meanwhile lasts its length from then on, and is not told again', () => {
    const suspects: Suspects = new Map();
    suspect(suspects, 2, 'silent', 0);
    expect(suspect(suspects, 2, 'silent', 4_000)).toBeUndefined();
    expect([isSuspect(suspects, 2, 13_999), isSuspect(suspects, 2, 14_000)]).toEqual([true, false]);
    // A clock that was set back shortens nothing.
    expect(suspect(suspects, 2, 'silent', 1_000)).toBeUndefined();
    expect(isSuspect(suspects, 2, 13_999)).toBe(true);
  });

  test('of silence ends with the process; that of a wrong value does not', () => {
    const suspects: Suspects = new Map();
    const faults = ['silent', 'slow', 'bad_nonces', 'bad_partial'] as const;
    for (const [index, fault] of faults.entries()) suspect(suspects, 9 - index, fault, 0);
    expect(suspectNodes(suspects, 1)).toEqual([6, 7, 8, 9]);
    for (const node of [5, 6, 7, 8, 9]) restarted(suspects, node);
    expect(suspectNodes(suspects, 1)).toEqual([6, 7]);
    expect(suspectNodes(suspects, 10_000)).toEqual([]);
  });
});

test('a nonce that its node forgot, and those of its batch, are gone; a later batch stays', () => {
  const none = new Uint8Array(0);
  const scheme = Scheme.MOCK_ECDSA;
  const left = (number: bigint): readonly bigint[] => {
    const pools = noNoncePools(4);
    for (const first of [1, 101]) {
      const asked = shortage(pools, scheme, 1);
      const nonces = Array.from({ length: asked }, (_, index): DrawnNonce => {
        return {
          nodeId: 1,
          nodeBoot: 'a',
          number: BigInt(first + index),
          hiding: none,
          binding: none,
          mockNonce: none,
        };
      });
      put(pools, scheme, 1, nonces);
      while (first === 1 && depth(pools, scheme, 1) > 3) take(pools, scheme, 1);
    }
    forgotten(pools, scheme, 1, number);
    return Array.from({ length: depth(pools, scheme, 1) }, () => take(pools, scheme, 1)!.number);
  };
  const whole = left(0n);
  expect(whole[0]).toBeLessThan(101n);
  const second = whole.filter((number) => number >= 101n);
  // Whichever nonce of the first batch it was; the first of the second batch takes that one along.
  for (const number of [1n, 2n, whole[0]!, 100n]) expect(left(number)).toEqual(second);
  for (const number of [101n, 102n, 999n]) expect(left(number)).toEqual([]);
});
