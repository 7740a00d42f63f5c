/** Faults of uses and of partners: which use each counts, whom it meets, and when it has ended. */
import { expect, test } from 'vitest';
import { faultEngine } from '../../../scenarios/faults/engine.ts';
import type { Fault } from '../../../scenarios/faults/vocabulary/fault.ts';
import { optionsFor } from './support/frames.ts';

const engineOf = (more: Parameters<typeof optionsFor>[0] = {}) => faultEngine(optionsFor(more));

test('of two faults that decide a request the first armed does, and the other one is not used up', () => {
  const engine = engineOf({ world: 'live' });
  const { id: lost } = engine.arm({ fault: 'answer_lost', count: 1 }, 0);
  const { id: cut } = engine.arm({ fault: 'answer_cut', count: 1 }, 0);
  const request = () => engine.request({ door: 'http', method: 'GET', path: '/v1/wallets' }, 1);
  expect([request(), request(), request()]).toMatchObject([
    { fate: 'lost', faults: [lost] },
    { fate: 'cut', faults: [cut] },
    { fate: 'answered', faults: [] },
  ]);
});

test('a token fails at its own node alone, as its fault says', () => {
  const engine = engineOf();
  engine.arm({ fault: 'hsm_fails', target: 'node/2', for_ms: 100 }, 0);
  expect([engine.hsmFails('node/1', 1), engine.hsmFails('node/2', 99), engine.hsmFails('node/2', 100)]).toEqual([
    undefined,
    'token_absent',
    undefined,
  ]);
});

test('a store shows its fault until the moment at which that ends', () => {
  const engine = engineOf();
  engine.arm({ fault: 'store_full', target: 'coordinator', for_ms: 100 }, 0);
  const shows = (what: 'store_full' | 'store_tampered', nowMs: number) => engine.storeShows(what, nowMs);
  expect([shows('store_full', 99), shows('store_tampered', 99), shows('store_full', 100)]).toEqual([
    true,
    false,
    false,
  ]);
});

test('a vendor does what its latest fault says, then what the one before says', () => {
  const engine = engineOf({ world: 'live' });
  const conducts = (orders: ReturnType<typeof engine.wake>) =>
    orders.flatMap((order) => (order.kind === 'vendor' ? [order.conduct?.by] : []));
  engine.arm({ fault: 'vendor_fails', by: 'reject' } as Fault, 0);
  const { id, orders } = engine.arm({ fault: 'vendor_fails', by: 'lies' } as Fault, 1);
  expect(conducts(orders)).toEqual(['lies']);
  expect(conducts(engine.disarm(id, 2)!)).toEqual(['reject']);
});

test('a fault that is certain draws no number', () => {
  let drawn = 0;
  const random = (length: number) => {
    drawn += 1;
    return new Uint8Array(length);
  };
  const engine = faultEngine({ ...optionsFor({ world: 'live' }), random });
  engine.arm({ fault: 'answer_lost' }, 0);
  engine.request({ door: 'grpc', rpc: 'InitiateDkg' }, 1);
  expect(drawn).toBe(0);
});

test('a dealer may send bad shares to the last node, and to none behind it', () => {
  const { nodesTotal } = optionsFor();
  const bad = (id: number): Fault => ({ fault: 'bad_share', target: 'node/1', for: [id] }) as Fault;
  expect(engineOf().arm(bad(nodesTotal), 0).id).toBe('flt_1');
  expect(() => engineOf().arm(bad(nodesTotal + 1), 0)).toThrow(/does not exist/);
});
