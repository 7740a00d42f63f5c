/**
 * The behaviour of each kind of fault in time, and its possible targets. Theory of operation:
 *
 * - *momentary*: it triggers and has no duration. Without a point once; at a point `count` times.
 * - *spell*: each trigger holds for `for_ms`. Without a point once; at a point `count` times. Frames that pass while a
 *   spell lasts are not counted.
 * - *window*: it holds from its beginning to its end. With a point it begins at that frame.
 * - *frames*: it touches frames one by one, from its beginning to its end. With a point it touches only those frames.
 */
import type { Fault, FaultKind, FaultOf } from './fault.ts';
import { type Point, points } from './trigger-points.ts';

export type Nature = 'momentary' | 'spell' | 'window' | 'frames';

export const natures: Readonly<Record<FaultKind, Nature>> = {
  crash: 'momentary',
  clock_jump: 'momentary',
  rollback: 'momentary',
  double_delivery: 'momentary',
  poison_job: 'momentary',

  pause: 'spell',
  clock_skew: 'spell',
  redis_gone: 'spell',
  worker_stalled: 'spell',

  partition: 'window',
  half_open: 'window',
  second_process: 'window',
  second_coordinator: 'window',
  store_lost: 'window',
  store_unanswered: 'window',
  store_slow: 'window',
  store_failing: 'window',
  store_tampered: 'window',
  store_full: 'window',
  hsm_fails: 'window',
  vendor_fails: 'window',
  provider_fails: 'window',
  receiver_status: 'window',
  receiver_slow: 'window',
  receiver_reset: 'window',
  answer_lost: 'window',
  answer_slow: 'window',
  answer_status: 'window',
  answer_cut: 'window',

  slow: 'frames',
  delay: 'frames',
  drop: 'frames',
  duplicate: 'frames',
  reorder: 'frames',
  hold: 'frames',
  corrupt: 'frames',
  truncate: 'frames',
  bad_share: 'frames',
  bad_commitment: 'frames',
  bad_proof: 'frames',
  bad_partial: 'frames',
  equivocate: 'frames',
  withhold: 'frames',
  stale_replay: 'frames',
  false_report: 'frames',
  false_refusal: 'frames',
  early_confirm: 'frames',
  bad_nonces: 'frames',
  altered_answer: 'frames',
  other_message: 'frames',
  false_order: 'frames',
  other_scheme: 'frames',
  other_signers: 'frames',
  reuse_nonce: 'frames',
  substitute_opening: 'frames',
  supply_dealers: 'frames',
  split_confirm: 'frames',
  altered_request: 'frames',
  force_receipt: 'frames',
};

/** Faults of byzantine nodes. A node may be blamed for these only. */
export const byzantineKinds = [
  'bad_share',
  'bad_commitment',
  'bad_proof',
  'bad_partial',
  'equivocate',
  'withhold',
  'stale_replay',
  'false_report',
  'false_refusal',
  'early_confirm',
  'bad_nonces',
  'altered_answer',
] as const satisfies readonly FaultKind[];

/** Faults of a malicious coordinator. It may then blame the nodes to which it lied. */
export const coordinatorKinds = [
  'other_message',
  'false_order',
  'other_scheme',
  'other_signers',
  'reuse_nonce',
  'substitute_opening',
  'supply_dealers',
  'split_confirm',
  'altered_request',
] as const satisfies readonly FaultKind[];

/** Faults between a gateway and its callers. */
export const apiServerKinds = [
  'answer_lost',
  'answer_slow',
  'answer_status',
  'answer_cut',
] as const satisfies readonly FaultKind[];

/** Kinds that only the simulated world has, with the reason. */
export const simulatedOnly: Readonly<Partial<Record<FaultKind, string>>> = {
  store_lost: 'a live store cannot lose single writes silently',
  store_unanswered: 'a live store cannot lose single answers',
  store_slow: 'a live store cannot be slowed for one process',
  store_failing: 'a live store cannot fail for one process; redis_gone makes Redis unreachable for all',
  hsm_fails: 'a live token is a device: remove it, or end the process of its module',
  provider_fails: 'in a live cluster test amounts cause failures of the simulated custodians (docs/wallet-guide.md)',
  store_tampered: 'faults do not change a live Redis behind its clients',
  store_full: 'a live tenant has a quota of bytes: SIGNMESH_TENANT_BYTES',
  rollback: 'live stores roll back together only, by a snapshot',
  second_coordinator: 'a live coordinator holds the port of its cluster: a second one cannot start while it runs',
};

const noApiServer = 'a simulated world without the wallet API has no gateway: its calls go to the coordinator';

/** Kinds of the live world, and of the simulated world only with the wallet API, with the reason. */
export const liveOnly: Readonly<Partial<Record<FaultKind, string>>> = {
  answer_lost: noApiServer,
  answer_slow: noApiServer,
  answer_status: noApiServer,
  answer_cut: noApiServer,
};

export function isApiServerKind(kind: FaultKind): boolean {
  return (apiServerKinds as readonly FaultKind[]).includes(kind);
}

