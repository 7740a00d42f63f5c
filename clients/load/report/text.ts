/** The report as text for a terminal. */
import type { Figures } from '../measure/recorder.ts';
import type { LoadStage } from '../plan/plan.ts';
import type { Check } from '../verdict/check.ts';
import { sumOf } from './measured.ts';
import type { LoadReport, StageResult } from './results.ts';

const percent = (part: number, whole: number) => (whole === 0 ? '0 %' : `${((100 * part) / whole).toFixed(2)} %`);
/** Milliseconds with a suitable number of digits. */
export const ms = (value: number) => (value >= 100 ? value.toFixed(0) : value.toFixed(1));
const mib = (bytes: number) => (bytes / 1024 / 1024).toFixed(0);

export function textOf(report: LoadReport): string {
  const { target, machine, stages, correctness, recovery, unloaded } = report;
  const lines = [
    '',
    `signmesh load: ${report.name}${report.interrupted ? ' (interrupted)' : ''}  ${report.startedAt}`,
    `${target.url} over ${target.api}, signmesh ${target.version}; ${machine.cores} cores (${machine.cpu}), Node ${machine.node}`,
    report.model,
    `one operation at a time, before the load: p50 ${ms(unloaded.p50)} ms, p99 ${ms(unloaded.p99)} ms`,
  ];
  for (const stage of stages) lines.push('', ...stageLines(stage));
  lines.push('', ...limitLines(report));
  for (const { fault, target: of, beganMs, endedMs, triggerCount } of report.faults) {
    const when =
      beganMs === null ? 'never held' : `from ${second(beganMs)} to ${endedMs === null ? 'the end' : second(endedMs)}`;
    const name = of === '' ? fault : `${fault} of ${of}`;
    lines.push(`Fault ${name}: ${when}, triggered ${triggerCount === 1 ? 'once' : `${triggerCount} times`}.`);
  }
  lines.push(`Recovery: ${recovery.holds ? 'holds' : 'DOES NOT HOLD'}: ${recovery.text}.`);
  lines.push(`Correctness: ${correctness.holds ? 'holds' : 'DOES NOT HOLD'}.`);
  lines.push(...checkLines(correctness.checks));
  for (const { text, holds, measured } of report.thresholds) {
    lines.push(
      `Threshold ${text}: ${holds ? 'met' : 'MISSED'} (${measured === undefined ? 'not measured' : rounded(measured)}).`,
    );
  }
  if (report.baseline !== undefined) {
    lines.push('', `Compared with the run of ${report.baseline.startedAt} (now : then)`, '');
    lines.push(
      ...grid(
        ['', 'then', 'now', 'ratio', ''],
        report.baseline.comparisons.map(({ name, before, now, ratio, verdict }) => [
          name,
          rounded(before),
          rounded(now),
          ratio.toFixed(2),
          verdict === 'same' ? '' : verdict,
        ]),
      ),
    );
  }
  lines.push(`Took ${(report.tookMs / 1000).toFixed(0)} s.`, '');
  return lines.join('\n');
}

export function checkLines(checks: readonly Check[]): string[] {
  return checks.flatMap(({ name, holds, text, faults }) => [
    `  ${holds ? 'ok    ' : 'BROKEN'} ${name}: ${text}`,
    ...faults.map((fault) => `         ${fault}`),
  ]);
}

/** The arrivals of a stage, in words. */
export function shapeText(stage: LoadStage): string {
  const seconds = `${stage.forMs / 1000} s`;
  switch (stage.shape) {
    case 'constant':
    case 'soak':
      return `${stage.rate}/s for ${seconds}`;
    case 'ramp':
      return `${stage.rate}/s to ${stage.rampTo}/s in ${seconds}`;
    case 'spike':
      return `${stage.rate}/s, spike ${stage.spikeTo}/s, for ${seconds}`;
    case 'closed':
      return `${stage.callers} callers for ${seconds}`;
    case 'times':
      return `${stage.times} times the rate of the callers for ${seconds}`;
  }
}

