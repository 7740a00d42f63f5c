/** A gateway of several clusters: each call goes to the cluster of its session or key, a new key to one that fits. */
import { create } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { silentLog, systemRandom } from '../../../core/actors/live/ports.ts';
import { chooseCluster } from '../../../core/redis/choose-cluster.ts';
import type { ClusterEntry, ClusterRegistry, StoredSessionFacts } from '../../../core/redis/clusters.ts';
import { connectClusters } from '../../../gateway/signing/connect.ts';
import type { SigningCall } from '../../../gateway/signing/signing-calls.ts';
import { CloseKeyRequestSchema } from '../../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import {
  InitiateDkgRequestSchema,
  InitiateSigningRequestSchema,
  ReceiptState,
  ResumeSessionRequestSchema,
  SignatureShareRequestSchema,
} from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { CallRequest } from '../../../proto/wire.ts';
import { FakeCoordinator, proof } from '../../support/fake-coordinator.ts';
import { nowhere, unheededOrders } from '../../support/orders.ts';
import { VirtualTimers } from '../../support/virtual-timers.ts';

const status = (nodes = 5) => ({
  nodesTotal: nodes,
  nodesReady: Array.from({ length: nodes }, (_, index) => index + 1),
  quorum: 3,
  storeReady: true,
});

class Registry implements ClusterRegistry {
  readonly at = new Map<string, number>();
  readonly sessions = new Map<string, StoredSessionFacts>();
  entries: ClusterEntry[] = [];
  located = 0;
  isGone = false;

  list = () => Promise.resolve(this.entries);
  placed = () => Promise.resolve(1);
  session = (tenant: string, id: string) => Promise.resolve(this.sessions.get(`${tenant}/${id}`));
  locate = (tenant: string, id: string) => {
    this.located += 1;
    return this.isGone ? Promise.reject(new Error('gone')) : Promise.resolve(this.at.get(`${tenant}/${id}`));
  };
}

function open(numbers: readonly number[]) {
  const registry = new Registry();
  const coordinators = new Map(numbers.map((number) => [number, new FakeCoordinator()]));
  const timers = new VirtualTimers();
  const rooms = connectClusters({
    clusters: new Map(
      [...coordinators].map(([number, link]) => [number, { link, orders: unheededOrders(), roster: nowhere }]),
    ),
    ...{ registry, clock: timers, timers, random: systemRandom, log: silentLog },
    readyMade: { tenant: 'acme', schemes: { ready: 'mock_ecdsa' } },
  });
  for (const coordinator of coordinators.values()) coordinator.status(status());
  const sentTo = () => [...coordinators].flatMap(([number, { sent }]) => sent.map(() => number));
  const call = (request: CallRequest) =>
    rooms.calls.call({ request, tenant: 'acme', correlationId: 'c', traceparent: '' } satisfies SigningCall);
  return { registry, coordinators, rooms, call, sentTo, timers };
}

const initiate = (walletId: string): CallRequest => ({
  case: 'initiateSigning',
  value: create(InitiateSigningRequestSchema, { walletId }),
});
const share = (signingSessionId: string): CallRequest => ({
  case: 'submitSignatureShare',
  value: create(SignatureShareRequestSchema, { signingSessionId }),
});
const resume = (sessionId: string): CallRequest => ({
  case: 'resumeSession',
  value: create(ResumeSessionRequestSchema, { sessionId }),
});
const dkg = (sessionId: string, totalNodes = 0): CallRequest => ({
  case: 'initiateDkg',
  value: create(InitiateDkgRequestSchema, { sessionId, totalNodes }),
});

