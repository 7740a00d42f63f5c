/** False refusals, and confirmations that were not asked for. */
import { PartialRefusalCode, type PartialReply } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { WireBody, WireBodyInit } from '../../proto/wire.ts';
import { isDkgRefusal, isPartialRefusal, type RefusalName } from '../vocabulary/refusal-codes.ts';

const message = 'a false refusal';

/** A refusal in place of this answer; undefined: an answer of this kind is never refused with this code. */
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

/** What a node says when it has made its key final, to the request that `body` answers. */
export function confirmation(nodeId: number, body: WireBody): WireBodyInit {
  return { case: 'dkgConfirmed', value: { nodeId, request: requestOf(body) } };
}

/** An answer counts with the number of its request alone. */
function requestOf({ value }: WireBody): number {
  return 'request' in value && typeof value.request === 'number' ? value.request : 0;
}
