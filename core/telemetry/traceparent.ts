/** W3C Trace Context (https://www.w3.org/TR/trace-context/), the header `traceparent`. */

/** Version, trace id, parent id, flags; level 1 and later. All zeroes are invalid ids. */
const pattern = /^(?!ff)[0-9a-f]{2}-((?!0{32})[0-9a-f]{32})-((?!0{16})[0-9a-f]{16})-([0-9a-f]{2})$/;

export interface ParentContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
}

/** undefined: empty or malformed. */
export function parseTraceparent(text: string): ParentContext | undefined {
  const [, traceId, spanId, flags] = pattern.exec(text) ?? [];
  if (traceId === undefined) return undefined;
  return { traceId, spanId: spanId!, isSampled: (Number.parseInt(flags!, 16) & 1) === 1 };
}

export function formatTraceparent({ traceId, spanId, isSampled }: ParentContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}
