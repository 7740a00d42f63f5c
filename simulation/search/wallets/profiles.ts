/**
 * The profiles of the search of the control plane, and the draws of a run of each: a swarm, so that every run omits some kinds of
 * steps and of faults, and does the others more often. Each family of steps, and every step, has its own stream: an addition to
 * one changes no other.
 */
import type { RandomBytes } from '../../../core/actors/contract.ts';
import type { Fault } from '../../../scenarios/faults/vocabulary/fault.ts';
import { providerFailures } from '../../../scenarios/faults/vocabulary/fault-parts.ts';
import type { Draw } from '../../cluster/draw.ts';
import { randomStream } from '../../cluster/random.ts';
import { plain, type RunVariant } from '../guide.ts';
import type { Profile } from '../profiles.ts';
import { drawFrom } from './draw.ts';
import { type Family, families } from './steps.ts';

/** `calm`: no faults. `stormy`: processes, links and single calls fail. `hostile`: more of these, clocks and providers too. */
export const walletProfiles = ['calm', 'stormy', 'hostile'] as const satisfies readonly Profile[];
export type WalletProfile = (typeof walletProfiles)[number];

export const chainBlockMs = 500;

const moduleFamilies = ['tokens', 'treasury', 'vaults', 'recon'] as const;

/** All parts of a run, besides its seed: plain data, which is varied, shrunk and written down. */
export interface RunPlan {
  readonly profile: WalletProfile;
  /** Signing clusters. */
  readonly clusters: number;
  readonly gateways: number;
  readonly workers: number;
  readonly tenants: number;
  readonly clients: number;
  readonly stepsEach: number;
  readonly providers: readonly string[];
  readonly wallets: number;
  readonly hasModules: boolean;
  /** The gateways count calls, and refuse those beyond small limits. */
  readonly isLimited: boolean;
  /** The frequency of steps of each family. */
  readonly shares: Readonly<Record<Family, number>>;
  readonly weights: Readonly<Record<Family, Readonly<Record<string, number>>>>;
  readonly faults: readonly Fault[];
  /** For each call of a port: the probability of a fault. */
  readonly portRate: number;
  readonly turns: RunVariant['turns'];
  /** Names of omitted steps; for a shrunk run. */
  readonly without: readonly string[];
}

const providers = ['self_hosted', 'self_hosted', 'fireblocks', 'bitgo', 'copper'] as const;
/** The share of runs with two clusters. */
const twoClustersShare = 0.2;
/** The share of runs with rate limits. */
const limitedShare = 0.1;
/** The share of runs with the provider `sandbox`. */
const sandboxShare = 0.15;
/** The weight factor of favoured steps. */
const favour = 6;

/** The draws of a seed, with the differences of a variant. Throws for a profile that runs of wallets do not have. */
export function planOf(seed: number, profile: Profile, { favoured, turns }: RunVariant = plain): RunPlan {
  const own = walletProfiles.find((one) => one === profile);
  if (own === undefined) throw new Error(`runs of wallets have no profile ${profile}`);
  const plan = drawPlan((label) => randomStream(`${seed}/${profile}`, label), own, favoured);
  return { ...plan, turns };
}

