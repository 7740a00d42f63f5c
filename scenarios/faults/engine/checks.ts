/**
 * Checks that a cluster can have a fault. The caller has checked the schema; this file checks what a schema cannot express. Every
 * error names the field and the remedy.
 */
import type { Fault } from '../vocabulary/fault.ts';
import {
  beginsAtTrigger,
  countsUses,
  gatewayPoints,
  isApiServerKind,
  isStoreKind,
  liveOnly,
  natures,
  needsIdentity,
  nodeOutPoints,
  pointsOfKind,
  sessionlessPoints,
  simulatedOnly,
  victimsOfKind,
} from '../vocabulary/kinds.ts';
import { type FaultEngineOptions, FaultError } from '../vocabulary/options.ts';
import {
  firstOf,
  isGateway,
  isWorker,
  nodeIdOf,
  nodeName,
  passesBy,
  processesOf,
  targetsOf,
} from '../vocabulary/targets.ts';
import type { Point } from '../vocabulary/trigger-points.ts';

/** Throws FaultError. */
export function checkFault(fault: Fault, options: FaultEngineOptions): void {
  checkWorld(fault, options);
  checkTargets(fault, options);
  checkPort(fault, options);
  checkTrigger(fault, options);
  checkLength(fault);
  checkParameters(fault, options);
}

function checkWorld({ fault }: Fault, { world, hasPorts = false }: FaultEngineOptions): void {
  const reason = simulatedOnly[fault];
  if (world === 'live' && reason !== undefined) throw new FaultError('fault', `${fault} is simulated only: ${reason}`);
  const lacking = liveOnly[fault];
  if (world === 'simulated' && !hasPorts && lacking !== undefined)
    throw new FaultError('fault', `${fault} is live only: ${lacking}`);
}

function checkTargets(fault: Fault, options: FaultEngineOptions): void {
  const { nodesTotal, identitySeed, hasPorts = false } = options;
  if (fault.fault === 'provider_fails' && !hasPorts) throw new FaultError('fault', `provider_fails ${needsWallets}`);
  if (!('target' in fault)) return;
  const possible = victimsOfKind(fault.fault);
  for (const target of targetsOf(fault)) {
    checkMember('target', target, options);
    const role = roleOf(target);
    if (possible !== undefined && !possible.includes(role)) {
      const remedy = role === 'redis' ? '; redis_gone makes Redis unreachable' : '';
      throw new FaultError('target', `${fault.fault} cannot target ${target}, only ${possible.join(', ')}${remedy}`);
    }
    if (isStoreKind(fault.fault) && (role === 'gateway' || role === 'worker') && !hasPorts) {
      throw new FaultError('target', `${fault.fault} of a ${role} ${needsWallets}`);
    }
    if (fault.fault === 'crash' && fault.lose_state === true && role !== 'node') {
      throw new FaultError('lose_state', `${target} has no store of its own to lose; only nodes have`);
    }
  }
  if (!needsIdentity(fault.fault)) return;
  const unknown = processesOf(targetsOf(fault), nodesTotal).find((one) => identitySeed(nodeIdOf(one)) === undefined);
  if (unknown !== undefined) {
    throw new FaultError(
      'target',
      `the identity key of ${unknown} is not available here, so the fault cannot sign in its name`,
    );
  }
}

function checkMember(field: string, name: string, options: FaultEngineOptions): void {
  const { world, nodesTotal, gateways = 1, workers = 1 } = options;
  if (nodeIdOf(name) > nodesTotal)
    throw new FaultError(field, `${name} does not exist in this cluster of ${nodesTotal} nodes`);
  const number = Number(/^(?:gateway|worker)\/([1-9])$/.exec(name)?.[1] ?? 1);
  const role = name.startsWith('gateway') ? 'gateway' : 'worker';
  if (world === 'live' && number > 1) {
    throw new FaultError(field, `${name} is simulated only: live, ${role} is the name of all ${role}s`);
  }
  const count = role === 'gateway' ? gateways : workers;
  if (number > count) throw new FaultError(field, `${name} is not in this world: it has ${count} of them`);
}

function roleOf(name: string): string {
  if (name.startsWith('node/')) return 'node';
  if (isGateway(name)) return 'gateway';
  return isWorker(name) ? 'worker' : name;
}

const needsWallets = 'needs a simulated world with the wallet API: other worlds cannot lose or refuse port calls';

/** The engine counts calls of ports only in the simulated world with the wallet API, where gateways and workers report them. */
function checkPort({ fault, at }: Fault, { hasPorts = false }: FaultEngineOptions): void {
  if (at === undefined) return;
  if (at.port === undefined) {
    if (at.call !== undefined) throw new FaultError('at.call', 'selects a call of a port: give at.port too');
    return;
  }
  if (!hasPorts) throw new FaultError('at.port', `a trigger at a port ${needsWallets}`);
  if (at.point !== undefined) throw new FaultError('at.port', 'give either at.port or at.point');
  if (at.session !== undefined) throw new FaultError('at.session', 'port calls belong to no session');
  if (natures[fault] === 'frames' || isApiServerKind(fault)) {
    throw new FaultError('at.port', `${fault} affects frames or requests, not port calls`);
  }
  if (at.phase === 'after' && countsUses(fault)) {
    throw new FaultError('at.phase', `${fault} decides the fate of the call itself`);
  }
}

