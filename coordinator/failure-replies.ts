/**
 * The replies to calls that no actor can answer: the actor threw, its record cannot be read, or its mailbox is full. The
 * processes of both worlds send them, since the contract's `reply` needs an actor.
 */
import type { Address, Envelope } from '../core/actors/contract.ts';
import { noTrace } from '../core/actors/contract.ts';
import { CallErrorCode } from '../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import type { WireMessage } from '../proto/wire.ts';
import { type CoordinatorMessage, isLocal, receivedBody, wire } from './contract/messages.ts';

const failures = {
  bug: { code: CallErrorCode.INTERNAL, message: 'this call met a bug: please report it' },
  unavailable: {
    code: CallErrorCode.UNAVAILABLE,
    message: 'the session store cannot be reached; nothing was changed: repeat the call',
  },
  overloaded: {
    code: CallErrorCode.OVERLOADED,
    message: 'the coordinator has too many calls waiting: repeat later',
  },
} as const;

/** To the gateway whose call the message carries; undefined for a message that carries none. */
export function failureReply(
  { from, message }: Envelope<CoordinatorMessage>,
  cause: keyof typeof failures,
): Envelope<WireMessage> | undefined {
  const call = callOf(from, message);
  if (call === undefined) return undefined;
  const outcome = { case: 'error' as const, value: failures[cause] };
  const reply = wire({}, { case: 'callReply', value: { callId: call.callId, outcome } });
  return { from: 'coordinator', to: call.gateway, message: reply, trace: noTrace };
}

function callOf(
  from: Address,
  message: CoordinatorMessage,
): { readonly callId: bigint; readonly gateway: Address } | undefined {
  if (isLocal(message)) return 'call' in message ? message.call : undefined;
  const body = receivedBody(message);
  return body.case === 'call' ? { callId: body.value.callId, gateway: from } : undefined;
}
