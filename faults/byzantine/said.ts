/** What a sender says in a frame's place. */
import type { WireBodyInit, WireEnvelope } from '../../proto/wire.ts';

export interface Said {
  /** Sent first. */
  readonly before: readonly WireEnvelope[];
  /** In the frame's place; undefined: nothing. */
  readonly instead: WireEnvelope | undefined;
}

export function withBody(envelope: WireEnvelope, body: WireBodyInit): WireEnvelope {
  return { ...envelope, message: { ...envelope.message, body } };
}
