/** Random faults that scenarios/faults/engine accepts. */
import type { Fault, FaultKind } from '../../../scenarios/faults/vocabulary/fault.ts';
import { hsmFailures, vendorFailures } from '../../../scenarios/faults/vocabulary/fault-parts.ts';
import type { Trigger } from '../../../scenarios/faults/vocabulary/generated-types.ts';
import type { byzantineKinds, coordinatorKinds } from '../../../scenarios/faults/vocabulary/kinds.ts';
import { dkgRefusalCodes, partialRefusalCodes } from '../../../scenarios/faults/vocabulary/refusal-codes.ts';
import { type Point, points } from '../../../scenarios/faults/vocabulary/trigger-points.ts';
import type { Draw } from '../../cluster/draw.ts';
import type { Swarm } from '../profiles.ts';
import { alteredAnswers, alteredRequests } from './alterations.ts';

export type DrawnLie = (typeof byzantineKinds)[number];
type CoordinatorLie = (typeof coordinatorKinds)[number];

const toNode: readonly Point[] = [
  'deal_nonces',
  'partial_request',
  'dkg_open',
  'dkg_seal',
  'dkg_verify',
  'dkg_confirm',
];
const fromNode: readonly Point[] = [
  'nonces_dealt',
  'partial_reply',
  'dkg_opened',
  'dkg_sealed',
  'dkg_verified',
  'dkg_confirmed',
];
const ofGateway: readonly Point[] = ['call', 'call_reply'];
const lieAt: Readonly<Record<DrawnLie, readonly Point[]>> = {
  bad_share: ['dkg_sealed'],
  bad_commitment: ['dkg_opened'],
  bad_proof: ['dkg_opened'],
  bad_partial: ['partial_reply'],
  equivocate: ['dkg_opened', 'dkg_verified'],
  withhold: fromNode,
  stale_replay: fromNode,
  false_report: ['dkg_verified'],
  false_refusal: ['partial_reply', 'dkg_opened', 'dkg_sealed', 'dkg_verified', 'dkg_confirmed'],
  early_confirm: ['dkg_opened', 'dkg_sealed', 'dkg_verified'],
  bad_nonces: ['nonces_dealt'],
  altered_answer: [],
};

export function randomFaults(swarm: Swarm, draw: Draw): Fault[] {
  const faults: Fault[] = [];
  const add = (fault: Fault) => faults.push({ ...fault, id: `f${faults.length + 1}` });
  for (const liar of swarm.liars) {
    if (swarm.lies.length === 0) break;
    for (const lie of draw.swarm(swarm.lies, 0.6)) add(lieOf(lie, liar, swarm, draw));
  }
  for (const lie of swarm.coordinatorLies) add(coordinatorLieOf(lie, swarm, draw));
  for (let left = swarm.alterations; left > 0; left -= 1) {
    if (swarm.coordinatorLies.includes('altered_request')) add(coordinatorLieOf('altered_request', swarm, draw));
    else add(alteredAnswer(draw.pick(swarm.liars), draw));
  }
  for (let left = swarm.faults; left > 0; left -= 1) {
    const kind = draw.pick(swarm.kinds);
    if (kind === 'clock_jump' && !swarm.clocksJump) continue;
    if (kind === 'rollback' && !(swarm.losesState && swarm.liars.length > 0)) continue;
    // A duplicate job makes a try too early: with a failing receiver, it wastes one of the few tries.
    if (kind === 'double_delivery' && swarm.kinds.some((other) => other.startsWith('receiver_'))) continue;
    add(faultOf(kind, swarm, draw));
  }
  return faults;
}

/** PKCS#11 tokens that fail for a while: any node may hold the key's token. */
export function tokenFaults(swarm: Swarm, draw: Draw): Fault[] {
  return Array.from({ length: draw.int(0, 2) }, (_, index) => ({
    id: `token-${index + 1}`,
    fault: 'hsm_fails',
    target: `node/${draw.int(1, swarm.nodes)}`,
    by: draw.pick(hsmFailures),
    at: { after_ms: draw.int(0, swarm.phaseMs) },
    for_ms: draw.pick([20, 200, Math.max(1, swarm.phaseMs)]),
  }));
}

