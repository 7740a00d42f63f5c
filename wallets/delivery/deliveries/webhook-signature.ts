/**
 * Signs a delivery over the exact bytes of its body.
 *
 * `X-Svc-Signature` (docs/webhooks.md): HMAC-SHA256 of the body under the newest secret's UTF-8 bytes, 64 lowercase
 * hexadecimal characters. Beside it the headers of Standard Webhooks (https://www.standardwebhooks.com), which sign id
 * and time as well, under the bytes that the secret's base64 stands for; during a rotation they carry a signature under
 * each secret that is still valid, the newest first.
 * The time is the machine's: receivers compare it with their own clocks.
 */
import { createHmac } from 'node:crypto';
import type { MachineMs } from '../../../core/actors/contract.ts';

const secretPrefix = 'whsec_';

export interface SignedHeaders {
  readonly 'x-svc-signature': string;
  readonly 'webhook-id': string;
  readonly 'webhook-timestamp': string;
  readonly 'webhook-signature': string;
}

/**
 * @param secrets `whsec_…`, the newest first; at least one.
 * @param messageId stays the same for every try of a delivery, so that receivers can detect repetitions.
 */
export function signDelivery(
  secrets: readonly string[],
  messageId: string,
  nowMs: MachineMs,
  body: Uint8Array,
): SignedHeaders {
  const [newest] = secrets;
  if (newest === undefined) throw new Error('signing a delivery needs a secret');
  const timestamp = String(Math.floor(nowMs / 1000));
  const standard = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(secretPrefix.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${messageId}.${timestamp}.`).update(body).digest('base64')}`;
  });
  return {
    'x-svc-signature': createHmac('sha256', newest).update(body).digest('hex'),
    'webhook-id': messageId,
    'webhook-timestamp': timestamp,
    'webhook-signature': standard.join(' '),
  };
}
