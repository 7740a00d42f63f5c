/**
 * A load run as one self-contained HTML page: the verdict, a table for each stage, and plots over time with the faults
 * shaded. The page loads nothing (clients/report/html/document.ts), and its tables need no script.
 */
import { html, htmlDocument } from '../../report/html/document.ts';
import type { Figures } from '../measure/recorder.ts';
import { sumOf } from '../report/measured.ts';
import type { LoadReport, StageResult } from '../report/results.ts';
import { limitLines, ms, refusedText, rounded, shapeText } from '../report/text.ts';
import type { PlotData } from './browser/data.ts';
import { styles } from './styles.ts';

/** The whole document. The same report gives the same bytes. */
export function loadPage(report: LoadReport): string {
  return htmlDocument({
    title: `${report.name}: load`,
    styles,
    script: 'clients/load/html/browser/main.ts',
    body: [headerOf(report), plots, ...report.stages.map(stageSection), foot(report)].join('\n'),
    data: plotData(report),
  });
}

function plotData({ series, stages, faults, tookMs }: LoadReport): PlotData {
  const names = [...new Set(series.flatMap(({ processes }) => Object.keys(processes)))];
  const column = <T>(read: (point: LoadReport['series'][number]) => T) => series.map(read);
  const endMs = series.at(-1)?.atMs ?? tookMs;
  return {
    atS: column(({ atMs }) => atMs / 1000),
    // A point may cover more than a second: rates are over its own time.
    perSecond: {
      sent: rates(series, ({ sent }) => sent),
      completed: rates(series, ({ completed }) => completed),
      failed: rates(series, ({ failed }) => failed),
      unsent: rates(series, ({ unsent }) => unsent),
    },
    latency: {
      p50: column(({ completed, p50 }) => (completed === 0 ? null : p50)),
      p99: column(({ completed, p99 }) => (completed === 0 ? null : p99)),
    },
    inFlight: column(({ inFlight }) => inFlight),
    cpu: {
      ...Object.fromEntries(names.map((name) => [name, column(({ processes }) => processes[name]?.cpu ?? null)])),
      generator: column(({ generator }) => generator),
    },
    stages: stages.map(({ stage, beganMs }) => ({ name: stage.name, atS: beganMs / 1000 })),
    faults: faults.flatMap(({ id, beganMs, endedMs }) =>
      beganMs === null ? [] : [{ name: id, fromS: beganMs / 1000, toS: (endedMs ?? endMs) / 1000 }],
    ),
  };
}

function rates(series: LoadReport['series'], read: (point: LoadReport['series'][number]) => number): readonly number[] {
  return series.map((point, index) => {
    const seconds = (point.atMs - (series[index - 1]?.atMs ?? 0)) / 1000;
    return seconds <= 0 ? 0 : read(point) / seconds;
  });
}

function headerOf(report: LoadReport): string {
  const { target, machine, correctness, recovery, thresholds, unloaded } = report;
  const holds = correctness.holds && recovery.holds;
  const missed = thresholds.filter((each) => !each.holds);
  const verdict = !holds
    ? 'Something does not hold'
    : missed.length > 0
      ? `Everything holds; ${missed.length} of ${thresholds.length} thresholds missed`
      : 'Everything holds';
  const facts = [
    report.startedAt,
    `${target.url} over ${target.api}`,
    `signmesh ${target.version}`,
    `${machine.cores} cores (${machine.cpu})`,
    `Node ${machine.node}`,
    ...(report.interrupted ? ['interrupted'] : []),
  ];
  const warnings = [
    ...limitLines(report),
    ...report.stages.flatMap(({ stage, saturation }) =>
      saturation.length === 0 ? [] : [`${stage.name}: not the service’s figures: ${saturation.join('; ')}`],
    ),
  ];
  return `<header>
<p class="facts">${facts.map((fact) => `<span>${html(fact)}</span>`).join('')}</p>
<h1>${html(report.name)}</h1>
<p>${html(report.model)}. One operation at a time, before the load: p50 ${ms(unloaded.p50)} ms.</p>
<div id="verdict" class="verdict ${holds ? (missed.length > 0 ? 'missed' : 'good') : 'bad'}" role="status"><strong>${html(verdict)}</strong>
<ul>${correctness.checks.map((check) => item(check.holds, `${check.name}: ${check.text}`, check.faults)).join('')}
${item(recovery.holds, `recovery: ${recovery.text}`)}
${thresholds.map(({ holds, text, measured }) => item(holds, `threshold ${text}: ${measured === undefined ? 'not measured' : rounded(measured)}`)).join('')}</ul></div>
${warnings.map((text) => `<p class="warning">${html(text)}</p>`).join('\n')}
</header>`;
}

