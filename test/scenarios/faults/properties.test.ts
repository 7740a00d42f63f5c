/** What holds for any faults and any frames: determinism, and every frame accounted for once. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { WireEnvelope } from '../../../proto/wire.ts';
import { FaultError, faultEngine } from '../../../scenarios/faults/engine.ts';
import type { Order } from '../../../scenarios/faults/vocabulary/engine-contract.ts';
import { type Fault, type FaultKind, faultKinds, faultSchemas } from '../../../scenarios/faults/vocabulary/fault.ts';
import { gatewayPoints, liePoints } from '../../../scenarios/faults/vocabulary/kinds.ts';
import { type Point, points } from '../../../scenarios/faults/vocabulary/trigger-points.ts';
import { runs } from '../../support/thorough.ts';
import { frameAt, optionsFor, samples } from './support/frames.ts';

const process = fc.constantFrom(
  'node/1',
  'node/2',
  'node/5',
  'node/*',
  'coordinator',
  'gateway',
  'worker',
  'redis',
  'receiver',
  'node/9',
);
const small = fc.integer({ min: 1, max: 60 });
const point = fc.constantFrom(...points);
const peers = fc.constantFrom('node/1', 'node/2', 'node/5', 'gateway');

/** Faults that their schema allows, whether they make sense or not. */
const wild: fc.Arbitrary<Fault> = fc
  .record(
    {
      kind: fc.constantFrom(...faultKinds),
      target: fc.oneof(process, fc.array(process, { minLength: 1, maxLength: 3 })),
      at: fc.record(
        {
          after_ms: small,
          step: fc.constantFrom('one', 'two'),
          point,
          phase: fc.constantFrom('before', 'after'),
          of: process,
          session: fc.constantFrom('s', 't'),
          nth: fc.integer({ min: 1, max: 4 }),
        },
        { requiredKeys: [] },
      ),
      probability: fc.constantFrom(0, 0.5, 1),
      count: fc.integer({ min: 1, max: 3 }),
      for_ms: small,
      direction: fc.constantFrom('in', 'out', 'both'),
      by_ms: small,
      restart_after_ms: fc.constantFrom(null, 0, 50),
      min_ms: small,
      max_ms: small,
      within_ms: small,
    },
    { requiredKeys: ['kind'] },
  )
  .map(({ kind, ...fields }) => {
    const wanted = Object.entries({ ...samples[kind], ...fields }).filter(
      ([name]) => name in faultSchemas[kind].properties,
    );
    return Object.fromEntries(wanted) as unknown as Fault;
  });

/** Faults that make sense, and that hold frames more often than not. */
const sensible: fc.Arbitrary<Fault> = fc
  .record(
    {
      kind: fc.oneof(
        fc.constantFrom('hold', 'partition', 'pause', 'half_open', 'duplicate', 'drop', 'crash', 'delay' as const),
        fc.constantFrom(...faultKinds),
      ),
      target: fc.constantFrom('node/1', 'node/2', 'node/*'),
      at: fc.oneof(
        fc.record({ after_ms: small }),
        fc.record({ step: fc.constantFrom('one', 'two') }),
        fc.record({ point: fc.constantFrom('partial_reply', 'dkg_sealed'), nth: fc.constantFrom(1, 2) }),
      ),
      for_ms: small,
    },
    { requiredKeys: ['kind', 'target'] },
  )
  .map(({ kind, target, at, for_ms }) => {
    const { at: _, ...base } = samples[kind as FaultKind] as Fault & { target?: string };
    const momentary = ['crash', 'clock_jump', 'double_delivery', 'poison_job'].includes(kind);
    const changes = {
      ...('target' in base ? { target } : {}),
      ...(at === undefined ? {} : { at }),
      ...(for_ms === undefined || momentary ? {} : { for_ms }),
    };
    return { ...base, ...changes } as unknown as Fault;
  });

const fault = fc.oneof({ weight: 3, arbitrary: sensible }, wild);

type Deed =
  | { readonly do: 'arm'; readonly fault: Fault }
  | { readonly do: 'frame'; readonly point: Point; readonly peer: string; readonly session: string }
  | { readonly do: 'write' | 'read'; readonly process: string }
  | { readonly do: 'step'; readonly step: string }
  | { readonly do: 'disarm'; readonly id: string }
  | { readonly do: 'linkDown'; readonly peer: string }
  | { readonly do: 'pass'; readonly ms: number };

