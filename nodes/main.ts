/**
 * The node process: opens the key store, runs the node's actors on the live runtime, and keeps the link to the coordinator up.
 * Only this file and key-store.ts of this room do I/O.
 *
 * Logs are JSON lines on stdout, each with role and node id. They carry what actors emit and what the runtime says of
 * itself: names, codes and counts, never a secret.
 */
import { randomUUID } from 'node:crypto';
import { type Logger, pino } from 'pino';
import type { ActorEvent, Address, Envelope } from '../core/actors/contract.ts';
import { identityFromSeed } from '../core/actors/live/handshake-crypto.ts';
import { LinkClient } from '../core/actors/live/link-client.ts';
import { systemPorts, systemRandom, systemTimers } from '../core/actors/live/ports.ts';
import { LiveSystem } from '../core/actors/live/system.ts';
import { cryptoBackend } from '../core/crypto/group.ts';
import { noTelemetry, type Telemetry } from '../core/telemetry/port.ts';
import { certificateName } from '../proto/link-names.ts';
import {
  decodeFrames,
  decodeHandshake,
  encodeFrame,
  encodeHandshake,
  type WireMessage,
  wireProtocolVersions,
} from '../proto/wire.ts';
import { nodeBehaviours } from './behaviours.ts';
import { checkNodeConfig, type NodeConfig } from './config.ts';
import { HsmProcess, noHsm } from './hsm/process.ts';
import { routeToHsm } from './hsm/routing.ts';
import { KeyStore } from './key-store.ts';
import { isLocal, type NodeMessage } from './records/messages.ts';
import type { NodeRecord, NodeWrite } from './records/records.ts';
import { NodeTelemetry } from './telemetry.ts';
import { HttpVendor, noVendor } from './vendor/http-vendor.ts';
import { routeToVendor, vendorNews } from './vendor/routing.ts';

export interface RunningNode {
  /** Takes no more requests, waits for writes that are under way, closes link and store. Repeatable. */
  stop(): Promise<void>;
}

/**
 * Starts a node. Resolves once the store is open and the link is being made; the coordinator may come later.
 *
 * @throws Error for a configuration that cannot work, KeyStoreError for a store that cannot be opened
 */
export async function runNode(config: NodeConfig, telemetry: Telemetry = noTelemetry): Promise<RunningNode> {
  checkNodeConfig(config);
  const seen = telemetry.isOn ? new NodeTelemetry(telemetry, systemTimers) : undefined;
  const { nodeId, roster, identitySeed, allowClientDealers, sandbox } = config;
  const boot = randomUUID();
  const log = pino({
    level: config.logLevel,
    base: {
      role: 'node',
      node_id: nodeId,
      ...(roster.number !== undefined && roster.number > 1 && { cluster: roster.number }),
    },
  });
  const { storeDir, storageKey } = config;
  const store = await KeyStore.open({ storeDir, nodeId, storageKey, random: systemRandom });

  const behaviours = Object.values(nodeBehaviours({ nodeId, boot, roster, identitySeed, allowClientDealers, sandbox }));
  const system = new LiveSystem<NodeMessage, NodeWrite, NodeRecord>({
    behaviours,
    store,
    log,
    describe: (message) => (isLocal(message) ? message.kind : message.body.case),
    onEvent: (address, event) => {
      seen?.event(event);
      logEvent(log, address, event);
    },
  });
  const hsm = config.hsm ? new HsmProcess(config.hsm, systemPorts, log) : noHsm;
  const lookAt = (tenant: string, reference: string) =>
    system.deliver(vendorNews(nodeId, tenant, reference)) === undefined;
  const vendor = config.vendor ? await HttpVendor.start(config.vendor, roster.clusterId, lookAt, log) : noVendor;
  const link = new LinkClient<WireMessage>({
    url: config.coordinatorUrl,
    tls: config.linkTls && { ...config.linkTls, coordinatorName: certificateName(roster, 'coordinator')! },
    handshake: {
      protocolVersions: wireProtocolVersions,
      clusterId: roster.clusterId,
      joinSecret: config.joinSecret,
      identity: identityFromSeed(identitySeed),
      role: 'node',
      nodeId,
      boot,
      coordinatorKey: roster.coordinator,
    },
    codec: { encodeFrame, decodeFrames, encodeHandshake, decodeHandshake },
    deliver: (envelope) => {
      seen?.received(envelope);
      return system.deliver(envelope);
    },
    onRefused: ({ to, message }, reason) => {
      log.warn({ address: to, message: message.body.case, reason }, 'a request was refused');
    },
    log,
  });
  system.connect({
    // Local messages never leave the process, but for those to token and vendor.
    send: (envelope) => {
      if (!isLocal(envelope.message)) {
        seen?.sending(envelope as Envelope<WireMessage>);
        return link.send(envelope as Envelope<WireMessage>);
      }
      const deliver = (answer: Envelope<NodeMessage>) => system.deliver(answer);
      const routed = routeToHsm(hsm, envelope, deliver) || routeToVendor(vendor, envelope, deliver);
      return routed ? undefined : 'noRoute';
    },
  });
  link.start();
  for (const { tenant, reference } of await store.vendorOrders()) lookAt(tenant, reference);
  log.info({ boot, crypto: cryptoBackend(), sandbox: sandbox !== undefined }, 'node started');

  let stopping: Promise<void> | undefined;
  return {
    stop() {
      stopping ??= vendor
        .stop()
        .then(() => shutDown(system, link, store, log))
        .then(() => hsm.stop());
      return stopping;
    },
  };
}

/** The system first, so that answers of stored changes still leave; the store last, when all writes are done. */
async function shutDown(
  system: LiveSystem<NodeMessage, NodeWrite, NodeRecord>,
  link: LinkClient<WireMessage>,
  store: KeyStore,
  log: Logger,
): Promise<void> {
  await system.stop();
  await link.stop();
  await store.close();
  log.info({}, 'node stopped');
}

function logEvent(log: Logger, address: Address, { type, level, fields }: ActorEvent): void {
  // One debug event a signature: do not build what is not written.
  if (log.isLevelEnabled(level)) log[level]({ ...fields, address, event: type }, type);
}
