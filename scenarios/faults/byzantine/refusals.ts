/** False refusals, and unrequested confirmations. */
import { PartialRefusalCode, type PartialReply } from '../../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { WireBody, WireBodyInit } from '../../../proto/wire.ts';
import { isDkgRefusal, isPartialRefusal, type RefusalName } from '../vocabulary/refusal-codes.ts';

const message = 'a false refusal';

/** A refusal instead of this answer; undefined: no node refuses this kind of request with this code. */
export function falseRefusal(code: RefusalName, nodeId: number, body: WireBody): WireBodyInit | undefined {
  if (body.case === 'partialReply') {
    return isPartialRefusal(code) ? partialRefusal(body.value, PartialRefusalCode[code]) : undefined;
  }
  if (!isDkgRefusal(code)) return undefined;
  return { case: 'dkgRefused', value: { nodeId, code, message, culprits: [], request: requestOf(body) } };
}

function partialRefusal({ nodeId, attemptTag }: PartialReply, code: PartialRefusalCode): WireBodyInit {
  return {
    case: 'partialReply',
    value: { nodeId, attemptTag, outcome: { case: 'refusal', value: { code, message } } },
  };
}

/** A node's confirmation of its final key, to the request that `body` answers. */
export function confirmation(nodeId: number, body: WireBody): WireBodyInit {
  return { case: 'dkgConfirmed', value: { nodeId, request: requestOf(body) } };
}

/** An answer only counts with the number of its request. */
function requestOf({ value }: WireBody): number {
  return 'request' in value && typeof value.request === 'number' ? value.request : 0;
}
