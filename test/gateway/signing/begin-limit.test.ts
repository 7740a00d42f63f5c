/** What a gateway leaves unsent to a cluster that refuses calls for load; each cluster by itself. */
import { create } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';
import { BeginLimit } from '../../../core/actors/admission/begin-limit.ts';
import { systemRandom } from '../../../core/actors/live/ports.ts';
import type { ClusterRegistry } from '../../../core/redis/clusters.ts';
import { connectClusters } from '../../../gateway/signing/connect.ts';
import { CallErrorCode } from '../../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import {
  InitiateSigningRequestSchema,
  SignatureShareRequestSchema,
} from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { CallRequest } from '../../../proto/wire.ts';
import { FakeCoordinator } from '../../support/fake-coordinator.ts';
import { nowhere, unheededOrders } from '../../support/orders.ts';
import { VirtualTimers } from '../../support/virtual-timers.ts';

const many = (calls: number): BeginLimit => {
  const limit = new BeginLimit();
  for (let call = 0; call < calls; call += 1) limit.start();
  return limit;
};

test('falls by refusals, once for a burst of them, and rises while calls are taken', () => {
  const limit = many(1_000);
  for (let call = 0; call < 100; call += 1) {
    limit.end();
    limit.answered(true, 0);
  }
  expect(limit.limit).toBe(800);
  expect(limit.hasRoom()).toBe(false);
  for (let atMs = 100; atMs < 10_000; atMs += 100) {
    limit.end();
    limit.answered(true, atMs);
  }
  expect(limit.limit).toBe(64);
  for (let call = 0; call < 100; call += 1) {
    limit.end();
    limit.start();
    limit.answered(false, 20_000);
  }
  expect(limit.limit).toBe(164);
});

const initiate = (walletId: string): CallRequest => ({
  case: 'initiateSigning',
  value: create(InitiateSigningRequestSchema, { walletId }),
});
const share: CallRequest = {
  case: 'submitSignatureShare',
  value: create(SignatureShareRequestSchema, { signingSessionId: 'two' }),
};

describe('of two clusters', () => {
  const open = () => {
    const timers = new VirtualTimers();
    const [one, two] = [new FakeCoordinator(), new FakeCoordinator()];
    const registry = {
      list: () => Promise.resolve([]),
      placed: () => Promise.resolve(1),
      session: () => Promise.resolve(undefined),
      locate: (_: string, id: string) => Promise.resolve(id === 'two' ? 2 : 1),
    } as ClusterRegistry;
    const at = (link: FakeCoordinator) => ({ link, orders: unheededOrders(), roster: nowhere });
    const { calls } = connectClusters({
      clusters: new Map([
        [1, at(one)],
        [2, at(two)],
      ]),
      ...{ registry, clock: timers, timers, random: systemRandom },
    });
    for (const link of [one, two]) link.status({ nodesTotal: 5, nodesReady: [1, 2, 3], quorum: 3, storeReady: true });
    const call = (request: CallRequest) => calls.call({ request, tenant: 'acme', correlationId: 'c', traceparent: '' });
    return { timers, one, two, call };
  };

  test('one that is overloaded is asked for less, its sessions continue, and the other takes all calls', async () => {
    const { timers, two, call } = open();
    two.answer = ({ call: { request } }) =>
      request.case === 'initiateSigning' ? { error: CallErrorCode.OVERLOADED } : { response: {} };
    let [sent, kinds] = [0, new Set<string | undefined>()];
    const returnsS = new Set<number | undefined>();
    for (let round = 0; round < 40; round += 1) {
      const before = two.sent.length;
      const answers = await Promise.all(Array.from({ length: 200 }, () => call(initiate('two'))));
      kinds = new Set(answers.map(({ failure }) => failure?.kind));
      for (const { failure } of answers) returnsS.add(failure?.retryAfterS);
      sent = two.sent.length - before;
      await timers.advance(100);
    }
    expect([...kinds]).toEqual(['overloaded']);
    // Whether the cluster has refused them or the gateway: they do not return together.
    expect([...returnsS].sort((one, other) => one! - other!)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(sent).toBe(64);
    const others = await Promise.all(Array.from({ length: 200 }, () => call(initiate('one'))));
    expect(others.every(({ failure }) => failure === undefined)).toBe(true);
    expect((await call(share)).failure).toBeUndefined();
  });

  test('one that is gone answers at once, and the other takes all calls', async () => {
    const { two, call } = open();
    two.link(false);
    const gone = await Promise.all(Array.from({ length: 5_000 }, () => call(initiate('two'))));
    const reasons = gone.map(
      ({ response }) => (response!.value as { receipt: { reasonCode: string } }).receipt.reasonCode,
    );
    expect(new Set(reasons)).toEqual(new Set(['QUORUM_UNAVAILABLE']));
    const others = await Promise.all(Array.from({ length: 200 }, () => call(initiate('one'))));
    expect(others.every(({ failure }) => failure === undefined)).toBe(true);
  });

  test('one that is silent holds its own calls alone', async () => {
    const { two, call } = open();
    two.answer = () => 'silence';
    for (let at = 0; at < 4_000; at += 1) void call(initiate('two'));
    const others = await Promise.all(Array.from({ length: 200 }, () => call(initiate('one'))));
    expect(others.every(({ failure }) => failure === undefined)).toBe(true);
  });
});
