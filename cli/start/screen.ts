/**
 * The output of `up`: a line a step, and the duration of a step once it exceeds a second. Colours and rewritten lines only on a
 * terminal, and never with NO_COLOR.
 */
import type { Writable } from 'node:stream';

const progressEveryMs = 1000;
const nameWidth = 14;

export interface ScreenOptions {
  readonly stream: Writable;
  readonly terminal: boolean;
  readonly colour: boolean;
}

export class Screen {
  readonly #options: ScreenOptions;
  /** The current step, whose progress line may be at the bottom. */
  #progress: string | undefined;
  #isEnded = false;

  constructor(options: ScreenOptions) {
    this.#options = options;
  }

  /** Runs one step. Calls `note` while it lasts; the final line shows its last result. */
  async step<T>(name: string, work: () => Promise<T>, note: (result: T | undefined) => string): Promise<T> {
    const beganMs = performance.now();
    const elapsed = () => performance.now() - beganMs;
    const timer = setInterval(() => this.#showProgress(name, note(undefined), elapsed()), progressEveryMs);
    try {
      const result = await work();
      this.line(`${this.green('✓')} ${name.padEnd(nameWidth)} ${note(result)} ${this.dim(duration(elapsed()))}`);
      return result;
    } finally {
      clearInterval(timer);
      this.#clearProgress();
    }
  }

  /** A step that still runs is of no more interest. */
  endProgress(): void {
    this.#clearProgress();
    this.#isEnded = true;
  }

  /** A message for a person; may come at any time. */
  notice(text: string): void {
    this.line(`${this.yellow('!')} ${text}`);
  }

  line(text: string): void {
    this.#clearProgress();
    this.#options.stream.write(`${text}\n`);
  }

  bold = (text: string): string => this.#paint('1', text);
  dim = (text: string): string => this.#paint('2', text);
  green = (text: string): string => this.#paint('32', text);
  yellow = (text: string): string => this.#paint('33', text);

  #paint(code: string, text: string): string {
    return this.#options.colour ? `\u001b[${code}m${text}\u001b[0m` : text;
  }

  #showProgress(name: string, note: string, elapsedMs: number): void {
    if (this.#isEnded) return;
    const text = `… ${name.padEnd(nameWidth)} ${note} ${duration(elapsedMs)}`;
    if (!this.#options.terminal) {
      this.#options.stream.write(`${text}\n`);
      return;
    }
    this.#clearProgress();
    this.#options.stream.write(text);
    this.#progress = text;
  }

  #clearProgress(): void {
    if (this.#progress !== undefined) this.#options.stream.write('\r\u001b[2K');
    this.#progress = undefined;
  }
}

export function duration(milliseconds: number): string {
  return milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}
