/**
 * The port to the keys that wrap the keys of secrets: the current one wraps new keys, older ones stay to open old ones.
 */
import type { RandomBytes } from '../../../core/actors/contract.ts';

export interface WrappingKey {
  /** A positive whole number in decimal. */
  readonly id: string;
  /** 32 secret bytes; shared, never changed. */
  readonly key: Uint8Array;
}

export interface KeyRing {
  /** The source of data keys and of the nonces that wrap them. */
  readonly random: RandomBytes;
  current(): WrappingKey;
  /** undefined: no such key. */
  find(id: string): WrappingKey | undefined;
}
