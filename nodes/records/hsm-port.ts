/**
 * The port to a PKCS#11 token. The actors of a node send `HsmAsked` to the address "hsm" of their own process, and get exactly
 * one `HsmAnswered` for each, even if the module fails. Live the token is a separate process (process.ts), in the simulated
 * world it is in memory (simulation/cluster/token.ts).
 *
 * Every request may be repeated: a key of a label is made once.
 */
import type { Curve } from '../../core/crypto/group.ts';

export const hsmAddress = 'hsm';

/** A key of the token. `label`: tenant and session of the key. */
interface HsmKey {
  readonly label: string;
  readonly curve: Curve;
}

export type HsmRequest =
  /** Makes the key if there is none, and signs the challenge (32 bytes) with it. */
  | ({ readonly kind: 'make'; readonly challenge: Uint8Array } & HsmKey)
  /** Signs a digest (secp256k1) or a message (ed25519). */
  | ({ readonly kind: 'sign'; readonly message: Uint8Array } & HsmKey)
  /** Deletes the key; of no key too. */
  | { readonly kind: 'destroy'; readonly label: string };

/** Why a token did not answer; the names of the wire's refusal codes. */
export type HsmFault =
  | 'HSM_UNCONFIGURED'
  | 'HSM_SESSION_LOST'
  | 'HSM_PIN_REFUSED'
  | 'HSM_TIMEOUT'
  | 'HSM_TOKEN_ABSENT'
  | 'HSM_FAILED';

/** Why a vendor did not answer; the names of the wire's refusal codes. */
export type VendorFault = 'VENDOR_UNCONFIGURED' | 'VENDOR_UNAVAILABLE';

export type HsmOutcome =
  | { readonly kind: 'made'; readonly publicKey: Uint8Array; readonly signature: Uint8Array }
  /** 64 bytes, as the token gave them. */
  | { readonly kind: 'signed'; readonly signature: Uint8Array }
  | { readonly kind: 'destroyed' }
  /** `message`: public, without a secret. */
  | { readonly kind: 'failed'; readonly fault: HsmFault | VendorFault; readonly message: string };

/** A node's port to its token. */
export interface HsmPort {
  /** Never throws; `answer` is called once, and not before this returns. */
  ask(request: HsmRequest, answer: (outcome: HsmOutcome) => void): void;
}

/** The answer of a node without a module. */
export const unconfigured: HsmOutcome = {
  kind: 'failed',
  fault: 'HSM_UNCONFIGURED',
  message: 'no PKCS#11 module is configured',
};

/** The name of a key in its token, or at its vendor. */
export function hsmLabel(tenant: string, keySession: string): string {
  return `signmesh/${tenant}/${keySession}`;
}
