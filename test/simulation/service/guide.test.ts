/** How a search of wallets is guided, and how a failing plan is made smaller: without a world, on runs that are told here. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { randomStream } from '../../../simulation/cluster/random.ts';
import { Guide, plain, readVariant, variantText } from '../../../simulation/wallet-search/guide.ts';
import { mustHappen } from '../../../simulation/wallet-search/landmarks.ts';
import { operationLandmarks, operationOf } from '../../../simulation/wallet-search/operations.ts';
import { drawPlan, type Profile, type RunPlan } from '../../../simulation/wallet-search/profiles.ts';
import { shrinkPlan, stepsOf } from '../../../simulation/wallet-search/shrink.ts';

const drawn = (seed: number, profile: Profile, favoured: readonly string[] = []) =>
  drawPlan((label) => randomStream(`${seed}/${profile}`, label), profile, favoured);
const run = (seed: number) => ({ seed, profile: 'calm', variant: plain }) as const;
const fresh = [1, 2, 3, 4].map((seed) => ({ seed, profile: 'calm' }) as const);

describe('a guide', () => {
  test('varies runs that reached something new, and no others', () => {
    const guide = new Guide();
    guide.add(run(1), ['a']);
    guide.add(run(2), ['a']);
    guide.add(run(3), ['a', 'b']);
    const variants = guide.variants(5);
    expect(variants.map(({ seed }) => seed)).toEqual([3, 1]);
    for (const { variant } of variants) expect(variant.turns).toHaveLength(1);
    expect(variants[0]!.variant.turns).not.toEqual(variants[1]!.variant.turns);
  });

  test('steers every second run towards landmarks at zero, until they are reached', () => {
    const guide = new Guide();
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
    expect(readVariant(variantText(variant))).toEqual(variant);
    expect(readVariant('')).toEqual(plain);
    for (const wrong of ['favour=nothing', 'turn=5', 'mint']) expect(readVariant(wrong)).toBeUndefined();
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
  const whole = drawn(3, 'hostile');
  const wanted = ['tn_1/0/3', 'tn_1/1/2'];
  const [kept] = whole.faults;
  const fails = (plan: RunPlan) =>
    Promise.resolve(plan.faults.includes(kept!) && wanted.every((name) => stepsOf(plan).includes(name)));

  test('keeps what it needs to fail, and nothing else', async () => {
    const { plan, runs } = await shrinkPlan(whole, fails, 500);
    expect([plan.faults, stepsOf(plan), plan.portRate, plan.tenants]).toEqual([[kept], wanted, 0, 1]);
    expect(runs).toBeLessThan(200);
  });

  test('is made smaller by so many runs and no more', async () => {
    let asked = 0;
    const counted = (plan: RunPlan) => {
      asked += 1;
      return fails(plan);
    };
    const { plan, runs } = await shrinkPlan(whole, counted, 5);
    expect([asked, runs]).toEqual([5, 5]);
    expect(await fails(plan)).toBe(true);
  });
});
