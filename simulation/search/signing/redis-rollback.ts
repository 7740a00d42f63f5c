/**
 * In few runs Redis comes back with what it held some time before: acknowledged sessions and keys are forgotten, nodes are not. What
 * holds then is in docs/durability.md. No client insists on a call about what may be forgotten, and a new key still signs.
 */
import type { Fault } from '../../../scenarios/faults/vocabulary/fault.ts';
import type { ScenarioStep } from '../../../scenarios/runner/format.ts';
import type { Draw } from '../../cluster/draw.ts';
import type { Swarm } from '../profiles.ts';

type Clients = Readonly<Record<string, readonly ScenarioStep[]>>;

/** Of a healer: what it makes after the rollback. */
const freshSteps: readonly string[] = ['fresh-key', 'fresh-signature'];

/** The clients of a run in which Redis is rolled back; undefined: it is not. */
export function redisRolledBack(clients: Clients, swarm: Swarm, draw: Draw): Clients | undefined {
  if (swarm.profile !== 'hostile' || !draw.chance(0.07)) return undefined;
  const keptMs = draw.int(0, Math.floor(swarm.phaseMs / 2));
  const backMs = draw.int(1, Math.max(1, swarm.phaseMs - keptMs - 1));
  const fault: Fault = {
    id: 'redis-back',
    fault: 'rollback',
    target: 'coordinator',
    restart_after_ms: draw.pick([0, 50, 500]),
    at: { step: 'redis-4' },
  };
  const keeper: ScenarioStep[] = [
    { step: 'redis-1', wait: { ms: Math.max(1, keptMs) } },
    { step: 'redis-2', inject: fault },
    { step: 'redis-3', wait: { ms: backMs } },
    { step: 'redis-4', wait: { ms: 1 } },
  ];
  const without = Object.entries(clients).map(([name, steps]) => [name, steps.map(once)] as const);
  return { ...Object.fromEntries(without), redis: keeper };
}

/** The step without insistence and expectation, unless it is about what begins after the rollback. */
function once(step: ScenarioStep): ScenarioStep {
  if (!('call' in step) || freshSteps.includes(step.step)) return step;
  const { insist: _insist, expect: _expect, ...call } = step as ScenarioStep & { insist?: boolean; expect?: unknown };
  return call as ScenarioStep;
}
