/** The display while a load runs: a few rewritten lines on a terminal, plain lines elsewhere. */
import type { LoadPlan } from '../plan/plan.ts';
import type { SeriesPoint } from './results.ts';
import { shapeText } from './text.ts';

/** The content of the live view, each second. */
export interface LiveProgress {
  readonly stage: number;
  readonly atMs: number;
  readonly point: SeriesPoint;
  readonly errors: Readonly<Record<string, number>>;
}

/** Without a terminal, prints a line at this interval in seconds. */
const plainEvery = 5;
const errorsMax = 3;

export interface LiveScreen {
  readonly isTTY: boolean;
  /** Of a terminal: a longer line would wrap, and the lines above would be misplaced. */
  readonly columns: number;
  write(text: string): void;
}

export class LiveView {
  readonly #screen: LiveScreen;
  readonly #plan: LoadPlan;
  #drawn = 0;
  #points = 0;

  constructor(screen: LiveScreen, plan: LoadPlan) {
    this.#screen = screen;
    this.#plan = plan;
  }

  show(progress: LiveProgress): void {
    this.#points += 1;
    if (this.#screen.isTTY) this.#redraw(this.#lines(progress));
    else if (this.#points % plainEvery === 0) this.#screen.write(`${plainLine(progress, this.#stageName(progress))}\n`);
  }

  /** A permanent line. */
  say(line: string): void {
    this.#screen.write(`signmesh load: ${line}\n`);
    this.#drawn = 0;
  }

  #stageName({ stage }: LiveProgress): string {
    return this.#plan.stages[stage]!.name;
  }

  #lines({ stage, atMs, point, errors }: LiveProgress): string[] {
    const shown = this.#plan.stages[stage]!;
    const failed = Object.entries(errors).sort(([, a], [, b]) => b - a);
    const more = failed.length > errorsMax ? `, and ${failed.length - errorsMax} other codes` : '';
    const processes = Object.entries(point.processes)
      .map(([name, { cpu }]) => `${name} ${Math.round(cpu * 100)}%`)
      .join('  ');
    return [
      `${(atMs / 1000).toFixed(0).padStart(5)} s  ${shown.name} (${stage + 1} of ${this.#plan.stages.length}): ${shapeText(shown)}`,
      `         ${point.completed}/s completed  ${point.failed}/s failed  ${point.unsent}/s unsent  ${point.inFlight} in flight`,
      `         p50 ${point.p50.toFixed(1)} ms  p99 ${point.p99.toFixed(1)} ms  generator ${Math.round(point.generator * 100)}% busy`,
      failed.length === 0
        ? '         no errors'
        : `         errors: ${failed
            .slice(0, errorsMax)
            .map(([code, count]) => `${count} × ${code}`)
            .join(', ')}${more}`,
      `         ${processes}`,
    ];
  }

  #redraw(lines: readonly string[]): void {
    const up = this.#drawn === 0 ? '' : `\u001b[${this.#drawn}A`;
    this.#screen.write(`${up}${lines.map((line) => `\u001b[2K${line.slice(0, this.#screen.columns - 1)}\n`).join('')}`);
    this.#drawn = lines.length;
  }
}

function plainLine({ atMs, point, errors }: LiveProgress, stage: string): string {
  const failed = Object.entries(errors).map(([code, count]) => ` ${count} × ${code}`);
  return (
    `${(atMs / 1000).toFixed(0)} s ${stage}: ${point.completed}/s, p50 ${point.p50.toFixed(1)} ms, ` +
    `p99 ${point.p99.toFixed(1)} ms, ${point.inFlight} in flight, errors:${failed.join(',') || ' none'}`
  );
}
