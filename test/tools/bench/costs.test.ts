/** The cost model of docs/scale.md, held against the frames and writes that the simulated world counts. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { redisUse, useEach } from '../../../tools/bench/cluster/redis-use.ts';
import { countCeremonies } from '../../../tools/bench/costs/count.ts';
import { countKeyPoints, countSignaturePoints } from '../../../tools/bench/costs/count-crypto.ts';
import { countTransfers } from '../../../tools/bench/costs/count-wallet.ts';
import {
  batchesMax,
  type CeremonyCost,
  dealingFrames,
  dkgCost,
  dkgPoints,
  signingCost,
  signingPoints,
  transferCost,
  transferEvents,
} from '../../../tools/bench/costs/model.ts';
import { root } from '../../cli/support/up-process.ts';

/** Bytes depend on the lengths of names. */
const bytesOff = 0.1;

function expectCost(counted: CeremonyCost, model: CeremonyCost): void {
  const { bytes, ...exact } = counted;
  const { bytes: expected, ...modelled } = model;
  expect(exact).toEqual(modelled);
  expect(Math.abs(bytes / expected - 1), `${bytes} bytes, the model says ${expected}`).toBeLessThan(bytesOff);
}

const shapes = [
  ['ecdsa', 2, 2],
  ['ecdsa', 3, 2],
  ['ecdsa', 5, 3],
  ['ecdsa', 7, 2],
  ['ecdsa', 9, 5],
  ['ed25519', 3, 2],
  ['ed25519', 5, 5],
  ['ed25519', 7, 4],
  ['bip340', 5, 3],
] as const;

describe('the cost model', () => {
  test.each(shapes)('%s, n = %i, t = %i: frames and writes exactly, bytes within a tenth', (kind, n, t) => {
    const { dkg, signing } = countCeremonies({ n, t }, kind);
    expectCost(dkg, dkgCost({ n, t }));
    expectCost(signing, signingCost({ n, t }, kind));
  });

  test('notices another number of frames, writes or bytes', () => {
    const counted = countCeremonies({ n: 3, t: 2 }, 'ecdsa').signing;
    const model = signingCost({ n: 3, t: 2 }, 'ecdsa');
    expect(() => expectCost(counted, { ...model, frames: { ...model.frames, partialRequest: 3 } })).toThrow();
    expect(() => expectCost(counted, { ...model, nodeWrites: 3 })).toThrow();
    expect(() => expectCost(counted, { ...model, coordinatorWrites: 3 })).toThrow();
    expect(() => expectCost(counted, signingCost({ n: 3, t: 3 }, 'ecdsa'))).toThrow();
    expect(() => expectCost({ ...counted, bytes: counted.bytes * 1.2 }, model)).toThrow();
  });

  test('nonces cost a frame or so for many signatures', () => {
    const { dealingFrames: frames, signatures } = countCeremonies({ n: 3, t: 2 }, 'ecdsa', 160);
    const model = dealingFrames(2, 32) * signatures;
    expect(frames).toBeGreaterThan(model / 2);
    expect(frames).toBeLessThanOrEqual(model);
  });

  test('is that of the page', () => {
    const page = readFileSync(join(root, 'docs/scale.md'), 'utf8');
    const number = (value: number) => value.toLocaleString('en-US');
    for (const [what, cost] of [
      ['a key', dkgCost({ n: 5, t: 3 })],
      ['a mock ECDSA signature', signingCost({ n: 5, t: 3 }, 'ecdsa')],
      ['a FROST signature', signingCost({ n: 5, t: 3 }, 'ed25519')],
    ] as const) {
      const frames = Object.values(cost.frames).reduce((sum, count) => sum + count, 0);
      expect(page).toContain(
        `| ${what}, 3 of 5 | ${frames} | ${number(cost.bytes)} | ${cost.coordinatorWrites} | ${cost.nodeWrites} |`,
      );
    }
  });
});

describe('operations on points', () => {
  test.each([
    [2, 2],
    [3, 2],
    [5, 3],
  ])('of a key, n = %i, t = %i', (n, t) => {
    expect(countKeyPoints({ n, t })).toEqual(dkgPoints({ n, t }));
  });

  test.each([
    ['ecdsa', 3, 2],
    ['ed25519', 3, 2],
    ['ed25519', 5, 4],
    ['bip340', 5, 3],
  ] as const)('of a signature, %s, n = %i, t = %i', (kind, n, t) => {
    expect(countSignaturePoints({ n, t }, kind)).toEqual(signingPoints({ n, t }, kind));
  });

  test('one check or multiplication more is noticed', () => {
    const counted = countSignaturePoints({ n: 2, t: 2 }, 'ed25519');
    for (const what of ['base', 'point', 'checked'] as const) {
      expect({ ...counted, [what]: counted[what] + 1 }).not.toEqual(signingPoints({ n: 2, t: 2 }, 'ed25519'));
    }
  });
});

describe('a transfer and its deliveries', () => {
  const batches = ['worker delivery/deliveries/dispatch.lua', 'worker queue'];
  const apart = (counts: Readonly<Record<string, number>>) => ({
    each: Object.fromEntries(Object.entries(counts).filter(([what]) => !batches.includes(what))),
    together: batches.map((what) => counts[what] ?? 0),
  });

  test.each(['self_hosted', 'custodian'] as const)(
    '%s: every call of Redis, frame and write is the model’s',
    async (kind) => {
      const { each, together } = apart(await countTransfers(kind, 2));
      expect(each).toEqual(transferCost(kind, { n: 5, t: 3 }));
      for (const count of together) {
        expect(count).toBeGreaterThan(0);
        expect(count).toBeLessThanOrEqual(batchesMax[kind]);
      }
      expect(each['worker egress']).toBe(transferEvents[kind]);
      expect({
        ...each,
        'gateway store/commit.lua': each['gateway store/commit.lua']! + 1,
      }).not.toEqual(transferCost(kind, { n: 5, t: 3 }));
    },
  );

  test('are those of the page', () => {
    const page = readFileSync(join(root, 'docs/scale.md'), 'utf8');
    for (const kind of ['self_hosted', 'custodian'] as const) {
      const cost = transferCost(kind, { n: 5, t: 3 });
      const scripts = Object.entries(cost).filter(([what]) => what.startsWith('gateway ') && what.endsWith('.lua'));
      const ofGateway = scripts.reduce((sum, [, count]) => sum + count, 0);
      const reads = cost['gateway get']! + cost['gateway hmget']! + cost['gateway hgetall']!;
      expect(page).toContain(
        `| a ${kind} transfer | ${ofGateway} | ${reads} | ${cost['coordinator writes'] ?? 0} | ${transferEvents[kind]} |`,
      );
    }
  });
});

test('the work of a Redis is the difference of two readings', async () => {
  const reading = (evalsha: number, get: number, bytes: number) => ({
    info: async (section: unknown) =>
      section === 'stats'
        ? `# Stats\r\ntotal_net_input_bytes:${bytes}\r\ntotal_net_output_bytes:${2 * bytes}\r\n`
        : `# Commandstats\r\ncmdstat_evalsha:calls=${evalsha},usec=1\r\ncmdstat_get:calls=${get},usec=1\r\n`,
  });
  const before = await redisUse(reading(10, 100, 1_000) as never);
  const after = await redisUse(reading(30, 180, 5_000) as never);
  expect(useEach(before, after, 10)).toEqual({ commands: 10, scripts: 2, bytesIn: 400, bytesOut: 800 });
});
