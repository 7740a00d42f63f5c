/** The pages that look at a sandbox through this gateway: so many at most, and they end when it stops. */
import { ServiceError } from '../api/errors/service-error.ts';

export const pagesMax = 16;
const retryAfterS = 5;

/** A place of a page, taken before its stream stands. */
export interface StreamPlace {
  /** `end`: called when the gateway stops. */
  join(end: () => void): void;
  /** Repeatable. */
  leave(): void;
}

export class StreamPlaces {
  readonly #ends = new Set<{ end: () => void }>();
  readonly #max: number;
  #stopped = false;

  constructor(max = pagesMax) {
    this.#max = max;
  }

  /** Throws ServiceError. */
  take(): StreamPlace {
    if (this.#stopped) throw new ServiceError('unavailable', 'the gateway stops: connect again');
    if (this.#ends.size >= this.#max) {
      const message = `too many streams of the sandbox: a gateway has ${this.#max}. Close a page of the console`;
      throw new ServiceError('rateLimited', message, { retryAfterS });
    }
    const place = { end: (): void => undefined };
    this.#ends.add(place);
    return {
      join: (end) => {
        place.end = end;
        if (this.#stopped) end();
      },
      leave: () => this.#ends.delete(place),
    };
  }

  /** Ends all, and gives no more. */
  stop(): void {
    this.#stopped = true;
    for (const { end } of [...this.#ends]) end();
  }
}
