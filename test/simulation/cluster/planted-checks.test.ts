/**
 * Scenarios find a check that is gone: each check is taken out of a copy of the compiled program, and the scenario of
 * the lie that it is there for must fail. Random search has flaws of its own (planted.test.ts).
 */
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isThorough } from '../../support/thorough.ts';
import { plantedFlaws } from './support/planted.ts';
import { buildProgram, copiesFolder, type Edit, verdictsOf } from './support/program-copy.ts';

interface MissingCheck {
  readonly name: string;
  readonly edits: readonly Edit[];
  /** A file of scenarios/, without its ending. */
  readonly scenario: string;
}

/** Checks of nodes. */
const missingChecks: readonly MissingCheck[] = [
  {
    name: 'a dealer’s share',
    edits: plantedFlaws.find(({ name }) => name === 'share-unverified')!.edits,
    scenario: 'bad-share',
  },
  {
    name: 'a key’s scheme',
    edits: [
      {
        file: 'nodes/signer/signer-actor.js',
        from: "bound !== '' && wireScheme(bound) !== request.scheme",
        to: 'false',
      },
      // The memory of intents covers the scheme, and would refuse as well.
      { file: 'nodes/signer/intent-memory.js', from: '? known.digest : undefined', to: '? undefined : undefined' },
    ],
    scenario: 'coordinator-asks-another-scheme',
  },
  {
    name: 'the MAC of an order',
    edits: [{ file: 'nodes/signer/order-check.js', from: '!macHolds(key, digest, order.mac)', to: 'false' }],
    scenario: 'coordinator-makes-up-an-order',
  },
  {
    name: 'whether there is an order at all, and its MAC',
    edits: [{ file: 'nodes/signer/order-check.js', from: 'const { order } = request;', to: 'return undefined;' }],
    scenario: 'coordinator-asks-another-message',
  },
  {
    name: 'what was signed for an intent',
    edits: [
      { file: 'nodes/signer/intent-memory.js', from: '? known.digest : undefined', to: '? undefined : undefined' },
    ],
    scenario: 'redis-rolled-back-another-message',
  },
  {
    name: 'the consent to client-supplied dealers',
    edits: [
      { file: 'nodes/dkg/party.js', from: 'return allowClientDealers && !isWalletKey(session);', to: 'return true;' },
    ],
    scenario: 'coordinator-supplies-every-dealer',
  },
  {
    name: 'that a nonce leaves its pool',
    edits: [{ file: 'nodes/signer/nonce-secrets.js', from: 'pool?.delete(number);', to: '' }],
    scenario: 'coordinator-reuses-a-nonce',
  },
  {
    name: 'the scheme of an order',
    edits: [{ file: 'nodes/signer/order-check.js', from: '!isOrdered(request.scheme, order)', to: 'false' }],
    scenario: 'coordinator-asks-an-unordered-scheme',
  },
  {
    name: 'the time of an order',
    edits: [{ file: 'nodes/signer/order-check.js', from: 'nowMs >= expiresMs', to: 'false' }],
    scenario: 'order-past-its-time',
  },
  {
    name: 'the version of a share',
    edits: [{ file: 'nodes/signer/signer-actor.js', from: 'version !== (request.keyVersion || 1)', to: 'false' }],
    scenario: 'new-shares-while-a-node-dies',
  },
  {
    name: 'whether an intent has an order at the vendor',
    edits: plantedFlaws.find(({ name }) => name === 'vendor-ordered-again')!.edits,
    scenario: 'vendor-asked-again',
  },
];

/** The same of the coordinator. */
const missingCoordinatorChecks: readonly MissingCheck[] = [
  {
    name: 'the proof that a key is final',
    edits: [
      {
        file: 'coordinator/dkg/node-answers.js',
        from: 'results.length !== ids.length || byNode',
        to: 'false && byNode',
      },
      { file: 'coordinator/dkg/node-answers.js', from: '!result || !sameResult', to: 'result && !sameResult' },
      {
        file: 'coordinator/dkg/node-answers.js',
        from: '!verifyFinished(terms, result',
        to: 'result && !verifyFinished(terms, result',
      },
    ],
    scenario: 'key-claimed-final',
  },
];

const allChecks = [...missingChecks, ...missingCoordinatorChecks];
const folder = copiesFolder('planted-checks');
const runner = { file: 'scenarios/runner/simulated-world.js', name: 'runSimulated' };
beforeAll(() =>
  buildProgram(
    folder,
    allChecks.flatMap(({ edits }) => edits),
  ),
);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Every third one; all of them in a thorough run. */
const everyCheck = allChecks.filter((_, index) => isThorough || index % 3 === 0);

describe('without the check of', () => {
  const scenarios = everyCheck.map(({ scenario }) => scenario);
  let verdicts: Awaited<ReturnType<typeof verdictsOf>>;
  beforeAll(async () => {
    const planted = everyCheck.map(({ edits, scenario }) => ({ edits, scenarios: [scenario] }));
    verdicts = await verdictsOf(folder, [{ edits: [], scenarios }, ...planted], runner);
  });

  test.each(everyCheck.map((check, index) => ({ ...check, index })))(
    '$name, the scenario $scenario fails',
    ({ index }) => {
      expect(verdicts[index + 1]![0]!.kind).toMatch(/^(failed|violated)$/);
    },
  );

  test('nothing, each of them passes', () => {
    expect(verdicts[0]).toEqual(scenarios.map(() => ({ kind: 'passed' })));
  });
});
