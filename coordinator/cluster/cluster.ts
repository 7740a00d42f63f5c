/**
 * The actor "cluster": the linked nodes and gateways, and the nonces that nodes made ahead.
 *
 * Sessions draw nonces from it and may watch which nodes are ready; gateways get every change of the cluster's status. The
 * actor requests the first nonces of a scheme when a node connects, so that signing costs one round trip.
 *
 * Sessions report nodes that were silent or wrong; draws take those last for a while (suspects.ts).
 *
 * Its state is volatile (new links restore it), owned by this actor alone, and changes in place.
 */
import type { Address, Behaviour, Context } from '../../core/actors/contract.ts';
import { ShortLivedMap } from '../../core/actors/short-lived-map.ts';
import { CryptoError } from '../../core/crypto/errors.ts';
import { isValidFrostCommitment } from '../../core/crypto/frost/context.ts';
import { groupOf } from '../../core/crypto/group.ts';
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
  type NodeFault,
  nodeAddress,
  receivedBody,
  wire,
} from '../contract/messages.ts';
import { outcomeEffect } from '../session/replies.ts';
import {
  awaited,
  type CommitmentPools,
  depth,
  drop,
  forgotten,
  noNoncePools,
  put,
  resetAwaited,
  shortage,
  take,
} from './nonce-commitments.ts';
import { isSuspect, restarted, type Suspects, suspect, suspectNodes } from './suspects.ts';

/** Those that nonces are dealt for. */
const schemes = [Scheme.MOCK_ECDSA, Scheme.FROST_ED25519, Scheme.FROST_BIP340] as const;

function dealsNonces(scheme: Scheme): boolean {
  return (schemes as readonly Scheme[]).includes(scheme);
}

const none = new Uint8Array();

/** A signer of a scheme that takes no nonces. */
function noNonce(nodeId: number): DrawnNonce {
  return { nodeId, nodeBoot: '', number: 0n, hiding: none, binding: none, mockNonce: none };
}

/**
 * How long draws begin with the same node, so that the load spreads over all nodes. Signatures that begin together share their
 * signers: fewer nodes are woken, each for more partials at once.
 */
const turnMs = 20;

/** The longest time to wait for nonces while a draw waits for them. */
const recheckMaxMs = 1000;

type Draw = Extract<LocalMessage, { kind: 'draw' }>;

export interface ClusterConfig {
  readonly nodesTotal: number;
  /** The default threshold of a key. */
  readonly quorum: number;
  readonly coordinatorBoot: string;
  readonly cryptoBackend: string;
  /** See `SessionConfig.nonceBatchFirst`. */
  readonly nonceBatchFirst?: number | undefined;
  /** How long a call waits for nodes; the actor requests lost nonces again before that time. */
  readonly nodesWaitMs: number;
}

interface ClusterState {
  readonly ready: Map<number, { readonly boot: string }>;
  readonly gateways: Set<Address>;
  readonly pools: CommitmentPools;
  /** One pending draw a session, oldest first. */
  readonly draws: ShortLivedMap<Address, Draw>;
  readonly watchers: Set<Address>;
  readonly suspects: Suspects;
  storeReady: boolean;
  /** The recheck timer runs: later draws do not postpone it. */
  rechecking: boolean;
  /** Requests for nonces so far. */
  requests: bigint;
  /** Where draws begin now, and since when. -1: there was none yet. */
  turn: number;
  turnBeganMs: number;
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
        draws: new ShortLivedMap(),
        watchers: new Set(),
        suspects: new Map(),
        storeReady: true,
        rechecking: false,
        requests: 0n,
        turn: -1,
        turnBeganMs: 0,
      },
      effects: [],
    }),
    receive: (state, input, context) => ({ state, effects: receive(state, input, context, config) }),
  };
}

