/** The random search: the same seed gives the same run; on the program as it is nothing is found; failures become small. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { run as runCommand } from '../../../cli/sim.ts';
import { faultEngine } from '../../../scenarios/faults/engine.ts';
import { byzantineKinds, coordinatorKinds } from '../../../scenarios/faults/vocabulary/kinds.ts';
import type { CheckedScenario } from '../../../scenarios/runner/format.ts';
import { loadScenario } from '../../../scenarios/runner/load.ts';
import { toYaml } from '../../../scenarios/runner/to-yaml.ts';
import type { Verdict } from '../../../scenarios/runner/world.ts';
import { SimulatedNetwork } from '../../../simulation/cluster/network.ts';
import { failsAlike, shrinkFailure } from '../../../simulation/search/campaign.ts';
import { plain } from '../../../simulation/search/guide.ts';
import { profiles } from '../../../simulation/search/profiles.ts';
import { shrink } from '../../../simulation/search/shrink.ts';
import { randomScenario } from '../../../simulation/search/signing/generate.ts';
import { runChecked, runSeed, signing } from '../../../simulation/search/signing/workload.ts';
import { simpler } from '../../../simulation/search/simpler.ts';
import { smallerScenarios as reductions } from '../../../simulation/search/smaller-scenarios.ts';
import { runs } from '../../support/thorough.ts';

const seeds = (count: number, first = 1) => Array.from({ length: count }, (_, index) => first + index);

describe('random scenarios', () => {
  test('are scenarios like any other: they load again from their file, and every fault in them makes sense', () => {
    for (const profile of profiles) {
      for (const seed of seeds(runs(3, 20))) {
        const scenario = randomScenario(seed, profile);
        expect(loadScenario(toYaml(scenario), { file: scenario.scenario })).toEqual(scenario);
        const engine = faultEngine({
          nodesTotal: scenario.cluster.nodes,
          random: (length) => new Uint8Array(length),
          roster: { clusterId: '', coordinator: new Uint8Array(), gateway: new Uint8Array(), nodes: [] },
          identitySeed: () => new Uint8Array(32),
          linkTimeoutMs: 6_000,
          world: 'simulated',
        });
        for (const fault of scenario.faults) expect(() => engine.arm(fault, 0)).not.toThrow();
      }
    }
  });

  test('keep to their profile: byzantine nodes in hostile, altered frames in malformed too, and never more than a key can do without', () => {
    for (const profile of profiles) {
      const kinds = new Set(
        seeds(150).flatMap((seed) => randomScenario(seed, profile).faults.map(({ fault }) => fault)),
      );
      for (const lie of [...byzantineKinds, ...coordinatorKinds]) {
        const isAltered = lie === 'altered_answer' || lie === 'altered_request';
        const isDrawn = profile === 'hostile' || (profile === 'malformed' && isAltered);
        expect(kinds.has(lie), `${lie} in ${profile}`).toBe(isDrawn);
      }
      expect(kinds.has('clock_jump')).toBe(profile === 'hostile');
      expect(kinds.has('redis_gone')).toBe(profile === 'stormy' || profile === 'hostile');
    }
    for (const seed of seeds(150)) {
      const { faults, clients } = randomScenario(seed, 'hostile');
      const liars = new Set(
        faults.flatMap((fault) =>
          (byzantineKinds as readonly string[]).includes(fault.fault) && 'target' in fault ? [fault.target] : [],
        ),
      );
      for (const fault of faults) {
        if (fault.fault !== 'bad_share' && 'for' in fault) for (const id of fault.for ?? []) liars.add(`node/${id}`);
      }
      for (const step of Object.values(clients).flat()) {
        if (!('threshold' in step)) continue;
        expect(step.total_nodes! - step.threshold!).toBeGreaterThanOrEqual(
          step.session === 'key-fresh' ? 0 : liars.size,
        );
      }
    }
  });
});

describe('the same seed', () => {
  test('gives the same run twice, byte for byte', () => {
    for (const seed of seeds(runs(4, 60), 700)) {
      const profile = profiles[seed % profiles.length]!;
      const [one, two] = [1, 2].map(() => runSeed(seed, profile, { crypto: 'model', record: true }));
      expect(one!.events.length).toBeGreaterThan(50);
      expect(JSON.stringify(two)).toBe(JSON.stringify(one));
    }
  });

  test('gives another run than the next one, and the same whether it is recorded or not', () => {
    const [one, two] = [1, 2].map((seed) => runSeed(seed, 'stormy', { crypto: 'model', record: true }));
    expect(JSON.stringify(one!.events)).not.toBe(JSON.stringify(two!.events));
    const quiet = runSeed(1, 'stormy', { crypto: 'model', record: false });
    expect([quiet.verdict, quiet.tookMs, quiet.events]).toEqual([one!.verdict, one!.tookMs, []]);
  });
});

describe('the program as it is', () => {
  test.each(profiles)('passes %s runs, with the model of cryptography and with curves', (profile) => {
    for (const [crypto, count] of [
      // `npm test` runs more seeds by the command (test/examples/commands.test.ts).
      ['model', runs(1, 200)],
      ['real', runs(1, 20)],
    ] as const) {
      for (const seed of seeds(count)) {
        const { verdict } = runSeed(seed, profile, { crypto, record: false });
        expect({ seed, verdict }).toEqual({ seed, verdict: { kind: 'passed' } });
      }
    }
  });
});

/** What fails here: no signature of the fresh key, because no node may sign. */
function hopeless(seed: number): CheckedScenario {
  const scenario = randomScenario(seed, 'calm');
  const clients = Object.fromEntries(
    Object.entries(scenario.clients).map(([name, steps]) => [
      name,
      steps.map((step) => (step.step === 'fresh-signature' ? { ...step, directive: 'FORCE_DENIED' as const } : step)),
    ]),
  );
  return { ...scenario, clients };
}

