/**
 * No node signs without a gateway's order: every partial signature of a node is of a message that a client gave a gateway, under
 * the same key and path, and for the same intent.
 */
import type { PartialRequest } from '../../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { InitiateSigningRequest } from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { Checker, Observation } from '../observation.ts';
import { PartialRequests } from './partial-requests.ts';
import { hexOf } from './sessions.ts';

export function orderedByGateway(): Checker {
  const requests = new PartialRequests();
  /** Orders that gateways admitted: tenant, key, path, message, intent. */
  const ordered = new Set<string>();

  return {
    invariant: 'ordered-by-gateway',
    observe(observation: Observation) {
      if (observation.kind === 'called') {
        const { method, tenant, request } = observation;
        if (method === 'initiateSigning' || method === 'sign') {
          ordered.add(calledFor(tenant, request as InitiateSigningRequest));
        }
        return undefined;
      }
      const asked = requests.take(observation);
      const [first] = asked;
      if (first === undefined || asked.some(({ tenant, request }) => ordered.has(askedFor(tenant, request)))) {
        return undefined;
      }
      return `${first.node} signed what no gateway ordered (session ${first.session})`;
    },
  };
}

function calledFor(tenant: string, request: InitiateSigningRequest): string {
  const { walletId, messageHash, derivation, transactionIntentId } = request;
  return [tenant, walletId, derivation?.derivationPath ?? '', hexOf(messageHash), transactionIntentId].join(' ');
}

function askedFor(tenant: string, { keySession, derivationPath, message, order }: PartialRequest): string {
  return [tenant, keySession, derivationPath, hexOf(message), order?.transactionIntentId ?? ''].join(' ');
}
