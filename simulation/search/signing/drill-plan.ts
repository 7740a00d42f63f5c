/** The steps of a drill's clients, and what all drills begin with. */
import type { Fault } from '../../../scenarios/faults/vocabulary/fault.ts';
import type { ScenarioStep, StepOf } from '../../../scenarios/runner/format.ts';
import type { Draw } from '../../cluster/draw.ts';
import type { Swarm } from '../profiles.ts';

type Wish<K = ScenarioStep> = K extends { step: string } ? Omit<K, 'step'> : never;

/** Each call waits for at most 30 s. */
export const stepsMs = 900_000;

export const curves = ['secp256k1', 'ed25519'] as const;

/** The run of a drill. `nodes`: all of them, ascending. */
export interface Scene {
  readonly swarm: Swarm;
  readonly draw: Draw;
  readonly nodes: readonly number[];
}

/** The steps of one client of a drill. */
export class Plan {
  readonly name: string;
  readonly steps: ScenarioStep[] = [];
  #sessions = 0;

  constructor(name: string) {
    this.name = name;
  }

  add(wish: Wish): void {
    this.steps.push({ step: `${this.name}-${this.steps.length + 1}`, ...wish } as ScenarioStep);
  }

  fault(fault: Fault): void {
    this.add({ inject: fault });
  }

  wait(ms: number): void {
    this.add({ wait: { ms } });
  }

  session(): string {
    this.#sessions += 1;
    return `${this.name}-sig-${this.#sessions}`;
  }
}

export function sharing({ swarm, draw }: Scene) {
  return { threshold: 2, total_nodes: swarm.nodes, curve: draw.pick(curves) } as const;
}

/** A key, asked for again where a fault may have stopped it: without it the drill would try little. */
export function makeKey(plan: Plan, scene: Scene, session: string, more: Partial<StepOf<'make_key'>> = {}): void {
  const terms = { ...sharing(scene), ...more };
  plan.add({ call: 'make_key', session, ...terms });
  if (scene.swarm.profile === 'calm') return;
  if (more.wallet_service) plan.add({ call: 'make_key', session, ...terms });
  else {
    plan.add({ call: 'resume_session', session, token: 'latest' });
    plan.add({ call: 'exchange_dkg_shares', session });
  }
}

export function keystore(draw: Draw) {
  return draw.chance(0.5) ? ({ keystore: 'MPC_FROST' } as const) : {};
}
