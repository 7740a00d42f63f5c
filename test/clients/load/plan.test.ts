/** Plans, from a file and from flags: what they become, and what is said of a wrong one. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { performLoad } from '../../../clients/load/command/perform.ts';
import { planFrom } from '../../../clients/load/command/plan.ts';
import { WrongCall } from '../../../clients/load/command/wrong-call.ts';
import { loadPlan } from '../../../clients/load/plan/file.ts';
import { temporaryFolder } from '../../cli/support/temporary.ts';

const good = `load: checkout
mix: { sign: 8, read: 2 }
stages:
  - { stage: warm, rate: 20, for: 10s }
  - { stage: climb, rate: 20, ramp_to: 200, for: 500ms }
  - { stage: peak, rate: 50, spike_to: 400, for: 1m }
  - { stage: long, rate: 50, soak: true, for: 1h }
  - { stage: callers, callers: 32, for: 10s }
  - { stage: over, times: 3, for: 10s }
thresholds: ['sign.p99@peak<50ms', 'errors<0.1%']
faults: slow-node
recover_within: 5s
`;

function faultsOf(text: string): string[] {
  try {
    loadPlan(text, 'plan.yaml');
  } catch (error) {
    return (error as Error).message.split('\n');
  }
  throw new Error('nothing was refused');
}

describe('a plan file', () => {
  test('becomes stages, a mix and thresholds', () => {
    const plan = loadPlan(good, 'plan.yaml');
    expect(plan.stages).toEqual([
      { name: 'warm', shape: 'constant', rate: 20, forMs: 10_000 },
      { name: 'climb', shape: 'ramp', rate: 20, rampTo: 200, forMs: 500 },
      { name: 'peak', shape: 'spike', rate: 50, spikeTo: 400, forMs: 60_000 },
      { name: 'long', shape: 'soak', rate: 50, forMs: 3_600_000 },
      { name: 'callers', shape: 'closed', callers: 32, forMs: 10_000 },
      { name: 'over', shape: 'times', times: 3, forMs: 10_000 },
    ]);
    expect([...plan.mix]).toEqual([
      ['sign', 8],
      ['read', 2],
    ]);
    expect(plan).toMatchObject({ name: 'checkout', api: 'rest', faults: 'slow-node', recoverWithinMs: 5000 });
    expect(plan.thresholds.map(({ metric, stage }) => [metric, stage])).toEqual([
      ['p99', 'peak'],
      ['errors', undefined],
    ]);
  });

  test.each([
    ['spike_to: 400', 'spik_to: 400', /^plan.yaml:6:30 stages\[2\].spik_to: .*did you mean spike_to/],
    ['for: 1m', 'for: 1 minute', /^plan.yaml:6:50 stages\[2\].for: /],
    ['for: 10s', 'for: 0s', /^plan.yaml:4:35 stages\[0\].for: 0s is 0/],
    ['sign: 8', 'sing: 8', /^plan.yaml:2:8 mix.sing: .*did you mean sign/],
    ['{ sign: 8, read: 2 }', '{}', /^plan.yaml:2:6 mix: the mix is empty/],
    ['callers: 32', 'callers: 32, rate: 5', /^plan.yaml:8:5 stages\[4\]: callers is a closed model/],
    ['times: 3', 'times: 3, rate: 5', /^plan.yaml:9:5 stages\[5\]: times multiply an earlier rate/],
    ['callers: 32', 'rate: 5', /^plan.yaml:9:5 stages\[5\]: times multiply the rate of a stage with callers before it/],
    ['spike_to: 400', 'spike_to: 400, ramp_to: 9', /stages\[2\]: say one of ramp_to, spike_to and soak/],
    ['rate: 20, for', 'for', /stages\[0\]: say rate/],
    ['stage: climb', 'stage: warm', /^plan.yaml:5:5 stages\[1\]: there is a stage warm before/],
    ['p99@peak', 'p99@top', /^plan.yaml:10:14 thresholds\[0\]: .* there is no stage top/],
    [
      'sign.p99@peak',
      'key.p99@peak',
      /thresholds\[0\]: key.p99@peak<50ms: this load measures no key; one of sign, InitiateSigning, /,
    ],
    ['p99@peak', 'p95@peak', /^plan.yaml:10:14 thresholds\[0\]: "p95" is no metric/],
    ['rate: 50, soak', 'rate: 50000, soak', /^plan.yaml:4:3 stages: \d+ operations arrive/],
    ['recover_within: 5s', 'recover_within: 5', /^plan.yaml:12:17 recover_within/],
  ])('is refused with line and field: %s → %s', (from, to, said) => {
    expect(good).toContain(from);
    expect(faultsOf(good.replace(from, to))).toEqual([expect.stringMatching(said)]);
  });
});

describe('the words of a command', () => {
  const noFile = () => {
    throw new Error('no file is read');
  };

  test('become the same plan', () => {
    const plan = planFrom(
      ['sign=3', 'key'],
      { rate: 5, rampTo: 9, for: '2s', threshold: ['p50<1s'], api: 'grpc' },
      noFile,
    );
    expect([...plan.mix]).toEqual([
      ['sign', 3],
      ['key', 1],
    ]);
    expect(plan.stages).toEqual([{ name: 'load', shape: 'ramp', rate: 5, rampTo: 9, forMs: 2000 }]);
    expect(plan.api).toBe('grpc');
  });

  test('are refused when there is none, with an example', () => {
    expect(() => planFrom([], { rate: 5, threshold: [] }, noFile)).toThrow('Name operations, such as "sign"');
  });

  test('may change what a file says, but not its stages', () => {
    const plan = planFrom(['plan.yaml'], { threshold: ['rate>5'], seed: 9 }, () => good);
    expect([plan.thresholds.length, plan.seed]).toEqual([3, 9]);
    expect(plan.faults).toBe('slow-node');
    expect(() => planFrom(['plan.yaml'], { threshold: [], rate: 5 }, () => good)).toThrow('has stages of its own');
  });

  test.each([
    ['slow.yaml', 'plans/slow.yaml'],
    ['../faults/slow.yml', 'faults/slow.yml'],
    ['faults/slow', 'plans/faults/slow'],
    ['/srv/slow.yaml', '/srv/slow.yaml'],
  ])('leave the faults of a file beside it: %s is %s', (said, found) => {
    const text = good.replace('faults: slow-node', `faults: ${said}`);
    expect(planFrom(['plans/plan.yaml'], { threshold: [] }, () => text).faults).toBe(found);
    expect(planFrom(['plans/plan.yaml'], { threshold: [], faults: 'own.yaml' }, () => text).faults).toBe('own.yaml');
  });

  test('of a report make its missing folders before the load begins', async () => {
    const folder = join(temporaryFolder(), 'new', 'deep');
    const flags = { threshold: [], html: join(folder, 'page.html'), baseline: '/nowhere/before.json' };
    const plan = planFrom(['sign'], { threshold: [], rate: 1 }, noFile);
    const performed = performLoad(plan, { url: 'http://127.0.0.1:1', token: '', grpc: undefined }, [], flags);
    await expect(performed).rejects.toThrow('Cannot read /nowhere/before.json');
    expect(existsSync(folder)).toBe(true);
  });

  test.each([
    [['sign=0'], { rate: 5 }, 'the weight must be above 0'],
    [['sign'], { rate: 0 }, 'nothing arrives'],
    [['read'], { rate: 5, threshold: ['sign.p99<1s'] }, 'sign.p99<1s: this load measures no sign'],
    [['sign'], { rate: 5, for: '25h' }, '--for must be a duration'],
    [['sign'], { callers: 1.5 }, 'whole number'],
    [['sign'], { rate: 5, soak: true, spikeTo: 7 }, 'Say one of --ramp-to, --spike-to and --soak'],
  ])('are refused: %s %o', (words, flags, said) => {
    const call = () => planFrom(words, { threshold: [], ...flags }, noFile);
    expect(call).toThrow(WrongCall);
    expect(call).toThrow(said);
  });
});
