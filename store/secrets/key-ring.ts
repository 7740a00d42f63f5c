/**
 * The port to the keys that wrap the keys of secrets: one is current and wraps what is new, older ones stay to open what
 * is old.
 */
import type { RandomBytes } from '../../actors/contract.ts';

export interface WrappingKey {
  /** A positive whole number in decimal. */
  readonly id: string;
  /** 32 secret bytes; shared, never changed. */
  readonly key: Uint8Array;
}

export interface KeyRing {
  /** Keys of single secrets, and what wraps them, are drawn from it. */
  readonly random: RandomBytes;
  current(): WrappingKey;
  /** undefined: no such key (any more). */
  find(id: string): WrappingKey | undefined;
}
