/**
 * Scenarios of the life of a transaction find what they are there for: each fails with its flaw planted, and passes without. One of
 * them in `npm test`, all in a thorough run.
 */
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isThorough } from '../../support/thorough.ts';
import { buildProgram, copiesFolder, type Edit, verdictsOf } from '../cluster/support/program-copy.ts';

interface PlantedScenario {
  readonly flaw: string;
  readonly edit: Edit;
  readonly scenario: string;
}

const namedKinds = {
  file: 'wallets/providers/port/kinds.js',
  from: "return isMessage(kind) || kind === 'contract_call';",
};

const everyScenario: readonly PlantedScenario[] = [
  {
    flaw: 'what a replacement moves is set aside again',
    edit: { file: 'wallets/custody/intents/replacement.js', from: 'held: heldBy(family),', to: '' },
    scenario: 'speed-up-while-the-gateway-dies',
  },
  {
    flaw: 'the first of a pair is not ended by the commit of the second',
    edit: { file: 'wallets/custody/intents/step-context.js', from: 'merge(...failures, ', to: 'merge(' },
    scenario: 'replacement-loses-its-commits',
  },
  {
    flaw: 'the initiator of a replacement votes on it',
    edit: {
      file: 'wallets/custody/intents/approval.js',
      from: "if (by === initiator)\n        return 'initiator_may_not_approve';",
      to: '',
    },
    scenario: 'speed-up-needs-its-own-votes',
  },
  {
    flaw: 'a block below the market has it all the same',
    edit: {
      file: 'wallets/providers/chains/evm-mining.lua',
      from: 'if tx.maxFee and tonumber(tx.maxFee) < price then',
      to: 'if false then',
    },
    scenario: 'market-rises-while-redis-stalls',
  },
  {
    flaw: 'an undone transaction keeps its block',
    edit: {
      file: 'wallets/providers/chains/reorganize.lua',
      from: "redis.call('HSET', tx, 'minedAtMs', nextMs)",
      to: '',
    },
    scenario: 'undone-block-while-the-gateway-dies',
  },
  {
    flaw: 'what an undone transfer spent stays spent',
    edit: { file: 'wallets/custody/intents/ledger.js', from: 'spentBy(before).map(undone)', to: '[]' },
    scenario: 'completed-transfer-undone',
  },
  {
    flaw: 'a deposit that was undone is compared as if it stood',
    edit: { file: 'wallets/companions/recon/own-side.js', from: "open?.standing === 'reverted'", to: 'false' },
    scenario: 'reconciled-while-undone',
  },
  {
    flaw: 'a new account holds less than its rent exemption',
    edit: { file: 'wallets/providers/self-hosted/solana-line.js', from: 'there + units < rentExempt', to: 'false' },
    scenario: 'rent-of-a-new-account',
  },
  {
    flaw: 'any rule allows a call',
    edit: { ...namedKinds, to: 'return isMessage(kind);' },
    scenario: 'call-needs-a-rule-that-names-it',
  },
  {
    flaw: 'any rule allows a message',
    edit: { ...namedKinds, to: "return kind === 'contract_call';" },
    scenario: 'message-needs-a-rule-that-names-it',
  },
  {
    flaw: 'a permit is no transfer',
    edit: {
      file: 'wallets/policy/policies/decide.js',
      from: 'verdicts.reduce(withTransfer)',
      to: 'verdicts[0]',
    },
    scenario: 'permit-while-the-gateway-dies',
  },
  {
    flaw: 'an external id stands for two intents',
    edit: {
      file: 'wallets/custody/intents/creation.js',
      from: 'if (externalId === undefined)\n        return [];',
      to: 'return [];',
    },
    scenario: 'external-id-while-the-gateway-dies',
  },
];

const folder = copiesFolder('planted-scenarios');
const runner = { file: 'simulation/service/scenario/run.js', name: 'runInCustodyWorld' };
const tried = everyScenario.filter((_, index) => isThorough || index === 0);

beforeAll(() =>
  buildProgram(
    folder,
    everyScenario.map(({ edit }) => edit),
  ),
);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('where', () => {
  const scenarios = tried.map(({ scenario }) => scenario);
  let verdicts: Awaited<ReturnType<typeof verdictsOf>>;
  beforeAll(async () => {
    const planted = tried.map(({ edit, scenario }) => ({ edits: [edit], scenarios: [scenario] }));
    verdicts = await verdictsOf(folder, [{ edits: [], scenarios }, ...planted], runner);
  });

  test.each(tried.map((planted, index) => ({ ...planted, index })))('$flaw, $scenario fails', ({ index }) => {
    expect(verdicts[index + 1]![0]!.kind).toMatch(/^(failed|violated|stuck)$/);
  });

  test('nothing is wrong, each of them passes', () => {
    expect(verdicts[0]).toEqual(scenarios.map(() => ({ kind: 'passed' })));
  });
});