/** Single writes of the coordinator that are lost, or whose answers are: at any of its calls, also late ones. */
export function refusedWrites(swarm: Swarm, draw: Draw): Fault[] {
  if ((swarm.profile !== 'stormy' && swarm.profile !== 'hostile') || !draw.chance(0.4)) return [];
  return Array.from({ length: draw.int(1, 3) }, (_, index) => ({
    id: `write-${index + 1}`,
    fault: draw.pick(['store_lost', 'store_unanswered'] as const),
    target: 'coordinator',
    count: 1,
    at: { point: draw.pick(['call', 'call', 'partial_reply', 'dkg_verified'] as const), nth: draw.int(1, 24) },
  }));
}

/** Nodes that restart at once, before the coordinator hears that their links are gone. */
export function reboots(swarm: Swarm, draw: Draw): Fault[] {
  return Array.from({ length: draw.int(1, 3) }, (_, index) => ({
    id: `reboot-${index + 1}`,
    fault: 'crash',
    target: `node/${draw.int(1, swarm.nodes)}`,
    restart_after_ms: 0,
    ...timed(swarm, draw),
  }));
}

/** Results of a key generation with another signature than their node's: from a node, or from the coordinator. */
export function unsignedResults({ liars, liedTo }: Swarm, draw: Draw): Fault[] {
  const faults: Fault[] = [];
  if (liars.length === 0) return faults;
  const change = draw.pick(['other', 'shorter'] as const);
  if (draw.chance(0.6)) {
    const about = {
      target: `node/${draw.pick(liars)}`,
      at: { point: 'dkg_verified' },
      field: 'finished.signature',
    } as const;
    faults.push({ id: 'unsigned-node', fault: 'altered_answer', ...about, change, count: draw.int(1, 3) });
  }
  if (draw.chance(0.6)) {
    const at = { point: 'dkg_confirm' } as const;
    const altered = { field: `results.${draw.int(0, 1)}.signature`, change, count: draw.int(1, 3) };
    const who = { target: 'coordinator' as const, for: [...liedTo] };
    faults.push({ id: 'unsigned-relay', fault: 'altered_request', ...who, at, ...altered });
  }
  return faults;
}

/** Another coordinator takes over while this one runs: in few runs, once or twice. */
export function secondCoordinators(swarm: Swarm, draw: Draw): Fault[] {
  // It takes a while until the earlier one writes.
  if ((swarm.profile !== 'stormy' && swarm.profile !== 'hostile') || swarm.phaseMs < 1_000) return [];
  if (!draw.chance(0.45)) return [];
  return Array.from({ length: draw.pick([1, 1, 2]) }, (_, index) => ({
    id: `second-${index + 1}`,
    fault: 'second_coordinator',
    target: 'coordinator',
    // The earlier one writes when its patience with calls is over, or when it scans for expired sessions.
    for_ms: draw.pick([500, 3_000, 6_000]),
    ...trigger('coordinator', { ...swarm, phaseMs: Math.ceil(swarm.phaseMs / 4) }, draw, false),
  }));
}

/** A vendor that behaves badly for a while, in one way or several. */
export function vendorFaults(swarm: Swarm, draw: Draw): Fault[] {
  return Array.from({ length: draw.int(1, 4) }, (_, index) => {
    const by = draw.pick(vendorFailures);
    return {
      id: `vendor-${index + 1}`,
      fault: 'vendor_fails',
      by,
      ...(by === 'delay' && { by_ms: draw.pick([30, 500, 20_000]) }),
      at: { after_ms: draw.int(0, swarm.phaseMs) },
      for_ms: draw.pick([20, 200, Math.max(1, swarm.phaseMs)]),
    } as const;
  });
}