/** Conditions of the store while they last; the engine counts no single use. */
const standingKinds: ReadonlySet<FaultKind> = new Set(['store_tampered', 'store_full']);

/** Kinds that decide the fate of single writes, or of single calls of ports. */
export function isStoreKind(kind: FaultKind): boolean {
  return kind.startsWith('store_') && !standingKinds.has(kind);
}

/** Windows that trigger at each write, call or request that they touch. */
export function countsUses(kind: FaultKind): boolean {
  return isStoreKind(kind) || kind === 'provider_fails' || isApiServerKind(kind);
}

/** Whether the fault begins at a frame or at a call of a port, instead of a time. */
export function beginsAtTrigger({ fault, at }: Fault): boolean {
  return at?.point !== undefined || (at?.port !== undefined && !countsUses(fault));
}

/** Points whose frames leave a node. Frames of the other points go to a node, except those of calls. */
export const nodeOutPoints: readonly Point[] = [
  'nonces_dealt',
  'partial_reply',
  'dkg_opened',
  'dkg_sealed',
  'dkg_verified',
  'dkg_confirmed',
  'dkg_refused',
];

/** Points whose frames pass between gateway and coordinator. */
export const gatewayPoints: readonly Point[] = ['call', 'call_reply', 'cluster_status'];

/** Points whose frames belong to no session. */
export const sessionlessPoints: readonly Point[] = ['cluster_status', 'deal_nonces', 'nonces_dealt'];

export type NodeLieKind = (typeof byzantineKinds)[number];
export type CoordinatorLieKind = (typeof coordinatorKinds)[number];
export type LieKind = NodeLieKind | CoordinatorLieKind;
export type Lie = FaultOf<LieKind>;
export type CoordinatorLie = FaultOf<CoordinatorLieKind>;

/** Answers of a DKG. */
const dkgAnswers: readonly Point[] = ['dkg_opened', 'dkg_sealed', 'dkg_verified', 'dkg_confirmed'];

/** The points whose frames each byzantine kind rewrites. */
export const liePoints: Readonly<Record<LieKind, readonly Point[]>> = {
  bad_share: ['dkg_sealed'],
  bad_commitment: ['dkg_opened'],
  bad_proof: ['dkg_opened'],
  bad_partial: ['partial_reply'],
  equivocate: ['dkg_opened', 'dkg_verified'],
  withhold: nodeOutPoints,
  stale_replay: nodeOutPoints,
  false_report: ['dkg_verified'],
  false_refusal: ['partial_reply', ...dkgAnswers],
  early_confirm: ['dkg_opened', 'dkg_sealed', 'dkg_verified'],
  bad_nonces: ['nonces_dealt'],
  altered_answer: [...nodeOutPoints, 'vendor_settled'],
  other_message: ['partial_request'],
  false_order: ['partial_request'],
  other_scheme: ['partial_request'],
  other_signers: ['partial_request'],
  reuse_nonce: ['partial_request'],
  substitute_opening: ['dkg_seal', 'dkg_verify'],
  supply_dealers: ['dkg_verify'],
  split_confirm: ['dkg_confirm'],
  altered_request: [
    'deal_nonces',
    'partial_request',
    'dkg_open',
    'dkg_seal',
    'dkg_verify',
    'dkg_confirm',
    'dkg_discard',
  ],
};

export function isLie(fault: Fault): fault is Lie {
  return fault.fault in liePoints;
}

export function isCoordinatorLie(fault: Lie): fault is CoordinatorLie {
  return (coordinatorKinds as readonly string[]).includes(fault.fault);
}

const signed: readonly FaultKind[] = [
  'second_process',
  'bad_share',
  'bad_commitment',
  'bad_proof',
  'equivocate',
  'false_report',
];

/** Kinds that need the node's identity key. */
export function needsIdentity(kind: FaultKind): boolean {
  return signed.includes(kind);
}

/** Points at which this kind can trigger, for any target. */
export function pointsOfKind(kind: FaultKind): readonly Point[] {
  if (kind === 'force_receipt') return ['call'];
  return kind in liePoints ? liePoints[kind as LieKind] : points;
}

const onLinks: readonly FaultKind[] = [
  'slow',
  'delay',
  'drop',
  'duplicate',
  'reorder',
  'partition',
  'hold',
  'half_open',
  'corrupt',
  'truncate',
];

/** Processes that a kind can target, `node` for every node. Undefined: it has no target, or its schema names them. */
export function victimsOfKind(kind: FaultKind): readonly string[] | undefined {
  if (kind === 'crash' || kind === 'pause') return ['node', 'coordinator', 'gateway', 'worker'];
  if (onLinks.includes(kind)) return ['node', 'coordinator', 'gateway'];
  if (kind === 'clock_skew' || kind === 'clock_jump') return ['node', 'coordinator', 'gateway', 'worker'];
  if (standingKinds.has(kind)) return ['coordinator'];
  if (isStoreKind(kind)) return ['node', 'coordinator', 'gateway', 'worker'];
  if (kind === 'rollback') return ['node', 'coordinator'];
  return undefined;
}
