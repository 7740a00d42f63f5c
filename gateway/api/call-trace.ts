/** The trace data of a call, from its body first and from its transport second. */
import type { OrchestrationContext } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';

/** W3C Trace Context, level 1 and later: version, trace id, parent id, flags. All zeroes are invalid ids. */
const traceparentPattern = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

export interface CallTrace {
  readonly correlationId: string;
  readonly traceparent: string;
}

/**
 * `message` is a decoded request; every one of them has `context`. `header` is the transport's traceparent, used when the body
 * has none and dropped when it is malformed. A call without a correlation id uses its request id.
 */
export function callTrace(message: object, header: string | undefined, requestId: string): CallTrace {
  const { context } = message as { readonly context?: OrchestrationContext };
  const fromHeader = header !== undefined && traceparentPattern.test(header) ? header : '';
  return {
    correlationId: context?.correlationId || requestId,
    traceparent: context?.traceparent || fromHeader,
  };
}
