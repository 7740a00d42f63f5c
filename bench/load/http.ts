/**
 * HTTP/1.1 over keep-alive connections, one request at a time on each. Through undici's `dispatch`, its cheapest way: the
 * load generator shares the machine with what it measures.
 */
import { Pool } from 'undici';

const answerWithinMs = 30_000;

export interface HttpAnswer {
  readonly status: number;
  readonly text: string;
}

export interface HttpClient {
  /** Rejects when there is no answer. */
  send(method: 'GET' | 'POST' | 'PATCH', path: string, body?: string): Promise<HttpAnswer>;
  close(): Promise<void>;
}

/** At most `connections` requests are under way; more wait in the client. */
export function httpClient(url: string, token: string, connections: number): HttpClient {
  const pool = new Pool(url, {
    connections,
    pipelining: 1,
    headersTimeout: answerWithinMs,
    bodyTimeout: answerWithinMs,
  });
  const plain = ['authorization', `Bearer ${token}`];
  const withBody = [...plain, 'content-type', 'application/json'];
  return {
    send: (method, path, body) =>
      new Promise((resolve, reject) => {
        let status = 0;
        const chunks: Buffer[] = [];
        pool.dispatch(
          { path, method, headers: body === undefined ? plain : withBody, ...(body !== undefined && { body }) },
          {
            onRequestStart() {},
            onResponseStart(_controller, statusCode) {
              status = statusCode;
            },
            onResponseData(_controller, chunk) {
              chunks.push(chunk);
            },
            onResponseEnd() {
              resolve({ status, text: (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)).toString() });
            },
            onResponseError(_controller, error) {
              reject(error);
            },
          },
        );
      }),
    close: () => pool.close(),
  };
}
