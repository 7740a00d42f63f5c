/** Every provider adapter, by kind. */
import type { Redis } from 'ioredis';
import type { ProviderKind } from './kinds.ts';
import type { ProviderAdapter } from './port.ts';
import { sandboxAdapter } from './sandbox/adapter.ts';

export interface AdapterDeps {
  /** The adapter of our own signer cluster. */
  readonly selfHosted: ProviderAdapter;
  /** Where the simulated custodians keep what they were given. */
  readonly redis: Redis;
  /** Resolves after about this time: the simulated custodians' latency. Default: real time. */
  readonly sleep?: (ms: number) => Promise<void>;
}

export function providerAdapters({ selfHosted }: AdapterDeps): ReadonlyMap<ProviderKind, ProviderAdapter> {
  const adapters = [sandboxAdapter(), selfHosted];
  return new Map(adapters.map((adapter) => [adapter.info.kind, adapter]));
}
