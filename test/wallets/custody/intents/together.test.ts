/**
 * Intents that are sent at once, with the real judges behind two gateways: what a decision has read still holds when it is
 * committed, and transfers whose rules read nothing of each other do not wait for each other.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Evaluators } from '../../../../wallets/custody/intents/evaluators.ts';
import { type WalletRecord, walletType } from '../../../../wallets/custody/wallets/record.ts';
import { makeEvaluators } from '../../../../wallets/policy/policies/evaluators.ts';
import { nextPolicyVersion } from '../../../../wallets/policy/policies/write-policy.ts';
import { update } from '../../../../wallets/store/changes.ts';
import type { JsonAnswer } from '../../../support/gateway.ts';
import { contextOf, signer } from '../../policy/policies/support/door.ts';
import { type Door, openDoor, tenant } from './support/door.ts';
import { oneEth, somewhere, startWorld, type World } from './support/world.ts';

let world: World;
let doors: Door[];
let wallet: WalletRecord;
let decisions: number;
/** Happens between the reads of a decision and its commit. */
let meanwhile: () => Promise<unknown>;

const transfer = { asset: 'ETH', amount: '1', destination: { address: somewhere } };

beforeEach(async () => {
  world = await startWorld();
  const real = makeEvaluators({ signer });
  const counted: Evaluators = {
    ...real,
    decide: async (...given) => {
      decisions += 1;
      const decided = await real.decide(...given);
      await meanwhile();
      return decided;
    },
  };
  const counting: World = { ...world, dependencies: () => world.dependencies({ evaluators: counted }) };
  doors = [await openDoor(counting), await openDoor(counting)];
  wallet = await world.wallet(tenant, { ETH: 1_000n * oneEth });
  decisions = 0;
  meanwhile = async () => {};
});

afterEach(async () => {
  for (const { app } of doors) await app.close();
  await world.stop();
});

const allow = { id: 'rest', effect: 'allow', when: 'true' } as const;
const denyWhen = (when: string) => ({ id: 'limit', effect: 'deny', when }) as const;

async function putPolicy(name: string, ...rules: Parameters<typeof nextPolicyVersion>[1]['rules']): Promise<void> {
  const { change } = await nextPolicyVersion(contextOf(world.store, tenant), { name, rules });
  expect(await world.store.commit(tenant, change)).toMatchObject({ committed: true });
}

async function putRiskRule(rule: object): Promise<void> {
  expect(await doors[0]!.evaluateTransfer('/v1/risk/rules', rule)).toMatchObject({ status: 201 });
}

/** So many transfers at the same moment, in turn through every gateway. */
async function send(count: number, of: WalletRecord = wallet): Promise<readonly JsonAnswer[]> {
  const path = `${of.id}/transaction-intents`;
  return Promise.all(Array.from({ length: count }, (_, k) => doors[k % doors.length]!.post(path, transfer)));
}

function statuses(replies: readonly JsonAnswer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, body } of replies) {
    const key = status === 201 ? body.status : `${status} ${body.error.code}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

describe('a limit on the history of a wallet', () => {
  test('of one intent an hour lets one of two through that are sent at once, every time', async () => {
    await putPolicy('default', denyWhen('history.intents_last_hour >= 1'), allow);
    for (let round = 0; round < 10; round += 1) {
      const fresh = await world.wallet(tenant, { ETH: 10n * oneEth });
      expect(statuses(await send(2, fresh))).toEqual({ approved: 1, denied: 1 });
    }
  });

  test('of three a day, or to one destination, lets three of sixteen through', async () => {
    await putPolicy('default', denyWhen('history.intents_last_day > 2'), allow);
    expect(statuses(await send(16))).toEqual({ approved: 3, denied: 13 });
    await putPolicy('default', denyWhen('history.intents_to_destination + 1 > 3'), allow);
    const other = await world.wallet(tenant, { ETH: 1_000n * oneEth });
    expect(statuses(await send(16, other))).toEqual({ approved: 3, denied: 13 });
  });

  test('that a risk rule keeps holds as well', async () => {
    await putPolicy('default', denyWhen('risk.score >= 90'), allow);
    await putRiskRule({ name: 'many', when: 'history.intents_last_hour >= 3', points: 100 });
    expect(statuses(await send(16))).toEqual({ approved: 3, denied: 13 });
  });
});

test('a limit on the available balance counts what the others have just set aside', async () => {
  await putPolicy('default', denyWhen('tx.amount * 2 > tx.available'), allow);
  const poor = await world.wallet(tenant, { ETH: 5n * oneEth });
  // 5, then 4 and 3 less the fees; of less than 3 ETH, two do not fit any more.
  const replies = await send(16, poor);
  expect(statuses(replies)).toEqual({ approved: 3, denied: 13 });
});

test('what a wallet’s balance adds to the score counts where it decides', async () => {
  // Half of the balance or more is worth 15 points: with 60 from the rule, that is 75.
  await putRiskRule({ name: 'base', when: 'true', points: 60 });
  await putPolicy('default', denyWhen('risk.score >= 75'), allow);
  const poor = await world.wallet(tenant, { ETH: 5n * oneEth });
  // An earlier intent to this destination: no first transfer any more.
  await world.intent(tenant, poor, { amount: '0.000000000000001', units: '1000' });
  expect(statuses(await send(16, poor))).toEqual({ approved: 3, denied: 13 });
});

describe('a decision is made anew', () => {
  const once = (change: () => Promise<unknown>) => {
    meanwhile = async () => {
      meanwhile = async () => {};
      await change();
    };
  };

  test('when a policy has changed since', async () => {
    once(() => putPolicy('default', denyWhen('true')));
    expect(statuses(await send(1))).toEqual({ denied: 1 });
    expect(decisions).toBe(2);
  });

  test('when the wallet has got a policy of its own, or was frozen', async () => {
    await putPolicy('strict', denyWhen('true'));
    const patch = async (over: Partial<WalletRecord>) => {
      const before = await world.store.read(tenant, walletType, wallet.id);
      const after = { ...before!, ...over, version: before!.version + 1 };
      await world.store.commit(tenant, { puts: [update(walletType, before!, after)] });
    };
    once(() => patch({ policy: 'strict' }));
    expect(statuses(await send(1))).toEqual({ denied: 1 });
    once(() => patch({ status: 'frozen' }));
    expect(statuses(await send(1))).toEqual({ '409 conflict': 1 });
  });
});

describe('many transfers of a wallet at once', () => {
  const many = 32;

  test('are decided once each where the rules read nothing of each other', async () => {
    expect(statuses(await send(many))).toEqual({ approved: many });
    expect(decisions).toBe(many);
    await putPolicy('default', denyWhen('history.intents_last_hour >= 1000'), allow);
    decisions = 0;
    expect(statuses(await send(many))).toEqual({ approved: many });
    expect(decisions).toBe(many);
  });

  test('are all decided, at a bounded cost, where every one changes what the next one reads', async () => {
    await putPolicy('default', denyWhen('tx.available < tx.amount + tx.amount'), allow);
    expect(statuses(await send(many))).toEqual({ approved: many });
    expect(decisions).toBeLessThanOrEqual(many * 5);
  });
});
