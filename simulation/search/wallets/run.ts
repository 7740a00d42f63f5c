/**
 * One run of the search of the control plane: a world drawn from a seed, clients that call it during faults, then its healing,
 * and every invariant. The same seed and plan give the same run, byte for byte. It stops at its first Finding.
 */

import { holdCryptography } from '../../../core/crypto/model/switch.ts';
import type { Fault } from '../../../scenarios/faults/vocabulary/fault.ts';
import type { Draw } from '../../cluster/draw.ts';
import { randomStream } from '../../cluster/random.ts';
import { CustodyWorld } from '../../service/custody-world.ts';
import { Finding } from '../../service/invariants/finding.ts';
import { Leases } from '../../service/invariants/leases.ts';
import { checkStored } from '../../service/invariants/stored.ts';
import type { PortCall, PortFate } from '../../service/process-life.ts';
import { randomPlan } from '../../service/random-plan.ts';
import type { RunVariant } from '../guide.ts';
import type { Profile } from '../profiles.ts';
import type { EndedRun, SearchRunOptions } from '../workload.ts';
import { AccessClient } from './access-client.ts';
import { Answers, type SentRequest } from './answer-invariants.ts';
import { ConnectionClient } from './connection-client.ts';
import { drawFrom } from './draw.ts';
import { explore } from './explore.ts';
import { HookClient } from './hook-client.ts';
import { searchScheduleMs } from './hook-exercises.ts';
import { Landmarks } from './landmarks.ts';
import { MoneyClient } from './money-client.ts';
import type { Operator } from './operator.ts';
import { chainBlockMs, drawFaults, planOf, type RunPlan } from './profiles.ts';
import { ReconClient } from './recon-client.ts';
import type { RunRecording } from './recorded-run.ts';
import type { RunClient } from './run-client.ts';
import { settle } from './settle.ts';
import { SigningClient } from './signing-client.ts';
import type { Family, FamilyStep } from './steps.ts';
import { Tenancy, type TenancyDeps } from './tenancy.ts';
import { TokenClient } from './token-client.ts';
import { TreasuryClient } from './treasury-client.ts';
import { VaultClient } from './vault-client.ts';

export interface WorldRunOptions extends SearchRunOptions {
  /** Whether the store packs larger objects; by default with real cryptography, and for one seed in eight. */
  readonly packs?: boolean;
  /** Gets what the run does. */
  readonly into?: RunRecording;
}

/** All requested work has ended within this much virtual time. */
const workWithinMs = 24 * 3_600_000;
/** With the model, one seed in so many packs the objects that it stores, as a live store does: no other event depends on it. */
const packedSeeds = 8;
/** Of the tenants of a run with limits: soon reached, and soon over. */
const smallLimits = { windowS: 2, reads: 60, writes: 25, signing: 60 };

export function runWorldSeed(
  seed: number,
  profile: Profile,
  options: WorldRunOptions,
  variant?: RunVariant,
): Promise<EndedRun> {
  return runWorldPlan(seed, planOf(seed, profile, variant), options);
}