export function lieOf(lie: DrawnLie, liar: number, swarm: Swarm, draw: Draw): Fault {
  const target = `node/${liar}`;
  if (lie === 'altered_answer') return alteredAnswer(liar, draw);
  const others = Array.from({ length: swarm.nodes }, (_, index) => index + 1).filter((id) => id !== liar);
  const at: Trigger | undefined = draw.chance(0.3)
    ? { point: draw.pick(lieAt[lie]), nth: draw.int(1, 3) }
    : draw.chance(0.7)
      ? undefined
      : { after_ms: draw.int(0, Math.min(100, swarm.phaseMs)) };
  // A dealer that always lies stops every key: most lie only a few times.
  const common = { target, ...(at && { at }), ...(draw.chance(0.8) && { count: draw.int(1, 4) }) };
  if (lie === 'bad_share' && draw.chance(0.5))
    return { fault: lie, ...common, for: [draw.pick(others)], ...wayOf(lie, at?.point, draw) } as Fault;
  if (lie === 'false_report' && draw.chance(0.5)) {
    // A node without a share of the key has none to change: then it reports another key.
    return { fault: lie, ...common, about: draw.chance(0.5) ? draw.pick(others) : Math.max(...others) };
  }
  return { fault: lie, ...common, ...wayOf(lie, at?.point, draw) } as Fault;
}

/** The variant of a lie. */
function wayOf(lie: DrawnLie, point: Point | undefined, draw: Draw): object {
  switch (lie) {
    case 'bad_share':
      return { how: draw.pick(['random', 'random', 'zero', 'unopenable', 'malformed']) };
    case 'bad_commitment':
      return { how: draw.pick(['other', 'other', 'too_few', 'too_many', 'identity', 'malformed']) };
    case 'bad_nonces':
      return { how: draw.pick(['identity', 'invalid', 'duplicate', 'malformed']) };
    case 'false_refusal': {
      const ofPartial = point === undefined ? draw.chance(0.5) : point === 'partial_reply';
      return { code: draw.pick<string>(ofPartial ? partialRefusalCodes : dkgRefusalCodes) };
    }
    default:
      return {};
  }
}

/** One field of a few of its answers; the alteration's table lists the possible fields. */
function alteredAnswer(liar: number, draw: Draw): Fault {
  const { point, ...alteration } = draw.pick(alteredAnswers);
  const at = draw.chance(0.6) ? { point } : { point, nth: draw.int(1, 3) };
  return { fault: 'altered_answer', target: `node/${liar}`, at, count: draw.int(1, 2), ...alteration };
}

/** Lies that stop a key for their whole duration: nothing is signed meanwhile. */
const stopsKeys: readonly CoordinatorLie[] = ['substitute_opening', 'supply_dealers', 'split_confirm'];

/** At most as many nodes as every key can do without, since its own process may then exclude them from a signature. */
function coordinatorLieOf(lie: CoordinatorLie, swarm: Swarm, draw: Draw): Fault {
  const isLimited = stopsKeys.includes(lie) || draw.chance(0.3);
  const common = {
    target: 'coordinator' as const,
    for: [...swarm.liedTo],
    ...(draw.chance(0.3) && timed(swarm, draw)),
    ...(isLimited && { count: draw.int(1, 3) }),
  };
  switch (lie) {
    case 'other_signers':
      return { fault: lie, ...common, how: draw.pick(['commitments', 'own', 'fewer', 'unsorted'] as const) };
    case 'false_order':
      return { fault: lie, ...common, how: draw.pick(['none', 'invented', 'earlier', 'unwitnessed'] as const) };
    case 'supply_dealers': {
      // Of all of them, or the nodes' results differ and there is no key.
      const { for: _, ...all } = common;
      return { fault: lie, ...(draw.chance(0.7) ? all : common) };
    }
    case 'altered_request': {
      const { point, ...alteration } = draw.pick(alteredRequests);
      const at = draw.chance(0.6) ? { point } : { point, nth: draw.int(1, 4) };
      return { fault: lie, ...common, at, count: draw.int(1, 2), ...alteration };
    }
    case 'substitute_opening':
      return { fault: lie, ...common, how: draw.pick(['sealing_key', 'commitments'] as const) };
    default:
      return { fault: lie, ...common };
  }
}

