/**
 * The gateway's port to the coordinator. coordinator-link.ts is its live adapter (frames over a WebSocket); tests use a
 * coordinator in memory.
 */
import type { Trace, UndeliveredReason } from '../../core/actors/contract.ts';
import type { ReceivedWireMessage, WireMessage } from '../../proto/wire.ts';

export interface LinkListener {
  readonly onMessage: (message: ReceivedWireMessage) => void;
  /** The link came up (`true`) or was lost (`false`). Calls sent on a lost link get no answer. */
  readonly onStatus: (up: boolean) => void;
}

export interface CoordinatorLink {
  /** To the address "coordinator". Returns undefined when the message is on its way, or why it is not. Never throws. */
  send(message: WireMessage, trace: Trace): UndeliveredReason | undefined;
  /** At most one listener; it is told the status at once. */
  listen(listener: LinkListener): void;
}
