/**
 * A vendor signs with its keys only messages that a client gave a gateway, and one message for each intent. An intent has at most
 * one open or validly signed order at the vendor, whatever happened to its sessions, node and coordinator; further orders follow
 * only those that ended without a signature, or with one that does not verify.
 *
 * A callback names the actor of one intent's orders: "node/tenant/reference".
 */
import type { InitiateSigningRequest } from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { VendorOrder } from '../../../wallets/providers/vendor/public.ts';
import type { Checker, Observation } from '../observation.ts';
import { hexOf } from './sessions.ts';

export function oneOrderAnIntent(): Checker {
  /** Messages that gateways admitted: label of the key at the vendor, message. */
  const asked = new Set<string>();
  /** By callback: the order that may be signed, or is. */
  const standing = new Map<string, VendorOrder>();

  function changed(order: VendorOrder): string | undefined {
    const { callback, externalId, key, message } = order;
    if (!asked.has(`${key} ${message}`)) return `the vendor has an order (${externalId}) that no client asked for`;
    const known = standing.get(callback);
    if (!stands(order)) {
      if (known?.externalId === externalId) standing.delete(callback);
      return undefined;
    }
    standing.set(callback, order);
    if (known === undefined || known.externalId === externalId) return undefined;
    return `the vendor has two orders of one intent (${known.externalId}, ${externalId})`;
  }

  return {
    invariant: 'one-order-an-intent',
    observe(observation: Observation) {
      if (observation.kind === 'vendor') return changed(observation.order);
      if (observation.kind !== 'called') return undefined;
      const { method, tenant, request } = observation;
      if (method === 'initiateSigning' || method === 'sign') {
        const { walletId, messageHash } = request as InitiateSigningRequest;
        asked.add(`${labelOf(tenant, walletId)} ${hexOf(messageHash)}`);
      }
      return undefined;
    },
  };
}

/** It may be signed, or is. */
function stands({ status, fate }: VendorOrder): boolean {
  return status === 'SUBMITTED' || status === 'PENDING_SIGNATURE' || (status === 'COMPLETED' && fate !== 'lie');
}

/** The label of a key at tokens and vendors. */
function labelOf(tenant: string, key: string): string {
  return `signmesh/${tenant}/${key}`;
}
