/** The answer time of a simulated custodian: between 5 and 60 ms, always the same for the same call. */
import { simulatedHash } from './simulated-keys.ts';

/** Resolves after about this time. */
export type Sleep = (ms: number) => Promise<void>;

const latencyMsMin = 5;
const latencyMsMax = 60;

export function latencyMs(call: string, id: string): number {
  return latencyMsMin + (simulatedHash('latency', call, id)[0]! % (latencyMsMax - latencyMsMin + 1));
}