function receive(
  state: ClusterState,
  input: CoordinatorInput,
  { nowMs }: Pick<Context, 'nowMs'>,
  config: ClusterConfig,
): CoordinatorEffect[] {
  if (input.kind === 'timer') return recheck(state, nowMs, config);
  if (input.kind !== 'message') return [];
  const { message, from } = input;
  if (!isLocal(message)) {
    const body = receivedBody(message);
    return body.case === 'noncesDealt' ? noncesDealt(state, from, body.value, nowMs, config) : [];
  }
  switch (message.kind) {
    case 'draw':
      state.draws.set(from, message);
      return serveDraws(state, nowMs, config);
    case 'nodeFault':
      return suspected(state, message.nodeId, message.reason, nowMs);
    case 'withdraw':
      state.draws.delete(from);
      return [];
    case 'nonceForgotten':
      if (state.ready.get(message.nodeId)?.boot !== message.nodeBoot) return [];
      forgotten(state.pools, message.scheme, message.nodeId, message.number);
      return refill(state, message.scheme, message.nodeId, config);
    case 'watch':
      state.watchers.add(from);
      return [{ kind: 'send', to: from, message: nodesChanged(state, nowMs) }];
    case 'poolsCall':
      return [outcomeEffect(message.call, { case: 'readNoncePools', value: { pools: poolSizes(state) } })];
    case 'unwatch':
      state.watchers.delete(from);
      return [];
    case 'peerUp':
      if (message.role === 'gateway') {
        state.gateways.add(message.address);
        return [sendStatus(message.address, state, config)];
      }
      drop(state.pools, message.nodeId);
      if (state.ready.get(message.nodeId)?.boot !== message.boot) restarted(state.suspects, message.nodeId);
      state.ready.set(message.nodeId, { boot: message.boot });
      return [
        { kind: 'emit', event: { type: 'node.ready', level: 'info', fields: { node: message.nodeId } } },
        ...schemes.flatMap((scheme) => refill(state, scheme, message.nodeId, config)),
        ...tellAll(state, nowMs, config),
      ];
    case 'peerDown':
      if (message.role === 'gateway') {
        state.gateways.delete(message.address);
        return [];
      }
      // A late report about an older link does not concern the link that replaced it.
      if (state.ready.get(message.nodeId)?.boot !== message.boot) return [];
      state.ready.delete(message.nodeId);
      drop(state.pools, message.nodeId);
      return [
        { kind: 'emit', event: { type: 'node.away', level: 'warn', fields: { node: message.nodeId } } },
        ...tellAll(state, nowMs, config),
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
  nowMs: number,
  config: ClusterConfig,
): CoordinatorEffect[] {
  const nodeId = Number(from.split('/')[1]);
  const { scheme } = dealt;
  if (state.ready.get(nodeId)?.boot !== dealt.nodeBoot || dealt.coordinatorBoot !== config.coordinatorBoot) return [];
  // A batch that was not requested (a repeated frame, a node that floods) is not read.
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
  // Checked here, off the signing path: every scalar is in range, every point valid (RFC 9591 §3.1), and none duplicated.
  if (!areWellFormed(scheme, nonces) || !areDistinct(nonces)) {
    const fields = { node: nodeId, culprits: [nodeId] };
    return [
      { kind: 'emit', event: { type: 'node.nonces_malformed', level: 'error', fields } },
      ...suspected(state, nodeId, 'bad_nonces', nowMs),
    ];
  }
  put(state.pools, scheme, nodeId, nonces);
  return serveDraws(state, nowMs, config);
}

function areWellFormed(scheme: Scheme, nonces: readonly DrawnNonce[]): boolean {
  switch (scheme) {
    case Scheme.MOCK_ECDSA:
      return nonces.every(({ mockNonce }) => isNonZeroScalar(mockNonce));
    case Scheme.FROST_ED25519:
      return nonces.every((nonce) => isValidFrostCommitment('FROST-ED25519-SHA512-v1', nonce));
    case Scheme.FROST_BIP340:
      return nonces.every((nonce) => isValidFrostCommitment('FROST-secp256k1-SHA256-TR-v1', nonce));
    default:
      return false;
  }
}

/** One nonce under two numbers would sign twice. */
function areDistinct(nonces: readonly DrawnNonce[]): boolean {
  const texts = nonces.flatMap(({ hiding, mockNonce }) => [hiding, mockNonce].filter(({ length }) => length > 0));
  return new Set(texts.map((bytes) => Buffer.from(bytes).toString('latin1'))).size === texts.length;
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

/**
 * Answers every pending draw that can be answered, oldest first, and refills what ran low.
 *
 * @param anyNode draws have waited long enough for unsuspected nodes: use any node's nonces
 */
function serveDraws(state: ClusterState, nowMs: number, config: ClusterConfig, anyNode = false): CoordinatorEffect[] {
  const effects: CoordinatorEffect[] = [];
  for (const [session, draw] of state.draws) {
    const chosen = choose(state, draw, nowMs, anyNode);
    if (!chosen) {
      for (const nodeId of draw.candidates) {
        if (state.ready.has(nodeId)) effects.push(...refill(state, draw.scheme, nodeId, config));
      }
      continue;
    }
    state.draws.delete(session);
    const nonces = chosen.map((nodeId) =>
      dealsNonces(draw.scheme) ? take(state.pools, draw.scheme, nodeId)! : noNonce(nodeId),
    );
    effects.push({ kind: 'send', to: session, message: { kind: 'drawn', ticket: draw.ticket, nonces } });
    for (const nodeId of chosen) effects.push(...refill(state, draw.scheme, nodeId, config));
  }
  if (state.draws.size > 0 && !state.rechecking) {
    state.rechecking = true;
    const afterMs = Math.min(recheckMaxMs, config.nodesWaitMs / 2);
    effects.push({ kind: 'startTimer', name: 'recheck', afterMs });
  }
  return effects;
}

/** Draws still wait: an answer may have been lost, so ask again. */
function recheck(state: ClusterState, nowMs: number, config: ClusterConfig): CoordinatorEffect[] {
  state.rechecking = false;
  resetAwaited(state.pools);
  return serveDraws(state, nowMs, config, true);
}

/**
 * The signers of a draw, ascending: the preferred ones, then unsuspected ones in turn, then suspects. Undefined while too few
 * ready nodes have a nonce. Unless `anyNode`, it is undefined too while a ready preferred node has none; and while enough
 * unsuspected nodes are ready, a suspect does not replace one whose nonces are in transit.
 */
function choose(state: ClusterState, draw: Draw, nowMs: number, anyNode: boolean): number[] | undefined {
  const { candidates, preferred } = draw;
  takeTurn(state, nowMs);
  const deals = dealsNonces(draw.scheme);
  const able = (nodeId: number) => state.ready.has(nodeId) && (!deals || depth(state.pools, draw.scheme, nodeId) > 0);
  // A call names it: with the others its session would only draw again.
  const lacksNamed = !anyNode && preferred.some((nodeId) => state.ready.has(nodeId) && !able(nodeId));
  const trusted = (nodeId: number) => !isSuspect(state.suspects, nodeId, nowMs);
  const chosen = preferred.filter(able).slice(0, draw.count);
  const inTurn = candidates
    .map((_, step) => candidates[(state.turn + step) % candidates.length]!)
    .filter((nodeId) => !chosen.includes(nodeId));
  const waits = !anyNode && enoughTrusted(state, draw, trusted);
  for (const wanted of waits ? [trusted] : [trusted, (nodeId: number) => !trusted(nodeId)]) {
    for (const nodeId of inTurn) {
      if (chosen.length < draw.count && wanted(nodeId) && able(nodeId)) chosen.push(nodeId);
    }
  }
  return lacksNamed || chosen.length < draw.count ? undefined : chosen.sort((a, b) => a - b);
}

/** The clock may have been set back. */
function takeTurn(state: ClusterState, nowMs: number): void {
  if (nowMs >= state.turnBeganMs && nowMs < state.turnBeganMs + turnMs) return;
  state.turn = (state.turn + 1) % 65_536;
  state.turnBeganMs = nowMs;
}

/** Whether ready, unsuspected nodes suffice beside the preferred ones. */
function enoughTrusted(state: ClusterState, draw: Draw, trusted: (nodeId: number) => boolean): boolean {
  const { candidates, preferred, count } = draw;
  const counts = (nodeId: number) => preferred.includes(nodeId) || trusted(nodeId);
  return candidates.filter((nodeId) => state.ready.has(nodeId) && counts(nodeId)).length >= count;
}

function suspected(state: ClusterState, nodeId: number, reason: NodeFault, nowMs: number): CoordinatorEffect[] {
  const untilMs = suspect(state.suspects, nodeId, reason, nowMs);
  if (untilMs === undefined) return [];
  const fields = { node: nodeId, reason, for_ms: untilMs - nowMs };
  return [{ kind: 'emit', event: { type: 'node.suspected', level: 'warn', fields } }];
}

function refill(state: ClusterState, scheme: Scheme, nodeId: number, config: ClusterConfig): CoordinatorEffect[] {
  if (!dealsNonces(scheme)) return [];
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

function poolSizes({ pools, ready }: ClusterState) {
  const nodes = [...ready.keys()].sort((a, b) => a - b);
  return nodes.flatMap((nodeId) =>
    schemes.map((scheme) => ({
      ...{ nodeId, scheme },
      ...{ waiting: depth(pools, scheme, nodeId), awaited: awaited(pools, scheme, nodeId) },
    })),
  );
}

function readyNodes(state: ClusterState): number[] {
  return [...state.ready.keys()].sort((a, b) => a - b);
}

function nodesChanged(state: ClusterState, nowMs: number): LocalMessage {
  return { kind: 'nodesChanged', ready: readyNodes(state), suspects: suspectNodes(state.suspects, nowMs) };
}

function tellAll(state: ClusterState, nowMs: number, config: ClusterConfig): CoordinatorEffect[] {
  const message = nodesChanged(state, nowMs);
  return [
    ...[...state.watchers].sort().map((watcher): CoordinatorEffect => ({ kind: 'send', to: watcher, message })),
    ...[...state.gateways].sort().map((gateway) => sendStatus(gateway, state, config)),
  ];
}

function sendStatus(gateway: Address, state: ClusterState, config: ClusterConfig): CoordinatorEffect {
  const { nodesTotal, quorum, cryptoBackend, coordinatorBoot } = config;
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
          quorum,
          storeReady: state.storeReady,
          cryptoBackend,
          coordinatorBoot,
        },
      },
    ),
  };
}
