/** Follows a log file from where it ends now, so that a test can act the moment something happens. */
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { until } from '../../support/until.ts';

export class LogTail {
  readonly #path: string;
  #offset: number;
  #rest = '';

  constructor(path: string) {
    this.#path = path;
    this.#offset = statSync(path).size;
  }

  /** The first record after the last one seen that fits. Looks every millisecond. */
  next(fits: (record: Record<string, unknown>) => boolean, what: string) {
    return until(() => this.#read().find(fits), `${what} in ${this.#path}`, 1);
  }

  #read(): Record<string, unknown>[] {
    const size = statSync(this.#path).size - this.#offset;
    if (size <= 0) return [];
    const file = openSync(this.#path, 'r');
    const bytes = Buffer.alloc(size);
    const read = readSync(file, bytes, 0, size, this.#offset);
    closeSync(file);
    this.#offset += read;
    const lines = (this.#rest + bytes.subarray(0, read).toString('utf8')).split('\n');
    this.#rest = lines.pop() ?? '';
    return lines.flatMap((line) => {
      try {
        return [JSON.parse(line) as Record<string, unknown>];
      } catch {
        return [];
      }
    });
  }
}
