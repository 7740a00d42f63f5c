/** The dependencies of the intents module, shared by its routes and its driver. */
import type { Ports } from '../../../core/actors/contract.ts';
import type { Log } from '../../../core/actors/live/ports.ts';
import type { ClusterEnvironment } from '../../../proto/roster.ts';
import type { Arrival } from '../../providers/incoming-transfers.ts';
import type { ProviderKind } from '../../providers/port/kinds.ts';
import type { CallMeta, FeeTerms, FilledGap, ProviderAdapter } from '../../providers/port/port.ts';
import type { AddressBook, TenantStore } from '../../store/contract.ts';
import type { WalletRecord } from '../wallets/public.ts';
import type { Evaluators } from './evaluators.ts';
import type { IntentOwner } from './owner.ts';
import type { IntentRecord } from './record.ts';
import type { VoteSeal } from './votes.ts';

export interface IntentDependencies extends Ports {
  readonly store: TenantStore;
  readonly adapters: ReadonlyMap<ProviderKind, ProviderAdapter>;
  readonly evaluators: Evaluators;
  readonly votes: VoteSeal;
  /** By the kind of an intent's origin. */
  readonly owners?: ReadonlyMap<string, IntentOwner>;
  readonly addressBook: Pick<AddressBook, 'ownerOf'>;
  /**
   * Uses up a number of a wallet's account with an empty transaction on these terms, and answers with it and its fee. May be repeated.
   * Throws ProviderUnavailable until the chain has it, ProviderRejected when it never will.
   */
  readonly fillGap: (meta: CallMeta, wallet: WalletRecord, number: number, fees?: FeeTerms) => Promise<FilledGap>;
  /**
   * Money has come to a wallet whose holder has not seen it: no chain of ours has brought it there. The holder gets it,
   * once for each transfer. May be repeated. Throws StoreUnavailable: then try again.
   */
  readonly arrive: (arrival: Arrival) => Promise<void>;
  readonly log: Log;
  readonly environment: ClusterEnvironment;
}

/** What the routes need of the driver. */
export interface IntentQueue {
  /** There is work: the intent as it was just committed. Returns at once. */
  enqueue(tenant: string, intent: IntentRecord, wallet: WalletRecord): void;
}
