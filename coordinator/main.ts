/**
 * The coordinator process: opens the session store, runs the coordinator's actors on the live runtime, and serves the
 * links of nodes and gateways. With store/ the only place of this room that touches the world.
 *
 * Logs are JSON lines on stdout: names, codes and counts, never a secret.
 */
import { randomUUID } from 'node:crypto';
import type { Server } from 'node:net';
import { type Logger, pino } from 'pino';
import { type ActorEvent, type Address, type Envelope, noTrace, type Transport } from '../core/actors/contract.ts';
import type { Peer } from '../core/actors/live/handshake.ts';
import { identityFromSeed } from '../core/actors/live/handshake-crypto.ts';
import { LinkServer } from '../core/actors/live/link-server.ts';
import { systemTimers } from '../core/actors/live/ports.ts';
import { LiveSystem } from '../core/actors/live/system.ts';
import { cryptoBackend } from '../core/crypto/group.ts';
import { noTelemetry, type Telemetry } from '../core/telemetry/port.ts';
import { wireMessageBytesMax } from '../proto/limits.ts';
import { certificateName } from '../proto/link-names.ts';
import {
  decodeFrames,
  decodeHandshake,
  encodeFrame,
  encodeHandshake,
  type WireMessage,
  wireProtocolVersions,
} from '../proto/wire.ts';
import { coordinatorBehaviours } from './behaviours.ts';
import { CallGate } from './call-gate.ts';
import type { CoordinatorConfig } from './contract/config.ts';
import {
  type CoordinatorMessage,
  type CoordinatorRecord,
  type CoordinatorWrite,
  clusterAddress,
  expiryAddress,
  isLocal,
  type LocalMessage,
} from './contract/messages.ts';
import { sweepEveryMs } from './expiry.ts';
import { failureReply } from './failure-replies.ts';
import { NodeFrames } from './node-frames.ts';
import { Announcing, announceEveryMs } from './store/announcing.ts';
import { openRedisStore } from './store/redis-store.ts';
import { CoordinatorTelemetry } from './telemetry.ts';

export interface RunningCoordinator {
  /** Where nodes and gateways connect. */
  readonly url: string;
  /** Takes no more calls, waits for writes that are under way, closes links and store. Repeatable. */
  stop(): Promise<void>;
}

export interface CoordinatorParts {
  /** What its store waits for, with every change; undefined: it takes writes. */
  readonly onTrouble?: (trouble: string | undefined) => void;
  readonly telemetry?: Telemetry;
  /** Holds the port of the links already; undefined: they listen where the configuration says. */
  readonly listenOn?: Server | undefined;
}

type System = LiveSystem<CoordinatorMessage, CoordinatorWrite, CoordinatorRecord>;

