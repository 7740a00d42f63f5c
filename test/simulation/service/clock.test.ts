/** Clocks of processes show whole milliseconds, also at times between two, at which stores write and wake-ups arrive. */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { CustodyWorld } from '../../../simulation/service/custody-world.ts';

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