function stageLines(result: StageResult): string[] {
  const { stage, arrived, unsent, unanswered, total, achievedRate, requestedRate, self, processes } = result;
  const errors = sumOf(total.errors);
  const asked = requestedRate === null ? '' : `requested ${requestedRate.toFixed(1)}/s, `;
  const lines = [
    `${stage.name}: ${shapeText(stage)}`,
    `  ${asked}achieved ${achievedRate.toFixed(1)}/s; ${arrived} arrived, ${total.completed} completed, ` +
      `${errors} failed (${percent(errors, total.completed + errors)}), ${unsent} unsent, ${unanswered} unanswered`,
    ...Object.entries(total.errors).map(([code, count]) => `    ${count} × ${code}`),
    '',
    ...grid(
      ['', 'n', 'failed', 'mean ms', 'p50', 'p90', 'p99', 'p99.9', 'max'],
      [...Object.entries(result.operations), ...Object.entries(result.endpoints).map(indented)].map(figureCells),
    ).map((line) => `  ${line}`),
    '',
    `  generator: ${percent(self.utilization, 1)} of its event loop, ${self.cpuSeconds.toFixed(1)} s of CPU, ` +
      `${mib(self.rssBytes)} MiB, lag p99 ${ms(self.lagP99Ms)} ms; sent within ${ms(result.lateness.p99)} ms (p99) of the intended time`,
    `  health: p99 ${ms(result.health.p99)} ms, at most ${ms(result.health.max)} ms${refusedText(result)}`,
    ...driftLines(result),
    ...result.saturation.map((text) => `  NOT THE SERVICE’S FIGURES: ${text}`),
  ];
  const names = Object.entries(processes);
  if (names.length > 0) {
    const cost = result.cpuMsPerOperation === null ? '' : `; ${result.cpuMsPerOperation.toFixed(2)} ms an operation`;
    lines.push(
      `  service, part of a core and MiB${cost}: ` +
        names
          .map(
            ([name, { cpuSeconds, rssBytes }]) =>
              `${name} ${percent((cpuSeconds * 1000) / result.tookMs, 1)} ${mib(rssBytes)}`,
          )
          .join(', '),
    );
  }
  return lines;
}

export function refusedText({ total: { refused } }: StageResult): string {
  return refused.count === 0 ? '' : `; ${refused.count} refused, p99 ${ms(refused.p99)} ms`;
}

function driftLines({ drift }: StageResult): string[] {
  if (drift === null) return [];
  const { p50, p99, serviceRssBytes: rss } = drift;
  return [
    `  soak, first to last quarter: p50 ${ms(p50.first)} to ${ms(p50.last)} ms, p99 ${ms(p99.first)} to ${ms(p99.last)} ms` +
      (rss.first === 0 ? '' : `, memory of the service ${mib(rss.first)} to ${mib(rss.last)} MiB`),
  ];
}

function indented([name, figures]: [string, Figures]): [string, Figures] {
  return [`  ${name}`, figures];
}

function figureCells([name, { completed, errors, latency }]: [string, Figures]): string[] {
  const { mean, p50, p90, p99, p999, max } = latency;
  return [name, String(completed), String(sumOf(errors)), ...[mean, p50, p90, p99, p999, max].map(ms)];
}

export function limitLines({ limits }: LoadReport): string[] {
  return limits.map(
    ({ limit, refused }) =>
      `THE SERVICE’S RATE LIMIT refused ${refused} calls: "${limit.policy}" allows a tenant ${limit.quota} calls in ${limit.windowS} s ` +
      `(${(limit.quota / limit.windowS).toFixed(0)}/s). Start it with SIGNMESH_RATE_LIMIT=off to measure the service, or ask for less.`,
  );
}

function second(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

export function rounded(value: number): string {
  return value === 0 ? '0' : value >= 100 ? value.toFixed(0) : value >= 1 ? value.toFixed(2) : value.toPrecision(2);
}

/** Columns with minimum width; numbers to the right. */
export function grid(heads: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [heads, ...rows];
  const widths = heads.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const isNumber = heads.map((_, column) => rows.every((row) => /^[\d.]*( %)?$/.test(row[column] ?? '')));
  return all.map((row) =>
    row
      .map((cell, column) => (isNumber[column] ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!)))
      .join('  ')
      .trimEnd(),
  );
}
