/** The ports of the link proxy: one decides the fate of frames, one observes what passes. */

import type { WireEnvelope } from '../../proto/wire.ts';
import type { FrameInTransit, FrameVerdict, Order } from '../faults/vocabulary/engine-contract.ts';
import type { FrameHead } from './frame-scan.ts';

/** Decides the fate of frames. */
export interface FrameEvaluator {
  /** Frames need not be shown. */
  readonly idle: boolean;
  evaluate(frame: FrameInTransit): FrameVerdict;
  /** What a verdict ordered, once its arrivals are on their way. */
  perform(orders: readonly Order[]): void;
}

/** Observes what passes. No method may throw. */
export interface LinkWatcher {
  /** It passed unchanged. `message`: the whole WebSocket message, valid during the call. */
  passed(head: FrameHead, message: Buffer): void;
  /** It was evaluated. */
  evaluated(head: FrameHead, envelope: WireEnvelope, verdict: FrameVerdict): void;
  /** A peer opens a link anew: it has given up the one before. */
  connecting(peer: string): void;
  link(peer: string, up: boolean, why: string): void;
}

/** More than any party of the link takes: the receiver refuses a message that is too large. */
export const proxyMessageBytesMax = 64 * 1024 * 1024;
