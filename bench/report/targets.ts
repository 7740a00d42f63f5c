/** What the service aims at on two cores with everything on them, the load generator too. */

import type { Results, Target } from './results.ts';

const mib = 1024 * 1024;

type Measured = Pick<
  Results,
  'signing' | 'dkg' | 'wallet' | 'events' | 'deliveries' | 'bare' | 'simulation' | 'start' | 'memory'
>;

/** Those that this run has measured. */
export function targetsOf(measured: Measured): Target[] {
  const { signing, dkg, wallet, events, deliveries, bare, simulation, start, memory } = measured;
  const targets: Target[] = [];
  const find = (scheme: string, inFlight: number) =>
    signing.find((phase) => phase.door === 'rest' && phase.scheme === scheme && phase.inFlight === inFlight);
  const rate = (name: string, perSecond: number | undefined, aim: number) => {
    if (perSecond === undefined) return;
    targets.push({ name, aim: `${aim}/s or more`, got: `${Math.round(perSecond)}/s`, met: perSecond >= aim });
  };
  rate('mock ECDSA through REST, 64 in flight', find('ecdsa', 64)?.perSecond, 1000);
  rate('FROST-ed25519 through REST, 64 in flight', find('ed25519', 64)?.perSecond, 600);
  const alone = find('ecdsa', 1);
  if (alone !== undefined) {
    const { p50 } = alone.latency;
    targets.push({
      name: 'mock ECDSA through REST, 1 in flight',
      aim: 'p50 under 4 ms',
      got: `${p50} ms`,
      met: p50 < 4,
    });
  }
  rate('DKG, best phase', dkg.length === 0 ? undefined : Math.max(...dkg.map((phase) => phase.perSecond)), 100);
  targets.push(
    ...walletTargets(wallet, bare),
    ...eventTargets(events, deliveries),
    ...simulationTargets(simulation),
    ...startTargets(start),
  );
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

/** Reads beside the bare route of the same number of callers; lists beside each other. */
function walletTargets(wallet: Results['wallet'], bare: Results['bare']): Target[] {
  const targets: Target[] = [];
  const busiest = (beginning: string) => wallet.filter(({ name }) => name.startsWith(beginning)).at(-1);
  const one = busiest('GET one wallet');
  const route = bare?.fastify.find(({ inFlight }) => inFlight === one?.inFlight);
  if (one !== undefined && route !== undefined) {
    const share = one.perSecond / route.perSecond;
    targets.push({
      name: `reading a wallet, ${one.inFlight} in flight`,
      aim: 'a third of a bare Fastify route',
      got: `${share.toFixed(2)} of it`,
      met: share >= 1 / 3,
    });
  }
  const [few, many] = wallet.filter(({ name }) => name.startsWith('GET 10 of'));
  if (few !== undefined && many !== undefined) {
    const ratio = few.perSecond / many.perSecond;
    targets.push({
      name: many.name,
      aim: `within a quarter of the rate of ${few.name.slice('GET '.length)}`,
      got: `${ratio.toFixed(2)} times the cost`,
      met: ratio <= 1.25,
    });
  }
  const own = busiest('an intent to its provider_tx_id');
  if (own !== undefined) {
    targets.push({
      name: `self_hosted intents, ${own.inFlight} in flight`,
      aim: '500/s or more',
      got: `${Math.round(own.perSecond)}/s`,
      met: own.perSecond >= 500,
    });
  }
  return targets;
}

function eventTargets(events: Results['events'], deliveries: Results['deliveries']): Target[] {
  const targets: Target[] = [];
  if (deliveries !== undefined) {
    const share = deliveries.drain.perSecond / deliveries.bullmq.perSecond;
    targets.push({
      name: 'deliveries to one webhook',
      aim: 'a quarter of a bare BullMQ queue',
      got: `${share.toFixed(2)} of it`,
      met: share >= 1 / 4,
    });
  }
  const [alone, beside] = events.filter(({ inFlight }) => inFlight === 1);
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
