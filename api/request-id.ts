/** Every answer carries an X-Request-Id: the caller's own when it is well-formed, else a fresh one. */
import { systemClock, systemRandom } from '../actors/live/ports.ts';
import { newId } from '../proto/ids.ts';

export const requestIdHeader = 'x-request-id';
const pattern = /^[A-Za-z0-9_-]{8,128}$/;

/** Node joins repeated headers with ", ", which the pattern refuses. */
export function requestIdFrom(inbound: unknown): string {
  return typeof inbound === 'string' && pattern.test(inbound) ? inbound : freshRequestId();
}

export function freshRequestId(): string {
  return newId('req', systemClock.nowMs(), systemRandom);
}
