/**
 * The receipt of each decision: it exists whenever a signature does, and contains the model's decision, by the versions in force,
 * about this transfer. The cluster gets it with each order to sign.
 */
import { createHash } from 'node:crypto';
import type { BookedIntent } from '../../service/invariants/books.ts';
import type { ToldEvent } from '../../service/invariants/documented-ledger.ts';
import { found } from '../../service/invariants/finding.ts';
import type { Model } from './model.ts';
import type { Tenancy } from './tenancy.ts';

export interface DecidedIntent extends BookedIntent {
  readonly initiator: string;
  readonly policy_receipt: string | null;
  readonly destination: { readonly address: string };
  readonly approvals: readonly { readonly by: string; readonly decision: string }[];
  readonly approvers: readonly string[];
  readonly expires_at: string;
  readonly status_history: readonly { readonly status: string }[];
  readonly sub_status: string | null;
  readonly origin: { readonly kind: string; readonly id: string } | null;
}

interface Claims {
  readonly sub: string;
  readonly tenant: string;
  readonly purpose: string;
  readonly decision: string;
  readonly policy: { readonly id: string; readonly version: number };
  readonly also_policies?: readonly { readonly id: string; readonly version: number }[];
  readonly transaction: {
    readonly wallet_id: string;
    readonly amount: string;
    readonly asset: string;
    readonly to: string;
  };
}

const signed = ['signing', 'broadcasting', 'confirming', 'completed'];

/** Throws a Finding. */
export function checkReceipts(tenancy: Tenancy, model: Model, intents: readonly DecidedIntent[]): void {
  for (const intent of intents) {
    const { id, policy_receipt: receipt, status_history: history, origin } = intent;
    const wasSigned = history.some(({ status }) => signed.includes(status));
    if (receipt === null) {
      if (wasSigned) found('decided-as-written', `${id} was signed without a receipt`);
      continue;
    }
    const claims = JSON.parse(Buffer.from(receipt.split('.')[1]!, 'base64url').toString()) as Claims;
    checkClaims(tenancy, intent, claims);
    const decided = model.decided.get(origin?.kind === 'token-order' ? origin.id : id);
    const by = [claims.policy, ...(claims.also_policies ?? [])].map((one) => `${one.id} ${one.version}`);
    if (decided?.expected.effect !== claims.decision || decided.by.join() !== by.join()) {
      const wanted = `${decided?.expected.effect} by ${decided?.by}`;
      found('decided-as-written', `the receipt of ${id} says ${claims.decision} by ${by}, not ${wanted}`);
    }
  }
}

function checkClaims({ name }: Tenancy, intent: DecidedIntent, { sub, tenant, purpose, transaction }: Claims): void {
  const { id, wallet_id: walletId, amount, asset, destination } = intent;
  const told = [sub, tenant, purpose, transaction.wallet_id, transaction.amount, transaction.asset, transaction.to];
  const wanted = [id, name, 'transaction_intent', walletId, amount, asset, destination.address];
  if (told.join() !== wanted.join()) found('decided-as-written', `the receipt of ${id} says ${told}, not ${wanted}`);
}

/** Throws a Finding unless each session of a transfer was ordered with its receipt. */
export function checkOrdered(intents: readonly DecidedIntent[], events: readonly ToldEvent[]): void {
  const receipts = new Map(intents.map(({ id, policy_receipt: receipt }) => [id, receipt]));
  for (const { type, sequence, data } of events) {
    const receipt = type.startsWith('signing.session.') && receipts.get(data.object.transaction_intent_id as string);
    if (typeof receipt !== 'string') continue;
    const told = data.object.policy_approval_token_sha256;
    if (told === createHash('sha256').update(receipt).digest('hex')) continue;
    found('decided-as-written', `event ${sequence} ${type}: ordered with ${told}, not with the receipt of its intent`);
  }
}
