/** `chaos` of signmesh/testing: it repeats a test with drawn faults, reduces a failure to what it needs, and replays one run. */
import { describe, expect, test } from 'vitest';
import { ChaosFailed, chaos, type TestCluster } from '../../../clients/testing/index.ts';

/** The failure of a run. */
async function failureOf(work: Promise<unknown>): Promise<ChaosFailed> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ChaosFailed);
  return error as ChaosFailed;
}

/** A client that gives up where the service asks it to repeat. */
async function hastyPayment(custody: TestCluster): Promise<void> {
  const headers = { authorization: `Bearer ${custody.token}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ provider: 'self_hosted', name: 'a', credentials: {} });
  const answer = await custody.fetch('/v1/provider-connections', { method: 'POST', headers, body });
  if (!answer.ok) throw new Error(`the service answered ${answer.status}`);
}

test('a test that holds passes every run, under faults that triggered', async () => {
  const names = new Set<string>();
  const summary = await chaos('byzantine', { seed: 'honest', runs: 3 }, async (custody) => {
    const key = await custody.makeKey().catch(() => undefined);
    if (key === undefined) return;
    names.add(Buffer.from(key.publicKey).toString('hex'));
  });
  expect(summary.runs).toBe(3);
  expect(summary.triggered).toBeGreaterThan(0);
  expect(summary.triggered).toBeLessThanOrEqual(summary.injected);
});

describe('a client that does not repeat', () => {
  test('fails in some run, which is named, reduced to one fault, and replayed alone', async () => {
    const failed = await failureOf(chaos('stormy', { seed: 'hasty', runs: 40 }, hastyPayment));
    expect(failed.faults).toHaveLength(1);
    expect(failed.message).toMatch(/^Run \d+ of chaos\('stormy', \{ seed: 'hasty' \}\) failed: \w+: /);
    expect(failed.message).toContain(`It alone: chaos('stormy', { seed: 'hasty', only: ${failed.run} }, …)`);
    expect(failed.message).toContain(JSON.stringify(failed.faults[0]));
    expect(failed.cause).toBeInstanceOf(Error);
    const again = await failureOf(chaos('stormy', { seed: 'hasty', only: failed.run }, hastyPayment));
    expect([again.run, again.message]).toEqual([failed.run, failed.message]);
  });

  test('whose failure needs no fault hears so', async () => {
    // A number of each run's own does not make it another failure.
    let orders = 1_000;
    const failed = await failureOf(
      chaos('calm', { runs: 1 }, async () => {
        orders += 1;
        throw new RangeError(`wrong in any weather after ${orders} orders`);
      }),
    );
    expect(failed.faults).toEqual([]);
    expect(failed.message).toContain('RangeError: wrong in any weather after N orders\nIt fails without any fault.');
  });
});

test('a test that takes chance from elsewhere is told that it is not deterministic', async () => {
  let calls = 0;
  const failed = await failureOf(
    chaos('calm', { runs: 1 }, async () => {
      calls += 1;
      if (calls === 1) throw new Error('once');
    }),
  );
  expect(failed.message).toMatch(/^The test is not deterministic\. Run 1 failed \(Error: once\), and .* passed\./);
});

test.each([
  ['mild', {}, 'there is no profile "mild": give calm, flaky-network, stormy, byzantine, slow-custodian'],
  ['calm', { runs: 0 }, 'runs must be a whole number from 1 on'],
  ['calm', { nodes: 1 }, 'nodes must be a whole number from 2 to 100'],
  ['calm', { times: 3 }, 'chaos has no option times; one of seed, runs, only, shrinkRuns'],
])('%s with %j is refused by name', async (profile, options, words) => {
  await expect(chaos(profile as 'calm', options as object, async () => undefined)).rejects.toThrow(words);
});
