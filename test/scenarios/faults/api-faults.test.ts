/** Faults of the door in the engine: which requests they touch, how often, and what those requests get. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { faultEngine } from '../../../scenarios/faults/engine.ts';
import type { ApiServerRequest } from '../../../scenarios/faults/vocabulary/engine-contract.ts';
import type { Fault } from '../../../scenarios/faults/vocabulary/fault.ts';
import { optionsFor } from './support/frames.ts';

const engineOf = () => faultEngine(optionsFor({ world: 'live' }));
const http = (method: string, path: string): ApiServerRequest => ({ door: 'http', method, path });
const grpc = (rpc: string): ApiServerRequest => ({ door: 'grpc', rpc });

function touched(fault: object, request: ApiServerRequest): boolean {
  const engine = engineOf();
  engine.arm({ fault: 'answer_lost', ...fault } as Fault, 0);
  return engine.request(request, 1).fate === 'lost';
}

describe('a fault of the door', () => {
  test.each<[object, ApiServerRequest, boolean]>([
    [{}, http('GET', '/v1/wallets'), true],
    [{}, grpc('InitiateSigning'), true],
    [{ route: '/v1/wallets/:id' }, http('GET', '/v1/wallets/wal_1'), true],
    [{ route: '/v1/wallets/*' }, http('PATCH', '/v1/wallets/wal_1'), true],
    [{ route: 'GET /v1/wallets/:id' }, http('PATCH', '/v1/wallets/wal_1'), false],
    [{ route: '/v1/wallets/:id' }, http('GET', '/v1/wallets'), false],
    [{ route: '/v1/wallets/:id' }, http('GET', '/v1/wallets/'), false],
    [{ route: '/v1/wallets/:id' }, http('GET', '/v1/wallets/a/b'), false],
    [{ route: '/v1/signing/initiate' }, grpc('InitiateSigning'), false],
    [{ rpc: 'InitiateSigning' }, grpc('InitiateSigning'), true],
    [{ rpc: 'InitiateSigning' }, grpc('InitiateDkg'), false],
    [{ rpc: 'InitiateSigning' }, http('POST', '/v1/signing/initiate'), false],
    [{ rpc: 'InitiateSigning', route: '/v1/signing/initiate' }, http('POST', '/v1/signing/initiate'), true],
  ])('%j touches %j: %s', (fault, request, expected) => {
    expect(touched(fault, request)).toBe(expected);
  });

  test('triggers `count` times, tells of its first and its end, and is over', () => {
    const engine = engineOf();
    const { id } = engine.arm({ fault: 'answer_status', status: 503, retry_after_s: 2, count: 2 }, 0);
    const refused = { fate: 'refused', status: 503, retryAfterS: 2, delayMs: 0, faults: [id] };
    expect(engine.request(http('GET', '/a'), 1)).toEqual(refused);
    expect(engine.wake(1)).toMatchObject([{ kind: 'fired', id, victims: ['gateway'] }]);
    expect(engine.request(http('GET', '/a'), 2)).toEqual(refused);
    expect(engine.request(http('GET', '/a'), 3)).toEqual({ fate: 'answered', delayMs: 0, faults: [] });
    expect(engine.wake(3)).toMatchObject([{ kind: 'ended', id }]);
    expect(engine.list(3)).toMatchObject([{ id, state: 'over', triggerCount: 2 }]);
  });

  test('begins at its nth request: that one alone, or from it on', () => {
    const fates = (fault: object) => {
      const engine = engineOf();
      engine.arm({ fault: 'answer_lost', route: '/a', ...fault } as Fault, 0);
      const paths = ['/a', '/b', '/a', '/a', '/a'];
      return paths.map((path, index) => engine.request(http('GET', path), index).fate === 'lost');
    };
    expect(fates({ at: { nth: 2 } })).toEqual([false, false, true, false, false]);
    expect(fates({ at: { nth: 2 }, count: 2 })).toEqual([false, false, true, true, false]);
    expect(fates({ at: { nth: 3 }, for_ms: 100 })).toEqual([false, false, false, true, true]);
  });

  test('holds for its time, from its step on', () => {
    const engine = engineOf();
    engine.arm({ fault: 'answer_cut', at: { step: 'pay' }, for_ms: 100 }, 0);
    const fate = (nowMs: number) => engine.request(grpc('InitiateDkg'), nowMs).fate;
    expect(fate(1)).toBe('answered');
    engine.step('pay', 10);
    expect([fate(11), fate(109), fate(110)]).toEqual(['cut', 'cut', 'answered']);
  });

  test('has its probability for each request', () => {
    const draws = [0.1, 0.9, 0.1];
    const random = () => {
      const bytes = Buffer.alloc(8);
      bytes.writeUInt32BE(Math.floor((draws.shift() ?? 0) * 2 ** 32));
      return bytes;
    };
    const engine = faultEngine(optionsFor({ world: 'live', random }));
    engine.arm({ fault: 'answer_lost', probability: 0.5 }, 0);
    const fates = [1, 2, 3].map((nowMs) => engine.request(grpc('InitiateDkg'), nowMs).fate);
    expect(fates).toEqual(['lost', 'answered', 'lost']);
  });

  test('beside others: delays add up, the first of the rest decides, and no other counts', () => {
    const kinds = fc.constantFrom<Fault>(
      { fault: 'answer_slow', by_ms: 7 },
      { fault: 'answer_lost' },
      { fault: 'answer_cut' },
      { fault: 'answer_status', status: 429 },
    );
    const fates = { answer_lost: 'lost', answer_cut: 'cut', answer_status: 'refused' } as const;
    fc.assert(
      fc.property(fc.array(kinds, { maxLength: 6 }), (faults) => {
        const engine = engineOf();
        for (const fault of faults) engine.arm(fault, 0);
        const verdict = engine.request(http('GET', '/a'), 1);
        const first = faults.find(({ fault }) => fault !== 'answer_slow')?.fault as keyof typeof fates | undefined;
        expect(verdict.fate).toBe(first === undefined ? 'answered' : fates[first]);
        expect(verdict.delayMs).toBe(7 * faults.filter(({ fault }) => fault === 'answer_slow').length);
        const counts = engine.list(1).map(({ triggerCount }) => triggerCount);
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(verdict.faults.length);
      }),
    );
  });

  test('is refused in a simulated world without the wallet API, which has no door', () => {
    const engine = faultEngine(optionsFor({ world: 'simulated' }));
    expect(() => engine.arm({ fault: 'answer_lost' }, 0)).toThrow(
      /live only: a simulated world without the wallet API has no gateway/,
    );
  });
});