/** Resolves once the store takes writes, however long that is, and the links' port is open. */
export async function runCoordinator(
  config: CoordinatorConfig,
  { onTrouble, telemetry = noTelemetry, listenOn }: CoordinatorParts = {},
): Promise<RunningCoordinator> {
  const { number = 1 } = config.roster;
  const log = pino({ level: config.logLevel, base: { role: 'coordinator', ...(number > 1 && { cluster: number }) } });
  const boot = randomUUID();
  const { roster } = config;
  const seen = telemetry.isOn ? new CoordinatorTelemetry(telemetry, systemTimers) : undefined;
  let tell: (message: LocalMessage) => void = () => undefined;
  const store = await openRedisStore({
    redisUrl: config.redisUrl,
    ...(config.redisReplicas !== undefined && { replicas: config.redisReplicas }),
    clusterId: roster.clusterId,
    ...(roster.number !== undefined && { cluster: roster.number }),
    log,
    ...(onTrouble && { onTrouble }),
    onStatus: (ready) => tell({ kind: 'storeStatus', ready }),
    resumeKey: config.resumeKey,
    tenantBytesMax: config.tenantBytesMax,
    onTampered: (key) => {
      log.error(
        { event: 'store.tampered', record: key },
        'a record in Redis is not as a coordinator wrote it: refused',
      );
    },
    onFenced: () => {
      log.fatal({ event: 'coordinator.fenced' }, 'a newer coordinator of this cluster has taken over: stopping');
      process.kill(process.pid, 'SIGTERM');
    },
  });

  const system: System = new LiveSystem({
    behaviours: coordinatorBehaviours({ ...config, coordinatorBoot: boot }, cryptoBackend()),
    store: seen?.store(store) ?? store,
    log,
    describe: (message) => (isLocal(message) ? message.kind : (message.body.case ?? '')),
    onEvent: (address, event) => {
      seen?.event(event);
      logEvent(log, address, event);
    },
    onDeadLetter: ({ cause }, envelope) => {
      seen?.deadLetter(cause);
      if (envelope) fail(envelope, cause);
    },
  });
  let announcing: Announcing | undefined;
  const links = new LinkServer<WireMessage>({
    host: config.listenHost,
    port: config.listenPort,
    listenOn,
    tls: config.linkTls,
    handshake: {
      protocolVersions: wireProtocolVersions,
      clusterId: roster.clusterId,
      coordinatorBoot: boot,
      joinSecret: config.joinSecret,
      identity: identityFromSeed(config.identitySeed),
      peerKey: (role, nodeId) =>
        role === 'gateway' ? roster.gateway : roster.nodes.find((node) => node.id === nodeId)?.publicKey,
      certificateName: (role, nodeId) => certificateName(roster, role, nodeId),
    },
    codec: { encodeFrame, decodeFrames, encodeHandshake, decodeHandshake },
    deliver: (envelope) => {
      logFrame(log, envelope);
      if (envelope.message.body.case === 'call') announcing?.called();
      const refused = nodeFrames.deliver(envelope);
      if (refused === 'unasked') seen?.unasked(envelope);
      return refused;
    },
    onRefused: (envelope) => fail(envelope, 'overloaded'),
    onPeerUp: (peer) => {
      announcing?.linked(peer.nodeId, true);
      tell({ kind: 'peerUp', ...peerFacts(peer) });
    },
    onPeerDown: (peer) => {
      gate.gatewayGone(peer.address);
      announcing?.linked(peer.nodeId, false);
      tell({ kind: 'peerDown', ...peerFacts(peer) });
    },
    limits: { messageBytesMax: wireMessageBytesMax },
    log,
  });
  const fail = (envelope: Envelope<CoordinatorMessage>, cause: Parameters<typeof failureReply>[1]) => {
    const reply = failureReply(envelope, cause);
    if (reply === undefined) return;
    gate.sent(reply);
    links.send(reply);
  };
  const gate = new CallGate({
    timers: systemTimers,
    deliver: (envelope) => system.deliver(seen?.received(envelope) ?? envelope),
    refuse: (envelope) => fail(envelope, 'overloaded'),
  });
  const nodeFrames = new NodeFrames({
    elapsedMs: () => systemTimers.elapsedMs(),
    deliver: (envelope) => gate.deliver(envelope),
    isInMemory: (address) => system.has(address),
  });
  system.connect(
    wireOnly(links, log, seen, (frame) => {
      gate.sent(frame);
      nodeFrames.sent(frame);
    }),
  );
  tell = (message) => system.deliver({ from: 'runtime', to: clusterAddress, message, trace: noTrace });
  const bound = await links.start();
  announcing = new Announcing(store.registry, roster, config.announcedUrl ?? bound.url, log);
  await announcing.announce();
  log.info({ url: bound.url, boot, fence: store.fence, crypto: cryptoBackend() }, 'coordinator started');

  const sweeping = setInterval(() => {
    system.deliver({ from: 'runtime', to: expiryAddress, message: { kind: 'sweep' }, trace: noTrace });
  }, sweepEveryMs);
  const announced = setInterval(() => announcing?.announce(), announceEveryMs);

  let stopping: Promise<void> | undefined;
  return {
    url: bound.url,
    stop() {
      stopping ??= shutDown();
      return stopping;
    },
  };

  /** The system first, so that answers of durable changes still leave; the store last, when all writes are done. */
  async function shutDown(): Promise<void> {
    clearInterval(sweeping);
    clearInterval(announced);
    await announcing?.withdraw();
    await system.stop();
    await links.stop();
    await store.close();
    log.info({}, 'coordinator stopped');
  }
}

/** Local messages never leave the process: an address that no actor here serves has no route. */
function wireOnly(
  links: Transport<WireMessage>,
  log: Logger,
  seen: CoordinatorTelemetry | undefined,
  sent: (frame: Envelope<WireMessage>) => void,
): Transport<CoordinatorMessage> {
  return {
    send: (envelope) => {
      if (isLocal(envelope.message)) return 'noRoute';
      const frame = envelope as Envelope<WireMessage>;
      sent(frame);
      logFrame(log, frame);
      return links.send(seen?.sending(frame) ?? frame);
    },
  };
}

/** Sender, receiver and kind of a message; never its content. */
function logFrame(log: Logger, { from, to, message }: Envelope<WireMessage>): void {
  if (!log.isLevelEnabled('debug')) return;
  const { session, attempt, body } = message;
  log.debug({ event: 'frame', from, to, case: body.case, session, attempt }, 'frame');
}

function peerFacts({ address, role, nodeId, boot }: Peer) {
  return { address, role, nodeId, boot };
}

function logEvent(log: Logger, address: Address, { type, level, fields }: ActorEvent): void {
  if (log.isLevelEnabled(level)) log[level]({ ...fields, address, event: type }, type);
}
