/** The results as a table for people. */
import { checkLines, grid } from '../../../clients/load/report/text.ts';
import type { LoadResult } from '../load/load.ts';
import type { ReconRate } from '../recon/rates.ts';
import type { Rate } from '../reference/repeat.ts';
import { median } from '../start/starts.ts';
import type { Phase, Results } from './results.ts';

const mib = (bytes: number) => (bytes / 1024 / 1024).toFixed(1);
const fixed = (value: number, digits = 2) => value.toFixed(digits);
const whole = (value: number) => (value >= 100 ? value.toFixed(0) : value.toFixed(1));

export function tableOf(results: Results): string {
  const { environment: at, correctness, options } = results;
  const lines = [
    '',
    `signmesh bench ${options.quick ? '(quick)' : ''}  ${results.startedAt}  commit ${at.commit || 'unknown'}`,
    `${at.cores} cores (${at.cpu}), ${mib(at.memoryBytes)} MiB, ${at.system}, Node ${at.node}`,
    `load average before ${at.loadavg}; after ${results.loadavgAfter}`,
    results.model,
  ];
  const { signing, floor, ladder, dkg, operations, bare } = results;
  lines.push(
    ...costTable(
      'Verified signatures (3 of 5; InitiateSigning + SubmitSignatureShare with node 0)',
      ['door', 'scheme'],
      signing.map((phase) => [[phase.door, phase.scheme], phase]),
    ),
  );
  if (floor !== undefined) lines.push(...floorLines(floor));
  lines.push(
    ...costTable(
      'The floor with the promises of the service, one by one',
      ['', 'of the floor'],
      ladder.map((phase) => [[phase.promise, fixed(phase.perSecond / ladder[0]!.perSecond)], phase]),
    ),
    ...costTable(
      'Keys (3 of 5; InitiateDkg + ExchangeDkgShares, through REST)',
      ['curve'],
      dkg.map((phase) => [[phase.curve], phase]),
    ),
    ...costTable(
      'Wallet API and events, through REST',
      [''],
      operations.map((phase) => [[phase.name], phase]),
    ),
  );
  if (bare !== undefined) {
    lines.push(
      '',
      ...grid(
        ['beside it, with nothing around', ...loadHeads],
        [
          ...bare.fastify.map((result) => ['a bare Fastify route', ...loadCells(result)]),
          ...bare.redis.map((result) => ['a bare Redis GET', ...loadCells(result)]),
        ],
      ),
    );
  }
  if (results.flat.length > 0) lines.push(...flatLines(results.flat));
  if (results.deliveries !== undefined) {
    const { drain, bullmq } = results.deliveries;
    lines.push(
      '',
      ...grid(
        ['one worker process', 'n', '/s'],
        [
          ['deliveries of what had piled up for one webhook', String(drain.deliveries), whole(drain.perSecond)],
          ['a bare BullMQ queue, added and processed', String(bullmq.jobs), whole(bullmq.perSecond)],
        ],
      ),
    );
  }
  if (results.references !== undefined) lines.push(...referenceLines(results.references));
  const { recon, reconRedis } = results;
  if (recon !== undefined) lines.push(...reconLines('the engine alone (both sides made as they are read)', recon));
  if (reconRedis !== undefined) lines.push(...reconLines('both sides in Redis', reconRedis));
  if (results.start !== undefined) lines.push(...startLines(results.start));
  if (results.simulation.length > 0) lines.push(...simulationLines(results.simulation));
  if (results.transfers !== undefined) lines.push(...transferLines(results.transfers));
  if (Object.keys(results.memory).length > 0) lines.push(...processLines(results));
  if (results.aims.length > 0) lines.push(...aimLines(results));
  lines.push('', 'Other aims', '');
  lines.push(
    ...grid(
      ['', 'aim', 'here', ''],
      results.targets.map(({ name, aim, got, met }) => [name, aim, got, met ? 'met' : 'MISSED']),
    ),
  );
  lines.push(
    '',
    `Correctness: ${correctness.holds ? 'holds' : 'DOES NOT HOLD'}. ${correctness.errors} failed calls,` +
      ` health afterwards ${correctness.healthAfter || 'not asked (no cluster)'}.`,
    ...checkLines(correctness.checks),
    ...idle(results),
    ...correctness.lost.map((name) => `  ${name} has died`),
    ...new Set(phasesOf(results).flatMap(({ errorTexts }) => errorTexts.map((text) => `  ${text}`))),
    `Took ${fixed(results.tookSeconds, 0)} s.`,
    '',
  );
  return lines.join('\n');
}

