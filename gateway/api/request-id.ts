/** Every answer carries an X-Request-Id: the caller's own when it is well-formed, else a fresh one. */
import type { Ports } from '../../core/actors/contract.ts';
import { newId } from '../../proto/ids.ts';

export const requestIdHeader = 'x-request-id';
const pattern = /^[A-Za-z0-9_-]{8,128}$/;

export class RequestIds {
  readonly #ports: Pick<Ports, 'clock' | 'random'>;

  constructor(ports: Pick<Ports, 'clock' | 'random'>) {
    this.#ports = ports;
  }

  /** Node joins repeated headers with ", ", which the pattern refuses. */
  of(inbound: unknown): string {
    return typeof inbound === 'string' && pattern.test(inbound) ? inbound : this.fresh();
  }

  fresh(): string {
    const { clock, random } = this.#ports;
    return newId('req', clock.nowMs(), random);
  }
}
