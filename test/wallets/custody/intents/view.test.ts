/** What an intent shows of the data that its provider's adapter left: what the signer cluster signed, and nothing else. */
import { expect, it } from 'vitest';
import { type IntentDraft, lastOf, openIntent } from '../../../../wallets/custody/intents/machine.ts';
import type { IntentRecord } from '../../../../wallets/custody/intents/record.ts';
import { intentView } from '../../../../wallets/custody/intents/view.ts';
import type { WalletRecord } from '../../../../wallets/custody/wallets/record.ts';
import { draft } from './support/draft.ts';

const wallet = { id: 'wal_1', addresses: [{ address: '0x1' }], network: 'eip155:11155111' } as unknown as WalletRecord;

function shown(over: Partial<IntentRecord>, drafted: Partial<IntentDraft> = {}) {
  const opened = lastOf(openIntent({ ...draft('txi_1', wallet), ...drafted }, { kind: 'approved' }, 0));
  return intentView({ ...opened, ...over });
}

const signed = { rawTransaction: '0x02', signingSessionIds: ['sig_1', 'sig_2'] };

it('shows the transaction that the cluster signed, with its sessions, and no other part of a submission', () => {
  const details = (submission: unknown) => shown({ submission }).provider_details;
  const view = { raw_transaction: '0x02', signing_session_ids: ['sig_1', 'sig_2'], receipt: null };
  expect(details({ ...signed, coinsHeld: ['c'] })).toEqual(view);
  for (const other of [
    null,
    {},
    { rawTransaction: '0x02' },
    { signingSessionIds: ['sig_1'] },
    { custodianId: 'c_1' },
  ]) {
    expect(details(other)).toBeNull();
  }
  const receipt = { status: 'success', contractAddress: null, logs: [{ address: '0x1', topics: ['0x2'], data: '0x' }] };
  expect(details({ ...signed, receipt })).toEqual({
    ...view,
    receipt: { status: 'success', contract_address: null, logs: receipt.logs },
  });
});
