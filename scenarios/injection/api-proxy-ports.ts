/** What the proxies before a gateway's doors share. */
import type { DoorRequest, DoorVerdict } from '../faults/vocabulary/engine-contract.ts';

export interface ApiProxyOptions {
  /** Where callers come; port 0: any. */
  readonly listen: DoorAddress;
  /** Where the gateway listens now; undefined: nowhere yet. */
  readonly upstream: () => DoorAddress | undefined;
  /** Asked once for each request of the API. */
  readonly evaluate: (request: DoorRequest) => DoorVerdict;
}

export interface DoorAddress {
  readonly host: string;
  readonly port: number;
}

export const untouched: DoorVerdict = { fate: 'answered', delayMs: 0, faults: [] };

export function pauseFor(ms: number): Promise<void> {
  return ms === 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, ms).unref());
}
