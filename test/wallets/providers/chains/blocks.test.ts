import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { depthOf, nextBlockMs } from '../../../../wallets/providers/chains/block-time.ts';

const both = (blocks: number) => ({ confirmations: blocks, finality: blocks });

describe('blocks', () => {
  const time = fc.integer({ min: 1_735_689_600_000, max: 4_000_000_000_000 });
  const blockMs = fc.integer({ min: 1, max: 60_000 });

  it('come next after whatever they take in, within one block time', () => {
    fc.assert(
      fc.property(time, blockMs, (nowMs, every) => {
        const next = nextBlockMs(nowMs, every);
        expect(next).toBeGreaterThan(nowMs);
        expect(next - nowMs).toBeLessThanOrEqual(every);
        expect(depthOf(next, nowMs, every, both(2))).toMatchObject({ state: 'pending', confirmations: 0 });
        expect(depthOf(next, next, every, both(2))).toMatchObject({ state: 'confirming', confirmations: 1 });
        expect(depthOf(next, next, every, both(1)).state).toBe('confirmed');
      }),
    );
  });

  it('grow deeper by one a block time, and are final just when they said', () => {
    fc.assert(
      fc.property(time, blockMs, fc.integer({ min: 1, max: 6 }), fc.nat(6), (nowMs, every, confirmations, more) => {
        const mined = nextBlockMs(nowMs, every);
        const needed = { confirmations, finality: confirmations + more };
        const { confirmedAtMs, finalAtMs } = depthOf(mined, nowMs, every, needed);
        expect(depthOf(mined, confirmedAtMs, every, needed).state).toBe('confirmed');
        expect(depthOf(mined, confirmedAtMs - 1, every, needed).state).not.toBe('confirmed');
        expect(depthOf(mined, confirmedAtMs, every, needed).confirmations).toBe(confirmations);
        expect(depthOf(mined, finalAtMs, every, needed).confirmations).toBe(needed.finality);
      }),
    );
  });
});