/** `random`: a stream of the run by its label. `favoured`: names of steps. */
export function drawPlan(
  random: (label: string) => RandomBytes,
  profile: WalletProfile,
  favoured: readonly string[] = [],
): RunPlan {
  const draw = drawFrom(random('plan'));
  const isCalm = profile === 'calm';
  const gateways = draw.int(isCalm ? 1 : 2, 3);
  const workers = draw.int(1, 2);
  const wanted = (family: Family) => families[family].some((step) => favoured.includes(step));
  const hasModules = draw.chance(0.4) || moduleFamilies.some(wanted);
  const names = Object.keys(families) as Family[];
  const drawn = Object.fromEntries(
    names.map((family) => [family, swarm(drawFrom(random(`plan/${family}`)), family, favoured)]),
  ) as Record<Family, { readonly share: number; readonly weights: Record<string, number> }>;
  const shares = Object.fromEntries(names.map((family) => [family, drawn[family].share])) as Record<Family, number>;
  for (const family of moduleFamilies) if (!hasModules) shares[family] = 0;
  const clusterDraw = drawFrom(random('plan/clusters'));
  const clusters = clusterDraw.chance(twoClustersShare) ? 2 : 1;
  const faults = isCalm ? [] : drawFaults(drawFrom(random('plan/faults')), profile, gateways, workers);
  if (clusters > 1 && !isCalm) faults.push(...drawClusterFaults(clusterDraw, profile));
  return {
    ...{ profile, clusters, gateways, workers },
    tenants: draw.int(1, 2),
    clients: draw.int(2, 4),
    stepsEach: draw.int(8, 20),
    providers: withSandbox([draw.pick(providers), draw.pick(providers)], drawFrom(random('plan/sandbox'))),
    wallets: draw.int(2, 3),
    hasModules,
    isLimited: drawFrom(random('plan/limits')).chance(limitedShare),
    shares,
    weights: Object.fromEntries(names.map((family) => [family, drawn[family].weights])) as RunPlan['weights'],
    faults,
    portRate: isCalm ? 0 : draw.pick([0, 0.002, profile === 'hostile' ? 0.02 : 0.006]),
    ...{ turns: [], without: [] },
  };
}

/** In a few runs the second provider is the sandbox itself. */
function withSandbox([first, second]: readonly [string, string], draw: Draw): string[] {
  return [...new Set([first, draw.chance(sandboxShare) ? 'sandbox' : second])];
}

/** Steps that a family needs: never omitted. */
const always: readonly string[] = [
  'transfer',
  'race',
  'vote',
  'mint',
  'redeem',
  'rebalance',
  'execute',
  'vault_sign',
  'recon',
];

/** About half of the steps, each with its drawn frequency. */
function swarm(draw: Draw, family: Family, favoured: readonly string[]) {
  const steps: readonly string[] = families[family];
  const weightOf = (step: string): number => {
    const weight = always.includes(step) ? draw.int(2, 5) : draw.chance(0.6) ? draw.int(1, 4) : 0.05;
    return weight * (favoured.includes(step) ? favour : 1);
  };
  const weights = Object.fromEntries(steps.map((step) => [step, weightOf(step)]));
  if (family === 'money') weights.transfer = draw.int(4, 10);
  const usual = {
    ...{ money: 10, hooks: draw.pick([1, 2, 4]), signing: draw.pick([0, 1, 3]) },
    ...{ access: draw.pick([0, 0.5, 1]), connections: draw.pick([0, 0.5, 1.5]) },
  };
  const share = usual[family as keyof typeof usual] ?? draw.pick([0, 4, 10]);
  return { share: steps.some((step) => favoured.includes(step)) ? Math.max(share, 4) : share, weights };
}

export function drawFaults(draw: Draw, profile: WalletProfile, gateways: number, workers: number): Fault[] {
  const count = draw.int(1, profile === 'hostile' ? 5 : 3);
  return Array.from({ length: count }, () => drawFault(draw, profile, gateways, workers));
}

