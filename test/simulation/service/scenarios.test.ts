/** Scenario files that use the wallet API, in the simulated world of the whole product. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { CheckedScenario } from '../../../scenarios/runner/format.ts';
import { loadScenario } from '../../../scenarios/runner/load.ts';
import { usesWalletApi } from '../../../scenarios/runner/wallet-api-use.ts';
import type { Verdict } from '../../../scenarios/runner/world.ts';
import { searchChecks as checks } from '../../../simulation/search/wallets/scenario-checks.ts';
import { runInCustodyWorld } from '../../../simulation/service/scenario/run.ts';
import { root } from '../../cli/support/up-process.ts';
import { isThorough } from '../../support/thorough.ts';
import { addressesIn } from './support/addresses.ts';

const folder = join(root, 'scenarios');
const scenarios = readdirSync(folder)
  .filter((file) => file.endsWith('.yaml'))
  .map((file) => loadScenario(readFileSync(join(folder, file), 'utf8'), { file }))
  .filter((one) => one.worlds.includes('simulated') && usesWalletApi(one));

function scenario(steps: readonly string[], more: readonly string[] = []): CheckedScenario {
  const lines = ['scenario: x', 'about: a', 'steps:', ...steps.map((step) => `  - ${step}`), ...more];
  return loadScenario(lines.join('\n'), { file: 'x.yaml' });
}

async function verdictOf(steps: readonly string[], more: readonly string[] = []): Promise<Verdict> {
  return (await runInCustodyWorld(scenario(steps, more), { crypto: 'model', record: false })).verdict;
}

const wallets = ['{ step: treasury, call: make_wallet }', '{ step: savings, call: make_wallet, connection: treasury }'];
const pay = (more = '') => `{ step: pay, call: transfer, from: treasury, to: savings, amount: '0.1'${more} }`;

/** Solana checks signatures itself, and the model’s are none. */
const needsCurves: ReadonlySet<string> = new Set(['every-network-pays']);

test('there are at least forty', () => {
  expect(scenarios.length).toBeGreaterThanOrEqual(40);
});

test.each(scenarios.map((one) => [one.scenario, one] as const))('%s passes', async (name, one) => {
  const crypto = needsCurves.has(name) ? 'real' : 'model';
  expect((await runInCustodyWorld(one, { crypto, record: false, checks })).verdict).toEqual({ kind: 'passed' });
});

test('the books wait for what is completed and not final', async () => {
  const chain = "params: { network: 'eip155:11155111' }";
  const verdict = await verdictOf([
    ...wallets,
    `{ step: deep, api: sandbox.setConfirmations, ${chain}, body: { confirmations: 2, finality: 64 } }`,
    pay(', expect: { status: completed }'),
    `{ step: undone, api: sandbox.reorganize, ${chain}, body: { depth: 2 } }`,
  ]);
  expect(verdict).toEqual({ kind: 'passed' });
});

test('an intent that waits for many blocks tells soon that its block was undone', async () => {
  const chain = "params: { network: 'eip155:11155111' }";
  const pays = 'api: intents.get, params: { id: $treasury.id, txId: $pay.id }';
  const verdict = await verdictOf([
    ...wallets,
    `{ step: deep, api: sandbox.setConfirmations, ${chain}, body: { confirmations: 30 } }`,
    pay(', follow: false'),
    `{ step: mined, ${pays}, until: { status: confirming } }`,
    '{ step: blocks, wait: { ms: 2500 } }',
    `{ step: undone, api: sandbox.reorganize, ${chain}, body: { depth: 20 } }`,
    `{ step: told, ${pays}, until: { sub_status: REORGED }, patience_ms: 2500 }`,
  ]);
  expect(verdict).toEqual({ kind: 'passed' });
});

test('the checks of a search hold where a webhook moves, and a rule of risk gets another condition', async () => {
  const rule = (step: string, when: string) =>
    `{ step: ${step}, api: risk.putRule, body: { name: large, when: '${when}', points: 80, mode: enforce } }`;
  const one = scenario([
    ...wallets,
    '{ step: hook, call: register_webhook, events: ["transaction_intent.*"] }',
    rule('first', 'tx.amount >= units("0.2")'),
    pay(', expect: { status: completed }'),
    "{ step: moved, api: webhooks.update, params: { id: $hook.id }, body: { url: 'https://hooks.example.com/moved' } }",
    rule('second', 'true'),
    pay(', expect: { status: pending_approval }').replace('step: pay', 'step: more'),
    '{ step: refused, call: transfer, from: treasury, to: savings, amount: "1000000", expect: { http: any } }',
    '{ step: none, api: wallets.get, params: { id: $refused.id }, expect: { http: any } }',
  ]);
  const { verdict } = await runInCustodyWorld(one, { crypto: 'model', record: false, checks });
  expect(verdict).toEqual({ kind: 'passed' });
});