function faultOf(kind: FaultKind, swarm: Swarm, draw: Draw): Fault {
  const { phaseMs } = swarm;
  const forMs = () => draw.pick([20, 200, 1_000, Math.max(1, phaseMs)]);
  const node = () => `node/${draw.int(1, swarm.nodes)}`;
  const process = () => draw.pick([node(), node(), node(), 'coordinator', 'gateway']);
  const withStore = () => draw.pick([node(), 'coordinator', 'coordinator']);
  switch (kind) {
    case 'crash': {
      const target = draw.chance(0.15) ? 'worker' : process();
      const restart = draw.pick([0, 50, 500, phaseMs, null]);
      const lost = swarm.losesState && target.startsWith('node/') && swarm.liars.includes(nodeId(target));
      return {
        fault: kind,
        target,
        restart_after_ms: restart,
        ...(lost && { lose_state: true }),
        ...trigger(target, swarm, draw, true),
      };
    }
    case 'pause': {
      const target = process();
      return { fault: kind, target, for_ms: forMs(), ...trigger(target, swarm, draw, true) };
    }
    case 'rollback': {
      // As with a lost store, the shares that a node dealt are gone.
      const target = `node/${draw.pick(swarm.liars)}`;
      return {
        fault: kind,
        target,
        restart_after_ms: draw.pick([0, 50, 500]),
        at: { after_ms: draw.int(1, swarm.phaseMs) },
      };
    }
    case 'clock_skew': {
      const target = process();
      return { fault: kind, target, by_ms: draw.int(-30_000, 30_000), for_ms: forMs(), ...timed(swarm, draw) };
    }
    case 'clock_jump': {
      const by = draw.pick([-1_000, -60_000, 60_000, 700_000, 1_000_000, 90_000_000]);
      return {
        fault: kind,
        target: draw.pick(['coordinator', 'coordinator', node()]),
        by_ms: by,
        ...timed(swarm, draw),
      };
    }
    case 'redis_gone':
      return { fault: kind, for_ms: draw.pick([20, 500, 3_000, 8_000]), ...trigger('redis', swarm, draw, true) };
    case 'worker_stalled':
      return { fault: kind, for_ms: forMs(), ...timed(swarm, draw) };
    case 'double_delivery':
    case 'poison_job':
      return { fault: kind, ...timed(swarm, draw) };
    case 'receiver_status':
      return { fault: kind, status: draw.pick([500, 503, 429, 302, 400]), for_ms: forMs(), ...timed(swarm, draw) };
    case 'receiver_slow':
      return { fault: kind, by_ms: draw.pick([100, 1_000, 3_000]), for_ms: forMs(), ...timed(swarm, draw) };
    case 'receiver_reset':
      return { fault: kind, for_ms: forMs(), ...timed(swarm, draw) };
    case 'force_receipt': {
      const state = draw.pick(['DENIED', 'REVOKED', 'EXPIRED', 'BACKEND_FAILED'] as const);
      return { fault: kind, state, count: draw.int(1, 2), ...timed(swarm, draw) };
    }
    case 'partition':
    case 'half_open': {
      const target = process();
      return { fault: kind, target, for_ms: forMs(), ...trigger(target, swarm, draw, false) } as Fault;
    }
    case 'store_lost':
    case 'store_unanswered': {
      const limit = draw.chance(0.7) ? { count: draw.int(1, 3) } : { for_ms: draw.pick([20, 200]) };
      // Writes follow received messages.
      const point = draw.pick(['call', 'partial_reply', 'partial_reply', 'dkg_verified', 'dkg_confirmed'] as const);
      if (draw.chance(0.3)) {
        // A node stores its promises before it answers.
        const asked = draw.pick(['partial_request', 'dkg_open', 'dkg_verify', 'dkg_confirm'] as const);
        return { fault: kind, target: node(), ...limit, at: { point: asked, nth: draw.int(1, 4) } };
      }
      const at: { at?: Trigger } = draw.chance(0.5) ? timed(swarm, draw) : { at: { point, nth: draw.int(1, 6) } };
      return { fault: kind, target: at.at?.point ? 'coordinator' : withStore(), ...limit, ...at };
    }
    case 'store_failing':
      return { fault: kind, target: withStore(), for_ms: forMs(), ...timed(swarm, draw) };
    case 'second_process':
      return { fault: kind, target: node(), for_ms: forMs(), ...timed(swarm, draw) };
    case 'store_tampered':
    case 'store_full':
      return { fault: kind, target: 'coordinator', for_ms: draw.pick([5, 20, 200]), ...timed(swarm, draw) };
    case 'store_slow':
      return {
        fault: kind,
        target: withStore(),
        by_ms: draw.pick([5, 100, 3_000]),
        for_ms: forMs(),
        ...timed(swarm, draw),
      };
    default:
      return frameFault(kind, process(), swarm, draw);
  }
}