function item(holds: boolean, text: string, faults: readonly string[] = []): string {
  const more = faults.length === 0 ? '' : `<ul>${faults.map((fault) => `<li>${html(fault)}</li>`).join('')}</ul>`;
  return `<li class="${holds ? 'good' : 'bad'}">${holds ? '✓' : '✗'} ${html(text)}${more}</li>`;
}

const plots = `<section id="plots" aria-label="Plots over time">
<noscript><p>The plots need scripts; the tables do not.</p></noscript>
</section>`;

const heads = ['', 'n', 'failed', 'mean ms', 'p50', 'p90', 'p99', 'p99.9', 'max'];

function stageSection(result: StageResult): string {
  const { stage, requestedRate, achievedRate, arrived, unsent, unanswered, total, self, lateness } = result;
  const errors = Object.entries(total.errors).map(([code, count]) => `<li>${count} × ${html(code)}</li>`);
  const processes = Object.entries(result.processes).map(
    ([name, { cpuSeconds, rssBytes }]) =>
      `<tr><th>${html(name)}</th><td>${((cpuSeconds * 100_000) / result.tookMs).toFixed(1)} %</td><td>${(rssBytes / 2 ** 20).toFixed(0)}</td></tr>`,
  );
  const cost =
    result.cpuMsPerOperation === null ? '' : `, ${result.cpuMsPerOperation.toFixed(2)} ms of CPU an operation`;
  return `<section class="stage">
<h2>${html(stage.name)} <small>${html(shapeText(stage))}</small></h2>
<p>${requestedRate === null ? '' : `requested ${requestedRate.toFixed(1)}/s, `}achieved ${achievedRate.toFixed(1)}/s; ${arrived} arrived, ${total.completed} completed, ${sumOf(total.errors)} failed, ${unsent} unsent, ${unanswered} unanswered</p>
${errors.length === 0 ? '' : `<ul class="errors">${errors.join('')}</ul>`}
<table><thead><tr>${heads.map((head) => `<th>${head}</th>`).join('')}</tr></thead><tbody>
${[...rows(result.operations, 'operation'), ...rows(result.endpoints, 'endpoint')].join('\n')}
</tbody></table>
<p class="quiet">generator: ${(self.utilization * 100).toFixed(0)} % of its event loop, lag p99 ${ms(self.lagP99Ms)} ms, sent within ${ms(lateness.p99)} ms (p99) of the intended time${cost}; health at most ${ms(result.health.max)} ms${refusedText(result)}</p>
${processes.length === 0 ? '' : `<table><thead><tr><th>process</th><th>of a core</th><th>MiB</th></tr></thead><tbody>${processes.join('')}</tbody></table>`}
</section>`;
}

function rows(figures: Readonly<Record<string, Figures>>, kind: string): string[] {
  return Object.entries(figures).map(([name, { completed, errors, latency }]) => {
    const { mean, p50, p90, p99, p999, max } = latency;
    const cells = [completed, sumOf(errors), ...[mean, p50, p90, p99, p999, max].map(ms)];
    return `<tr class="${kind}"><th>${html(name)}</th>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;
  });
}

function foot({ baseline, faults }: LoadReport): string {
  const windows = faults.map(
    ({ id, fault, target, beganMs, endedMs, triggerCount }) =>
      `<tr><th>${html(id)}</th><td>${html(`${fault} ${target}`)}</td><td>${beganMs === null ? 'never' : (beganMs / 1000).toFixed(1)}</td><td>${endedMs === null ? '' : (endedMs / 1000).toFixed(1)}</td><td>${triggerCount}</td></tr>`,
  );
  const compared = baseline?.comparisons.map(
    ({ name, before, now, ratio, verdict }) =>
      `<tr class="${verdict}"><th>${html(name)}</th><td>${rounded(before)}</td><td>${rounded(now)}</td><td>${ratio.toFixed(2)}</td><td>${verdict}</td></tr>`,
  );
  return [
    windows.length === 0
      ? ''
      : `<section><h2>Faults</h2><table><thead><tr><th></th><th>fault</th><th>from s</th><th>to s</th><th>triggered</th></tr></thead><tbody>${windows.join('')}</tbody></table></section>`,
    compared === undefined
      ? ''
      : `<section><h2>Compared with ${html(baseline!.startedAt)}</h2><table id="baseline"><thead><tr><th></th><th>then</th><th>now</th><th>ratio</th><th></th></tr></thead><tbody>${compared.join('')}</tbody></table></section>`,
  ].join('\n');
}