const deed: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('arm' as const), fault }) },
  {
    weight: 12,
    arbitrary: fc.record({ do: fc.constant('frame' as const), point, peer: peers, session: fc.constantFrom('s', 't') }),
  },
  fc.record({ do: fc.constantFrom('write' as const, 'read' as const), process }),
  fc.record({ do: fc.constant('step' as const), step: fc.constantFrom('one', 'two') }),
  fc.record({ do: fc.constant('disarm' as const), id: fc.constantFrom('flt_1', 'flt_2', 'flt_3') }),
  fc.record({ do: fc.constant('linkDown' as const), peer: peers }),
  { weight: 4, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: small }) },
);

/** Plays a script as a world would; returns what the engine said, and the frames by their fate. */
function play(script: readonly Deed[], seed: string) {
  const engine = faultEngine(optionsFor({ seed }));
  const said: unknown[] = [];
  const orders: Order[] = [];
  const sent = new Map<WireEnvelope, { arrived: number; held: boolean | undefined; delivered: number; peer: string }>();
  let now = 0;
  let accepted = 0;
  const take = (given: readonly Order[]) => {
    said.push(given);
    orders.push(...given);
    for (const order of given) {
      if (order.kind !== 'deliver') continue;
      for (const envelope of order.envelopes) {
        const fate = sent.get(envelope);
        if (fate !== undefined) fate.delivered += 1;
      }
    }
  };
  const wake = (untilMs: number) => {
    while (engine.nextWakeMs() <= untilMs) {
      now = Math.max(now, engine.nextWakeMs());
      take(engine.wake(now));
    }
    now = untilMs;
  };
  for (const one of script) {
    wake(now);
    switch (one.do) {
      case 'arm':
        try {
          take(engine.arm(one.fault, now).orders);
          accepted += 1;
        } catch (error) {
          if (!(error instanceof FaultError)) throw error;
          said.push(error.message);
        }
        break;
      case 'frame': {
        const peer = gatewayPoints.includes(one.point) ? 'gateway' : one.peer === 'gateway' ? 'node/1' : one.peer;
        const frame = frameAt(one.point, peer, one.session);
        const verdict = engine.frame(frame, now);
        const own = verdict.arrivals.filter(({ envelope }) => envelope === frame.envelope);
        const kinds = engine
          .list(now)
          .flatMap(({ id, fault: { fault } }) => (verdict.faults.includes(id) ? fault : []));
        // A lie sends another frame in its place, or beside it.
        const asItWas = kinds.every((kind) => !(kind in liePoints) && kind !== 'force_receipt');
        const last = engine.list(now).find(({ id }) => id === verdict.faults.at(-1))?.fault.fault;
        const stopped = own.length === 0 && ['hold', 'partition', 'pause'].includes(last ?? '');
        const held = stopped && !asItWas ? undefined : stopped;
        sent.set(frame.envelope, { arrived: own.length, held, delivered: 0, peer });
        said.push(
          verdict.arrivals.map(({ envelope: _, ...rest }) => rest),
          verdict.faults,
        );
        for (const { afterMs } of verdict.arrivals) expect(Number.isInteger(afterMs) && afterMs >= 0).toBe(true);
        if (verdict.arrivals.length !== 1) expect(verdict.faults.length).toBeGreaterThan(0);
        take(verdict.orders);
        break;
      }
      case 'write':
        said.push(engine.write(one.process, now));
        break;
      case 'read':
        said.push(engine.readsFail(one.process, now));
        break;
      case 'step':
        take(engine.step(one.step, now));
        break;
      case 'disarm':
        take(engine.disarm(one.id, now) ?? []);
        break;
      case 'linkDown':
        engine.linkDown(one.peer);
        for (const fate of sent.values()) if (fate.peer === one.peer && fate.delivered === 0) fate.held = false;
        break;
      case 'pass':
        wake(now + one.ms);
        break;
    }
    said.push(engine.list(now), engine.nextWakeMs(), engine.idle);
  }
  wake(now);
  take(engine.clear(now));
  return { engine, said, orders, sent, accepted };
}

const scripts = fc.array(deed, { minLength: 10, maxLength: 80, size: 'max' });
const asText = (value: unknown) =>
  JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? `${one}` : one instanceof Uint8Array ? [...one] : one));

