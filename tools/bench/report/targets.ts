/** The service's targets on two cores with everything on them, including the load generator. */

import type { Results, Target } from './results.ts';

const mib = 1024 * 1024;

type Measured = Pick<Results, 'operations' | 'generator' | 'simulation' | 'transfers' | 'start' | 'memory'>;

/** The targets that this run has measured. */
export function targetsOf(measured: Measured): Target[] {
  const { operations, generator, simulation, transfers, start, memory } = measured;
  const targets: Target[] = [
    ...listTargets(operations),
    ...eventTargets(operations),
    ...simulationTargets(simulation),
    ...transferTargets(transfers),
    ...startTargets(start),
    ...generator.map(({ api, ratio }) => ({
      name: `capacity of the load generator over ${api}, by CPU`,
      aim: 'at least 3 times the maximum of the service',
      got: `${ratio.toFixed(1)} times`,
      met: ratio >= 3,
    })),
  ];
  const nodes = Object.entries(memory).filter(([name]) => name.startsWith('node-'));
  if (nodes.length > 0) {
    const largest = Math.max(...nodes.map(([, { rss }]) => rss)) / mib;
    targets.push({
      name: 'memory of a node',
      aim: 'under 80 MiB',
      got: `${largest.toFixed(1)} MiB`,
      met: largest < 80,
    });
  }
  return targets;
}

/** Of the largest node, over a bare Node process. */
function startTargets(start: Results['start']): Target[] {
  const { memory = {}, bareNode } = start ?? {};
  const nodes = Object.entries(memory).flatMap(([name, each]) => (name.startsWith('node-') ? [each] : []));
  if (bareNode === undefined || nodes.length === 0) return [];
  const over = Math.max(...nodes.map(({ rss }) => rss - bareNode.rss)) / mib;
  const name = 'resident memory of a node at rest over a bare Node process';
  return [{ name, aim: '15 MiB or less', got: `${over.toFixed(1)} MiB`, met: over <= 15 }];
}

/** Of one core, with the model of cryptography. */
function simulationTargets(simulation: Results['simulation']): Target[] {
  const [busy, waiting] = simulation.filter(({ cryptography }) => cryptography === 'model');
  if (busy === undefined || waiting === undefined) return [];
  const target = (name: string, got: number, least: number, unit: string): Target => ({
    name,
    aim: `${least}${unit} or more`,
    got: `${Math.round(got)}${unit}`,
    met: got >= least,
  });
  return [
    target('simulated events, model, one core', busy.eventsPerSecond.median, 200_000, '/s'),
    target('simulated scenarios, model, one core', busy.scenariosPerSecond.median, 1_000, '/s'),
    target('virtual to wall time, mostly waiting', waiting.virtualToWall.median, 10_000, ':1'),
  ];
}

/** Transfers and signatures in one thread, with the model of cryptography. */
function transferTargets(transfers: Results['transfers']): Target[] {
  if (transfers === undefined) return [];
  const { ratio } = transfers;
  const name = 'simulated transfers, model, per CPU second';
  return [{ name, aim: '0.25 of simulated signatures', got: ratio.toFixed(2), met: ratio >= 0.25 }];
}

/** Lists next to each other. */
function listTargets(operations: Results['operations']): Target[] {
  const [few, many] = operations.filter(({ name }) => name.startsWith('GET 10 of'));
  if (few === undefined || many === undefined) return [];
  const ratio = few.perSecond / many.perSecond;
  const aim = `within a quarter of the rate of ${few.name.slice('GET '.length)}`;
  return [{ name: many.name, aim, got: `${ratio.toFixed(2)} times the cost`, met: ratio <= 1.25 }];
}

function eventTargets(operations: Results['operations']): Target[] {
  const targets: Target[] = [];
  const named = (beginning: string) => operations.find(({ name }) => name.startsWith(beginning));
  const [alone, beside] = [named('from a change'), named('the same, beside')];
  if (alone !== undefined) {
    const { p50 } = alone.latency;
    targets.push({ name: alone.name, aim: 'p50 under 15 ms', got: `${p50} ms`, met: p50 < 15 });
  }
  if (alone !== undefined && beside !== undefined) {
    const ratio = beside.latency.p99 / alone.latency.p99;
    targets.push({ name: beside.name, aim: 'p99 within twice', got: `${ratio.toFixed(2)} times`, met: ratio <= 2 });
  }
  return targets;
}
