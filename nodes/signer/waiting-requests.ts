/**
 * Requests that wait for a record to be loaded, by its key, in order of arrival. Both their number and their size in
 * bytes are bounded over all keys, since a message of ed25519 can be long. Mutable, and owned by one actor state.
 */
import { ShortLivedMap } from '../../core/actors/short-lived-map.ts';

/** The most waiting requests. */
export const waitingRequestsMax = 1_024;
/** The largest total size of waiting requests' messages. */
export const waitingBytesMax = 8 * 1024 * 1024;

export class WaitingRequests<Request> {
  readonly #byKey = new ShortLivedMap<string, { readonly requests: Request[]; bytes: number }>();
  #count = 0;
  #bytes = 0;

  /** The number of waiting requests. */
  get count(): number {
    return this.#count;
  }

  /** `first`: load the record now. `full`: the request does not wait. */
  add(key: string, request: Request, bytes: number): 'first' | 'queued' | 'full' {
    if (this.#count >= waitingRequestsMax || this.#bytes + bytes > waitingBytesMax) return 'full';
    this.#count += 1;
    this.#bytes += bytes;
    const waiting = this.#byKey.get(key);
    if (waiting === undefined) {
      this.#byKey.set(key, { requests: [request], bytes });
      return 'first';
    }
    waiting.requests.push(request);
    waiting.bytes += bytes;
    return 'queued';
  }

  /** Whether requests wait for this record. */
  has(key: string): boolean {
    return this.#byKey.has(key);
  }

  /** Takes out all requests that wait for a record. */
  take(key: string): readonly Request[] {
    const waiting = this.#byKey.get(key);
    if (waiting === undefined) return [];
    this.#byKey.delete(key);
    this.#count -= waiting.requests.length;
    this.#bytes -= waiting.bytes;
    return waiting.requests;
  }
}
