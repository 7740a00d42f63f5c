/**
 * The port towards the coordinator: all that the gateway knows of the link. ../coordinator-link.ts is its live adapter
 * (frames over a WebSocket); tests put an in-memory coordinator in its place.
 */
import type { Trace, UndeliveredReason } from '../../actors/contract.ts';
import type { ReceivedWireMessage, WireMessage } from '../../proto/wire.ts';

export interface LinkListener {
  readonly onMessage: (message: ReceivedWireMessage) => void;
  /** The link came up (`true`) or was lost (`false`). Whatever was sent on a lost link is not answered any more. */
  readonly onStatus: (up: boolean) => void;
}

export interface CoordinatorLink {
  /** To the address "coordinator". Returns undefined when the message is on its way, or why it is not. Never throws. */
  send(message: WireMessage, trace: Trace): UndeliveredReason | undefined;
  /** At most one listener; it is told the status at once. */
  listen(listener: LinkListener): void;
}
