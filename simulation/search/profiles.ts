/**
 * Profiles of random runs, and the draws of one run of a profile: the kinds of faults and steps that it uses, and their frequency
 * (swarm testing: Groce et al. 2012). A run with everything possible finds less than many runs that each do a few things often.
 *
 * - calm: no byzantine node, few faults, those of a bad day on a network.
 * - stormy: processes crash and pause, links break, the store fails; every node is honest.
 * - malformed: a byzantine node, or a coordinator that lies to one, alters single fields of frames; few other faults.
 * - hostile: all of these, up to n − t byzantine nodes, or a coordinator that lies to as many, nodes that lose their store,
 *   clocks that jump.
 *
 * Runs of wallets have all but `malformed`, with draws of their own (simulation/search/wallets/profiles.ts).
 */
import type { FaultKind } from '../../scenarios/faults/vocabulary/fault.ts';
import { byzantineKinds, coordinatorKinds } from '../../scenarios/faults/vocabulary/kinds.ts';
import type { Draw } from '../cluster/draw.ts';

export const profiles = ['calm', 'stormy', 'hostile', 'malformed'] as const;
export type Profile = (typeof profiles)[number];

const network = ['delay', 'drop', 'duplicate', 'reorder', 'slow'] as const;
const storm = [
  ...network,
  'crash',
  'pause',
  'partition',
  'hold',
  'half_open',
  'corrupt',
  'truncate',
  'store_lost',
  'store_unanswered',
  'store_slow',
  'store_failing',
  'store_tampered',
  'store_full',
  'second_process',
  'redis_gone',
  'worker_stalled',
  'double_delivery',
  'poison_job',
  'receiver_status',
  'receiver_slow',
  'receiver_reset',
  'clock_skew',
] as const;

const kindsOf: Readonly<Record<Profile, readonly FaultKind[]>> = {
  calm: [...network, 'crash', 'pause', 'partition', 'store_slow'],
  stormy: storm,
  hostile: [...storm, 'clock_jump', 'force_receipt', 'rollback'],
  malformed: [...network, 'crash', 'pause'],
};
const faultsMax: Readonly<Record<Profile, number>> = { calm: 3, stormy: 10, hostile: 8, malformed: 1 };

/** The stories of a client and a key, each a few steps. */
export const stories = [
  'sign',
  'steps',
  'approval',
  'sameIntent',
  'forced',
  'client_supplied',
  'failedAndResumed',
  'wrongCalls',
  'repeats',
  'crowd',
  'wallet',
  'changed',
  'altered',
  'inspected',
] as const;
export type Story = (typeof stories)[number];

/** The draws of one run. */
export interface Swarm {
  readonly profile: Profile;
  /** Signer nodes of the cluster. */
  readonly nodes: number;
  /** Byzantine nodes: at most as many as every key of the run can do without. */
  readonly liars: readonly number[];
  readonly lies: readonly (typeof byzantineKinds)[number][];
  /** Nodes to which the coordinator lies, if it lies: only byzantine ones. */
  readonly liedTo: readonly number[];
  readonly coordinatorLies: readonly (typeof coordinatorKinds)[number][];
  /** The number of altered single fields. */
  readonly alterations: number;
  readonly kinds: readonly FaultKind[];
  readonly faults: number;
  readonly clients: number;
  readonly stories: readonly Story[];
  /** The part of the run in which faults begin; then everything heals. */
  readonly phaseMs: number;
  /** The share of triggers at points of the protocol; the others are times. */
  readonly byPoint: number;
  /** Nodes may lose their store. */
  readonly losesState: boolean;
  /** Sessions live for some hundred milliseconds, and may expire at any step. */
  readonly shortLived: boolean;
  /** The chance that a key is of a type that nodes do not share. */
  readonly ownKeys: number;
  /** Clocks may jump or be advanced, far enough for sessions to expire. */
  readonly clocksJump: boolean;
}

export function drawSwarm(profile: Profile, draw: Draw): Swarm {
  const nodes = draw.pick([3, 3, 3, 4, 4, 5, 5, 6, 7]);
  const hostile = profile === 'hostile';
  const malformed = profile === 'malformed';
  const ids = Array.from({ length: nodes }, (_, index) => index + 1);
  // A key of n nodes has a threshold of 2 at least.
  const liarsMax = malformed ? 1 : Math.min(2, nodes - 2);
  const liars = malformed || (hostile && draw.chance(0.85)) ? draw.some(ids, draw.int(1, liarsMax)) : [];
  const mayLie = hostile && liars.length > 0;
  const altersRequests = malformed && draw.chance(0.6);
  const drawnLies = mayLie && draw.chance(0.4) ? draw.swarm(coordinatorKinds, 0.35) : [];
  // Where nodes lie too, they are drawn last and seldom used.
  const nodesLie = mayLie && (drawnLies.length === 0 || draw.chance(0.3));
  const nodeLies = nodesLie ? draw.swarm(byzantineKinds, 0.35) : [];
  return {
    profile,
    nodes,
    liars,
    lies: nodeLies,
    liedTo: liars,
    coordinatorLies: altersRequests ? ['altered_request'] : drawnLies,
    alterations: malformed ? draw.int(4, 16) : 0,
    kinds: draw.swarm(kindsOf[profile], 0.35),
    faults: draw.int(profile === 'stormy' ? 2 : 0, faultsMax[profile]),
    clients: draw.pick([1, 1, 2]),
    stories: draw.swarm(stories, 0.5),
    phaseMs: draw.pick([60, 200, 1_000, 4_000]),
    byPoint: draw.pick([0.2, 0.5, 0.9]),
    losesState: hostile && draw.chance(0.15),
    clocksJump: hostile && draw.chance(0.3),
    shortLived: draw.chance(0.25),
    ownKeys: draw.pick([0.05, 0.4, 0.9]),
  };
}