/** Faults that touch frames one by one. */
function frameFault(kind: FaultKind, target: string, swarm: Swarm, draw: Draw): Fault {
  // A permanently bad link affects any frame, a little; the others affect few frames, severely.
  const always = draw.chance(0.4);
  const about = always ? {} : trigger(target, swarm, draw, false);
  const pointed = about.at?.point !== undefined;
  const limit = always
    ? { for_ms: swarm.phaseMs }
    : pointed || draw.chance(0.3)
      ? { count: draw.int(1, 5) }
      : { for_ms: draw.pick([50, 500, swarm.phaseMs]) };
  const way = pointed || draw.chance(0.5) ? {} : { direction: draw.pick(['in', 'out'] as const) };
  const odds = !always && draw.chance(0.5) ? {} : { probability: draw.pick([0.1, 0.3, 0.7]) };
  const common = { target, ...about, ...limit, ...odds };
  switch (kind) {
    case 'slow':
      return { fault: kind, ...common, by_ms: draw.pick([5, 50, 400]) };
    case 'delay': {
      const by = draw.pick([2, 40, 700]);
      const span = draw.chance(0.5)
        ? { by_ms: by }
        : { min_ms: 0, max_ms: by, distribution: draw.pick(['uniform', 'exponential'] as const) };
      return { fault: kind, ...common, ...way, ...span };
    }
    case 'duplicate':
      return { fault: kind, ...common, ...way, copies: draw.int(1, 3) };
    case 'reorder':
      return { fault: kind, ...common, ...way, within_ms: draw.pick([3, 30, 500]) };
    default:
      return { fault: kind, ...common, ...way } as Fault;
  }
}

/** A trigger at a point of the protocol that passes this process, or at a time. */
function trigger(target: string, swarm: Swarm, draw: Draw, phased: boolean): { at?: Trigger } {
  if (!draw.chance(swarm.byPoint)) return timed(swarm, draw);
  const point = draw.pick(pointsBy(target));
  const at: Trigger = { point, nth: draw.int(1, draw.pick([1, 3, 8])) };
  return { at: phased && draw.chance(0.5) ? { ...at, phase: 'after' } : at };
}

function pointsBy(target: string): readonly Point[] {
  if (target === 'gateway') return ofGateway;
  if (target.startsWith('node/')) return [...toNode, ...fromNode];
  return points.filter((point) => point !== 'cluster_status' && point !== 'dkg_discard' && point !== 'dkg_refused');
}

function timed({ phaseMs }: Swarm, draw: Draw): { at?: Trigger } {
  // Much happens early, while keys are made.
  const before = draw.chance(0.4) ? Math.min(60, phaseMs) : phaseMs;
  return draw.chance(0.15) ? {} : { at: { after_ms: draw.int(0, before) } };
}

function nodeId(target: string): number {
  return Number(target.slice('node/'.length));
}
