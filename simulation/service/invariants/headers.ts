/** The envelope of every answer, by docs/http-and-grpc.md and docs/wallet-api.md: its request id, and the form of an error. */
import type { ClientAnswer } from '../client.ts';
import { found } from './finding.ts';

const codes: Readonly<Record<number, string>> = {
  ...{ 400: 'invalid_request', 401: 'authentication_failed', 403: 'insufficient_scope', 404: 'not_found' },
  ...{ 405: 'invalid_request', 409: 'conflict', 413: 'invalid_request', 415: 'invalid_request' },
  ...{ 422: 'provider_rejected', 429: 'rate_limited', 500: 'internal_error', 503: 'provider_unavailable' },
};
const requestIdText = /^[A-Za-z0-9_-]{8,128}$/;
const secondsText = /^[1-9]\d*$/;

/** Every answer on arrival. Throws a Finding. */
export function checkEnvelope(
  target: string,
  { status, body, headers }: Pick<ClientAnswer, 'status' | 'body' | 'headers'>,
): void {
  const about = `${target} answers ${status}`;
  const requestId = headers['x-request-id'] ?? '';
  if (!requestIdText.test(requestId)) found('answers-as-modelled', `${about} with the request id ${requestId}`);
  if (status <= 399) return;
  const wanted = codes[status];
  const { code, message, request_id: named } = body?.error ?? {};
  if (wanted !== undefined && code !== wanted) found('answers-as-modelled', `${about} with the code ${code}`);
  if (typeof message !== 'string' || message === '') found('answers-as-modelled', `${about} without a message`);
  // A repeated answer names the request that it was first given to.
  if (headers['idempotent-replayed'] !== 'true' && named !== requestId)
    found('answers-as-modelled', `${about} to ${requestId}, and its error names ${named}`);
  const isLater = status === 429 || status === 503;
  if (isLater && !secondsText.test(headers['retry-after'] ?? ''))
    found('answers-as-modelled', `${about} with Retry-After ${headers['retry-after']}`);
  if (status === 401 && headers['www-authenticate'] === undefined)
    found('answers-as-modelled', `${about} without WWW-Authenticate`);
}
