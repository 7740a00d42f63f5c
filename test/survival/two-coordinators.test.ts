/**
 * Two coordinators on one Redis: every start raises a fence, so that an older one, paused or cut off, cannot undo or
 * contradict what a newer one said. In a thorough run alone: the planted flaw `fence-ignored` and
 * scenarios/two-coordinators.yaml prove the fence in the simulated world.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { CallFailed, httpApi, repeated } from '../support/client.ts';
import { RestClient } from '../support/rest.ts';
import { type BorrowedCluster, borrowCluster, borrowWithinMs } from '../support/shared-cluster.ts';
import { isThorough } from '../support/thorough.ts';
import { until } from '../support/until.ts';
import { askAgain, finishSigning, type Key, makeKey, openSigning } from './support/ceremonies.ts';
import { Ledger } from './support/ledger.ts';
import { nonceUse } from './support/nonces.ts';

const digest = new Uint8Array(32).fill(0xc3);
const ledger = new Ledger();
let cluster: BorrowedCluster;
let key: Key;

const client = () => ({ api: cluster.http(), ledger });

beforeAll(async () => {
  cluster = await borrowCluster();
  key = await makeKey(client(), { sessionId: 'ed', curve: 'ed25519' });
}, borrowWithinMs);
afterAll(() => cluster?.stop());
afterEach(() => expect(ledger.violations).toEqual([]));

describe.runIf(isThorough).sequential('two coordinators on one Redis', () => {
  test('the older one stops by its own word, and nothing it does counts', async () => {
    const redisUrl = cluster.redisUrl();
    const older = cluster.pid('coordinator')!;
    const session = await openSigning(client(), { key, scheme: 'ed25519', intentId: 'two', message: digest });

    const second = cluster.spawnRole(['coordinator'], {
      REDIS_URL: redisUrl,
      // It gets no node.
      SIGNMESH_NODES_WAIT_MS: '1500',
    });
    await until(
      () => second.records('coordinator started').length > 0,
      () => `the second coordinator: ${second.output}`,
    );
    const otherDoor = cluster.spawnRole(['gateway'], {
      REDIS_URL: redisUrl,
      SIGNMESH_COORDINATOR_URL: String(second.records('coordinator started')[0]?.url),
    });
    await until(
      () => otherDoor.records('link up').length > 0 && otherDoor.records('gateway listens').length > 0,
      () => `the second gateway: ${otherDoor.output}`,
    );
    const otherUrl = `http://${otherDoor.records('gateway listens')[0]?.http}`;
    const other = { api: httpApi({ baseUrl: otherUrl, token: cluster.token }), ledger };
    // Its link is up before its connections to Redis are.
    await until(
      async () => (await new RestClient(otherUrl, cluster.token).get('/v1/wallets')).status === 200,
      () => `a read at the second gateway: ${otherDoor.output}`,
    );

    // The second one has no nodes, and says so: this is now the session's state.
    const failed = await ledger.ask(session, () => other.api.submitSignatureShare({ signingSessionId: session }));
    expect(failed.receipt!.reasonCode).toBe('QUORUM_UNAVAILABLE');

    // The first one has nodes and believes that the session is open: its signature must not come out.
    const undone = await ledger
      .ask(session, () => client().api.submitSignatureShare({ signingSessionId: session }))
      .catch((error: unknown) => error);
    if (undone instanceof CallFailed) expect(undone.status).toBe(503);
    else expect(undone).toMatchObject({ isComplete: false });
    await until(
      () => cluster.records('coordinator', 'coordinator.fenced').length > 0,
      'the line of the fenced coordinator',
    );
    await cluster.back('coordinator', older);
    expect(second.exit).toBeUndefined();
    await cluster.untilHealth('ok');

    // `up` has started the newest one: it knows what the second one said, and continues from there.
    const { resumeToken } = failed.checkpoint!;
    const resumed = await ledger.ask(session, () =>
      repeated(() => client().api.resumeSession({ sessionId: session, resumeToken })),
    );
    expect(resumed.state).toBe(ReceiptState.RESUMED);
    await finishSigning(client(), session);

    // Now the second one is the older one.
    const late = await other.api
      .initiateSigning({ transactionIntentId: 'late', walletId: 'ed', messageHash: digest })
      .catch((error: unknown) => error);
    expect(late).toBeInstanceOf(CallFailed);
    await until(
      () => second.exit !== undefined,
      () => `the end of the second coordinator: ${second.output}`,
    );
    expect(second.records('coordinator.fenced')).toHaveLength(1);
    expect(second.exit).toEqual({ code: 0, signal: null });
    await askAgain(client());
  });

  test('and no nonce has signed twice', () => {
    expect(nonceUse(cluster).spentTwice).toEqual([]);
  });
});
