/**
 * One run of the search of the control plane: a world that is drawn from a seed, clients that call it while it fails, then
 * its healing, and every invariant. The same seed and profile give the same run, byte for byte. It stops at its first Finding.
 */

import { holdCryptography } from '../../crypto/model/switch.ts';
import { randomStream } from '../../sim/random.ts';
import { CustodyWorld } from '../custody-world.ts';
import { randomPlan } from '../random-plan.ts';
import { Answers } from './answers.ts';
import { Draw } from './draw.ts';
import { Finding } from './finding.ts';
import { HookClient } from './hook-client.ts';
import { ModuleClient } from './module-client.ts';
import { MoneyClient } from './money-client.ts';
import { chainBlockMs, drawPlan, type Profile, type RunPlan } from './profiles.ts';
import { settle } from './settle.ts';
import { Tenancy } from './tenancy.ts';
import type { Verdict } from './verdict.ts';

export interface WorldRunOptions {
  /** 'model' is fast and protects nothing. */
  readonly crypto: 'model' | 'real';
  /** Whether the trace is kept. */
  readonly record: boolean;
}

export interface WorldRun {
  readonly verdict: Verdict;
  /** Virtual time. */
  readonly tookMs: number;
  readonly transfers: number;
  readonly trace: readonly string[];
}

/** Everything that was asked for has come about within so long, of virtual time. */
const workWithinMs = 24 * 3_600_000;

export async function runWorldSeed(
  seed: number,
  profile: Profile,
  { crypto, record }: WorldRunOptions,
): Promise<WorldRun> {
  const name = `${seed}/${profile}`;
  const plan = drawPlan(new Draw(randomStream(name, 'plan')), profile);
  const rate = Math.round(plan.portRate * 65_536);
  const rates = { dies: Math.ceil(rate / 8), fails: Math.ceil(rate / 4), delays: rate, delayMaxMs: 300 };
  const ports = randomPlan(randomStream(name, 'ports'), rates);
  let isOn = false;
  const world = new CustodyWorld({
    seed: name,
    keepTrace: record,
    keepLog: true,
    cryptography: crypto,
    codec: crypto === 'model' ? 'none' : 'bytes',
    gateways: plan.gateways,
    workers: plan.workers,
    chainBlockMs,
    retryScheduleMs: [500, 2_000, 5_000, 20_000, 60_000],
    onBug: 'record',
    plan: (call) => (isOn && plan.portRate > 0 ? ports.plan(call) : undefined),
  });
  const answers = new Answers();
  const tenancies = Array.from({ length: plan.tenants }, (_, at) => new Tenancy(`tn_${at + 1}`, world, answers));
  const ended = (verdict: Verdict): WorldRun => ({
    verdict,
    tookMs: world.nowMs - world.cluster.time.beganMs,
    transfers: tenancies.reduce((sum, { submitted }) => sum + submitted.length, 0),
    trace: record ? [...world.trace, ...world.cluster.trace] : [],
  });
  try {
    const draw = new Draw(world.random('draw'));
    await world.run(open(tenancies, plan, draw), workWithinMs);
    isOn = true;
    held(crypto, () => plan.faults.forEach((fault) => void world.cluster.arm(fault)));
    await world.run(work(tenancies, plan, world), workWithinMs);
    ports.end();
    isOn = false;
    held(crypto, () => world.cluster.heal());
    await settle(world, tenancies, workWithinMs);
    return ended({ kind: 'passed' });
  } catch (error) {
    if (error instanceof Finding) return ended({ kind: 'violated', invariant: error.invariant, cause: error.message });
    const cause = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return ended({ kind: 'violated', invariant: 'no-bugs', cause });
  }
}

/** Processes that start outside of the loop find the cryptography of the run, too. */
function held(crypto: WorldRunOptions['crypto'], run: () => void): void {
  const restore = holdCryptography(crypto);
  try {
    run();
  } finally {
    restore();
  }
}

async function open(tenancies: readonly Tenancy[], plan: RunPlan, draw: Draw): Promise<void> {
  for (const tenancy of tenancies) {
    await tenancy.open(draw, plan.providers, plan.wallets);
    await new HookClient(tenancy, tenancy.owner, draw).register(['*']);
  }
}

async function work(tenancies: readonly Tenancy[], plan: RunPlan, world: CustodyWorld): Promise<void> {
  const clients = tenancies.flatMap((tenancy) => {
    const others = tenancies.filter((one) => one !== tenancy);
    return Array.from({ length: plan.clients }, async (_, at) => {
      const draw = new Draw(world.random(`client/${tenancy.name}/${at}`));
      const operator = tenancy.operators[at % tenancy.operators.length]!;
      const money = new MoneyClient(tenancy, operator, draw, others);
      const hooks = new HookClient(tenancy, operator, draw);
      const modules = plan.hasModules && at === 0 ? new ModuleClient(tenancy, operator, draw) : undefined;
      for (let step = 0; step < plan.stepsEach; step += 1) {
        if (modules !== undefined && draw.chance(0.3)) await modules.step(draw.weighted(plan.modules));
        else if (draw.chance(plan.hookShare)) await hooks.step(draw.weighted(plan.hooks));
        else await money.step(draw.weighted(plan.money));
        if (draw.chance(0.4)) await operator.client.pause(draw.integer(1, 900));
      }
    });
  });
  await Promise.all(clients);
}