describe('a failure', () => {
  test('shrinks to the few steps that matter, the same every time, and runs again from its file', async () => {
    const scenario = hopeless(5);
    const { verdict } = runChecked(scenario, { crypto: 'model', record: false });
    expect(verdict.kind).toBe('failed');
    const one = await shrinkFailure(signing, scenario, verdict, { crypto: 'model', runsMax: 200 });
    expect(one).toEqual(await shrinkFailure(signing, scenario, verdict, { crypto: 'model', runsMax: 200 }));
    expect(one.plan.faults).toEqual([]);
    expect(
      Object.values(one.plan.clients)
        .flat()
        .map(({ step }) => step),
    ).toEqual(['fresh-key', 'fresh-signature']);
    const again = loadScenario(toYaml(one.plan), { file: 'again.yaml' });
    expect(failsAlike(verdict, runChecked(again, { crypto: 'model', record: false }).verdict)).toBe(true);
  });

  test('of the simulation itself is one of that seed, and shrinks like others', async () => {
    let seen = 0;
    const send = vi.spyOn(SimulatedNetwork.prototype, 'send').mockImplementation(() => {
      seen += 1;
      if (seen % 10 === 0) throw new TypeError('a planted bug');
    });
    const scenario = randomScenario(5, 'calm');
    const { verdict } = runChecked(scenario, { crypto: 'model', record: false });
    const cause = expect.stringMatching(/^TypeError: a planted bug\n.* at /);
    expect(verdict).toEqual({ kind: 'violated', invariant: 'no-bugs', cause });
    const shrunk = await shrinkFailure(signing, scenario, verdict, { crypto: 'model', runsMax: 60 });
    send.mockRestore();
    expect(shrunk.runs).toBeLessThanOrEqual(60);
    expect(Object.values(shrunk.plan.clients).flat().length).toBeLessThan(
      Object.values(scenario.clients).flat().length,
    );
  });

  test('keeps what it leans on, and makes numbers small: without running anything', async () => {
    const whole = randomScenario(11, 'stormy');
    const { plan: scenario, runs } = await shrink(whole, {
      reductions,
      fails: ({ faults, clients }) =>
        faults.some(({ fault }) => fault === whole.faults[0]!.fault) &&
        Object.values(clients)
          .flat()
          .some((step) => 'call' in step && step.call === 'sign'),
      runsMax: 5_000,
    });
    expect(runs).toBeLessThan(5_000);
    expect(scenario.faults).toHaveLength(1);
    const steps = Object.values(scenario.clients).flat();
    expect(steps.map((step) => 'call' in step && step.call).sort()).toEqual(['make_key', 'sign']);
    expect(() => loadScenario(toYaml(scenario), { file: 'small.yaml' })).not.toThrow();
  });

  test('takes no more runs than it may', async () => {
    const whole = randomScenario(2, 'stormy');
    expect((await shrink(whole, { reductions, fails: () => false, runsMax: 17 })).runs).toBe(17);
    expect((await shrink(whole, { reductions, fails: () => true, runsMax: 0 })).runs).toBe(0);
  });

  test('is told apart from another by invariant, step and expectation', () => {
    const violated = (invariant: string): Verdict => ({ kind: 'violated', invariant, cause: 'x' });
    expect(failsAlike(violated('a'), violated('a'))).toBe(true);
    expect(failsAlike(violated('a'), violated('b'))).toBe(false);
    expect(failsAlike({ kind: 'passed' }, { kind: 'passed' })).toBe(false);
    const stuck = (what: string): Verdict => ({ kind: 'stuck', what, cause: '' });
    expect(failsAlike(stuck('step s waits for 1'), stuck('step s waits for 2'))).toBe(true);
    expect(failsAlike(stuck('step s waits'), stuck('step t waits'))).toBe(false);
  });

  test('has numbers made smaller towards the least that makes sense, and never the other way', () => {
    expect(simpler({ fault: 'clock_jump', by_ms: -100 })).toContainEqual({ fault: 'clock_jump', by_ms: -50 });
    expect(simpler({ fault: 'pause', for_ms: 1 })).toEqual([]);
    expect(simpler({ at: { point: 'call', nth: 3 } })).toContainEqual({ at: { point: 'call', nth: 1 } });
    expect(simpler({ at: { point: 'call' } })).toEqual([{}]);
  });
});