describe('a call', () => {
  test('about a session or key goes to its cluster, which is asked for once', async () => {
    const { registry, call, sentTo, coordinators } = open([1, 2, 3]);
    registry.at.set('acme/k', 2).set('acme/sig_other', 3);
    coordinators.get(2)!.answer = () => ({
      response: { ...proof, receipt: { ...proof.receipt, sessionId: 'sig_new' } },
    });
    await call(initiate('k'));
    await call(initiate('k'));
    expect(registry.located).toBe(1);
    // The answer has named the session.
    await call(share('sig_new'));
    expect(registry.located).toBe(1);
    await call(resume('sig_other'));
    expect(sentTo()).toEqual([2, 2, 2, 3]);
  });

  test('of one tenant is not sent where another tenant’s session of the same id is', async () => {
    const { registry, rooms, sentTo } = open([1, 2, 3]);
    registry.at.set('acme/k', 2).set('other/k', 3);
    for (const tenant of ['acme', 'other', 'acme', 'other']) {
      await rooms.calls.call({ request: initiate('k'), tenant, correlationId: 'c', traceparent: '' });
    }
    expect([sentTo(), registry.located]).toEqual([[2, 2, 3, 3], 2]);
  });

  test('about nothing that is known goes to a cluster that answers', async () => {
    const { call, sentTo, coordinators } = open([1, 2]);
    coordinators.get(1)!.link(false);
    await call(share('sig_unknown'));
    expect(sentTo()).toEqual([2]);
  });

  test('is refused, and nothing sent, while the store that locates it does not answer', async () => {
    const { registry, call, sentTo } = open([1, 2]);
    registry.isGone = true;
    expect((await call(share('sig_1'))).failure).toMatchObject({ kind: 'unavailable' });
    expect(sentTo()).toEqual([]);
  });

  test('of one cluster is sent without a look at the registry', async () => {
    const { registry, call, sentTo } = open([1]);
    registry.isGone = true;
    await call(initiate('k'));
    expect([registry.located, sentTo()]).toEqual([0, [1]]);
  });
});

describe('a new key', () => {
  test('goes to the cluster with the fewest keys, and many at once are spread', async () => {
    const { call, coordinators } = open([1, 2, 3]);
    await Promise.all(Array.from({ length: 30 }, (_, index) => call(dkg(`k${index}`))));
    expect([...coordinators.values()].map(({ sent }) => sent.length)).toEqual([10, 10, 10]);
    const read = open([1, 2, 3]);
    read.registry.entries = [1, 2, 3].map((number) => ({
      ...{ number, clusterId: `cl_${number}`, silentMs: 0, url: '', nodesTotal: 5, nodesReady: 5, threshold: 3 },
      ...{ keyNodes: 5, load: 0, placed: number === 3 ? 6 : 0 },
    }));
    await read.call(share('sig_x'));
    await read.timers.advance(1_000);
    await Promise.all(Array.from({ length: 24 }, (_, index) => read.call(dkg(`k${index}`))));
    expect([...read.coordinators.values()].map(({ sent }) => sent.length)).toEqual([1 + 10, 10, 4]);
  });

  test('counts where it was placed, also when the registry does not show it yet', async () => {
    const { call, coordinators, registry, timers } = open([1, 2]);
    const entry = (number: number, placed: number) => ({
      ...{ number, clusterId: `cl_${number}`, silentMs: 0, url: '', nodesTotal: 5, nodesReady: 5, threshold: 3 },
      ...{ keyNodes: 5, load: 0, placed },
    });
    const makeKeys = (from: number, to: number) =>
      Promise.all(Array.from({ length: to - from }, (_, index) => call(dkg(`k${from + index}`))));
    await makeKeys(0, 4);
    registry.entries = [entry(1, 0), entry(2, 2)];
    await timers.advance(1_000);
    await makeKeys(4, 6);
    expect([...coordinators.values()].map(({ sent }) => sent.length)).toEqual([3, 3]);
    // What other gateways have placed since counts too.
    registry.entries = [entry(1, 3), entry(2, 7)];
    await timers.advance(1_000);
    await makeKeys(6, 10);
    expect([...coordinators.values()].map(({ sent }) => sent.length)).toEqual([7, 3]);
  });

  test('that is ready-made is made in cluster 1, and one that exists stays where it is', async () => {
    const { registry, call, sentTo } = open([1, 2]);
    registry.at.set('acme/old', 2);
    await call(dkg('ready'));
    await call(dkg('old'));
    expect(sentTo()).toEqual([1, 2]);
  });

  const candidate = fc.record({
    number: fc.integer({ min: 1, max: 50 }),
    isUp: fc.boolean(),
    nodesTotal: fc.integer({ min: 2, max: 9 }),
    nodesReady: fc.integer({ min: 0, max: 9 }),
    keyNodes: fc.integer({ min: 2, max: 9 }),
    load: fc.double({ min: 0, max: 5_000, noNaN: true }),
    placed: fc.nat(1_000),
  });
  const clusters = fc.uniqueArray(candidate, { maxLength: 8, selector: ({ number }) => number });

  test('fits where it is placed, and never goes to a dead cluster or a much busier one while another would do', () => {
    fc.assert(
      fc.property(clusters, fc.integer({ min: 0, max: 9 }), (all, nodes) => {
        const number = chooseCluster(all, nodes);
        const fits = all.filter(({ nodesTotal }) => nodesTotal >= nodes);
        expect(number === undefined).toBe(fits.length === 0);
        if (number === undefined) return;
        const chosen = all.find((one) => one.number === number)!;
        expect(chosen.nodesTotal).toBeGreaterThanOrEqual(nodes);
        const isReady = (one: typeof chosen) => one.isUp && one.nodesReady >= (nodes || one.keyNodes);
        const ready = fits.filter(isReady);
        if (ready.length > 0) expect(isReady(chosen)).toBe(true);
        for (const other of ready) expect(chosen.load).toBeLessThanOrEqual(Math.max(16, 2 * other.load + 1));
      }),
    );
  });
});

