/**
 * Clocks of processes show whole milliseconds, also at times between two, at which stores write and wake-ups arrive; and only
 * processes that await take turns of the event loop.
 */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { SimClusters } from '../../../simulation/cluster/clusters.ts';
import { CustodyWorld } from '../../../simulation/service/custody-world.ts';
import { RunLoop } from '../../../simulation/service/run-loop.ts';

test('a signature that begins half a millisecond later', async () => {
  const world = new CustodyWorld({ seed: 'half', keepTrace: false, cryptography: 'model', codec: 'none' });
  const client = world.client(await world.token({ tenant: 'tn_half', environment: 'sandbox', name: 'owner' }));
  const call = async (path: string, body: object) => {
    const { status, body: answer } = await world.run(client.call('POST', path, body));
    expect([path, status]).toEqual([path, 200]);
    return answer;
  };
  await call('/v1/dkg/initiate', { session_id: 'half-key', threshold: 2, total_nodes: 3 });
  await call('/v1/dkg/shares', { session_id: 'half-key' });
  await world.advance(1.5);
  expect(world.nowMs % 1).toBe(0.5);
  const { signing_session_id: session } = await call('/v1/signing/initiate', {
    ...{ transaction_intent_id: 'half-intent', wallet_id: 'half-key', approval_mode: 'DIRECT_ALLOWED' },
    message_hash: createHash('sha256').update('half').digest('base64'),
  });
  expect(await call('/v1/signing/share', { signing_session_id: session })).toMatchObject({ is_complete: true });
});

test('a world without gateways and workers of the product takes no turn of the event loop', async () => {
  const world = new SimClusters({
    seed: 'no turn',
    clusters: 2,
    codec: 'none',
    keepTrace: false,
    receiver: true,
    sweeping: true,
  });
  const loop = new RunLoop(world.time, 'model');
  const until = (condition: () => boolean) => loop.until(condition, 60_000);
  const begun = world.initiateDkg({ sessionId: 'k', threshold: 2, totalNodes: 3 });
  expect(await until(() => begun.isDone)).toBe(true);
  world.arm({ fault: 'crash', target: 'cluster/2/coordinator', restart_after_ms: 50 });
  world.arm({ fault: 'redis_gone', for_ms: 300 });
  world.exchangeDkgShares({ sessionId: 'k' });
  expect(await until(() => world.delivered().length > 0)).toBe(true);
  expect([loop.turns, world.time.isAwake]).toEqual([0, false]);
});
