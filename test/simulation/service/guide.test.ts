/** How landmarks guide a search, and how a failing plan of wallets is made smaller: without a world, on runs that are told here. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { campaign } from '../../../simulation/search/campaign.ts';
import { CodeCoverage } from '../../../simulation/search/coverage.ts';
import { Guide, plain, readVariant, type SeedRun, variantText } from '../../../simulation/search/guide.ts';
import { shrink } from '../../../simulation/search/shrink.ts';
import { signing } from '../../../simulation/search/signing/workload.ts';
import { maySucceed } from '../../../simulation/search/wallets/effects.ts';
import { mustHappen } from '../../../simulation/search/wallets/landmarks.ts';
import { routeFinder } from '../../../simulation/search/wallets/outcomes.ts';
import { planOf, type WalletProfile } from '../../../simulation/search/wallets/profiles.ts';
import { type SeededPlan, stepsOf, wallets } from '../../../simulation/search/wallets/workload.ts';
import { CustodyWorld } from '../../../simulation/service/custody-world.ts';

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

test('a search counts each documented outcome of each operation of the page, but of the stream of events', () => {
  const page = readFileSync(new URL('../../../docs/wallet-api.md', import.meta.url), 'utf8');
  const named = [...page.matchAll(/^\| `((?:GET|POST|PUT|PATCH|DELETE) \/[^`]*)` \|/gm)].map(
    ([, operation]) => operation!,
  );
  const find = routeFinder(new CustodyWorld({ seed: 'routes' }).routes);
  const outcomes = wallets.outcomes();
  for (const operation of named.filter((one) => one !== 'GET /v1/events/stream')) {
    const [method, path] = operation.split(' ') as [string, string];
    const { operationId } = find(method, path)!;
    expect(
      outcomes.some((outcome) => outcome.startsWith(`pair ${operationId} 2`)),
      operation,
    ).toBe(true);
  }
  expect(find('GET', '/v1/policies/default?limit=2')?.operationId).toBe('getPolicy');
  expect(outcomes).toEqual(
    expect.arrayContaining(['createWallet 404', 'freezeWallet of another tenant'].map((one) => `pair ${one}`)),
  );
});

test.each([
  ['freezeWallet', 'active', 'frozen', true],
  ['freezeWallet', 'archived', 'frozen', false],
  ['approveTransactionIntent', 'completed', 'completed', true],
  ['approveTransactionIntent', 'cancelled', 'approved', false],
  ['testProviderConnection', 'disconnected', 'connected', false],
  ['rotateWebhookSecret', 'enabled', 'disabled', false],
  ['executePlan', 'proposed', 'completed', true],
  ['executePlan', 'cancelled', 'executing', false],
  ['cancelTokenOrder', 'processing', 'rejected', false],
  ['freezeToken', 'deploying', 'frozen', false],
  ['deleteWebhook', 'suspended', '-', true],
])('%s of what is %s may make it %s: %s', (operation, from, to, may) => {
  const { routes } = new CustodyWorld({ seed: 'states' });
  expect(maySucceed(routes.find(({ operationId }) => operationId === operation)!, from, to)).toBe(may);
});

/** Where test/support/native-modules.ts compiles the product. */
test('the first run of new code is found among the runs of a block, and a run with coverage is the same run', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'signmesh-coverage-'));
  const program = join(folder, 'nodes', 'program.cjs');
  mkdirSync(dirname(program));
  writeFileSync(
    program,
    'exports.run = function run(seed) { return seed > 3 ? rare() : 1; };\nfunction rare() { return 2; }\n',
  );
  const seeds = Array.from({ length: 4 }, (_, at) => ({ seed: at + 1, profile: 'stormy', variant: plain }) as const);
  const traceOf = async (one: SeedRun) =>
    (await signing.run(signing.plan(one), { crypto: 'model', record: true })).trace.map((event) =>
      JSON.stringify(event),
    );
  const without = await traceOf(seeds[0]!);
  // Its own program: what else runs in this thread is none of the product there.
  const coverage = new CodeCoverage({ root: folder, mapOf: () => undefined });
  try {
    expect(await traceOf(seeds[0]!)).toEqual(without);
    const { run: runOne } = createRequire(import.meta.url)(program) as { readonly run: (seed: number) => number };
    const replay = async (some: readonly SeedRun[]) => {
      for (const { seed } of some) runOne(seed);
    };
    const [usual, rare] = [seeds[0]!, seeds[3]!];
    const block = [usual, usual, rare, usual];
    await replay([usual]);
    expect(await coverage.first([usual], replay)).toEqual([]);
    await replay([usual]);
    expect(await coverage.first([usual], replay)).toEqual([]);
    // Replays are few: a search has many runs before.
    for (let count = 0; count < 10; count += 1) await coverage.first(block, replay);
    await replay(block);
    expect(await coverage.first(block, replay)).toEqual([rare]);
  } finally {
    coverage.stop();
    rmSync(folder, { recursive: true });
  }
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
  const round = { fresh: 2, variants: 1, block: 1 };

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
