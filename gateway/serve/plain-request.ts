/** A request that is complete from the start: of a simulated world, of a client in the same process, of a test. */
import type { IncomingHttpHeaders } from 'node:http';
import type { ServeRequest } from './contract.ts';

export interface PlainRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** Each once, in any case. Host and content length are added where they are missing. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
}

export interface LeavingRequest extends ServeRequest {
  /** The client goes, or has its answer. */
  leave(): void;
}

export function plainRequest({ method, target, headers: given = {}, body }: PlainRequest): LeavingRequest {
  const bytes = body === undefined || typeof body !== 'string' ? body : Buffer.from(body);
  const headers: IncomingHttpHeaders = { host: 'localhost' };
  if (bytes !== undefined) headers['content-length'] = String(bytes.length);
  for (const [name, value] of Object.entries(given)) headers[name.toLowerCase()] = value;
  const listeners = new Set<() => void>();
  return {
    method,
    target,
    httpVersion: '1.1',
    headers,
    rawHeaders: Object.entries(headers).flatMap(([name, value]) => [name, String(value)]),
    body: async () => bytes ?? new Uint8Array(),
    onGone: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    leave: () => {
      for (const listener of [...listeners]) listener();
      listeners.clear();
    },
  };
}
