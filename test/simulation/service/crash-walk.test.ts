/**
 * Each call that a gateway makes to Redis while a transaction lives is the last one of its life, before it arrives or after: the next
 * gateway ends what was begun, once, and the books are right. One call of each kind of life in `npm test`, each in a
 * thorough run.
 */
import { describe, expect, test } from 'vitest';
import { loadScenario } from '../../../scenarios/runner/load.ts';
import { searchChecks as checks } from '../../../simulation/search/wallets/scenario-checks.ts';
import { runInCustodyWorld } from '../../../simulation/service/scenario/run.ts';
import { isThorough } from '../../support/thorough.ts';
import { addressesIn } from './support/addresses.ts';

const usdc = '"0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"';
const somewhere = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8';
const quarter = `0x${(250_000).toString(16)}`;
const calling = (wallet: string, selector: string, ...words: readonly string[]) =>
  `api: intents.callContract, insist: true, params: { id: $${wallet}.id }, body: { contract: ${usdc},
    data: "0x${selector}${words.map((word) => word.slice(2).toLowerCase().padStart(64, '0')).join('')}" }`;
const chain = 'params: { network: "eip155:11155111" }';

const begin = [
  '{ step: treasury, call: make_wallet, insist: true }',
  '{ step: savings, call: make_wallet, connection: treasury, insist: true }',
  `{ step: policy, api: policies.put, insist: true, body: { name: default, rules: [{ id: all, effect: allow, when: "true" },
    { id: named, effect: allow, when: 'tx.kind == "message" || tx.kind == "contract_call"' }] } }`,
];
const stuck = [
  `{ step: low, api: intents.create, insist: true, params: { id: $treasury.id }, body: { asset: ETH, amount: "6",
    destination: { address: $savings.addresses.0.address }, max_fee_per_gas: "500000000" } }`,
  `{ step: waits, api: intents.get, insist: true, params: { id: $treasury.id, txId: $low.id },
    until: { sub_status: BELOW_MARKET_FEE } }`,
];
const ends = (step: string, status = 'completed', wallet = 'treasury') =>
  `{ step: end-of-${step}, api: intents.get, insist: true, params: { id: $${wallet}.id, txId: $${step}.id },
    until: { status: ${status} }, patience_ms: 600000 }`;

/** `of`: the address of each wallet, which every run makes alike. */
const lives: Readonly<Record<string, (of: ReadonlyMap<string, string>) => readonly string[]>> = {
  'a message': () => [
    '{ step: text, api: intents.signMessage, insist: true, params: { id: $treasury.id }, body: { message: "Sign in." } }',
    ends('text'),
  ],
  'a contract call': () => [`{ step: call, ${calling('treasury', 'a9059cbb', somewhere, quarter)} }`, ends('call')],
  'an allowance that is given and used': (of) => [
    `{ step: allows, ${calling('treasury', '095ea7b3', of.get('savings')!, quarter)} }`,
    ends('allows'),
    `{ step: takes, ${calling('savings', '23b872dd', of.get('treasury')!, of.get('savings')!, quarter)} }`,
    ends('takes', 'completed', 'savings'),
  ],
  'a speed-up': () => [
    ...stuck,
    '{ step: second, api: intents.replace, insist: true, params: { id: $treasury.id, txId: $low.id }, body: { kind: speed_up } }',
    ends('second'),
    ends('low', 'failed'),
  ],
  'a completed transfer whose block is undone': () => [
    `{ step: later, api: sandbox.setConfirmations, insist: true, ${chain}, body: { confirmations: 2, finality: 6 } }`,
    `{ step: pay, api: intents.create, insist: true, params: { id: $treasury.id }, body: { asset: USDC, amount: "5",
      destination: { address: $savings.addresses.0.address } } }`,
    ends('pay'),
    `{ step: undone, api: sandbox.reorganize, insist: true, ${chain}, body: { depth: 3 } }`,
    '{ step: told, wait: { event: transaction_intent.reorged, of: pay, within_ms: 120000 } }',
    `{ step: final, api: intents.get, insist: true, params: { id: $treasury.id, txId: $pay.id },
      until: { status: completed, sub_status: null }, patience_ms: 600000 }`,
  ],
};

const scenarioOf = (steps: readonly string[], expects: string) =>
  loadScenario(
    [
      'scenario: walk',
      'about: a',
      'worlds: [simulated]',
      'steps:',
      ...steps.map((step) => `  - ${step}`),
      expects,
    ].join('\n'),
    { file: 'walk.yaml' },
  );

/** The run whose gateway dies at the nth call from there on: what went wrong; 'none': there are fewer calls. */
async function deathAt(
  life: readonly string[],
  nth: number,
  phase: 'before' | 'after',
): Promise<'right' | 'none' | string> {
  const at = `at: { port: redis, of: gateway, phase: ${phase}, nth: ${nth} }`;
  const dies = `{ step: armed, inject: { id: dies, fault: crash, target: gateway, restart_after_ms: 300, ${at} } }`;
  const scenario = scenarioOf([...begin, dies, ...life], 'expect: [{ fired: dies, trigger_count: 1 }]');
  const { verdict } = await runInCustodyWorld(scenario, { crypto: 'model', record: false, checks });
  if (verdict.kind === 'passed') return 'right';
  const text = JSON.stringify(verdict);
  return text.includes('trigger_count of the fault dies is 1, found 0') ? 'none' : text;
}

/** The calls that are tried: one, or each. */
const some = { before: [20], after: [40] } as const;
const every = Array.from({ length: 10_000 }, (_, index) => index + 1);

describe('the gateway dies at any of its calls to Redis while it carries out', { timeout: 3_600_000 }, () => {
  test.each(Object.entries(lives))('%s', async (_name, lifeOf) => {
    const life = lifeOf(await addressesIn(scenarioOf(begin, '')));
    for (const phase of ['before', 'after'] as const) {
      let right = 0;
      for (const nth of isThorough ? every : some[phase]) {
        const end = await deathAt(life, nth, phase);
        if (end === 'none') break;
        if (end !== 'right') throw new Error(`call ${nth}, ${phase} it: ${end}`);
        right += 1;
      }
      expect(right).toBeGreaterThan(0);
    }
  });
});
