/**
 * Checks that a webhook's request comes from the service, over the received bytes and before parsing (docs/webhooks.md).
 *
 * `webhook-signature` (Standard Webhooks) covers id, time and body. During a rotation it holds a signature under each secret; one
 * that matches one of the caller's secrets is enough. `X-Svc-Signature` covers only the body, so a recording of it can be
 * replayed for ever: it counts only where the caller allows it. Web Crypto compares in constant time.
 */
import { fromBase64 } from './base64.ts';
import { ClientError, InvalidOptionError, type WebhookRefusal } from './errors.ts';
import type { Event } from './generated-api.ts';
import { type Names, needKnown } from './known-options.ts';

export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyOptions {
  /** The largest difference between the request's time and now, both ways: 300 s by default. */
  readonly toleranceS?: number;
  /** Accept a request that carries only `X-Svc-Signature`. It has no time: anyone who recorded it can send it again. */
  readonly allowUntimed?: boolean;
  /** By default the clock of this process. */
  readonly nowMs?: number;
}

export class WebhookVerificationError extends ClientError {
  override readonly name = 'WebhookVerificationError';
  declare readonly code: WebhookRefusal;

  constructor(code: WebhookRefusal, message: string) {
    super(code, message);
  }
}

const optionNames: Names<VerifyOptions> = { toleranceS: true, allowUntimed: true, nowMs: true };
const encoder = new TextEncoder();
const secretPattern = /^whsec_[A-Za-z0-9+/]+={0,2}$/;
/** A header holds one signature for each secret; no rotation leaves more than two. */
const signaturesMax = 10;

/**
 * The event of a genuine request. `body`: as received, not parsed and serialized again. `secrets`: `whsec_…` of the webhook;
 * during a rotation the old one too. Rejects with WebhookVerificationError, and InvalidOptionError for invalid secrets and unknown options.
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  options: VerifyOptions = {},
): Promise<Event> {
  needKnown('verifyWebhook', options, optionNames);
  const { toleranceS = 300, allowUntimed = false, nowMs = Date.now() } = options;
  // NaN would compare with no time at all.
  if (typeof toleranceS !== 'number' || !(toleranceS >= 0))
    throw new InvalidOptionError('toleranceS', 'takes seconds, 0 or more');
  if (!Number.isFinite(nowMs)) throw new InvalidOptionError('nowMs', 'takes milliseconds since 1970');
  const known = [secrets].flat();
  if (known.length === 0 || !known.every((secret) => secretPattern.test(secret))) {
    throw new InvalidOptionError('secrets', 'takes the whsec_… of the webhook, or several');
  }
  const bytes = Uint8Array.from(typeof body === 'string' ? encoder.encode(body) : body);
  const header = (name: string): string | undefined => readHeader(headers, name);
  const signatures = header('webhook-signature');
  if (signatures !== undefined) {
    await needTimed(bytes, signatures, header('webhook-id'), header('webhook-timestamp'), known, nowMs, toleranceS);
  } else if (allowUntimed) {
    await needUntimed(bytes, header('x-svc-signature'), known);
  } else {
    throw refused('webhook_header_missing', 'the request has no header webhook-signature');
  }
  return JSON.parse(new TextDecoder().decode(bytes)) as Event;
}

async function needTimed(
  body: Uint8Array<ArrayBuffer>,
  signatures: string,
  id: string | undefined,
  timestamp: string | undefined,
  secrets: readonly string[],
  nowMs: number,
  toleranceS: number,
): Promise<void> {
  if (id === undefined) throw refused('webhook_header_missing', 'the request has no header webhook-id');
  if (timestamp === undefined) throw refused('webhook_header_missing', 'the request has no header webhook-timestamp');
  if (!/^\d{1,12}$/.test(timestamp)) {
    throw refused('webhook_header_malformed', 'webhook-timestamp is not a number of seconds since 1970');
  }
  const prefix = encoder.encode(`${id}.${timestamp}.`);
  const signed = new Uint8Array(prefix.length + body.length);
  signed.set(prefix);
  signed.set(body, prefix.length);
  const given = signatures.split(' ').filter((each) => each.startsWith('v1,'));
  if (given.length === 0 || given.length > signaturesMax) {
    throw refused('webhook_header_malformed', 'webhook-signature holds no signature of the form v1,<base64>');
  }
  let fits = false;
  for (const secret of secrets) {
    const key = await keyOf(fromBase64(secret.slice('whsec_'.length), 'secrets'));
    for (const signature of given) {
      const tag = tagOf(signature.slice('v1,'.length));
      if (tag !== undefined && (await crypto.subtle.verify('HMAC', key, tag, signed))) fits = true;
    }
  }
  if (!fits) throw mismatch('webhook-signature');
  // After the signature: only a genuine time needs a check.
  const ageS = nowMs / 1000 - Number(timestamp);
  if (ageS > toleranceS) {
    throw refused(
      'webhook_too_old',
      `the request was signed ${Math.floor(ageS)} s ago by its webhook-timestamp: it is a replay, or a clock is wrong, the sender's or this machine's`,
    );
  }
  if (ageS < -toleranceS) {
    throw refused(
      'webhook_too_new',
      `the request was signed ${Math.floor(-ageS)} s ahead by its webhook-timestamp: a clock is wrong, the sender's or this machine's`,
    );
  }
}

async function needUntimed(
  body: Uint8Array<ArrayBuffer>,
  signature: string | undefined,
  secrets: readonly string[],
): Promise<void> {
  if (signature === undefined) {
    throw refused('webhook_header_missing', 'the request has neither webhook-signature nor X-Svc-Signature');
  }
  if (!/^[0-9a-f]{64}$/.test(signature)) {
    throw refused('webhook_header_malformed', 'X-Svc-Signature is not 64 lowercase hexadecimal characters');
  }
  const tag = Uint8Array.from(signature.match(/../g)!, (pair) => Number.parseInt(pair, 16));
  let fits = false;
  for (const secret of secrets) {
    if (await crypto.subtle.verify('HMAC', await keyOf(encoder.encode(secret)), tag, body)) fits = true;
  }
  if (!fits) throw mismatch('X-Svc-Signature');
}

function keyOf(secret: Uint8Array<ArrayBuffer>) {
  return crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

function tagOf(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return text.length === 44 ? fromBase64(text, 'webhook-signature') : undefined;
  } catch {
    return undefined;
  }
}

/** Node.js gives headers in lower case; other servers may not. A repeated header counts as missing. */
function readHeader(headers: WebhookHeaders, name: string): string | undefined {
  if (typeof headers.get === 'function') return (headers as Headers).get(name) ?? undefined;
  const found = Object.entries(headers as Readonly<Record<string, string | readonly string[] | undefined>>).filter(
    ([each, value]) => each.toLowerCase() === name && value !== undefined,
  );
  const values = found.flatMap(([, value]) => value!);
  return values.length === 1 ? values[0] : undefined;
}

function mismatch(header: string): WebhookVerificationError {
  const causes = 'another secret, or a body that was parsed and written again';
  return refused('webhook_signature_mismatch', `${header} fits none of the secrets: ${causes}`);
}

function refused(code: WebhookRefusal, message: string): WebhookVerificationError {
  return new WebhookVerificationError(code, message);
}
