/** Every provider adapter, by kind. */
import type { Redis } from 'ioredis';
import { bitgoAdapter } from './bitgo/adapter.ts';
import { SimulatedBitgo } from './bitgo/custodian.ts';
import { copperAdapter } from './copper/adapter.ts';
import { SimulatedCopper } from './copper/custodian.ts';
import { fireblocksAdapter } from './fireblocks/adapter.ts';
import { SimulatedFireblocks } from './fireblocks/custodian.ts';
import type { ProviderKind } from './port/kinds.ts';
import type { ProviderAdapter } from './port/port.ts';
import { sandboxAdapter } from './sandbox/adapter.ts';
import { CustodianRecords } from './simulated/custodian-records.ts';
import { realSleep, type Sleep } from './simulated/latency.ts';

export interface AdapterDeps {
  /** The adapter of our own signer cluster. */
  readonly selfHosted: ProviderAdapter;
  /** Where the simulated custodians keep what they were given. */
  readonly redis: Redis;
  /** The simulated custodians' latency. Default: real time. */
  readonly sleep?: Sleep;
}

export function providerAdapters(deps: AdapterDeps): ReadonlyMap<ProviderKind, ProviderAdapter> {
  const { selfHosted, redis, sleep = realSleep } = deps;
  const records = (kind: ProviderKind): CustodianRecords => new CustodianRecords(redis, kind);
  const adapters = [
    fireblocksAdapter(new SimulatedFireblocks(records('fireblocks'), sleep)),
    bitgoAdapter(new SimulatedBitgo(records('bitgo'), sleep)),
    copperAdapter(new SimulatedCopper(records('copper'), sleep)),
    selfHosted,
    sandboxAdapter(),
  ];
  return new Map(adapters.map((adapter) => [adapter.info.kind, adapter]));
}