export async function runWorldPlan(
  seed: number,
  plan: RunPlan,
  { crypto, record, packs = crypto === 'real' || seed % packedSeeds === 0, into }: WorldRunOptions,
): Promise<EndedRun> {
  const { profile } = plan;
  const name = `${seed}/${profile}`;
  const landmarks = new Landmarks();
  const rate = Math.round(plan.portRate * 65_536);
  const rates = { dies: Math.ceil(rate / 8), fails: Math.ceil(rate / 4), delays: rate, delayMaxMs: 300 };
  const ports = randomPlan(randomStream(name, 'ports'), rates);
  const failpoint = (call: PortCall): PortFate | undefined => {
    const fate = ports.plan(call);
    if (fate === undefined) return undefined;
    landmarks.failpoint(call, fate);
    into?.omit('the fate of a port call');
    return fate;
  };
  let isOn = false;
  const tenants = Array.from({ length: plan.tenants }, (_, at) => `tn_${at + 1}`);
  const leases = new Leases(() => world, tenants);
  const world: CustodyWorld = new CustodyWorld({
    seed: name,
    keepTrace: record,
    keepLog: true,
    cryptography: crypto,
    codec: crypto === 'model' ? 'none' : 'bytes',
    objectTable: !packs,
    clusters: plan.clusters,
    gateways: plan.gateways,
    workers: plan.workers,
    chainBlockMs,
    retryScheduleMs: searchScheduleMs,
    onBug: 'record',
    checkResponses: true,
    ...(plan.isLimited && { rateLimits: smallLimits }),
    ...(profile === 'calm' && { replied: (name, reply) => leases.heard(name, reply) }),
    plan: (call) => (isOn && plan.portRate > 0 ? failpoint(call) : undefined),
  });
  const isCalm = profile === 'calm';
  const recorded: TenancyDeps['recorded'] =
    into &&
    ((asked: SentRequest, operator: Operator) => {
      const tenancy = tenancies.find((one) => one.name === asked.tenant)!;
      const isPrincipal = tenancy.operators.includes(operator);
      const route = isPrincipal ? tenancy.routeOf(asked.method, asked.target) : undefined;
      return into.request(asked, route?.path, () => world.nowMs);
    });
  const parts = { world, answers: new Answers(), landmarks, isCalm, recorded };
  const tenancies: readonly Tenancy[] = tenants.map((tenant) => new Tenancy(tenant, parts));
  const arm = (faults: readonly Fault[]) => {
    into?.armed(faults, world.nowMs);
    held(crypto, () => faults.forEach((fault) => void world.clusters.arm(fault)));
  };
  const heal = () => {
    into?.healed(world.nowMs);
    held(crypto, () => world.clusters.heal());
  };
  const ended = (verdict: EndedRun['verdict']): EndedRun => ({
    verdict,
    tookMs: world.nowMs - world.cluster.time.beganMs,
    landmarks: landmarks.names,
    trace: record ? [...world.trace, ...world.clusters.trace] : [],
  });
  try {
    const draw = drawFrom(world.random('draw'));
    await world.run(open(tenancies, plan, draw), workWithinMs);
    isOn = true;
    arm(plan.faults);
    for (const { fault } of plan.faults) landmarks.reach(`fault ${fault}`);
    if (plan.clusters > 1) landmarks.reach('two clusters');
    await world.run(work(tenancies, plan, world), workWithinMs);
    ports.end();
    isOn = false;
    heal();
    if (into !== undefined) into.ofClients = into.recorded.length;
    await settle(world, tenancies, workWithinMs);
    leases.end();
    checkStored(world, tenants);
    const faults =
      profile === 'calm' ? [] : drawFaults(drawFrom(world.random('walk/faults')), profile, plan.gateways, plan.workers);
    await explore(world, tenancies, {
      faults: plan.faults.length === 0 ? [] : faults,
      ...{ arm, heal },
      withinMs: workWithinMs,
    });
    return ended({ kind: 'passed' });
  } catch (error) {
    if (error instanceof Finding) return ended({ kind: 'violated', invariant: error.invariant, cause: error.message });
    const cause = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return ended({ kind: 'violated', invariant: 'no-bugs', cause });
  }
}

/** Processes that start outside of the loop also get the run's cryptography. */
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
    await tenancy.open(draw, plan);
    await new HookClient(tenancy, tenancy.owner, draw).register(['*']);
  }
}

async function work(tenancies: readonly Tenancy[], plan: RunPlan, world: CustodyWorld): Promise<void> {
  const clients = tenancies.flatMap((tenancy) =>
    Array.from({ length: plan.clients }, async (_, at) => {
      const others = tenancies.filter((one) => one !== tenancy);
      for (let count = 0; count < plan.stepsEach; count += 1) {
        const name = `${tenancy.name}/${at}/${count}`;
        if (plan.without.includes(name)) continue;
        const salts = plan.turns.flatMap(({ from, salt }) => (count >= from ? [salt] : []));
        const draw = drawFrom(world.random(`step/${[name, ...salts].join('/')}`));
        const family = draw.weighted(plan.shares);
        const step = draw.weighted(plan.weights[family]);
        tenancy.landmarks.reach(`step ${step}`);
        const operator = tenancy.operators[at % tenancy.operators.length]!;
        await new clientOf[family](tenancy, operator, draw, others).step(step as never);
        if (draw.chance(0.4)) await tenancy.owner.client.pause(draw.int(1, 900));
      }
    }),
  );
  await Promise.all(clients);
}

type ClientOf<F extends Family> = new (
  ...of: ConstructorParameters<typeof RunClient>
) => { step(step: FamilyStep<F>): Promise<void> };

const clientOf: { readonly [F in Family]: ClientOf<F> } = {
  money: MoneyClient,
  hooks: HookClient,
  signing: SigningClient,
  tokens: TokenClient,
  treasury: TreasuryClient,
  vaults: VaultClient,
  access: AccessClient,
  connections: ConnectionClient,
  recon: ReconClient,
};
