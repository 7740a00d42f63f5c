/** Routes messages to the address "hsm" between the actors of a node and its token, for live and simulated hosts. */
import type { Envelope } from '../../core/actors/contract.ts';
import { type HsmPort, hsmAddress } from '../records/hsm-port.ts';
import type { NodeMessage } from '../records/messages.ts';

/** Whether the message was for the token. `deliver` gets the answer, to the actor that asked. */
export function routeToHsm(
  hsm: HsmPort,
  { from, to, message }: Envelope<NodeMessage>,
  deliver: (envelope: Envelope<NodeMessage>) => void,
): boolean {
  if (to !== hsmAddress || !('kind' in message) || message.kind !== 'hsmAsked') return false;
  const { request, about } = message;
  hsm.ask(request, (outcome) =>
    deliver({ from: hsmAddress, to: from, message: { kind: 'hsmAnswered', outcome, about }, trace: about.trace }),
  );
  return true;
}
