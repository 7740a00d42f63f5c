/**
 * The step of an intent whose record, or whose wallet's, something else changed in Redis: it fails as `RECORD_TAMPERED`. Nothing
 * that such a record says counts, but what its signed receipt decided is known: that is what the failed intent shows, and what it
 * had set aside is released.
 */
import { parseAmount } from '../../networks/amounts.ts';
import { assetOf, termsOfClaim } from '../../networks/assets.ts';
import type { NetworkId } from '../../networks/networks.ts';
import type { IntentKind } from '../../providers/port/kinds.ts';
import type { Change, StoreTampered, Versioned } from '../../store/contract.ts';
import { changeOf, dueOf } from './effects.ts';
import type { DecidedTransfer } from './evaluators.ts';
import { noFee } from './failures.ts';
import { failIntent, openGap, tamperedFailure } from './machine.ts';
import { decidedOf } from './order-check.ts';
import { type IntentRecord, intentType } from './record.ts';
import { type IntentStatus, intentStatuses, isFinal, isSubmitted } from './states.ts';
import type { IntentTask, StepContext } from './step-context.ts';
import { intentView } from './view.ts';

/** What is known of a tampered intent. */
interface Recovered {
  readonly record: IntentRecord;
  /** Its receipt says so: then what it had set aside is known. */
  readonly isDecided: boolean;
}

export class TamperedStep {
  readonly #context: StepContext;

  constructor(context: StepContext) {
    this.#context = context;
  }

  /** `error`: of the read that failed. Throws it for an intent that the provider may have: that one is tried again. */
  async run({ tenant, id, record }: IntentTask, error: StoreTampered): Promise<undefined> {
    const { store } = this.#context.deps;
    const own = error.recordId === id;
    const known = own ? undefined : (record ?? (await store.read(tenant, intentType, id)));
    const recovered = own ? this.#recovered(tenant, id, error.found) : known && { record: known, isDecided: true };
    if (recovered === undefined || isFinal(recovered.record.status)) {
      // What is over stays as it is stored, and is refused by its name.
      await store.commit(tenant, { due: [dueOf({ id } as IntentRecord, undefined)] });
      return;
    }
    if (!own && recovered.record.status !== 'approved' && recovered.record.status !== 'pending_approval') {
      const { status, providerTxId, gap } = recovered.record;
      if (status !== 'signing' || providerTxId !== null || gap !== undefined) throw error;
    }
    await this.#fail(tenant, recovered, error.message);
  }

  async #fail(tenant: string, { record, isDecided }: Recovered, message: string): Promise<void> {
    const { store } = this.#context.deps;
    const nowMs = this.#context.nowMs;
    const failure = tamperedFailure(message);
    const number = isSubmitted(record.status) ? await store.numberOf(tenant, record.id) : undefined;
    // Its number is settled like that of any transfer that failed (gap-step.ts).
    const hasNumber = number !== undefined && record.gap === undefined;
    const move = hasNumber ? openGap(record, failure, nowMs) : failIntent(record, failure, noFee(record), nowMs);
    const change = changeOf(this.#context.reporter(record, nowMs), move);
    const silent: Change = { ...change, ledger: [] };
    const outcome = await store.commit(tenant, isDecided ? change : silent);
    if (outcome.committed || outcome.refusal.kind !== 'insufficient') return;
    // The balances were changed as well: what was set aside stays so, and reconciliation finds the difference.
    await store.commit(tenant, silent);
  }

  #recovered(tenant: string, id: string, found: Versioned | undefined): Recovered | undefined {
    if (found === undefined) return undefined;
    const stored = { ...(found as IntentRecord), id };
    const decided = decidedOf(this.#context.deps, tenant, stored);
    const base: IntentRecord = {
      ...stored,
      status: intentStatuses.includes(stored.status) ? stored.status : ('approved' satisfies IntentStatus),
      approvals: [],
      statusHistory: Array.isArray(stored.statusHistory) ? stored.statusHistory : [],
    };
    const isDecided = typeof decided !== 'string';
    const record = isDecided ? asDecided(base, decided) : base;
    const shown = [record, withoutDetails(record)].find(isShown);
    return shown && { record: shown, isDecided };
  }
}

function isShown(record: IntentRecord): boolean {
  try {
    intentView(record);
    intentType.indices(record);
    return true;
  } catch {
    return false;
  }
}

/** Without what no receipt says, in case it is that which cannot be shown. */
function withoutDetails({ token: _, filler: __, cancellation: ___, gap: ____, ...record }: IntentRecord): IntentRecord {
  return { ...record, submission: null, feePaid: null, metadata: {}, statusHistory: [] };
}

function asDecided(base: IntentRecord, { transaction, initiator = '', approvals }: DecidedTransfer): IntentRecord {
  const { wallet_id: walletId, kind, asset, amount, network, to, fee, token } = transaction;
  return {
    ...base,
    walletId,
    kind: kind as IntentKind,
    asset,
    amount,
    units: unitsOf(amount, (assetOf(asset) ?? token)?.decimals),
    ...(token !== undefined && { token: termsOfClaim(token, network as NetworkId) }),
    network: network as NetworkId,
    destination: { address: to },
    feeReserve: {
      asset: fee?.asset ?? asset,
      units: unitsOf(fee?.limit ?? '0', assetOf(fee?.asset ?? asset)?.decimals),
    },
    // No receipt says what a replacement has set aside: that stays so, and reconciliation finds the difference.
    ...(base.replaces && { replaces: { ...base.replaces, beyond: [] } }),
    // Nor what a transfer had paid that a reorganisation has undone.
    feePaid: null,
    initiator,
    approvalsRequired: approvals?.quorum ?? 0,
    approvers: approvals?.approvers ?? [],
  };
}

/** '0' for what is no positive amount. */
function unitsOf(text: string, decimals = 0): string {
  const units = parseAmount(text, decimals);
  return typeof units === 'string' ? '0' : units.toString();
}
