/** What the proxy of links needs of others: who decides what becomes of frames, and who is told of what passes. */
import type { FrameInTransit, FrameVerdict, Order } from '../faults/engine-contract.ts';
import type { WireEnvelope } from '../proto/wire.ts';
import type { FrameHead } from './frame-scan.ts';

/** Who decides what becomes of frames. */
export interface FrameJudge {
  /** Frames need not be shown. */
  readonly idle: boolean;
  judge(frame: FrameInTransit): FrameVerdict;
  /** What a verdict ordered, once its arrivals are on their way. */
  perform(orders: readonly Order[]): void;
}

/** Who is told of what passes. None of these may throw. */
export interface LinkWatcher {
  /** It passed as it was. `message`: the whole WebSocket message, lent for the moment. */
  passed(head: FrameHead, message: Buffer): void;
  /** It was judged. */
  judged(head: FrameHead, envelope: WireEnvelope, verdict: FrameVerdict): void;
  /** A peer opens a link anew: it has given up the one before. */
  knock(peer: string): void;
  link(peer: string, up: boolean, why: string): void;
}

/** More than any party of the link takes: what is too large is refused by whom it is meant for. */
export const proxyMessageBytesMax = 64 * 1024 * 1024;