describe('signmesh sim', () => {
  const folder = mkdtempSync(join(tmpdir(), 'signmesh-sim-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  async function command(...args: string[]): Promise<{ code: number; out: string }> {
    let out = '';
    const spy = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
      out += String(text);
      return true;
    });
    const quiet = vi.spyOn(process.stderr, 'write').mockImplementation(() => true);
    try {
      return { code: await runCommand(args), out };
    } finally {
      spy.mockRestore();
      quiet.mockRestore();
    }
  }

  test('runs seeds of a profile and says that nothing was found', async () => {
    const { code, out } = await command('--seeds', '2', '--profile', 'calm', '--out', folder);
    expect(out).toMatch(/^2 runs, \d+ s of virtual time in .* runs\/s\): nothing found\n$/);
    expect(code).toBe(0);
  });

  test('prints the trace of one seed on standard output, one line an event, the same every time', async () => {
    const trace = await command('--seed', '4', '--profile', 'stormy', '--trace');
    expect(trace.code).toBe(0);
    const lines = trace.out.trimEnd().split('\n');
    expect(lines.length).toBeGreaterThan(50);
    for (const line of lines) expect(line).toMatch(/^[ *!] +\d+\.\d{3} {2}\w+ /);
    expect(await command('--seed', '4', '--profile', 'stormy', '--trace')).toEqual(trace);
    expect(await command('--seed', '4', '--trace')).toEqual(trace);
  });

  test('a variation has the clients of its seed, and other faults and times', () => {
    const [one, other] = [randomScenario(5, 'stormy'), randomScenario(5, 'stormy', 1)];
    expect(other.clients.c1).toEqual(one.clients.c1);
    expect(other.faults).not.toEqual(one.faults);
    expect(other.cluster.seed).not.toBe(one.cluster.seed);
    expect(randomScenario(5, 'stormy', 1)).toEqual(other);
  });

  test('refuses what makes no sense, by the option', async () => {
    await expect(command('--variation', '2')).rejects.toThrow('--seed');
    await expect(command('--seed', '1', '--variant', 'turn=x')).rejects.toThrow('--variant');
    await expect(command('--world', 'wallets', '--profile', 'malformed')).rejects.toThrow('calm, stormy, hostile');
    await expect(command('--plan', 'x')).rejects.toThrow('--world wallets');
    await expect(command('--world', 'wallets', '--plan', 'x', '--trace')).rejects.toThrow('no plan of a search');
    await expect(command('--seeds', 'many')).rejects.toThrow(/--seeds.*number/);
    await expect(command('--profile', 'sunny')).rejects.toThrow(/calm, stormy, hostile, malformed, all/);
    await expect(command('--trace')).rejects.toThrow('--seed');
    await expect(command('--seed', '1', '--seeds', '2')).rejects.toThrow('either');
  });

  test('says of a failure what it contradicts, how to run it again, and where its scenario is', async () => {
    const { explainFailure, failureLine } = await import('../../../cli/sim/failures.ts');
    let out = '';
    const spy = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
      out += String(text);
      return true;
    });
    const verdict: Verdict = { kind: 'violated', invariant: 'no-bugs', cause: 'it threw' };
    const failure = { seed: 9, profile: 'calm', variant: plain, verdict, tookMs: 1, landmarks: [] } as const;
    const options = { world: 'signing', crypto: 'model', shrinkRuns: 3, out: folder, note: () => undefined } as const;
    await explainFailure(signing, failure, options);
    spy.mockRestore();
    expect(failureLine(failure)).toBe('seed 9, profile calm: violated no-bugs: it threw');
    expect(out).toContain('signmesh sim --seed 9 --profile calm --crypto model --trace');
    const path = join(folder, 'random-calm-9.yaml');
    expect(out).toContain(`signmesh scenario run ${path} --crypto model`);
    expect(loadScenario(readFileSync(path, 'utf8'), { file: path }).scenario).toBe('random-calm-9');
  });
});
