/** The progress of a search: a bar on a terminal, periodic lines elsewhere. */
import type { WriteStream } from 'node:tty';
import type { Finished } from '../../simulation/search/campaign.ts';

const barChars = 24;
const redrawMs = 100;
const lineEveryMs = 10_000;

export class SimProgress {
  readonly #stream: WriteStream;
  #total: number;
  readonly #beganMs = performance.now();
  #shownMs = 0;
  #done = 0;
  #failures = 0;
  #virtualMs = 0;
  #isDrawn = false;
  /** The number of runs that reached each. */
  readonly #landmarks: Map<string, number>;

  /** `landmarks`: those to print even when no run reaches them. */
  constructor(stream: WriteStream, total: number, landmarks: readonly string[]) {
    this.#stream = stream;
    this.#total = total;
    this.#landmarks = new Map(landmarks.map((landmark) => [landmark, 0]));
  }

  add({ verdict, tookMs, landmarks: reached }: Finished): void {
    this.#done += 1;
    for (const landmark of reached) this.#landmarks.set(landmark, (this.#landmarks.get(landmark) ?? 0) + 1);
    this.#virtualMs += tookMs;
    if (verdict.kind !== 'passed') this.#failures += 1;
    const nowMs = performance.now();
    const pauseMs = this.#stream.isTTY ? redrawMs : lineEveryMs;
    if (nowMs - (this.#shownMs || this.#beganMs) < pauseMs) return;
    this.#shownMs = nowMs;
    const share = this.#done / this.#total;
    const filled = Math.round(share * barChars);
    const text = `${String(Math.floor(share * 100)).padStart(3)} %  ${this.#done} of ${this.#total} runs, ${this.#failures} failed, ${this.#rate()} runs/s`;
    if (!this.#stream.isTTY) {
      this.#stream.write(`${text.trimStart()}\n`);
      return;
    }
    this.#stream.write(`\r[${'#'.repeat(filled)}${'.'.repeat(barChars - filled)}] ${text}\x1b[K`);
    this.#isDrawn = true;
  }

  /** A line beside the bar. */
  say(text: string): void {
    this.clear();
    this.#stream.write(`${text}\n`);
  }

  clear(): void {
    if (this.#isDrawn) this.#stream.write('\r\x1b[K');
    this.#isDrawn = false;
  }

  summary(): string {
    const seconds = (performance.now() - this.#beganMs) / 1000;
    const found = this.#failures === 0 ? 'nothing found' : `${this.#failures} failed`;
    const virtual = (this.#virtualMs / 1000).toFixed(0);
    return `${this.#done} runs, ${virtual} s of virtual time in ${seconds.toFixed(1)} s (${this.#rate()} runs/s): ${found}`;
  }

  /** The number of runs that reached each landmark, the rarest first. */
  coverage(): string {
    const counted = [...this.#landmarks].sort(([, a], [, b]) => a - b);
    const reached = counted.filter(([, runs]) => runs > 0).length;
    const rows = counted.map(([landmark, runs]) => `${String(runs).padStart(8)}  ${landmark}`);
    return [`landmarks: ${reached} of ${counted.length} reached; runs that reached each:`, ...rows].join('\n');
  }

  /** Those that no run reached. */
  missing(landmarks: readonly string[]): readonly string[] {
    return landmarks.filter((landmark) => (this.#landmarks.get(landmark) ?? 0) === 0);
  }

  #rate(): string {
    const seconds = (performance.now() - this.#beganMs) / 1000;
    return (this.#done / Math.max(seconds, 0.001)).toFixed(0);
  }
}
