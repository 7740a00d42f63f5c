/** Routes messages between the actors of a node and its vendor: live and simulated hosts use it for the address "vendor". */
import { type Envelope, noTrace } from '../../core/actors/contract.ts';
import type { NodeMessage } from '../records/messages.ts';
import { type VendorPort, vendorAddress, vendorOrderAddress } from '../records/vendor-port.ts';

type Deliver = (envelope: Envelope<NodeMessage>) => void;

/** Whether the message was for the vendor. `deliver` gets the answer for the requesting actor. */
export function routeToVendor(vendor: VendorPort, envelope: Envelope<NodeMessage>, deliver: Deliver): boolean {
  const { from, to, message, trace } = envelope;
  if (to !== vendorAddress || !('kind' in message)) return false;
  if (message.kind === 'hsmAsked') {
    const { request, about } = message;
    vendor.ask(request, (outcome) =>
      deliver({ from: to, to: from, message: { kind: 'hsmAnswered', outcome, about }, trace: about.trace }),
    );
    return true;
  }
  if (message.kind !== 'vendorAsked') return false;
  const { externalId } = message.request;
  vendor.order(message.request, (outcome) =>
    deliver({ from: to, to: from, message: { kind: 'vendorAnswered', externalId, outcome }, trace }),
  );
  return true;
}

/** For each order that a node's store has when its process starts, and for each callback. */
export function vendorNews(nodeId: number, tenant: string, reference: string): Envelope<NodeMessage> {
  const to = vendorOrderAddress(nodeId, tenant, reference);
  return { from: vendorAddress, to, message: { kind: 'vendorNews' }, trace: noTrace };
}
