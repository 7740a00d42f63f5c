/**
 * The actor "cluster": which nodes and gateways are here, and the nonces that nodes dealt ahead.
 *
 * Sessions draw nonces from it and may watch who is ready; gateways hear of every change of the cluster's status. The
 * first nonces of a scheme are asked for when a node arrives, so that signing costs one round trip.
 *
 * Its state is volatile (all of it comes back with the links), owned by this actor alone, and changes in place.
 */
import type { Address, Behaviour } from '../../actors/contract.ts';
import { CryptoError } from '../../crypto/errors.ts';
import { isValidFrostCommitment } from '../../crypto/frost/context.ts';
import { groupOf } from '../../crypto/group.ts';
import { type NoncesDealt, Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import {
  type CoordinatorEffect,
  type CoordinatorInput,
  type CoordinatorMessage,
  type CoordinatorRecord,
  type CoordinatorWrite,
  clusterAddress,
  type DrawnNonce,
  isLocal,
  type LocalMessage,
  nodeAddress,
  receivedBody,
  wire,
} from '../messages.ts';
import {
  awaited,
  depth,
  drop,
  forgetAwaited,
  forgotten,
  type NoncePools,
  noNoncePools,
  put,
  shortage,
  take,
} from './nonce-pools.ts';

const schemes = [Scheme.MOCK_ECDSA, Scheme.FROST_ED25519, Scheme.FROST_BIP340] as const;

/** How long nonces may be awaited while somebody waits for them. */
const recheckMs = 1000;

type Draw = Extract<LocalMessage, { kind: 'draw' }>;

export interface ClusterConfig {
  readonly nodesTotal: number;
  readonly coordinatorBoot: string;
  readonly cryptoBackend: string;
  /** See `SessionConfig.nonceBatchFirst`. */
  readonly nonceBatchFirst?: number | undefined;
}

interface ClusterState {
  readonly ready: Map<number, { readonly boot: string }>;
  readonly gateways: Set<Address>;
  readonly pools: NoncePools;
  /** One pending draw a session, oldest first. */
  readonly draws: Map<Address, Draw>;
  readonly watchers: Set<Address>;
  storeReady: boolean;
  /** The recheck is on its way: later draws do not put it off. */
  rechecking: boolean;
  /** Requests for nonces so far. */
  requests: bigint;
  /** Where the next draw begins, so that the load spreads. */
  turn: number;
}

export function clusterBehaviour(
  config: ClusterConfig,
): Behaviour<ClusterState, CoordinatorMessage, CoordinatorWrite, CoordinatorRecord> {
  return {
    prefix: clusterAddress,
    mailboxMax: 65_536,
    durableKey: () => undefined,
    start: () => ({
      state: {
        ready: new Map(),
        gateways: new Set(),
        pools: noNoncePools(config.nonceBatchFirst),
        draws: new Map(),
        watchers: new Set(),
        storeReady: true,
        rechecking: false,
        requests: 0n,
        turn: 0,
      },
      effects: [],
    }),
    receive: (state, input) => ({ state, effects: receive(state, input, config) }),
  };
}

function receive(state: ClusterState, input: CoordinatorInput, config: ClusterConfig): CoordinatorEffect[] {
  if (input.kind === 'timer') return recheck(state, config);
  if (input.kind !== 'message') return [];
  const { message, from } = input;
  if (!isLocal(message)) {
    const body = receivedBody(message);
    return body.case === 'noncesDealt' ? noncesDealt(state, from, body.value, config) : [];
  }
  switch (message.kind) {
    case 'draw':
      state.draws.set(from, message);
      return serveDraws(state, config);
    case 'withdraw':
      state.draws.delete(from);
      return [];
    case 'nonceForgotten':
      if (state.ready.get(message.nodeId)?.boot !== message.nodeBoot) return [];
      forgotten(state.pools, message.scheme, message.nodeId, message.number);
      return refill(state, message.scheme, message.nodeId, config);
    case 'watch':
      state.watchers.add(from);
      return [{ kind: 'send', to: from, message: { kind: 'nodesChanged', ready: readyNodes(state) } }];
    case 'unwatch':
      state.watchers.delete(from);
      return [];
    case 'peerUp':
      if (message.role === 'gateway') {
        state.gateways.add(message.address);
        return [sendStatus(message.address, state, config)];
      }
      drop(state.pools, message.nodeId);
      state.ready.set(message.nodeId, { boot: message.boot });
      return [
        { kind: 'emit', event: { type: 'node.ready', level: 'info', fields: { node: message.nodeId } } },
        ...schemes.flatMap((scheme) => refill(state, scheme, message.nodeId, config)),
        ...tellAll(state, config),
      ];
    case 'peerDown':
      if (message.role === 'gateway') {
        state.gateways.delete(message.address);
        return [];
      }
      // A late word about an older link says nothing about the one that took its place.
      if (state.ready.get(message.nodeId)?.boot !== message.boot) return [];
      state.ready.delete(message.nodeId);
      drop(state.pools, message.nodeId);
      return [
        { kind: 'emit', event: { type: 'node.away', level: 'warn', fields: { node: message.nodeId } } },
        ...tellAll(state, config),
      ];
    case 'storeStatus':
      if (state.storeReady === message.ready) return [];
      state.storeReady = message.ready;
      return [...state.gateways].sort().map((gateway) => sendStatus(gateway, state, config));
    default:
      return [];
  }
}

function noncesDealt(
  state: ClusterState,
  from: Address,
  dealt: NoncesDealt,
  config: ClusterConfig,
): CoordinatorEffect[] {
  const nodeId = Number(from.split('/')[1]);
  const { scheme } = dealt;
  if (state.ready.get(nodeId)?.boot !== dealt.nodeBoot || dealt.coordinatorBoot !== config.coordinatorBoot) return [];
  // A batch that nobody asked for (a frame that came twice, a node that floods) is not even looked at.
  const nonces = dealt.nonces.slice(0, awaited(state.pools, scheme, nodeId)).map(
    (nonce): DrawnNonce => ({
      nodeId,
      nodeBoot: dealt.nodeBoot,
      number: nonce.number,
      hiding: nonce.hiding,
      binding: nonce.binding,
      mockNonce: nonce.mockNonce,
    }),
  );
  // Checked here, off the signing path: every received point must be one, every scalar in its range.
  if (!nonces.every((nonce) => isWellFormed(scheme, nonce))) {
    const fields = { node: nodeId, culprits: [nodeId] };
    return [{ kind: 'emit', event: { type: 'node.nonces_malformed', level: 'error', fields } }];
  }
  put(state.pools, scheme, nodeId, nonces);
  return serveDraws(state, config);
}

function isWellFormed(scheme: Scheme, nonce: DrawnNonce): boolean {
  switch (scheme) {
    case Scheme.MOCK_ECDSA:
      return isNonZeroScalar(nonce.mockNonce);
    case Scheme.FROST_ED25519:
      return isValidFrostCommitment('FROST-ED25519-SHA512-v1', nonce);
    case Scheme.FROST_BIP340:
      return isValidFrostCommitment('FROST-secp256k1-SHA256-TR-v1', nonce);
    default:
      return false;
  }
}

function isNonZeroScalar(bytes: Uint8Array): boolean {
  try {
    groupOf('secp256k1').decodeNonZeroScalar(bytes);
    return true;
  } catch (error) {
    if (error instanceof CryptoError) return false;
    throw error;
  }
}

/** Answers every pending draw that can be answered, oldest first, and refills what ran low. */
function serveDraws(state: ClusterState, config: ClusterConfig): CoordinatorEffect[] {
  const effects: CoordinatorEffect[] = [];
  for (const [session, draw] of state.draws) {
    const chosen = choose(state, draw);
    if (!chosen) {
      for (const nodeId of draw.candidates) {
        if (state.ready.has(nodeId)) effects.push(...refill(state, draw.scheme, nodeId, config));
      }
      continue;
    }
    state.draws.delete(session);
    const nonces = chosen.map((nodeId) => take(state.pools, draw.scheme, nodeId)!);
    effects.push({ kind: 'send', to: session, message: { kind: 'drawn', ticket: draw.ticket, nonces } });
    for (const nodeId of chosen) effects.push(...refill(state, draw.scheme, nodeId, config));
  }
  if (state.draws.size > 0 && !state.rechecking) {
    state.rechecking = true;
    effects.push({ kind: 'startTimer', name: 'recheck', afterMs: recheckMs });
  }
  return effects;
}

/** Draws still wait: an answer may have been lost, so ask again. */
function recheck(state: ClusterState, config: ClusterConfig): CoordinatorEffect[] {
  state.rechecking = false;
  forgetAwaited(state.pools);
  return serveDraws(state, config);
}

/** The signers of a draw, ascending, or undefined while too few ready nodes have a nonce. */
function choose(state: ClusterState, draw: Draw): number[] | undefined {
  const able = (nodeId: number) => state.ready.has(nodeId) && depth(state.pools, draw.scheme, nodeId) > 0;
  const chosen = draw.preferred.filter(able).slice(0, draw.count);
  const { candidates } = draw;
  for (let step = 0; step < candidates.length && chosen.length < draw.count; step += 1) {
    const nodeId = candidates[(state.turn + step) % candidates.length]!;
    if (!chosen.includes(nodeId) && able(nodeId)) chosen.push(nodeId);
  }
  if (chosen.length < draw.count) return undefined;
  state.turn = (state.turn + 1) % 65_536;
  return chosen.sort((a, b) => a - b);
}

function refill(state: ClusterState, scheme: Scheme, nodeId: number, config: ClusterConfig): CoordinatorEffect[] {
  const count = shortage(state.pools, scheme, nodeId);
  if (count === 0) return [];
  const { coordinatorBoot } = config;
  state.requests += 1n;
  const value = { scheme, count, coordinatorBoot, request: state.requests };
  return [
    {
      kind: 'send',
      to: nodeAddress(nodeId),
      message: wire({}, { case: 'dealNonces', value }),
    },
  ];
}

function readyNodes(state: ClusterState): number[] {
  return [...state.ready.keys()].sort((a, b) => a - b);
}

function tellAll(state: ClusterState, config: ClusterConfig): CoordinatorEffect[] {
  const ready = readyNodes(state);
  return [
    ...[...state.watchers]
      .sort()
      .map((watcher): CoordinatorEffect => ({ kind: 'send', to: watcher, message: { kind: 'nodesChanged', ready } })),
    ...[...state.gateways].sort().map((gateway) => sendStatus(gateway, state, config)),
  ];
}

function sendStatus(gateway: Address, state: ClusterState, config: ClusterConfig): CoordinatorEffect {
  const { nodesTotal, cryptoBackend, coordinatorBoot } = config;
  return {
    kind: 'send',
    to: gateway,
    message: wire(
      {},
      {
        case: 'clusterStatus',
        value: {
          nodesTotal,
          nodesReady: readyNodes(state),
          quorum: Math.min(3, nodesTotal),
          storeReady: state.storeReady,
          cryptoBackend,
          coordinatorBoot,
        },
      },
    ),
  };
}
