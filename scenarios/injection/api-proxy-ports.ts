/** What the proxies before a gateway's doors share. */
import type { ApiServerRequest, ApiServerVerdict } from '../faults/vocabulary/engine-contract.ts';

export interface ApiProxyOptions {
  /** Where callers come; port 0: any. */
  readonly listen: ApiServerAddress;
  /** Where the gateway listens now; undefined: nowhere yet. */
  readonly upstream: () => ApiServerAddress | undefined;
  /** Asked once for each request of the API. */
  readonly evaluate: (request: ApiServerRequest) => ApiServerVerdict;
}

export interface ApiServerAddress {
  readonly host: string;
  readonly port: number;
}

export const untouched: ApiServerVerdict = { fate: 'answered', delayMs: 0, faults: [] };

export function pauseFor(ms: number): Promise<void> {
  return ms === 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, ms).unref());
}
