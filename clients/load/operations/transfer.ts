/**
 * Transfers of wallets with keys on the cluster: from the order through policy and signature to the chain's confirmation, or the
 * order alone, whose end is checked after the load. Each order has an idempotency key, so that the client can repeat it after a
 * lost answer.
 */
import type { Event, Intent } from '../../client/generated-api.ts';
import type { Client } from '../../client/index.ts';
import { failureOf } from '../calls/call-failed.ts';
import { followEvents } from '../calls/event-stream.ts';
import { answered, type HttpClient } from '../calls/http.ts';
import type { LoadTarget } from '../calls/target.ts';
import { TransferRecord } from '../verdict/money.ts';
import { each, pause } from './at-once.ts';
import { type Observe, type Operation, Unexpected } from './operation.ts';
import { balancesOf, makeWallets } from './wallets.ts';

/** So many wallets that transfers rarely wait for each other's account numbers, as with many customers. */
const wallets = 8;
const amount = '0.00001';
const destination = '0x00000000000000000000000000000000000b0b00';
const taken = 'confirming';
const finals = ['completed', 'failed', 'denied', 'rejected', 'expired', 'cancelled'];
const endWithinMs = 60_000;
const settledAtOnce = 8;
const settleEveryMs = 250;

interface TransferKind {
  readonly provider?: 'sandbox' | 'self_hosted';
  /** An operation ends with the answer to its order. */
  readonly ordersOnly?: boolean;
}

export async function transferOperation(
  http: HttpClient,
  client: Client,
  target: LoadTarget,
  name: () => string,
  { provider = 'self_hosted', ordersOnly = false }: TransferKind = {},
): Promise<Operation> {
  const made = (await makeWallets(client, provider, wallets)).map(({ id }) => id);
  const before = await balancesOf(client, made);
  const record = new TransferRecord();
  const waiting = new Map<string, (status: string) => void>();
  /** The last status of intents that no call waits for. */
  const early = new Map<string, string>();
  /** Orders without an answer. */
  const unanswered = new Map<string, string>();
  let turn = 0;

  const stop = await followEvents(
    target.url,
    target.token,
    [taken, ...finals].map((status) => `transaction_intent.${status}`),
    (event) => followed(event),
  );

  function followed({ type, resource, data }: Event): void {
    const intent = data.object as Intent;
    if (!made.includes(intent.wallet_id)) return;
    const status = type.slice('transaction_intent.'.length);
    const { asset, fee } = intent;
    if (status !== taken) {
      record.ended({
        ...{ intentId: resource.id, walletId: intent.wallet_id, asset, amount: intent.amount, status },
        ...{ feeAsset: fee.asset, feePaid: fee.paid ?? '0' },
      });
    }
    const resolve = waiting.get(resource.id);
    waiting.delete(resource.id);
    if (resolve === undefined) early.set(resource.id, status);
    else resolve(status);
  }

  /** Resolves with the status of the next event: the provider took it, or its end. */
  function next(intentId: string): Promise<string> {
    const known = early.get(intentId);
    if (known !== undefined) {
      early.delete(intentId);
      return Promise.resolve(known);
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(intentId);
        reject(new Unexpected('no final event'));
      }, endWithinMs);
      waiting.set(intentId, (status) => {
        clearTimeout(timer);
        resolve(status);
      });
    });
  }

  async function order(walletId: string, key: string): Promise<Intent> {
    const body = `{"asset":"ETH","amount":"${amount}","destination":{"address":"${destination}"}}`;
    const answer = await http.send('POST', `/v1/wallets/${walletId}/transaction-intents`, body, key);
    const intent = answered<Intent>(answer, 201);
    unanswered.delete(key);
    record.accepted(intent.id, walletId, amount);
    return intent;
  }

  async function run(observe: Observe): Promise<void> {
    turn += 1;
    const walletId = made[turn % made.length]!;
    const key = name();
    unanswered.set(key, walletId);
    const intent = await observe('POST transaction-intents', () => order(walletId, key)).catch((error: unknown) => {
      if (failureOf(error).effect === 'none') unanswered.delete(key);
      throw error;
    });
    if (ordersOnly) return;
    const first = await observe('until the provider took it', () => next(intent.id));
    const status = await observe('until the final event', async () => (first === taken ? next(intent.id) : first));
    if (status !== 'completed') throw new Unexpected(status);
  }

  return {
    run,
    async settle(untilMs) {
      while (performance.now() < untilMs) {
        await each([...unanswered], settledAtOnce, ([key, walletId]) =>
          order(walletId, key).then(
            () => undefined,
            (error: unknown) => {
              if (failureOf(error).effect === 'none') unanswered.delete(key);
            },
          ),
        );
        if (unanswered.size === 0 && record.open === 0) return;
        await pause(settleEveryMs);
      }
    },
    async checks() {
      const checks = record.checks(before, await balancesOf(client, made));
      if (unanswered.size === 0) return checks;
      const name = 'orders';
      const text = `${unanswered.size} orders never had an answer`;
      return [...checks, { name, holds: false, text, faults: [...unanswered.keys()].slice(0, 10) }];
    },
    close: stop,
  };
}