function drawFault(draw: Draw, profile: WalletProfile, gateways: number, workers: number): Fault {
  const at = { after_ms: draw.int(0, 6_000) };
  const forMs = draw.int(200, 4_000);
  const gateway = numbered('gateway', draw.int(1, gateways));
  const worker = numbered('worker', draw.int(1, workers));
  const either = draw.chance(0.7) ? gateway : worker;
  const storm: readonly (() => Fault)[] = [
    () => ({ fault: 'crash', target: either, restart_after_ms: draw.int(50, 2_000), at }),
    () => ({ fault: 'crash', target: 'coordinator', restart_after_ms: draw.int(50, 2_000), at }),
    () => ({ fault: 'crash', target: `node/${draw.int(1, 5)}`, restart_after_ms: draw.int(50, 2_000), at }),
    () => ({ fault: 'pause', target: either, for_ms: forMs, at }),
    () => ({ fault: 'redis_gone', for_ms: draw.int(100, 2_500), at }),
    () => ({ fault: 'partition', target: gateway, for_ms: forMs, at }),
    () => ({ fault: 'drop', target: gateway, for_ms: forMs, probability: 0.3, at }),
    () => ({ fault: 'receiver_status', status: draw.pick([500, 503, 302]), for_ms: forMs, at }),
    () => ({ fault: 'receiver_reset', for_ms: forMs, at }),
    () => ({ fault: 'receiver_slow', by_ms: draw.pick([200, 16_000]), for_ms: forMs, at }),
    () => ({ fault: 'answer_lost', for_ms: forMs, probability: 0.5, at }),
    () => ({ fault: 'double_delivery', at }),
    () => ({ fault: 'worker_stalled', for_ms: forMs, at }),
    () => crashAtCall(draw, either),
  ];
  const worse: readonly (() => Fault)[] = [
    () => ({
      fault: 'provider_fails',
      by: draw.pick(providerFailures),
      by_ms: draw.int(500, 30_000),
      for_ms: forMs,
      probability: 0.5,
      at,
    }),
    () => ({ fault: 'clock_jump', target: either, by_ms: draw.pick([-60_000, -2_000, 2_000, 60_000]), at }),
    () => ({ fault: 'clock_skew', target: either, by_ms: draw.pick([-20_000, 20_000]), for_ms: forMs, at }),
    () => ({ fault: 'store_unanswered', target: either, for_ms: forMs, probability: 0.2, at }),
    () => ({ fault: 'store_lost', target: either, for_ms: forMs, probability: 0.2, at }),
    () => ({ fault: 'store_failing', target: 'coordinator', for_ms: forMs, at }),
    () => ({ fault: 'bad_partial', target: `node/${draw.int(1, 5)}`, for_ms: forMs, at }),
  ];
  return draw.pick(profile === 'hostile' ? [...storm, ...worse] : storm)();
}

/** Of the second cluster, and of the gateways' links to it. */
function drawClusterFaults(draw: Draw, profile: WalletProfile): Fault[] {
  const own = (name: string) => `cluster/2/${name}`;
  return Array.from({ length: draw.int(1, 2) }, () => {
    const at = { after_ms: draw.int(0, 6_000) };
    const forMs = draw.int(200, 9_000);
    const node = own(`node/${draw.int(1, 5)}`);
    const storm: readonly (() => Fault)[] = [
      () => ({ fault: 'crash', target: own('coordinator'), restart_after_ms: draw.int(50, 9_000), at }),
      () => ({ fault: 'crash', target: own('node/*'), restart_after_ms: draw.int(50, 9_000), at }),
      () => ({ fault: 'pause', target: node, for_ms: forMs, at }),
      () => ({ fault: 'partition', target: own('gateway'), for_ms: forMs, at }),
      () => ({ fault: 'drop', target: own('gateway'), for_ms: forMs, probability: 0.3, at }),
    ];
    const worse: readonly (() => Fault)[] = [
      () => ({ fault: 'store_failing', target: own('coordinator'), for_ms: forMs, at }),
      () => ({ fault: 'bad_partial', target: node, for_ms: forMs, at }),
    ];
    return draw.pick(profile === 'hostile' ? [...storm, ...worse] : storm)();
  });
}

/** Calls that take work, or leave it, besides commits. */
const crashCalls = [
  'store/begin-idempotent.lua',
  'store/settle-idempotent.lua',
  'store/take-due.lua',
  'redis/due-register.lua',
  'redis/due-claim.lua',
  'redis/due-settle.lua',
  'delivery/deliveries/dispatch.lua',
  'delivery/deliveries/move.lua',
];

function crashAtCall(draw: Draw, target: string): Fault {
  const call = draw.pick([undefined, 'store/commit.lua', 'store/commit.lua', ...crashCalls]);
  return {
    fault: 'crash',
    target,
    restart_after_ms: draw.int(50, 1_000),
    count: draw.int(1, 3),
    at: {
      port: 'redis',
      ...(call !== undefined && { call }),
      nth: draw.int(1, 30),
      phase: draw.pick(['before', 'after'] as const),
    },
  };
}

function numbered(role: string, number: number): string {
  return number === 1 ? role : `${role}/${number}`;
}
