/** Requests of the API as the panel shows them: which are listed, why one was refused, and how it is sent again. */

import type { SandboxRequest, SandboxRequestLine } from '../../../client/generated-api.ts';
import { operations } from '../../../client/generated-api.ts';
import { type Call, literal, type Request } from '../shared/call.ts';
import type { ConsoleStore } from '../shared/store.ts';

export type RequestFilter = 'all' | 'failed' | 'replays' | 'faulty';

/** The newest first. */
export function listedRequests(
  { requests }: Pick<ConsoleStore, 'requests'>,
  words: string,
  filter: RequestFilter,
): readonly SandboxRequestLine[] {
  const wanted = words.trim().toLowerCase();
  const isWanted = (line: SandboxRequestLine) =>
    (filter === 'all' ||
      (filter === 'failed' && hasFailed(line)) ||
      (filter === 'replays' && line.is_replay) ||
      (filter === 'faulty' && line.faults.length > 0)) &&
    (wanted === '' || Object.values(line).join(' ').toLowerCase().includes(wanted));
  return requests.filter(isWanted).reverse();
}

/** It was answered with an error, in its status or in its receipt, or not at all. */
export function hasFailed(line: SandboxRequestLine): boolean {
  const { status, grpc_status: rpc, aborted } = line;
  return aborted || isRefused(line) || (status ?? 0) >= 400 || (rpc !== null && rpc !== 'OK');
}

/** In its receipt, whatever its status. */
function isRefused({ receipt_state: state }: SandboxRequestLine): boolean {
  return state === 'DENIED' || state === 'BACKEND_FAILED' || state === 'EXPIRED' || state === 'REVOKED';
}

/** As a chip: the text and its kind. */
export function outcomeOf(line: SandboxRequestLine): readonly [string, string] {
  const { status, grpc_status: rpc, aborted, receipt_state: state } = line;
  const sent = rpc ?? (status === null ? 'no answer' : String(status));
  const text = aborted ? 'left' : isRefused(line) ? `${sent} ${state}` : sent;
  return [text, hasFailed(line) ? 'failed' : 'completed'];
}

export function nameOf({ door, method, route }: SandboxRequestLine): string {
  if (door === 'grpc') return (route ?? 'unknown method').split('/').at(-1)!;
  return `${method ?? '?'} ${route ?? 'unknown path'}`;
}

/** One sentence or two; empty: it went well. */
export function whyOfRequest(
  line: SandboxRequest,
  reasons: Readonly<Record<string, { readonly text: string; readonly helps: string }>>,
): string {
  const {
    aborted,
    error_code: code,
    error_message: message,
    field,
    reason_code: reason,
    faults,
    is_replay: isReplay,
  } = line;
  const fault = faults.length === 0 ? '' : ` The fault ${faults.join(', ')} touched it.`;
  if (aborted) return `The caller left before its answer, or the connection broke.${fault}`;
  if (code !== null) {
    const about = field === null || message?.includes(field) === true ? '' : ` (field ${field})`;
    return `Refused with ${code}${about}: ${message ?? ''}.${fault}`.replace(/[.]{2,}/g, '.');
  }
  if (hasFailed(line) && reason !== null) {
    const { text = '', helps = '' } = reasons[reason] ?? {};
    return [
      `Its receipt says ${reason}${text === '' ? '' : `: ${text}`}.`,
      helps === '' ? '' : `${helps}.`,
      fault.trim(),
    ]
      .filter((part) => part !== '')
      .join(' ')
      .replace(/[.]{2,}/g, '.');
  }
  if (isReplay)
    return `The answer of an earlier request with the same idempotency key: nothing was done again.${fault}`;
  return fault.trim();
}

/** Why the page cannot send it again; empty: it can. */
export function hindranceOf({ door, target, body, method }: SandboxRequest): string {
  if (door === 'grpc') return 'It came over gRPC, which a page cannot send.';
  if (target === null || method === null) return 'Its path is not known.';
  if (body === null) return '';
  if (body.masked.length > 0) return `${body.masked.join(', ')}: the page does not know the value.`;
  return body.is_whole ? '' : 'Its body is not shown as a whole.';
}

/** `hasKey`: under its own idempotency key, so that it has no effect twice. undefined: `hindranceOf` says why. */
export function callAgain(request: SandboxRequest, hasKey: boolean): Call | undefined {
  if (hindranceOf(request) !== '') return undefined;
  const { target, method, body, idempotency_key: key } = request;
  const content = body === null ? undefined : (JSON.parse(body.text!) as object);
  const once: Request = {
    ...{ method: method!, path: target! },
    ...(content !== undefined && { body: content }),
    ...(hasKey && key !== null && { headers: { 'Idempotency-Key': key } }),
  };
  return { title: `Send ${nameOf(request)} again`, requests: [once], program: [programOf(request, content, hasKey)] };
}

function programOf(
  { method, route, target, idempotency_key: key }: SandboxRequest,
  content: unknown,
  hasKey: boolean,
): string {
  const [path = '', query = ''] = target!.split('?', 2);
  for (const [group, methods] of Object.entries(operations)) {
    const found = Object.entries(methods).find(([, each]) => each.method === method && each.path === route);
    if (found === undefined) continue;
    const [name, { path: pattern, input }] = found;
    const params = pattern
      .split('/')
      .flatMap((part, index) => (part[0] === ':' ? [decodeURIComponent(path.split('/')[index] ?? '')] : []));
    const given = input === 'query' ? Object.fromEntries([...new URLSearchParams(query)].map(valued)) : content;
    const hasInput = given !== undefined && Object.keys(given as object).length > 0;
    const options = hasKey && key !== null ? [{ idempotencyKey: key }] : [];
    const all = [
      ...params,
      ...(hasInput ? [given] : options.length > 0 && input !== undefined ? [{}] : []),
      ...options,
    ];
    return `await client.${group}.${name}(${all.map((each) => literal(each)).join(', ')});`;
  }
  return `// No method of signmesh/client: ${method} ${path}`;
}

/** The client takes whole numbers as such. */
function valued([name, value]: readonly [string, string]): [string, string | number] {
  return [name, /^[0-9]{1,9}$/.test(value) ? Number(value) : value];
}

/** The id of the transfer that it is about. */
export function intentOf({ target, answer }: SandboxRequest): string | undefined {
  return /txi_[0-9a-f-]{36}/.exec(`${target ?? ''} ${answer?.text ?? ''}`)?.[0];
}

/** Indented; what is cut or no JSON as it stands. */
export function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
