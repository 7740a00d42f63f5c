/** How landmarks guide a search, and how a failing plan of wallets is made smaller: without a world, on runs that are told here. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { campaign } from '../../../simulation/search/campaign.ts';
import { Guide, plain, readVariant, type SeedRun, variantText } from '../../../simulation/search/guide.ts';
import { shrink } from '../../../simulation/search/shrink.ts';
import { mustHappen } from '../../../simulation/search/wallets/landmarks.ts';
import { operationLandmarks, operationOf } from '../../../simulation/search/wallets/operations.ts';
import { planOf, type WalletProfile } from '../../../simulation/search/wallets/profiles.ts';
import { type SeededPlan, stepsOf, wallets } from '../../../simulation/search/wallets/workload.ts';

const drawn = (seed: number, profile: WalletProfile, favoured: readonly string[] = []) =>
  planOf(seed, profile, { ...plain, favoured });
const run = (seed: number) => ({ seed, profile: 'calm', variant: plain }) as const;
const fresh = [1, 2, 3, 4].map(run);

describe('a guide', () => {
  test('varies runs that reached something new, and no others', () => {
    const guide = new Guide(mustHappen);
    guide.add(run(1), ['a']);
    guide.add(run(2), ['a']);
    guide.add(run(3), ['a', 'b']);
    const variants = guide.variants(5);
    expect(variants.map(({ seed }) => seed)).toEqual([3, 1]);
    for (const { variant } of variants) expect(variant.turns).toHaveLength(1);
    expect(variants[0]!.variant.turns).not.toEqual(variants[1]!.variant.turns);
  });

  test('steers every second run towards landmarks at zero, until they are reached', () => {
    const guide = new Guide(mustHappen);
    guide.add(
      run(1),
      Object.keys(mustHappen).filter((landmark) => landmark !== 'event token.frozen'),
    );
    expect(guide.steered(fresh).map(({ variant }) => variant.favoured.join())).toEqual([
      '',
      'token_freeze',
      '',
      'token_freeze',
    ]);
    guide.add(run(2), ['event token.frozen']);
    expect(guide.steered(fresh).every(({ variant }) => variant.favoured.length === 0)).toBe(true);
  });

  test('a variant has a text, and draws what it favours more often', () => {
    const variant = { favoured: ['mint', 'token_freeze'], turns: [{ from: 5, salt: 17 }] };
    expect(variantText(variant)).toBe('favour=mint,token_freeze turn=5.17');
    expect(readVariant(variantText(variant), wallets.steps)).toEqual(variant);
    expect(readVariant('', wallets.steps)).toEqual(plain);
    for (const wrong of ['favour=nothing', 'turn=5', 'mint']) expect(readVariant(wrong, wallets.steps)).toBeUndefined();
    const [usual, favoured] = [drawn(7, 'stormy'), drawn(7, 'stormy', variant.favoured)];
    expect(favoured.weights.tokens.mint).toBe(6 * usual.weights.tokens.mint!);
    expect([favoured.hasModules, favoured.faults]).toEqual([true, usual.faults]);
  });
});

test('a search counts each operation of the page, but the stream of events', () => {
  const page = readFileSync(new URL('../../../docs/wallet-api.md', import.meta.url), 'utf8');
  const named = [...page.matchAll(/^\| `((?:GET|POST|PUT|PATCH|DELETE) \/[^`]*)` \|/gm)].map(
    ([, operation]) => operation!,
  );
  const counted = Object.keys(operationLandmarks).map((landmark) => landmark.replace('operation ', ''));
  expect(counted.sort()).toEqual(named.filter((one) => one !== 'GET /v1/events/stream').sort());
  expect(operationOf('GET', '/v1/policies/default?limit=2')).toBe('operation GET /v1/policies/:id');
  expect(operationOf('GET', '/v1/events?limit=2')).toBe('operation GET /v1/events');
  expect(operationOf('POST', '/v1/signing/initiate')).toBeUndefined();
});

describe('a failing plan', () => {
  const whole: SeededPlan = { seed: 3, plan: drawn(3, 'hostile') };
  const wanted = ['tn_1/0/3', 'tn_1/1/2'];
  const [kept] = whole.plan.faults;
  const fails = ({ plan }: SeededPlan) =>
    plan.faults.includes(kept!) && wanted.every((name) => stepsOf(plan).includes(name));
  const { reductions } = wallets;

  test('keeps what it needs to fail, and nothing else', async () => {
    const { plan: shrunk, runs } = await shrink(whole, { reductions, fails, runsMax: 500 });
    const { faults, portRate, tenants } = shrunk.plan;
    expect([faults, stepsOf(shrunk.plan), portRate, tenants]).toEqual([[kept], wanted, 0, 1]);
    expect(runs).toBeLessThan(200);
  });

  test('is made smaller by so many runs and no more', async () => {
    let asked = 0;
    const counted = (plan: SeededPlan) => {
      asked += 1;
      return fails(plan);
    };
    const { plan, runs } = await shrink(whole, { reductions, fails: counted, runsMax: 5 });
    expect([asked, runs]).toEqual([5, 5]);
    expect(fails(plan)).toBe(true);
  });
});

describe('a search', () => {
  const passed = (one: SeedRun) =>
    ({ ...one, verdict: { kind: 'passed' }, tookMs: 1, landmarks: [`of ${one.seed}`] }) as const;
  const round = { fresh: 2, variants: 1 };

  test('varies after each whole round the newest run that reached something new', async () => {
    const order: string[] = [];
    const failures = await campaign({ ...wallets, round }, [1, 2, 3].map(run), {
      runAll: async (some, heard) => some.every((one) => heard(passed(one))),
      finished: ({ seed, variant }) => void order.push(`${seed}${variant.turns.length > 0 ? ' varied' : ''}`),
      isGuided: true,
      keepGoing: false,
    });
    expect([failures, order]).toEqual([[], ['1', '2', '2 varied', '3']]);
  });

  test.each([
    [false, [1, 2], [2]],
    [true, [1, 2, 3, 4], [2, 4]],
  ])('ends at its first failure, or continues for other kinds: %s', async (keepGoing, ran, kinds) => {
    const seen: number[] = [];
    const invariants = ['', '', 'a', 'a', 'b'];
    const failures = await campaign({ ...wallets, round }, fresh, {
      runAll: async (some, heard) =>
        some.every((one) => {
          const invariant = invariants[one.seed]!;
          return heard(
            invariant === '' ? passed(one) : { ...passed(one), verdict: { kind: 'violated', invariant, cause: '' } },
          );
        }),
      finished: ({ seed }) => void seen.push(seed),
      isGuided: false,
      keepGoing,
    });
    expect([seen, failures.map(({ seed }) => seed)]).toEqual([ran, kinds]);
  });
});
