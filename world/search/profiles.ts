/**
 * The profiles of the search of the control plane, and what a run of each draws: a swarm, so that every run leaves out some
 * kinds of steps and of faults, and does the others the more often.
 */
import type { Fault } from '../../faults/vocabulary/fault.ts';
import { providerFailures } from '../../faults/vocabulary/fault.ts';
import type { Draw } from './draw.ts';
import { type HookStep, hookSteps } from './hook-client.ts';
import { type ModuleStep, moduleSteps } from './module-client.ts';
import { type MoneyStep, moneySteps } from './money-client.ts';

/** `calm`: nothing goes wrong. `stormy`: processes, links and single calls fail. `hostile`: more of it, clocks and providers too. */
export const profiles = ['calm', 'stormy', 'hostile'] as const;
export type Profile = (typeof profiles)[number];

export const chainBlockMs = 500;

export interface RunPlan {
  readonly gateways: number;
  readonly workers: number;
  readonly tenants: number;
  readonly clients: number;
  readonly stepsEach: number;
  readonly providers: readonly string[];
  readonly wallets: number;
  readonly hasModules: boolean;
  readonly money: Readonly<Record<MoneyStep, number>>;
  readonly hooks: Readonly<Record<HookStep, number>>;
  readonly modules: Readonly<Record<ModuleStep, number>>;
  readonly hookShare: number;
  readonly faults: readonly Fault[];
  /** Of each call of a port: how likely it meets a fate of its own. */
  readonly portRate: number;
}

const providers = ['self_hosted', 'self_hosted', 'fireblocks', 'bitgo', 'copper'] as const;

export function drawPlan(draw: Draw, profile: Profile): RunPlan {
  const isCalm = profile === 'calm';
  const gateways = draw.integer(isCalm ? 1 : 2, 3);
  const workers = draw.integer(1, 2);
  return {
    gateways,
    workers,
    tenants: draw.integer(1, 2),
    clients: draw.integer(2, 4),
    stepsEach: draw.integer(6, 16),
    providers: [...new Set([draw.pick(providers), draw.pick(providers)])],
    wallets: draw.integer(2, 3),
    hasModules: draw.chance(0.35),
    money: { ...swarm(draw, moneySteps), transfer: draw.integer(4, 10), vote: draw.integer(2, 6) },
    hooks: swarm(draw, hookSteps),
    modules: swarm(draw, moduleSteps),
    hookShare: draw.pick([0, 0.1, 0.25]),
    faults: isCalm
      ? []
      : Array.from({ length: draw.integer(1, profile === 'hostile' ? 5 : 3) }, () =>
          drawFault(draw, profile, gateways, workers),
        ),
    portRate: isCalm ? 0 : draw.pick([0, 0.002, profile === 'hostile' ? 0.02 : 0.006]),
  };
}

/** About half of them, each as often as is drawn. */
function swarm<K extends string>(draw: Draw, steps: readonly K[]): Record<K, number> {
  return Object.fromEntries(steps.map((step) => [step, draw.chance(0.6) ? draw.integer(1, 4) : 0.05])) as Record<
    K,
    number
  >;
}

function drawFault(draw: Draw, profile: Profile, gateways: number, workers: number): Fault {
  const at = { after_ms: draw.integer(0, 6_000) };
  const forMs = draw.integer(200, 4_000);
  const gateway = numbered('gateway', draw.integer(1, gateways));
  const worker = numbered('worker', draw.integer(1, workers));
  const either = draw.chance(0.7) ? gateway : worker;
  const storm: readonly (() => Fault)[] = [
    () => ({ fault: 'crash', target: either, restart_after_ms: draw.integer(50, 2_000), at }),
    () => ({ fault: 'crash', target: 'coordinator', restart_after_ms: draw.integer(50, 2_000), at }),
    () => ({ fault: 'crash', target: `node/${draw.integer(1, 5)}`, restart_after_ms: draw.integer(50, 2_000), at }),
    () => ({ fault: 'pause', target: either, for_ms: forMs, at }),
    () => ({ fault: 'redis_gone', for_ms: draw.integer(100, 2_500), at }),
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
      by_ms: draw.integer(500, 30_000),
      for_ms: forMs,
      probability: 0.5,
      at,
    }),
    () => ({ fault: 'clock_jump', target: either, by_ms: draw.pick([-60_000, -2_000, 2_000, 60_000]), at }),
    () => ({ fault: 'clock_skew', target: either, by_ms: draw.pick([-20_000, 20_000]), for_ms: forMs, at }),
    () => ({ fault: 'store_unanswered', target: either, for_ms: forMs, probability: 0.2, at }),
    () => ({ fault: 'store_lost', target: either, for_ms: forMs, probability: 0.2, at }),
    () => ({ fault: 'store_failing', target: 'coordinator', for_ms: forMs, at }),
    () => ({ fault: 'bad_partial', target: `node/${draw.integer(1, 5)}`, for_ms: forMs, at }),
  ];
  return draw.pick(profile === 'hostile' ? [...storm, ...worse] : storm)();
}

function crashAtCall(draw: Draw, target: string): Fault {
  const call = draw.pick(['store/commit.lua', undefined, 'store/begin-idempotent.lua', 'store/settle-idempotent.lua']);
  return {
    fault: 'crash',
    target,
    restart_after_ms: draw.integer(50, 1_000),
    count: draw.integer(1, 3),
    at: {
      port: 'redis',
      ...(call !== undefined && { call }),
      nth: draw.integer(1, 30),
      phase: draw.pick(['before', 'after'] as const),
    },
  };
}

function numbered(role: string, number: number): string {
  return number === 1 ? role : `${role}/${number}`;
}
