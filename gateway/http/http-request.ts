/** A request of Node's HTTP server, for `serve`. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Cancel } from '../../core/actors/contract.ts';
import type { AccessEntry } from '../access-log/access-log.ts';
import { ServiceError } from '../api/errors/service-error.ts';
import type { ServeRequest } from '../serve/contract.ts';

export class HttpRequest implements ServeRequest {
  readonly method: string;
  readonly target: string;
  readonly httpVersion: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly entry: AccessEntry;
  readonly #raw: IncomingMessage;
  readonly #response: ServerResponse;
  #isCutShort: boolean;

  constructor(raw: IncomingMessage, response: ServerResponse, target: string, entry: AccessEntry) {
    this.#raw = raw;
    this.#response = response;
    this.method = raw.method ?? '';
    this.target = target;
    this.httpVersion = raw.httpVersion;
    this.headers = raw.headers;
    this.rawHeaders = raw.rawHeaders;
    this.entry = entry;
    // Until it is asked for its body (RFC 9110 §10.1.1), the client may send it or not.
    this.#isCutShort = expectsContinue(raw.headers);
  }

  /** A body was read, and not to its end; or was announced, and not asked for. */
  get isCutShort(): boolean {
    return this.#isCutShort;
  }

  body(bytesMax: number): Promise<Uint8Array> {
    const raw = this.#raw;
    this.#isCutShort = true;
    if (expectsContinue(raw.headers)) this.#response.writeContinue();
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let length = 0;
      const stop = (): void => {
        raw.off('data', onData).off('end', onEnd).off('error', onError);
      };
      const onEnd = (): void => {
        stop();
        this.#isCutShort = false;
        // A copy: a chunk may be a view of the socket's buffer.
        resolve(Buffer.concat(chunks, length));
      };
      const onData = (chunk: Buffer): void => {
        chunks.push(chunk);
        length += chunk.length;
        if (length <= bytesMax) return;
        stop();
        resolve(Buffer.concat(chunks, length));
      };
      const onError = (): void => {
        stop();
        reject(new ServiceError('invalidRequest', 'the request is malformed'));
      };
      raw.on('data', onData).on('end', onEnd).on('error', onError);
    });
  }

  onGone(listener: () => void): Cancel {
    this.#response.once('close', listener);
    return () => this.#response.off('close', listener);
  }
}

export function expectsContinue({ expect }: IncomingHttpHeaders): boolean {
  return expect?.toLowerCase() === '100-continue';
}
