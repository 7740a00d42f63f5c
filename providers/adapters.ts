/** Every provider adapter, by kind. */
import { bitgoAdapter } from './bitgo/adapter.ts';
import { SimulatedBitgo } from './bitgo/custodian.ts';
import { copperAdapter } from './copper/adapter.ts';
import { SimulatedCopper } from './copper/custodian.ts';
import { fireblocksAdapter } from './fireblocks/adapter.ts';
import { SimulatedFireblocks } from './fireblocks/custodian.ts';
import type { ProviderKind } from './port/kinds.ts';
import type { ProviderAdapter } from './port/port.ts';
import { sandboxAdapter } from './sandbox/adapter.ts';
import type { CustodianRecords } from './simulated/custodian-records.ts';
import type { Sleep } from './simulated/latency.ts';

export interface AdapterDeps {
  /** The adapter of our own signer cluster. */
  readonly selfHosted: ProviderAdapter;
  /** Where a simulated custodian keeps what it was given. */
  readonly records: (kind: ProviderKind) => CustodianRecords;
  /** The simulated custodians' latency. */
  readonly sleep: Sleep;
}

export function providerAdapters(deps: AdapterDeps): ReadonlyMap<ProviderKind, ProviderAdapter> {
  const { selfHosted, records, sleep } = deps;
  const adapters = [
    fireblocksAdapter(new SimulatedFireblocks(records('fireblocks'), sleep)),
    bitgoAdapter(new SimulatedBitgo(records('bitgo'), sleep)),
    copperAdapter(new SimulatedCopper(records('copper'), sleep)),
    selfHosted,
    sandboxAdapter(),
  ];
  return new Map(adapters.map((adapter) => [adapter.info.kind, adapter]));
}
