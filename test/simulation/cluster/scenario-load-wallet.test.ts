/** What is said of scenario files whose steps of the wallet API are wrong. */
import { expect, test } from 'vitest';
import { loadScenario } from '../../../scenarios/runner/load.ts';

const wallet = '{ step: treasury, call: make_wallet }';

function problems(...steps: readonly string[]): string {
  const lines = ['scenario: x', 'about: a', 'steps:', ...steps.map((step) => `  - ${step}`)];
  try {
    loadScenario(lines.join('\n'), { file: 'x.yaml' });
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

test.each([
  [
    ['{ step: a, api: wallets.creat, body: {} }'],
    'x.yaml:4:21 steps[0].api: "wallets.creat" is none of its values; did you mean wallets.create?',
  ],
  [['{ step: a, api: wallets.get }'], 'x.yaml:4:5 steps[0].params: id is missing; of /v1/wallets/:id'],
  [
    ["{ step: a, api: wallets.get, params: { id: x, txId: 'y' } }"],
    'steps[0].params.txId: /v1/wallets/:id has no txId; did you mean id? one of id',
  ],
  [['{ step: a, api: wallets.create }'], 'steps[0]: body is missing; POST /v1/wallets takes one'],
  [
    ["{ step: a, api: wallets.create, body: { name: a, provider_connection_id: 'nonsense', network: 'eip155:1' } }"],
    'steps[0].body.network: "eip155:1" is none of its values',
  ],
  [
    ["{ step: a, api: wallets.create, body: { name: a, provider_connection_id: 'nonsense', network: 'eip155:1' } }"],
    'steps[0].body.provider_connection_id: "nonsense" is not of the form that is taken here; a text (`pcn_` and a UUIDv7)',
  ],
  [
    ['{ step: a, api: policies.put, body: { name: default, rules: [{ id: r, effect: alow, when: "true" }] } }'],
    'steps[0].body.rules[0].effect: "alow" is none of its values; did you mean allow? one of allow, deny, require_approval',
  ],
  [
    ['{ step: a, api: wallets.list, query: { limit: 500 } }'],
    'steps[0].query.limit: "500" is not of the form that is taken here; a text (1 to 100; 50 by default)',
  ],
  [
    ['{ step: a, api: wallets.get, params: { id: $treasury.id } }'],
    'steps[0].params.id: no step treasury has an answer',
  ],
  [
    [wallet, '{ step: a, api: wallets.get, params: { id: $treasury.idd } }'],
    'steps[1].params.id: the answer of treasury has no field idd; did you mean id?',
  ],
  [
    ['{ step: a, api: wallets.get, params: { id: $treasury.id } }', wallet],
    'steps[0].params.id: treasury is used before it is made; make it in an earlier step',
  ],
  [
    [wallet, "{ step: a, call: transfer, from: tresury, to: treasury, amount: '1' }"],
    'steps[1].from: no step makes the wallet tresury; did you mean treasury? one of treasury',
  ],
  [[wallet, '{ step: a, call: vote, intent: pay }'], 'steps[1].intent: no step makes the intent pay; there is none'],
  [
    [wallet, '{ step: a, api: wallets.get, params: { id: $treasury.id }, expect: { fields: { stat: x } } }'],
    'steps[1].expect.fields.stat: the answer of a has no field stat; did you mean status?',
  ],
  [
    [wallet, '{ step: a, api: wallets.get, params: { id: $treasury.id }, key: k }'],
    'steps[1].key: wallets.get takes no Idempotency-Key; leave it out',
  ],
  [
    [wallet, '{ step: a, receiver: treasury, answers: [200] }'],
    'steps[1].receiver: no step makes the webhook treasury',
  ],
  [['{ step: a, call: register_webhook, answers: [perhaps] }'], 'steps[0].answers[0]: "perhaps" is not taken here'],
  [
    [wallet, '{ step: a, wait: { intent: treasury, status: completed } }'],
    'steps[1].wait.intent: no step makes the intent treasury',
  ],
  [
    [wallet, '{ step: a, wait: { of: treasury, ms: 1 } }'],
    'steps[1].wait.of: what is awaited of it is missing; give event or delivered',
  ],
])('%j', (steps, said) => {
  expect(problems(...steps)).toContain(said);
});

test('a call whose body is wrong on purpose is taken', () => {
  expect(
    problems('{ step: a, api: wallets.create, body: { nonsense: 1 }, unchecked: true, expect: { http: 400 } }'),
  ).toBe('');
});

test('references stand in the place of values of any kind', () => {
  const steps = [
    wallet,
    '{ step: a, api: wallets.create, body: { name: $treasury.name, provider_connection_id: $treasury.provider_connection_id, network: $treasury.network } }',
  ];
  expect(problems(...steps)).toBe('');
});