function aimLines({ aims, goes }: Results): string[] {
  return [
    '',
    `Ratios of CPU time: the median, the least and the largest over the goes (${goes.length})`,
    '',
    ...grid(
      ['', 'of', 'here', 'aim', '', 'budget', ''],
      aims.map(({ name, of, isMost, got, least, largest, aim, budget, isMet, isInBudget }) => {
        const sign = isMost ? '<=' : '>=';
        const here = `${fixed(got)} (${fixed(least)} - ${fixed(largest)})`;
        const limits = [`${sign} ${fixed(aim)}`, isMet ? 'met' : 'missed', `${sign} ${fixed(budget)}`];
        return [name, of, here, ...limits, isInBudget ? 'kept' : 'EXCEEDED'];
      }),
    ),
  ];
}

function floorLines({ ecdsa, frost }: NonNullable<Results['floor']>): string[] {
  const lines = costTable(
    'The bare floor',
    [''],
    ecdsa.map((phase) => [['mock ECDSA'], phase]),
  );
  if (frost !== undefined) {
    lines.push(
      `  our cryptography of FROST-ed25519 alone, one thread: ${whole(frost.perSecond)}/s, ${fixed(frost.cpuMs)} CPU ms each`,
    );
  }
  return lines;
}

function referenceLines({ noble, cryptography, webSocket, recorder }: NonNullable<Results['references']>): string[] {
  const { mockEcdsa, frostEd25519, dkg } = cryptography;
  return [
    '',
    'Reference and floors, one thread each, no service around them',
    '',
    ...grid(
      ['', 'signatures/s', 'DKG/s'],
      [
        ...noble.map(({ suite, sign, dkg }) => [
          `@noble/curves ${suite}, 3 of 5`,
          whole(sign.perSecond),
          whole(dkg.perSecond),
        ]),
        ['the cryptography alone, mock ECDSA / secp256k1', whole(mockEcdsa.perSecond), whole(dkg.secp256k1.perSecond)],
        ['the cryptography alone, FROST-ed25519', whole(frostEd25519.perSecond), whole(dkg.ed25519.perSecond)],
      ],
    ),
    '',
    ...grid(
      ['bare WebSocket round trips', ...loadHeads],
      webSocket.map((result) => ['', ...loadCells(result)]),
    ),
    '',
    `The recording of a signature’s frames: ${micros(recorder.alone)} µs of CPU while no page looks, ${micros(recorder.withPage)} µs while one reads sessions`,
  ];
}

function micros({ cpuMs }: Rate): string {
  return fixed(cpuMs * 1_000);
}

/** Medians over the runs, and in brackets the slowest and the fastest. */
function reconLines(
  what: string,
  { rows, seconds, rowsPerSecond, exceptions, memoryBeforeMb, memoryPeakMb }: ReconRate,
): string[] {
  return [
    '',
    `Reconciliation, ${what}`,
    '',
    `${rows} rows a side: ${Math.round(rowsPerSecond)} rows/s, ${fixed(seconds)} s, ${exceptions} exceptions, as planted`,
    `memory ${Math.round(memoryBeforeMb)} MB before, ${Math.round(memoryPeakMb)} MB at most`,
  ];
}

