/**
 * The port to the vendor of keys: a remote party with keys of its own, which signs when it has decided to. The actors of a
 * node send requests to the address "vendor" of their own process, and get one answer for each. The vendor's callbacks reach
 * an order's actor as `VendorNews`, which says nothing but that it should be looked at. Live it is reached by HTTP
 * (vendor/http-vendor.ts), in the simulated world it is a machine of its own (simulation/cluster/vendor.ts).
 *
 * Keys are made and deleted as a token's are (hsm-port.ts). Every request may be repeated: an order of an external id is made
 * once, and placing it again gives it as it stands.
 */
import type { Curve } from '../../core/crypto/group.ts';
import type { HsmPort, VendorFault } from './hsm-port.ts';

export const vendorAddress = 'vendor';

export type VendorRequest =
  | {
      readonly kind: 'place';
      readonly externalId: string;
      /** Name of the key. */
      readonly label: string;
      readonly curve: Curve;
      /** A digest (secp256k1) or a message (ed25519). */
      readonly message: Uint8Array;
      /** Where its news go. */
      readonly tenant: string;
      readonly reference: string;
    }
  | { readonly kind: 'cancel'; readonly externalId: string };

/** An order as the vendor has it. */
export interface VendorOrderState {
  readonly kind: 'order';
  readonly state: 'open' | 'signed' | 'rejected' | 'cancelled' | 'expired';
  /** 64 bytes once it is signed, as the vendor gave them; otherwise empty. */
  readonly signature: Uint8Array;
  /** It is not signed from then on. */
  readonly expiresMs: number;
  /** The vendor's own word for its state; public. */
  readonly detail: string;
}

export type VendorOutcome =
  | VendorOrderState
  /** `message`: public, without a secret. */
  | { readonly kind: 'failed'; readonly fault: VendorFault; readonly message: string };

/** What a node is given to reach its vendor. */
export interface VendorPort extends HsmPort {
  /** Never throws; `answer` is called once, and not before this returns. */
  order(request: VendorRequest, answer: (outcome: VendorOutcome) => void): void;
}

/** The actor of an intent's order at node `nodeId`. */
export function vendorOrderAddress(nodeId: number, tenant: string, reference: string): string {
  return `node/${nodeId}/${vendorAddress}/${tenant}/${reference}`;
}
