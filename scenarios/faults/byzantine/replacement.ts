/** The frames that a sender sends instead of a frame. */
import type { WireBodyInit, WireEnvelope } from '../../../proto/wire.ts';

export interface Said {
  /** Sent first. */
  readonly before: readonly WireEnvelope[];
  /** Instead of the frame; undefined: none. */
  readonly instead: WireEnvelope | undefined;
  /** Sent after it. */
  readonly after: readonly WireEnvelope[];
}

const none: readonly WireEnvelope[] = Object.freeze([]);

/** One frame instead of another; undefined: none. */
export function saidInstead(instead: WireEnvelope | undefined): Said {
  return { before: none, instead, after: none };
}

/** The unchanged frame, with another before it. */
export function saidBefore(before: WireEnvelope, instead: WireEnvelope): Said {
  return { before: [before], instead, after: none };
}

/** The unchanged frame, with another after it. */
export function saidAfter(instead: WireEnvelope, after: WireEnvelope): Said {
  return { before: none, instead, after: [after] };
}

export function withBody(envelope: WireEnvelope, body: WireBodyInit): WireEnvelope {
  return { ...envelope, message: { ...envelope.message, body } };
}
