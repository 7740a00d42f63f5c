/** The indices of an intent: where lists, counts and other records find it in each of its states. */
import { expect, it } from 'vitest';
import { lastOf, openIntent } from '../../../../wallets/custody/intents/machine.ts';
import { type IntentRecord, intentType, txIndex } from '../../../../wallets/custody/intents/record.ts';
import type { WalletRecord } from '../../../../wallets/custody/wallets/record.ts';
import { draft } from './support/draft.ts';

const wallet = { id: 'wal_1', connectionId: 'pcn_1', addresses: [{ address: '0x1' }] } as unknown as WalletRecord;
const intent = lastOf(openIntent(draft('txi_1', wallet), { kind: 'approved' }, 0));
const indicesOf = (over: Partial<IntentRecord>) => intentType.indices({ ...intent, provider: 'self_hosted', ...over });

it('an intent is found as open until its end, and as under way while it holds a number that it will use', () => {
  const places = (over: Partial<IntentRecord>) => {
    const indices = indicesOf(over).join(' ');
    return ['open', 'flying'].filter((place) => indices.includes(place));
  };
  expect(places({ status: 'pending_approval' })).toEqual(['open']);
  expect(places({ status: 'approved' })).toEqual(['open']);
  for (const status of ['signing', 'broadcasting', 'confirming'] as const) {
    expect(places({ status })).toEqual(['open', 'flying']);
    expect(places({ status, gap: 'open' })).toEqual(['open']);
  }
  for (const status of ['completed', 'failed', 'cancelled'] as const) expect(places({ status })).toEqual([]);
  expect(places({ status: 'completed', subStatus: 'NOT_FINAL' })).toEqual(['open']);
});

it('a transaction on a chain leads to the intent that it executed or whose number it filled; a custodian’s id does not', () => {
  const filler = { id: '0xfill', rawTransaction: '0x02', signingSessionIds: [] };
  const found = (over: Partial<IntentRecord>) => indicesOf(over).filter((index) => index.startsWith(txIndex('')));
  expect(found({})).toEqual([]);
  expect(found({ providerTxId: '0xa' })).toEqual([txIndex('0xa')]);
  expect(found({ providerTxId: null, filler })).toEqual([txIndex('0xfill')]);
  expect(found({ providerTxId: '0xa', filler })).toEqual([txIndex('0xa'), txIndex('0xfill')]);
  expect(found({ providerTxId: 'bg_1', provider: 'bitgo' })).toEqual([]);
});
