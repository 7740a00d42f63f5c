/**
 * The port to a module that makes its own intents, e.g. the mint of a token. Such an intent needs the policy's approval like
 * any other; its owner also decides when its signing begins, and the commit that begins it contains that decision.
 */
import type { Reporter } from '../../../gateway/api/event.ts';
import type { Change } from '../../store/contract.ts';
import type { IntentRecord } from './record.ts';

export type SigningLeave =
  /** `change` is committed with the beginning of the signing, and its guards decide about it. */
  | { readonly kind: 'granted'; readonly change: Change }
  /** The intent fails with this sub-status; `change` is committed with that. */
  | { readonly kind: 'refused'; readonly subStatus: string; readonly message: string; readonly change: Change };

export interface IntentOwner {
  /**
   * The record whose version the decision about this intent guards; undefined: none. Decisions about one record take turns in a
   * process.
   */
  decidesAbout(intent: IntentRecord): string | undefined;
  /** Called again when its inputs have changed. Throws StoreUnavailable. */
  beforeSigning(tenant: string, intent: IntentRecord, reporter: Reporter): Promise<SigningLeave>;
}