function startLines({ readyMs, cpuSeconds, memory, bareNode }: NonNullable<Results['start']>): string[] {
  const rows = Object.entries({ ...memory, ...(bareNode && { 'bare Node': bareNode }) });
  return [
    '',
    `Second start: ready in ${Math.round(median(readyMs))} ms, ${fixed(median(cpuSeconds))} s of CPU (medians of ${readyMs.length})`,
    '',
    ...grid(
      ['at rest', 'resident MiB', 'of its own'],
      rows.map(([name, { rss, own }]) => [name, mib(rss), mib(own)]),
    ),
  ];
}

function simulationLines(simulation: Results['simulation']): string[] {
  const spread = ({ median, min, max }: { median: number; min: number; max: number }) =>
    `${whole(median)} (${whole(min)} - ${whole(max)})`;
  return [
    '',
    'Simulation, one thread: scenarios of 5 nodes, one key (3 of 5) and 5 signatures; the median of ' +
      `${simulation[0]?.runs} runs (slowest - fastest)`,
    'An event is one task of virtual time: an actor takes an input, a frame arrives, the store answers, a timer is due.',
    '',
    ...grid(
      [
        'cryptography',
        'pauses',
        'n',
        'events each',
        'scenarios/s',
        'events/s',
        'virtual:wall',
        'CPU ms each',
        'verify',
      ],
      simulation.map((rate) => [
        rate.cryptography,
        rate.pauseMs === 0 ? 'none' : `${rate.pauseMs / 1000} s`,
        String(rate.scenarios),
        whole(rate.eventsPerScenario),
        spread(rate.scenariosPerSecond),
        spread(rate.eventsPerSecond),
        spread(rate.virtualToWall),
        spread(rate.cpuMsPerScenario),
        `${rate.verified} of ${rate.signatures}`,
      ]),
    ),
  ];
}

function transferLines(rates: NonNullable<Results['transfers']>): string[] {
  const { transfers, cpuMsPerTransfer, cpuMsPerSignature, ratio } = rates;
  return [
    '',
    `Whole simulated transfers, one thread, model of cryptography: ${transfers}, ${cpuMsPerTransfer.toFixed(2)} ms of CPU each; ` +
      `a simulated signature ${cpuMsPerSignature.toFixed(2)} ms: per CPU second ${ratio.toFixed(2)} of the signatures`,
  ];
}

function processLines(results: Results): string[] {
  const { memory, memoryIdle } = results;
  const busiest = phasesOf(results).reduce<Phase | undefined>(
    (most, phase) => (most === undefined || phase.inFlight >= most.inFlight ? phase : most),
    undefined,
  );
  const names = Object.keys(memory);
  return [
    '',
    'Processes: memory at rest and after the load (own: pages that no other process shares), CPU over all phases, event loop in the last busiest one',
    '',
    ...grid(
      ['', 'MiB at rest', 'MiB after', 'own', 'peak', 'CPU s', 'busy', 'lag p99 ms', 'lag max ms', 'GC ms'],
      names.map((name) => {
        const { rss, own, peak } = memory[name]!;
        const probe = busiest?.processes[name];
        const cpu = phasesOf(results).reduce((sum, phase) => sum + (phase.cpuSeconds[name] ?? 0), 0);
        const loop = probe
          ? [
              `${(probe.utilization * 100).toFixed(0)} %`,
              fixed(probe.lagP99, 1),
              fixed(probe.lagMax, 1),
              `${probe.gcMs}`,
            ]
          : ['', '', '', ''];
        return [name, mib(memoryIdle[name]?.rss ?? 0), mib(rss), mib(own), mib(peak), fixed(cpu, 1), ...loop];
      }),
    ),
  ];
}

const loadHeads = ['in flight', 'n', '/s', 'p50 ms', 'p90', 'p99', 'p99.9', 'max', 'errors'];