describe('while a cluster is unreachable', () => {
  const facts: StoredSessionFacts = {
    ...{ epoch: 3, state: ReceiptState.BACKEND_FAILED, checkpointId: 'ckp_3', checkpointMs: 5, approvalMode: 2 },
    ...{ keystoreType: 4, correlationId: 'cor' },
  };

  test('calls to its sessions answer that there is no quorum, resumable, and name the checkpoint; others are served', async () => {
    const { registry, call, coordinators, sentTo, rooms } = open([1, 2]);
    registry.at.set('acme/sig_2', 2).set('acme/sig_1', 1);
    registry.sessions.set('acme/sig_2', facts);
    coordinators.get(2)!.link(false);
    for (const request of [share('sig_2'), resume('sig_2')]) {
      const { value } = (await call(request)).response as { value: typeof proof };
      expect(value.receipt).toMatchObject({
        ...{ state: ReceiptState.BACKEND_FAILED, reasonCode: 'QUORUM_UNAVAILABLE', resumable: true },
        ...{ sessionId: 'sig_2', epoch: 3n, checkpointId: 'ckp_3', correlationId: 'cor' },
      });
      expect(value.checkpoint).toMatchObject({ checkpointId: 'ckp_3', epoch: 3n, resumeToken: '' });
    }
    await call(share('sig_1'));
    expect([sentTo(), rooms.cluster.health]).toEqual([[1], 'degraded']);
    expect(rooms.cluster.reasons).toEqual(['cluster 2: no coordinator is connected']);
    coordinators.get(2)!.link(true);
    await call(share('sig_2'));
    expect(sentTo()).toEqual([1, 2]);
  });

  test('a signature with its key opens no session, and says so', async () => {
    const { registry, call, coordinators } = open([1, 2]);
    registry.at.set('acme/k', 2);
    registry.sessions.set('acme/k', facts);
    coordinators.get(2)!.link(false);
    const { value } = (await call(initiate('k'))).response as { value: typeof proof };
    expect(value.receipt).toMatchObject({ reasonCode: 'QUORUM_UNAVAILABLE', sessionId: '', resumable: false });
  });

  test('what has no receipt is unavailable', async () => {
    const { registry, call, coordinators } = open([1, 2]);
    registry.at.set('acme/k', 2);
    coordinators.get(2)!.link(false);
    const outcome = await call({ case: 'closeKey', value: create(CloseKeyRequestSchema, { keyId: 'k' }) });
    expect(outcome.failure).toMatchObject({ kind: 'unavailable' });
  });
});
