/**
 * The live adapter of the port towards the coordinator: frames over the authenticated WebSocket link. The gateway speaks
 * as "gateway/<boot>", with a boot id fresh for every start, so that a reply to an earlier process finds no receiver.
 */
import type { Envelope, Trace, UndeliveredReason } from '../../core/actors/contract.ts';
import { identityFromSeed } from '../../core/actors/live/handshake-crypto.ts';
import { LinkClient } from '../../core/actors/live/link-client.ts';
import type { LinkTls } from '../../core/actors/live/link-tls.ts';
import type { Log } from '../../core/actors/live/ports.ts';
import { certificateName } from '../../proto/link-names.ts';
import type { Roster } from '../../proto/roster.ts';
import {
  decodeFrames,
  decodeHandshake,
  encodeFrame,
  encodeHandshake,
  type ReceivedWireMessage,
  type WireMessage,
  wireProtocolVersions,
} from '../../proto/wire.ts';
import type { CoordinatorLink, LinkListener } from './coordinator-port.ts';

export interface CoordinatorLinkOptions {
  /** wss://host:port of the coordinator, or ws://. */
  readonly url: string;
  readonly roster: Roster;
  /** For wss:// URLs. */
  readonly tls?: LinkTls | undefined;
  /** 32 bytes: the seed of the identity that all gateways of a cluster share. Secret. */
  readonly identitySeed: Uint8Array;
  /** Secret. */
  readonly joinSecret: Uint8Array;
  /** Fresh for every start of the process. */
  readonly boot: string;
  readonly log: Log;
}

export class LiveCoordinatorLink implements CoordinatorLink {
  readonly #client: LinkClient<WireMessage>;
  readonly #from: string;
  #listener: LinkListener | undefined;

  constructor(options: CoordinatorLinkOptions) {
    this.#from = `gateway/${options.boot}`;
    this.#client = new LinkClient<WireMessage>({
      url: options.url,
      tls: options.tls && { ...options.tls, coordinatorName: certificateName(options.roster, 'coordinator')! },
      codec: { encodeFrame, decodeFrames, encodeHandshake, decodeHandshake },
      handshake: {
        protocolVersions: wireProtocolVersions,
        clusterId: options.roster.clusterId,
        joinSecret: options.joinSecret,
        identity: identityFromSeed(options.identitySeed),
        role: 'gateway',
        nodeId: 0,
        boot: options.boot,
        coordinatorKey: options.roster.coordinator,
      },
      deliver: (envelope) => this.#deliver(envelope),
      onUp: () => this.#listener?.onStatus(true),
      onDown: () => this.#listener?.onStatus(false),
      log: options.log,
    });
  }

  send(message: WireMessage, trace: Trace): UndeliveredReason | undefined {
    return this.#client.send({ from: this.#from, to: 'coordinator', message, trace });
  }

  listen(listener: LinkListener): void {
    this.#listener = listener;
    listener.onStatus(this.#client.isUp);
  }

  /** Begins to connect and returns at once; the link reconnects by itself. */
  start(): void {
    this.#client.start();
  }

  /** Closes the link for good. */
  async stop(): Promise<void> {
    await this.#client.stop();
  }

  #deliver(envelope: Envelope<WireMessage>): UndeliveredReason | undefined {
    if (envelope.to !== this.#from) return 'noRoute';
    // Off the wire a message is complete: the codec made it.
    this.#listener?.onMessage(envelope.message as ReceivedWireMessage);
    return undefined;
  }
}