describe('any faults on any frames', () => {
  test('get the same verdicts from the same seed', () => {
    let armed = 0;
    fc.assert(
      fc.property(scripts, fc.string(), (script, seed) => {
        const first = play(script, seed);
        armed += first.accepted;
        expect(asText(play(script, seed).said)).toBe(asText(first.said));
      }),
      { numRuns: runs(35, 70) },
    );
    // The generator says much that makes sense.
    expect(armed).toBeGreaterThan(50);
  });

  test('deliver a held frame once, unless its link went down, and nothing that arrived', () => {
    let delivered = 0;
    fc.assert(
      fc.property(scripts, (script) => {
        const { sent, orders } = play(script, 'accounts');
        for (const fate of sent.values()) {
          if (fate.held === undefined) expect(fate.delivered).toBeLessThanOrEqual(1);
          else expect(fate.arrived > 0 ? 0 : Number(fate.held)).toBe(fate.delivered);
          delivered += fate.delivered;
        }
        const all = orders.flatMap((order) => (order.kind === 'deliver' ? order.envelopes : []));
        expect(new Set(all).size).toBe(all.length);
      }),
      {
        numRuns: runs(35, 100),
        // A held frame is repeated, and both are released.
        examples: [
          [
            [
              { do: 'arm', fault: { fault: 'stale_replay', target: 'node/1' } },
              { do: 'arm', fault: { fault: 'hold', target: 'node/1' } },
              { do: 'frame', point: 'dkg_confirmed', peer: 'node/1', session: 't' },
              { do: 'frame', point: 'dkg_confirmed', peer: 'node/1', session: 's' },
              { do: 'disarm', id: 'flt_2' },
            ],
          ],
        ],
      },
    );
    expect(delivered).toBeGreaterThan(0);
  });

  test('leave nothing out of order when all are cleared', () => {
    fc.assert(
      fc.property(scripts, (script) => {
        const { engine, orders } = play(script, 'cleared');
        const open = new Map<string, unknown>();
        for (const order of orders) {
          switch (order.kind) {
            case 'pause':
            case 'resume':
              // Never twice the same in a row.
              expect(open.get(`pause ${order.process}`) ?? 'resume').not.toBe(order.kind);
              open.set(`pause ${order.process}`, order.kind);
              break;
            case 'silence':
              expect(open.get(`silence ${order.process}`) ?? false).toBe(!order.on);
              open.set(`silence ${order.process}`, order.on);
              break;
            case 'redis':
              expect(open.get('redis') ?? true).toBe(!order.up);
              open.set('redis', order.up);
              break;
            case 'worker':
              expect(open.get('worker') ?? false).toBe(!order.stalled);
              open.set('worker', order.stalled);
              break;
            case 'receiver':
              open.set('receiver', order.behaviour);
              break;
          }
        }
        for (const [what, state] of open) {
          const well =
            what === 'redis' ? true : what.startsWith('pause') ? 'resume' : what === 'receiver' ? undefined : false;
          expect([what, state]).toEqual([what, well]);
        }
        expect([engine.idle, engine.nextWakeMs()]).toEqual([true, Number.POSITIVE_INFINITY]);
        const ended = orders.flatMap((order) => (order.kind === 'ended' ? order.id : []));
        expect(ended).toHaveLength(engine.list(0).length === 0 ? 0 : ended.length);
        for (const { state } of engine.list(0)) expect(state).toBe('over');
      }),
      { numRuns: runs(35, 100) },
    );
  });

  test('keep the frames of a link in order through holds and partitions', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.record({
              fault: fc.constantFrom('hold', 'partition'),
              target: fc.constantFrom('node/1', 'node/*', 'coordinator'),
              for_ms: fc.integer({ min: 1, max: 30 }),
              at: fc.record({ after_ms: fc.integer({ min: 0, max: 30 }) }),
            }),
          ),
          { minLength: 1, maxLength: 4 },
        ),
        (faults) => {
          const engine = faultEngine(optionsFor());
          for (const one of faults) engine.arm(one as Fault, 0);
          const sent: WireEnvelope[] = [];
          const got: WireEnvelope[] = [];
          for (let now = 0; now <= 70; now += 1) {
            while (engine.nextWakeMs() <= now) {
              for (const order of engine.wake(now)) if (order.kind === 'deliver') got.push(...order.envelopes);
            }
            const frame = frameAt('dkg_open', 'node/1');
            sent.push(frame.envelope);
            got.push(...engine.frame(frame, now).arrivals.map(({ envelope }) => envelope));
          }
          expect(got.map((one) => sent.indexOf(one))).toEqual(sent.map((_, index) => index));
        },
      ),
      { numRuns: runs(25, 70) },
    );
  });
});
