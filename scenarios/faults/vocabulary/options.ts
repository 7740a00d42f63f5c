/** The fault engine's settings: its cluster. And the error for a fault that this cluster cannot have. */
import type { RandomSource } from '../../../core/crypto/bytes.ts';
import type { Roster } from '../../../proto/roster.ts';

export interface FaultEngineOptions {
  /** Nodes are 1..nodesTotal. */
  readonly nodesTotal: number;
  /** A separate stream: the same stream and the same calls give the same verdicts. */
  readonly random: RandomSource;
  readonly roster: Roster;
  /** A node's Ed25519 seed, 32 bytes, secret: byzantine nodes sign their lies. Undefined: the seed is not available. */
  readonly identitySeed: (nodeId: number) => Uint8Array | undefined;
  /** The time after which heartbeats declare a silent link dead; 6,000 by default. */
  readonly linkTimeoutMs?: number;
  /** Gateways and workers; 1 each by default. */
  readonly gateways?: number;
  readonly workers?: number;
  /** Gateways and workers report their port calls and requests to the engine: the simulated world with the wallet API. */
  readonly hasPorts?: boolean;
  /** The live world refuses kinds that only the simulated world has. */
  readonly world: 'simulated' | 'live';
}

/** A fault that cannot be armed: the field of the fault, as in its file ("at.phase"), and the remedy. */
export class FaultError extends Error {
  override readonly name = 'FaultError';
  readonly field: string;
  constructor(field: string, message: string) {
    super(`${field}: ${message}`);
    this.field = field;
  }
}

/** A number in [0, 1), of 53 bits. */
export function unitOf(random: RandomSource): number {
  const bytes = Buffer.from(random(8));
  return (bytes.readUInt32BE(0) * 2 ** 21 + (bytes.readUInt32BE(4) >>> 11)) / 2 ** 53;
}