test('the checks of a search hold where another tenant takes what an allowance lets it', async () => {
  const rival = ', by: rival@other }';
  const policy = `api: policies.put, body: { name: default, rules: [{ id: all, effect: allow, when: "true" },
    { id: calls, effect: allow, when: 'tx.kind == "contract_call"' }] }`;
  const made = [
    '{ step: treasury, call: make_wallet }',
    `{ step: rivals, call: make_wallet${rival}`,
    `{ step: policy, ${policy} }`,
    `{ step: theirs, ${policy}${rival}`,
  ];
  const of = await addressesIn(scenario(made));
  const calls = (wallet: string, selector: string, ...words: readonly string[]) =>
    `api: intents.callContract, params: { id: $${wallet}.id }, body: { contract: '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238',
      data: '0x${selector}${words.map((word) => word.slice(2).toLowerCase().padStart(64, '0')).join('')}' }`;
  const ends = (wallet: string, step: string) =>
    `api: intents.get, params: { id: $${wallet}.id, txId: $${step}.id }, until: { status: completed }`;
  const [owner, taker] = ['treasury', 'rivals'].map((name) => of.get(name)!) as [string, string];
  const one = scenario([
    ...made,
    `{ step: lets, ${calls('treasury', '095ea7b3', taker, '0x5')} }`,
    `{ step: let, ${ends('treasury', 'lets')} }`,
    `{ step: takes, ${calls('rivals', '23b872dd', owner, taker, '0x5')}${rival}`,
    `{ step: taken, ${ends('rivals', 'takes')}${rival}`,
    '{ step: told, wait: { event: wallet.allowance_used } }',
  ]);
  const { verdict } = await runInCustodyWorld(one, { crypto: 'model', record: false, checks });
  expect(verdict).toEqual({ kind: 'passed' });
});

test('a key of a client gets new shares over a gateway, which refuses one without a scheme', async () => {
  const refresh = 'call: refresh_key, session: k, version: 2';
  const verdict = await verdictOf(
    [
      '{ step: key, call: make_key, session: k }',
      `{ step: early, ${refresh}, insist: true, expect: { error: MALFORMED } }`,
      '{ step: pay, call: sign, session: tx, key: k, expect: { reason_code: SIGNATURE_COMPLETED } }',
      `{ step: new, ${refresh}, expect: { reason_code: DKG_COMPLETED } }`,
      '{ step: more, call: sign, session: next, key: k, expect: { reason_code: SIGNATURE_COMPLETED } }',
    ],
    ['expect: [{ events: [key.version.committed] }]'],
  );
  expect(verdict).toEqual({ kind: 'passed' });
});

const again = scenarios.filter((_, index) => isThorough || index % 50 === 0);
test.each(again.map((one) => [one.scenario, one] as const))('%s gives the same run twice', async (_, one) => {
  const runs = [];
  for (let run = 0; run < 2; run += 1) runs.push(JSON.stringify(await runInCustodyWorld(one, { crypto: 'model' })));
  expect(runs[1]).toBe(runs[0]);
});

describe('a verdict', () => {
  test.each([
    ['status', pay(', expect: { status: denied }'), 'step pay: expect.status is denied, found completed'],
    [
      'http',
      pay(', follow: false, expect: { http: 200 }'),
      /^step pay: expect[.]http is 200, found intents[.]create: 201/,
    ],
    [
      'code',
      pay(', asset: DOGE, expect: { code: conflict }'),
      /^step pay: expect[.]code is conflict, found intents[.]create: 4/,
    ],
    ['a success', pay(', asset: DOGE'), /^step pay: expect[.]http is a success, found intents[.]create: 4/],
    [
      'a Retry-After',
      pay(', asset: DOGE, expect: { http: 400, retry_after_max_s: 9 }'),
      'step pay: expect.retry_after_max_s is 9, found no Retry-After',
    ],
    ['fields', pay(', expect: { fields: { amount: "0.2" } }'), 'step pay: expect.fields.amount is 0.2, found 0.1'],
  ])('names %s that is not as expected', async (_, step, what) => {
    const verdict = await verdictOf([...wallets, step]);
    expect(verdict).toMatchObject({ kind: 'failed', what: expect.stringMatching(what) });
  });

  test.each([
    ['{ intent: pay, status: denied }', /^expect\[0\]: status of pay is denied, found completed$/],
    ["{ wallet: savings, balances: { ETH: '7' } }", /^expect\[0\]: ETH of savings is 7, found /],
    [
      '{ events: [transaction_intent.completed, transaction_intent.created], of: pay }',
      /^expect\[0\]: events of pay is transaction_intent.completed, transaction_intent.created, found /,
    ],
  ])('names what is not so at the end: %s', async (expectation, what) => {
    const verdict = await verdictOf([...wallets, pay()], ['expect:', `  - ${expectation}`]);
    expect(verdict).toMatchObject({ kind: 'failed', what: expect.stringMatching(what) });
  });

  test('is stuck where what is awaited does not come', async () => {
    const verdict = await verdictOf([...wallets, '{ step: w, wait: { event: wallet.archived, within_ms: 500 } }']);
    expect(verdict).toMatchObject({ kind: 'stuck', what: expect.stringMatching(/wallet[.]archived is waited for/) });
  });

  test('says which answer a step refers to that is not there', async () => {
    const steps = [
      '{ step: none, api: wallets.get, params: { id: wal_none }, expect: { http: 404 } }',
      '{ step: next, api: wallets.get, params: { id: $none.id } }',
    ];
    expect(await verdictOf(steps)).toMatchObject({
      kind: 'failed',
      what: 'step next cannot be done: $none.id is not known: step none has no such answer',
    });
  });
});
