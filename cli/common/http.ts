/**
 * A request to our own gateway over plain HTTP. Node's `fetch` would load a client and web streams of its own first, which took
 * a third of the CPU time of `up` until its cluster was ready.
 */
import { request } from 'node:http';

export interface HttpCall {
  /** GET by default. */
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly timeoutMs: number;
}

export interface HttpAnswer {
  readonly status: number;
  readonly text: string;
}

/** Rejects without a whole answer in time. */
export function callHttp(
  url: string,
  { method = 'GET', headers = {}, body, timeoutMs }: HttpCall,
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const call = request(url, { method, headers, signal: AbortSignal.timeout(timeoutMs) }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text })).once('error', reject);
    });
    call.once('error', reject).end(body);
  });
}
