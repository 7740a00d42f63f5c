/** The verdict on transfers and webhooks: each planted violation is found. */
import { createHmac, randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { type EndedTransfer, type ShownBalance, TransferRecord } from '../../../clients/load/verdict/money.ts';
import { isSigned, WebhookChecks } from '../../../clients/load/verdict/webhook-record.ts';

const balance = (text: string, pending = '0', asset = 'ETH'): ShownBalance => ({
  ...{ walletId: 'wal_1', asset, decimals: asset === 'ETH' ? 18 : 6, balance: text, pending },
});
const transfer = (intentId: string, status: string, amount = '0.1', feePaid = '0.000042'): EndedTransfer => ({
  ...{ intentId, walletId: 'wal_1', asset: 'ETH', amount, status, feeAsset: 'ETH', feePaid },
});

/** Two completed transfers and a failed one that has cost its fee. */
function recordOf(): TransferRecord {
  const record = new TransferRecord();
  for (const id of ['a', 'b', 'c']) record.accepted(id, 'wal_1', '0.1');
  for (const id of ['a', 'b']) record.ended(transfer(id, 'completed'));
  record.ended(transfer('c', 'failed'));
  return record;
}
const before = [balance('10'), balance('5', '0', 'USDC')];
const after = [balance('9.799874'), balance('5', '0', 'USDC')];
const broken = (record: TransferRecord, ends: readonly ShownBalance[] = after) =>
  record.checks(before, ends).flatMap(({ holds, name, faults }) => (holds ? [] : [[name, ...faults]]));

describe('transfers', () => {
  test('hold when every unit is explained by a transfer or a fee', () => {
    const record = recordOf();
    expect(record.open).toBe(0);
    expect(broken(record)).toEqual([]);
  });

  test.each([
    ['a unit too much left a wallet', [balance('9.799873999999999999'), after[1]!], 'explain 200126000000000000'],
    ['a fee was not taken', [balance('9.799916'), after[1]!], 'explain 200126000000000000'],
    ['another asset has moved', [after[0]!, balance('4.999999', '0', 'USDC')], '1 units of USDC left'],
    ['money stays reserved', [balance('9.799874', '0.1'), after[1]!], '0.1 ETH are still reserved'],
    ['an asset is gone', [after[0]!], 'its USDC is gone'],
  ])('break when %s', (_, ends, said) => {
    expect(broken(recordOf(), ends)).toEqual([['money', expect.stringContaining(said)]]);
  });

  test('break when one has no end, two ends, or another amount', () => {
    const lost = recordOf();
    lost.accepted('lost', 'wal_1', '0.1');
    expect(lost.open).toBe(1);
    expect(broken(lost)).toEqual([['transfers', 'lost: accepted, and no final event came']]);
    const twice = recordOf();
    twice.ended(transfer('c', 'failed'));
    expect(broken(twice)).toEqual([['transfers', 'c: ended failed and failed']]);
    const other = recordOf();
    other.ended(transfer('d', 'failed', '0.2', '0'));
    other.accepted('d', 'wal_1', '0.1');
    expect(broken(other)).toEqual([['transfers', expect.stringContaining('asked for 0.1')]]);
  });
});

describe('webhooks', () => {
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  const delivery = (key: string) => {
    const body = Buffer.from(JSON.stringify({ key }));
    const now = new Date();
    const headers = {
      'webhook-id': 'evt_1',
      'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
      // Made by another library than the one that is tested here.
      'webhook-signature': new Webhook(secret).sign('evt_1', now, body.toString()),
      'x-svc-signature': createHmac('sha256', secret).update(body).digest('hex'),
    };
    return { body, headers };
  };
  const keyOf = (event: unknown) => (event as { key: string }).key;
  const receive = (record: WebhookChecks, key: string) => {
    const { body, headers } = delivery(key);
    return record.received(body, headers, secret, keyOf);
  };

  test('hold when each event came, early, late or twice', () => {
    const record = new WebhookChecks();
    let told = 0;
    for (const key of ['early', 'late']) record.expect(key, () => (told += 1));
    expect(receive(record, 'early')).toBe(true);
    record.due('early');
    record.due('late');
    expect(record.open).toBe(1);
    for (let times = 0; times < 2; times += 1) receive(record, 'late');
    expect(told).toBe(2);
    expect(record.check()).toMatchObject({
      holds: true,
      text: expect.stringContaining('3 deliveries, 1 of them repeated'),
    });
  });

  test('break when one never came', () => {
    const record = new WebhookChecks();
    record.due('lost');
    expect(record.check()).toMatchObject({ holds: false, faults: ['lost: no webhook came'] });
  });

  test('break when a signature is not valid: another body, another secret, none', () => {
    const { body, headers } = delivery('x');
    expect(isSigned(body, headers, secret)).toBe(true);
    expect(isSigned(Buffer.from('{"key":"y"}'), headers, secret)).toBe(false);
    expect(isSigned(body, headers, `whsec_${randomBytes(32).toString('base64')}`)).toBe(false);
    for (const name of Object.keys(headers))
      expect(isSigned(body, { ...headers, [name]: undefined }, secret)).toBe(false);
    expect(isSigned(body, { ...headers, 'webhook-timestamp': '1' }, secret)).toBe(false);
    const record = new WebhookChecks();
    record.due('x');
    record.received(body, { ...headers, 'x-svc-signature': '00' }, secret, keyOf);
    expect(record.check().faults).toEqual(['evt_1: the signature is not valid', 'x: no webhook came']);
  });
});
