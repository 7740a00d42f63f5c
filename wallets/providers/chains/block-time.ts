/**
 * Blocks as a pure function of time: block n exists from `genesisMs + n · blockMs` on. A transaction accepted at time t is in
 * the next block after t.
 */
import type { Depths } from './chain.ts';

export const blockMsDefault = 1_000;
/** 2025-01-01T00:00:00Z: block 0 of every chain. */
const genesisMs = 1_735_689_600_000;

/** The time of the block that includes a transaction arriving now. */
export function nextBlockMs(nowMs: number, blockMs: number): number {
  return genesisMs + (headAt(nowMs, blockMs) + 1) * blockMs;
}

/** The number and the time of the newest block. */
export function headOf(nowMs: number, blockMs: number): { readonly block: number; readonly atMs: number } {
  const block = headAt(nowMs, blockMs);
  return { block, atMs: genesisMs + block * blockMs };
}

export interface BlockDepth {
  readonly block: number;
  readonly state: 'pending' | 'confirming' | 'confirmed';
  readonly confirmations: number;
  readonly confirmedAtMs: number;
  readonly finalAtMs: number;
}

/** The depth of the block at `minedAtMs`, past or future. Its own block is the first confirmation. */
export function depthOf(minedAtMs: number, nowMs: number, blockMs: number, needed: Depths): BlockDepth {
  const block = headAt(minedAtMs, blockMs);
  const confirmations = nowMs < minedAtMs ? 0 : headAt(nowMs, blockMs) - block + 1;
  return {
    block,
    confirmations,
    state: confirmations === 0 ? 'pending' : confirmations < needed.confirmations ? 'confirming' : 'confirmed',
    confirmedAtMs: genesisMs + (block + needed.confirmations - 1) * blockMs,
    finalAtMs: genesisMs + (block + needed.finality - 1) * blockMs,
  };
}

function headAt(nowMs: number, blockMs: number): number {
  return Math.floor((nowMs - genesisMs) / blockMs);
}
