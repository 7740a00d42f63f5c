/** What the tests of the actor room share: servers and clients of links, and a cluster's keys. */

import { onTestFinished, vi } from 'vitest';
import type { Envelope } from '../../../../core/actors/contract.ts';
import { noTrace } from '../../../../core/actors/contract.ts';
import type { ClientHandshakeConfig, PeerRole, ServerHandshakeConfig } from '../../../../core/actors/live/handshake.ts';
import { identityFromSeed } from '../../../../core/actors/live/handshake-crypto.ts';
import { LinkClient, type LinkClientOptions } from '../../../../core/actors/live/link-client.ts';
import { LinkServer, type LinkServerOptions } from '../../../../core/actors/live/link-server.ts';
import type { WireCodec } from '../../../../core/actors/live/wire-port.ts';
import {
  decodeFrames,
  decodeHandshake,
  encodeFrame,
  encodeHandshake,
  type WireMessage,
} from '../../../../proto/wire.ts';
import { collectLog } from '../../../support/log.ts';

export const codec: WireCodec<WireMessage> = { encodeFrame, decodeFrames, encodeHandshake, decodeHandshake };

export const joinSecret = new Uint8Array(32).fill(7);
const seed = (value: number) => new Uint8Array(32).fill(value);
export const coordinatorIdentity = identityFromSeed(seed(100));
export const gatewayIdentity = identityFromSeed(seed(101));
export const nodeIdentity = (id: number) => identityFromSeed(seed(id));
export const nodesTotal = 5;

export function serverConfig(changes: Partial<ServerHandshakeConfig> = {}): ServerHandshakeConfig {
  return {
    protocolVersions: [1],
    clusterId: 'test-cluster',
    coordinatorBoot: 'coordinator-boot-1',
    joinSecret,
    identity: coordinatorIdentity,
    peerKey: (role, nodeId) => {
      if (role === 'gateway') return gatewayIdentity.publicKey;
      return nodeId >= 1 && nodeId <= nodesTotal ? nodeIdentity(nodeId).publicKey : undefined;
    },
    ...changes,
  };
}

export function clientConfig(
  role: PeerRole,
  nodeId: number,
  changes: Partial<ClientHandshakeConfig> = {},
): ClientHandshakeConfig {
  return {
    protocolVersions: [1],
    clusterId: 'test-cluster',
    joinSecret,
    identity: role === 'node' ? nodeIdentity(nodeId) : gatewayIdentity,
    role,
    nodeId,
    boot: `${role}-${nodeId}-boot`,
    coordinatorKey: coordinatorIdentity.publicKey,
    ...changes,
  };
}

/** A message whose session names it. */
export function wireMessage(session: string): WireMessage {
  return { tenant: 't', session, attempt: 0, body: { case: 'dkgDiscard', value: {} } };
}

export function wireEnvelope(from: string, to: string, session: string): Envelope<WireMessage> {
  return { from, to, message: wireMessage(session), trace: noTrace };
}

/** Builds servers and clients that are stopped after the test with `stopAll`. */
export function mesh() {
  const stops: (() => Promise<void>)[] = [];
  return {
    stops,
    async stopAll(): Promise<void> {
      await Promise.all(stops.splice(0).map((stop) => stop()));
    },
    async server(changes: Partial<LinkServerOptions<WireMessage>> = {}) {
      const received: Envelope<WireMessage>[] = [];
      const events: string[] = [];
      const { log, lines } = collectLog();
      const server: LinkServer<WireMessage> = new LinkServer<WireMessage>({
        host: '127.0.0.1',
        port: 0,
        handshake: serverConfig(),
        codec,
        deliver: (envelope) => {
          received.push(envelope);
          return undefined;
        },
        onPeerUp: (peer) => events.push(`up ${peer.address} ${peer.boot}`),
        onPeerDown: (peer) => events.push(`down ${peer.address} ${peer.boot}`),
        log,
        ...changes,
      });
      const { port, url } = await server.start();
      stops.push(() => server.stop());
      return { server, port, url, received, events, lines };
    },
    client(url: string, role: PeerRole, nodeId: number, changes: Partial<LinkClientOptions<WireMessage>> = {}) {
      const received: Envelope<WireMessage>[] = [];
      const events: string[] = [];
      const { log, lines } = collectLog();
      const client = new LinkClient<WireMessage>({
        url,
        handshake: clientConfig(role, nodeId),
        codec,
        deliver: (envelope) => {
          received.push(envelope);
          return undefined;
        },
        onUp: (boot) => events.push(`up ${boot}`),
        onDown: (why) => events.push(`down ${why}`),
        log,
        ...changes,
      });
      client.start();
      stops.push(() => client.stop());
      return { client, received, events, lines };
    },
  };
}

/** Timers that are started until the test ends, by their time, for a test that lets them fire itself; and those that are cleared. */
export function watchTimers() {
  const started = vi.spyOn(globalThis, 'setTimeout');
  const cleared = vi.spyOn(globalThis, 'clearTimeout');
  onTestFinished(() => {
    started.mockRestore();
    cleared.mockRestore();
  });
  const of = (ms: number) =>
    started.mock.calls.flatMap(([run, afterMs], index) =>
      afterMs === ms ? [{ run: run as () => void, handle: started.mock.results[index]!.value as NodeJS.Timeout }] : [],
    );
  return { of, isCleared: (handle: NodeJS.Timeout) => cleared.mock.calls.some(([each]) => each === handle) };
}
