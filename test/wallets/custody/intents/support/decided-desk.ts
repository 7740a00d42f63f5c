/** A desk on a simulated chain with real policies and receipts. */
import type { Static } from 'typebox';
import type { NetworkId } from '../../../../../wallets/networks/networks.ts';
import { makeEvaluators } from '../../../../../wallets/policy/policies/evaluators.ts';
import type { PolicyBody } from '../../../../../wallets/policy/policies/schemas.ts';
import { nextPolicyVersion } from '../../../../../wallets/policy/policies/write-policy.ts';
import { receiptSigner } from '../../../../../wallets/policy/receipts/signer.ts';
import { done } from '../../../../support/memory-store.ts';
import { contextAt } from '../../../companions/support/handlers.ts';
import { StuckDesk } from './stuck-desk.ts';

export const receipts = receiptSigner(new Uint8Array(32).fill(3));

export type Rules = Static<typeof PolicyBody>['rules'];

/** `rules`: of the policy `default`. */
export async function deskWith(rules: Rules = [], network?: NetworkId): Promise<StuckDesk> {
  const desk = await StuckDesk.start(network, { evaluators: makeEvaluators({ signer: receipts }) });
  await desk.changeWallet({ policy: null });
  if (rules.length > 0) await policy(desk, 'default', rules);
  return desk;
}

export async function policy(desk: StuckDesk, name: string, rules: Rules): Promise<void> {
  const context = contextAt(desk.nowMs, desk.store, { tenant: desk.tenant });
  await done(desk.store, desk.tenant, (await nextPolicyVersion(context, { name, rules })).change);
}

export const read = (desk: StuckDesk, txId: string) =>
  desk.call('getTransactionIntent', { params: { id: 'wal_1', txId } });
