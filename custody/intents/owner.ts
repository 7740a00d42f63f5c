/**
 * The port to a module that makes intents of its own, e.g. the mint of a token. Such an intent is approved by policy like
 * any other; its owner also decides at the moment when its signing begins, and what it decides holds in the commit that
 * begins it.
 */
import type { Reporter } from '../../api/event.ts';
import type { Change } from '../../store/contract.ts';
import type { IntentRecord } from './record.ts';

export type SigningLeave =
  /** `change` is committed with the beginning of the signing, and its guards decide about it. */
  | { readonly kind: 'granted'; readonly change: Change }
  /** The intent fails with this sub-status; `change` is committed with that. */
  | { readonly kind: 'refused'; readonly subStatus: string; readonly message: string; readonly change: Change };

export interface IntentOwner {
  /** Asked again when what it has read does not hold any more. Throws StoreUnavailable. */
  beforeSigning(tenant: string, intent: IntentRecord, reporter: Reporter): Promise<SigningLeave>;
}