function checkTrigger(fault: Fault, options: FaultEngineOptions): void {
  const { at } = fault;
  if (at === undefined) return;
  const nature = natures[fault.fault];
  const { point } = at;
  if (at.of !== undefined) {
    checkMember('at.of', at.of, options);
    if (at.port !== undefined) {
      if (['gateway', 'worker'].includes(roleOf(at.of))) return;
      throw new FaultError('at.of', `${at.of} makes no port calls; only gateways and workers do`);
    }
    if (isFrameless(at.of)) throw new FaultError('at.of', `${at.of} sends no frames`);
  }
  if (at.port !== undefined) return;
  if (point === undefined) {
    // Of a fault of an API server it counts requests.
    const ofFrames = isApiServerKind(fault.fault) ? (['phase', 'of'] as const) : (['phase', 'of', 'nth'] as const);
    for (const field of ofFrames) {
      if (at[field] !== undefined) throw new FaultError(`at.${field}`, 'selects a frame of a point: give at.point too');
    }
    if (at.session !== undefined && nature !== 'frames') {
      throw new FaultError('at.session', `${fault.fault} does not affect frames: give at.point too`);
    }
    return;
  }
  if (at.phase === 'after' && nature === 'frames') {
    throw new FaultError('at.phase', `${fault.fault} changes the frame itself, before it leaves`);
  }
  if (at.session !== undefined && sessionlessPoints.includes(point)) {
    throw new FaultError('at.session', `frames of ${point} belong to no session`);
  }
  const possible = pointsOfKind(fault.fault);
  if (!possible.includes(point)) {
    throw new FaultError('at.point', `${fault.fault} triggers at ${possible.join(', ')} only`);
  }
  if (!canPass(fault, point)) {
    const ways = gatewayPoints.includes(point) ? 'gateway and coordinator' : 'nodes and coordinator';
    throw new FaultError('at.point', `frames of ${point} pass between ${ways} only: give at.of, or another target`);
  }
}

/** Whether the fault can apply to frames of this point at all. */
function canPass(fault: Fault, point: Point): boolean {
  const peers = gatewayPoints.includes(point) ? gatewaysMeant(fault) : nodesMeant(fault);
  const out = point === 'call' || nodeOutPoints.includes(point);
  const direction = out ? 'out' : 'in';
  const { of } = fault.at ?? {};
  return peers.some((peer) => {
    if (of !== undefined && !passesBy(of, peer, direction)) return false;
    const filters = natures[fault.fault] === 'frames';
    if (!filters && of !== undefined) return true;
    const wanted = filters && 'direction' in fault ? fault.direction : 'both';
    const names = targetsOf(fault).filter((name) => filters || !isFrameless(name));
    return names.length === 0 || names.some((name) => passesBy(name, peer, direction, wanted));
  });
}

/** The nodes that a fault names; a list with one node when it names none. */
function nodesMeant(fault: Fault): string[] {
  const named = [...targetsOf(fault), fault.at?.of ?? ''].filter((name) => nodeIdOf(name) > 0);
  return named.length > 0 ? named : [nodeName(1)];
}

/** The same for gateways. */
function gatewaysMeant(fault: Fault): string[] {
  const named = [...targetsOf(fault), firstOf(fault.at?.of ?? '')].filter(isGateway);
  return named.length > 0 ? named : ['gateway'];
}

/** Worker, Redis, receiver, vendor and providers send no frames: for them a point without `of` means a frame of any process. */
export function isFrameless(name: string): boolean {
  return isWorker(name) || ['redis', 'receiver', 'vendor', 'provider'].includes(name);
}

function checkLength(fault: Fault): void {
  const nature = natures[fault.fault];
  const count = fault.count ?? 1;
  const byPoint = beginsAtTrigger(fault);
  if (nature === 'momentary' && fault.for_ms !== undefined) {
    const remedy = fault.fault === 'crash' ? ': restart_after_ms sets how long it stays down' : '';
    throw new FaultError('for_ms', `${fault.fault} is momentary and has no duration${remedy}`);
  }
  if (count > 1 && (nature === 'momentary' || nature === 'spell') && !byPoint) {
    throw new FaultError('count', `${fault.fault} triggers once unless at.point or at.port selects frames or calls`);
  }
  if (fault.count !== undefined && nature === 'window' && !countsUses(fault.fault)) {
    throw new FaultError('count', `${fault.fault} is active until it ends: for_ms sets its duration`);
  }
}

function checkParameters(fault: Fault, options: FaultEngineOptions): void {
  const { nodesTotal } = options;
  if (fault.fault === 'delay') checkDelay(fault);
  if ('for' in fault) {
    const beyond = fault.for?.find((id) => id > nodesTotal);
    if (beyond !== undefined)
      throw new FaultError('for', `node ${beyond} does not exist in this cluster of ${nodesTotal} nodes`);
  }
  if (fault.fault === 'bad_share') {
    const self = targetsOf(fault).find((name) => fault.for?.every((id) => id === nodeIdOf(name)));
    if (fault.for !== undefined && self !== undefined) {
      throw new FaultError('for', `${self} seals no share for itself: choose other nodes`);
    }
  }
  if (fault.fault === 'false_report' && fault.about !== undefined) {
    checkMember('about', nodeName(fault.about), options);
    const about = nodeName(fault.about);
    if (targetsOf(fault).includes(about)) throw new FaultError('about', `${about} does not complain about itself`);
  }
}

function checkDelay(fault: Extract<Fault, { fault: 'delay' }>): void {
  const { by_ms, min_ms, max_ms, distribution } = fault;
  if (by_ms === undefined && max_ms === undefined) throw new FaultError('by_ms', 'say by_ms, or max_ms');
  if (by_ms !== undefined && (min_ms !== undefined || max_ms !== undefined)) {
    throw new FaultError('by_ms', 'give either by_ms, or min_ms and max_ms');
  }
  if (distribution !== undefined && max_ms === undefined) throw new FaultError('distribution', 'say max_ms too');
  if (max_ms !== undefined && (min_ms ?? 0) > max_ms) throw new FaultError('min_ms', 'is above max_ms');
}
