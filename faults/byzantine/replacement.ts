/** What a sender says in a frame's place. */
import type { WireBodyInit, WireEnvelope } from '../../proto/wire.ts';

export interface Said {
  /** Sent first. */
  readonly before: readonly WireEnvelope[];
  /** In the frame's place; undefined: none. */
  readonly instead: WireEnvelope | undefined;
  /** Sent behind it. */
  readonly after: readonly WireEnvelope[];
}

const none: readonly WireEnvelope[] = Object.freeze([]);

/** One frame in the place of another; undefined: none. */
export function saidInstead(instead: WireEnvelope | undefined): Said {
  return { before: none, instead, after: none };
}

/** The frame as it was, with another before it. */
export function saidBefore(before: WireEnvelope, instead: WireEnvelope): Said {
  return { before: [before], instead, after: none };
}

/** The frame as it was, with another behind it. */
export function saidAfter(instead: WireEnvelope, after: WireEnvelope): Said {
  return { before: none, instead, after: [after] };
}

export function withBody(envelope: WireEnvelope, body: WireBodyInit): WireEnvelope {
  return { ...envelope, message: { ...envelope.message, body } };
}