function loadCells({ inFlight, completed, perSecond, latency, errors }: LoadResult): string[] {
  const { p50, p90, p99, p999, max } = latency;
  return [
    String(inFlight),
    String(completed),
    whole(perSecond),
    ...[p50, p90, p99, p999, max].map((value) => fixed(value)),
    String(errors),
  ];
}

const costHeads = [
  'CPU ms each',
  'cores had',
  'gateway',
  'worker',
  'coord',
  'nodes',
  'redis',
  'load',
  'Redis commands',
  'scripts',
  'bytes',
];

/** CPU by role and Redis's work for each ceremony (ms; bytes both ways). Cores had: the machine's CPU for all of it. */
function costCells({ cpuMsPerCeremony, cpuSeconds, seconds, completed, redisEach }: Phase): string[] {
  const nodes = Object.entries(cpuSeconds).filter(([name]) => name.startsWith('node-'));
  const nodesTotal = nodes.reduce((sum, [, used]) => sum + used, 0);
  const each = (used: number) => fixed((used * 1000) / Math.max(1, completed), 3);
  const of = (name: string) => (cpuSeconds[name] === undefined ? '' : each(cpuSeconds[name]));
  const coresHad = Object.values(cpuSeconds).reduce((sum, used) => sum + used, 0) / seconds;
  return [
    fixed(cpuMsPerCeremony),
    fixed(coresHad),
    of('gateway'),
    of('worker'),
    of('coordinator'),
    each(nodesTotal),
    of('redis'),
    of('load'),
    whole(redisEach.commands),
    whole(redisEach.scripts),
    whole(redisEach.bytesIn + redisEach.bytesOut),
  ];
}

/** Empty without a row. */
function costTable(
  title: string,
  heads: readonly string[],
  rows: readonly (readonly [readonly string[], Phase])[],
): string[] {
  if (rows.length === 0) return [];
  const cells = rows.map(([names, phase]) => [...names, ...loadCells(phase), ...costCells(phase)]);
  return ['', title, '', ...grid([...heads, ...loadHeads, ...costHeads], cells)];
}

function phasesOf({ signing, dkg, operations }: Results): readonly Phase[] {
  return [...signing, ...dkg, ...operations];
}

/** Phases without a completed ceremony: their measurements mean nothing. */
function idle(results: Results): string[] {
  const phases = phasesOf(results).filter(({ completed }) => completed === 0);
  return phases.length === 0 ? [] : [`  nothing was completed in ${phases.length} of the phases`];
}

function flatLines(points: Results['flat']): string[] {
  const roles = ['gateway', 'coordinator', 'nodes', 'worker', 'redis'];
  const costs = points[0]!.costs.flatMap(({ what }, index) =>
    points.map(({ sessions, costs }) => {
      const { perSecond, cpuMs, redisCommands } = costs[index]!;
      const cells = [whole(perSecond), ...roles.map((role) => (cpuMs[role] ?? 0).toFixed(2)), redisCommands.toFixed(1)];
      return [what, String(sessions), ...cells];
    }),
  );
  const rest = points.map(({ sessions, filledPerSecond, events, mib, redisUsedMib, coordinatorStart }) => [
    ...[String(sessions), whole(filledPerSecond), String(events), ...roles.map((role) => whole(mib[role] ?? 0))],
    ...[whole(redisUsedMib), whole(coordinatorStart.ms), String(coordinatorStart.cpuMs)],
  ]);
  const cpu = roles.map((role) => `${role} CPU ms`);
  const memory = [...roles.map((role) => `${role} MiB`), 'Redis used MiB'];
  const start = ['coordinator anew, ms', 'its CPU ms'];
  return [
    '',
    'What one operation costs beside finished sessions',
    '',
    ...grid(['', 'finished sessions', '/s', ...cpu, 'Redis commands'], costs),
    '',
    ...grid(['finished sessions', 'stored/s', 'events', ...memory, ...start], rest),
  ];
}
