/**
 * One HTTP POST to a checked target. The name is resolved once, every address it resolves to must be allowed, and the
 * connection goes to one of those very addresses: an answer of the resolver that changes in between (DNS rebinding)
 * changes nothing. Redirects are not followed. The response's body is read up to a limit; a sandbox returns the head of it.
 */
import { lookup as systemLookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { Client } from 'undici';
import type { ClusterEnvironment } from '../../../proto/roster.ts';
import { evaluateAddress } from './addresses.ts';
import { type Connections, pinned } from './connections.ts';
import type { KeptAnswer, SendOutcome, SendRequest } from './contract.ts';
import { checkTarget, hostOf } from './target.ts';

/** All addresses of a name. Tests bring their own. */
export type Resolver = (host: string) => Promise<readonly string[]>;

export const systemResolver: Resolver = async (host) =>
  (await systemLookup(host, { all: true, verbatim: true })).map(({ address }) => address);

export interface EgressOptions {
  readonly environment: ClusterEnvironment;
  readonly resolver?: Resolver;
  /** Connections that are kept for the next delivery; absent: each has its own, closed when it is done. */
  readonly connections?: Connections;
}

/** What of an answer's body is read before the connection is cut. */
const answerBytesMax = 64 * 1024;
/** What of an answer a sandbox keeps. */
const keptMax = { bodyBytes: 2 * 1024, headerChars: 4 * 1024 } as const;

/** Never rejects. */
export async function sendTo(request: SendRequest, options: EgressOptions): Promise<SendOutcome> {
  const beganMs = performance.now();
  const failed = (code: string, message: string): SendOutcome => ({
    kind: 'failed',
    code,
    message,
    tookMs: performance.now() - beganMs,
  });
  const target = checkTarget(request.url, options.environment);
  if (!(target instanceof URL)) return failed(target.issue, target.message);
  const signal = AbortSignal.timeout(request.timeoutMs);
  let client: Client | undefined;
  try {
    const address = await raceAbort(resolveAllowed(hostOf(target), options), signal);
    if (typeof address !== 'string') return failed(address.issue, address.message);
    const { connections } = options;
    if (connections === undefined) client = new Client(target.origin, pinned(address, request.timeoutMs));
    const through = connections?.to(target.origin, address, request.timeoutMs) ?? client!;
    const { statusCode, headers, body } = await through.request({
      method: 'POST',
      path: `${target.pathname}${target.search}`,
      headers: { ...request.headers },
      body: request.body,
      signal,
    });
    const read = await readHead(body);
    const retryAfter = headers['retry-after'];
    return {
      kind: 'answered',
      status: statusCode,
      retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined,
      tookMs: performance.now() - beganMs,
      answer: options.environment === 'sandbox' ? receiverAnswer(headers, read) : undefined,
    };
  } catch (error) {
    if (signal.aborted) return failed('timeout', `no answer within ${request.timeoutMs} ms`);
    return failed(...causeOf(error));
  } finally {
    client?.destroy().catch(() => undefined);
  }
}

interface BodyHead {
  readonly head: Buffer;
  readonly isWhole: boolean;
}

/** Never rejects: a body that breaks off leaves the status as it is. */
async function readHead(body: AsyncIterable<Buffer>): Promise<BodyHead> {
  const kept: Buffer[] = [];
  let bytes = 0;
  let ended = false;
  try {
    for await (const chunk of body) {
      if (bytes < keptMax.bodyBytes) kept.push(chunk.subarray(0, keptMax.bodyBytes - bytes));
      bytes += chunk.length;
      if (bytes > answerBytesMax) break;
    }
    ended = true;
  } catch {}
  return { head: Buffer.concat(kept), isWhole: ended && bytes <= keptMax.bodyBytes };
}

function receiverAnswer(
  received: Readonly<Record<string, string | string[] | undefined>>,
  { head, isWhole }: BodyHead,
): KeptAnswer {
  const headers: [name: string, value: string][] = [];
  let chars = 0;
  for (const [name, value = ''] of Object.entries(received)) {
    const text = Array.isArray(value) ? value.join(', ') : value;
    chars += name.length + text.length;
    if (chars <= keptMax.headerChars) headers.push([name, text]);
  }
  // A character that the limit cuts is left out.
  const body = new TextDecoder().decode(head, { stream: !isWhole });
  return { headers: Object.fromEntries(headers), body, truncated: !isWhole || chars > keptMax.headerChars };
}

/** One allowed address of the host, or why there is none. */
async function resolveAllowed(
  host: string,
  { environment, resolver = systemResolver }: EgressOptions,
): Promise<string | { readonly issue: string; readonly message: string }> {
  const addresses = isIP(host) === 0 ? await resolver(host) : [host];
  if (addresses.length === 0) return { issue: 'name_not_resolved', message: 'the host name resolves to nothing' };
  for (const address of addresses) {
    const verdict = evaluateAddress(address, environment);
    if (!verdict.allowed) {
      const message = `the host resolves to an address that is not allowed (${verdict.range})`;
      return { issue: 'address_not_allowed', message };
    }
  }
  return addresses[0]!;
}

function raceAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    work.then(resolve, reject);
  });
}

const causes: Readonly<Record<string, readonly [code: string, message: string]>> = {
  ECONNREFUSED: ['connection_refused', 'the connection was refused'],
  ECONNRESET: ['connection_reset', 'the connection was cut'],
  UND_ERR_SOCKET: ['connection_reset', 'the connection was cut'],
  ENOTFOUND: ['name_not_resolved', 'the host name is not known'],
  EAI_AGAIN: ['name_not_resolved', 'the resolver does not answer'],
  EHOSTUNREACH: ['unreachable', 'the host cannot be reached'],
  ENETUNREACH: ['unreachable', 'the network cannot be reached'],
  UND_ERR_CONNECT_TIMEOUT: ['timeout', 'no connection in time'],
  UND_ERR_HEADERS_TIMEOUT: ['timeout', 'no answer in time'],
  UND_ERR_BODY_TIMEOUT: ['timeout', 'no answer in time'],
  UND_ERR_HEADERS_OVERFLOW: ['bad_answer', 'the headers of the answer are too large'],
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: ['bad_answer', 'the answer is not as long as it says'],
};

function causeOf(error: unknown): [code: string, message: string] {
  const code = (error as { code?: unknown }).code;
  // The client says it of statuses that the request did not ask for, under the code of a cut connection.
  if (/^bad (response|upgrade)$/.test(String((error as Error).message)))
    return ['bad_answer', 'the status is 100 or 101'];
  const known = typeof code === 'string' ? causes[code] : undefined;
  if (known) return [...known];
  if (error instanceof Error && error.name === 'HTTPParserError') return ['bad_answer', 'the answer is not HTTP'];
  if (typeof code === 'string' && /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO/.test(code))
    return ['tls_failed', `TLS: ${code}`];
  return ['failed', 'the request failed'];
}
