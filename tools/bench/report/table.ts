/** The results as a table for people. */
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
  if (results.signing.length > 0) {
    lines.push('', 'Verified signatures (3 of 5; InitiateSigning + SubmitSignatureShare with node 0)', '');
    lines.push(
      ...grid(
        ['door', 'scheme', ...loadHeads, ...costHeads],
        results.signing.map((phase) => [phase.door, phase.scheme, ...loadCells(phase), ...costCells(phase)]),
      ),
    );
  }
  if (results.floor !== undefined) lines.push(...floorLines(results.floor));
  if (results.ladder.length > 0) {
    lines.push('', 'The floor with the promises of the service, one by one', '');
    lines.push(
      ...grid(
        ['', 'of the floor', ...loadHeads, ...costHeads],
        results.ladder.map((phase) => [
          phase.promise,
          fixed(phase.perSecond / results.ladder[0]!.perSecond),
          ...loadCells(phase),
          ...costCells(phase),
        ]),
      ),
    );
  }
  if (results.dkg.length > 0) {
    lines.push('', 'Keys (3 of 5; InitiateDkg + ExchangeDkgShares, through REST)', '');
    lines.push(
      ...grid(
        ['curve', ...loadHeads, ...costHeads],
        results.dkg.map((phase) => [phase.curve, ...loadCells(phase), ...costCells(phase)]),
      ),
    );
  }
  if (results.wallet.length > 0) {
    lines.push('', 'Wallet API, through REST', '');
    lines.push(
      ...grid(
        ['', ...loadHeads, ...costHeads],
        results.wallet.map((phase) => [phase.name, ...loadCells(phase), ...costCells(phase)]),
      ),
    );
  }
  if (results.bare !== undefined) {
    const { fastify, redis } = results.bare;
    lines.push('');
    lines.push(
      ...grid(
        ['beside it, with nothing around', ...loadHeads],
        [
          ...fastify.map((result) => ['a bare Fastify route', ...loadCells(result)]),
          ...redis.map((result) => ['a bare Redis GET', ...loadCells(result)]),
        ],
      ),
    );
  }
  if (results.events.length > 0) {
    lines.push('', 'Events, each with its webhook', '');
    lines.push(
      ...grid(
        ['', ...loadHeads, ...costHeads],
        results.events.map((phase) => [phase.name, ...loadCells(phase), ...costCells(phase)]),
      ),
    );
  }
  if (results.overload.length > 0) {
    lines.push('', 'Overload (open load)', '');
    lines.push(
      ...grid(
        ['', 'times the maximum', 'sent/s', 'good/s', 'good p99 ms', 'refused', 'refused p99 ms', 'health max ms'],
        results.overload.flatMap(({ name, runs }) =>
          runs.map(({ times, perSecond, goodPerSecond, goodMs, refused, refusedMs, health }) => [
            name,
            String(times),
            ...[perSecond, goodPerSecond, goodMs.p99].map(whole),
            String(refused),
            ...[refusedMs.p99, health.max].map(whole),
          ]),
        ),
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
  lines.push('', 'Aims', '');
  lines.push(
    ...grid(
      ['', 'aim', 'here', ''],
      results.targets.map(({ name, aim, got, met }) => [name, aim, got, met ? 'met' : 'MISSED']),
    ),
  );
  const { verdict } = correctness;
  lines.push(
    '',
    `Correctness: ${correctness.holds ? 'holds' : 'DOES NOT HOLD'}. ${verdict.verified} of ${verdict.signatures} signatures verify` +
      ` (OpenSSL; ${verdict.sampled} of them by @noble/curves as well), ${correctness.errors} failed calls,` +
      ` health afterwards ${correctness.healthAfter || 'not asked (no cluster)'}.`,
    ...verdict.faults.map((fault) => `  ${fault}`),
    ...idle(results),
    ...correctness.walletFaults.map((fault) => `  ${fault}`),
    ...correctness.lost.map((name) => `  ${name} has died`),
    ...new Set(
      [...results.signing, ...results.dkg, ...results.wallet, ...results.events].flatMap(({ errorTexts }) =>
        errorTexts.map((text) => `  ${text}`),
      ),
    ),
    `Took ${fixed(results.tookSeconds, 0)} s.`,
    '',
  );
  return lines.join('\n');
}

function floorLines({ ecdsa, frost }: NonNullable<Results['floor']>): string[] {
  const lines = [''];
  if (ecdsa.length > 0) {
    lines.push(
      ...grid(
        ['the bare floor', ...loadHeads, ...costHeads],
        ecdsa.map((phase) => ['mock ECDSA', ...loadCells(phase), ...costCells(phase)]),
      ),
    );
  }
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

function processLines({ signing, dkg, wallet, events, memory, memoryIdle }: Results): string[] {
  const busiest = [...signing, ...dkg, ...wallet, ...events].reduce<Phase | undefined>(
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
        const cpu = [...signing, ...dkg, ...wallet, ...events].reduce(
          (sum, phase) => sum + (phase.cpuSeconds[name] ?? 0),
          0,
        );
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

/** Columns with minimum width; numbers to the right. */
function grid(heads: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [heads, ...rows];
  const widths = heads.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const isNumber = heads.map((_, column) => rows.every((row) => /^[\d.]*( %)?$/.test(row[column] ?? '')));
  return all.map((row) =>
    `  ${row.map((cell, column) => (isNumber[column] ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!))).join('  ')}`.trimEnd(),
  );
}

/** Phases without a completed ceremony: their measurements mean nothing. */
function idle({ signing, dkg, wallet, events }: Results): string[] {
  const phases = [...signing, ...dkg, ...wallet, ...events].filter(({ completed }) => completed === 0);
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
