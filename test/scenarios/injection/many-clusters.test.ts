/** Several clusters as one: each fault, process and link is found in its own cluster, under its own name there. */
import { describe, expect, test } from 'vitest';
import type { ArmedStatus } from '../../../scenarios/faults/control.ts';
import type { Fault } from '../../../scenarios/faults/vocabulary/fault.ts';
import { type Injector, ManyInjectors } from '../../../scenarios/injection/many-clusters.ts';

/** Two clusters whose injectors note what they are asked; each names its own faults "flt_1", "flt_2" and so on. */
function clusters() {
  const calls: string[] = [];
  const one = (cluster: number): Injector<number> => {
    let faults: ArmedStatus[] = [];
    let named = 0;
    const note = (what: string) => void calls.push(`${cluster}: ${what}`);
    return {
      recorder: cluster,
      receiver: null,
      clockOffsetMs: cluster,
      arm: (fault) => {
        named += 1;
        const armed = { id: fault.id ?? `flt_${named}`, fault, state: 'holding' } as unknown as ArmedStatus;
        faults.push(armed);
        note(`arm ${(fault as { target?: string }).target}`);
        return armed;
      },
      list: () => faults,
      disarm: (id) => {
        note(`disarm ${id}`);
        return faults.find((each) => each.id === id);
      },
      clear: () => {
        const count = faults.length;
        faults = [];
        return count;
      },
      cut: (process) => note(`cut ${process}`),
      isLinked: (process) => process === `node/${cluster}`,
      clockOffsetOf: (process) => (process === 'node/1' ? cluster : 0),
      setClock: async (offsetMs) => note(`clock ${offsetMs}`),
      rightClocks: async (offsetMs) => note(`right ${offsetMs}`),
      step: (name) => note(`step ${name}`),
      untilLinked: async (processes) => note(`until ${processes.join(' ')}`),
    };
  };
  return { all: new ManyInjectors([one(1), one(2)]), calls };
}

const drop = (target: string, id?: string): Fault => ({ fault: 'drop', target, ...(id && { id }) }) as Fault;

describe('a fault', () => {
  test('belongs to the cluster of its target, is listed once, and ends there', () => {
    const { all, calls } = clusters();
    const first = all.arm(drop('node/1'), 1_000);
    const second = all.arm(drop('cluster/2/node/1'), 1_000);
    const named = all.arm(drop('cluster/2/node/2', 'mine'), 1_000);
    expect(calls.splice(0)).toEqual(['1: arm node/1', '2: arm node/1', '2: arm node/2']);
    expect(new Set([first.id, second.id, named.id]).size).toBe(3);
    expect(named.id).toBe('mine');
    expect(all.list().map(({ id, fault }) => [id, (fault as { target: string }).target])).toEqual([
      [first.id, 'node/1'],
      [second.id, 'cluster/2/node/1'],
      ['mine', 'cluster/2/node/2'],
    ]);
    expect(all.disarm(second.id)?.fault).toMatchObject({ target: 'cluster/2/node/1' });
    expect(calls).toEqual([`2: disarm ${second.id}`]);
    expect(all.clear()).toBe(3);
  });

  test('of a cluster that does not exist is refused', () => {
    expect(() => clusters().all.arm(drop('cluster/3/node/1'), 1_000)).toThrow(/clusters 1 to 2/);
  });
});

test('what happens to one process happens in its cluster; gateways are in each', async () => {
  const { all, calls } = clusters();
  all.cut('cluster/2/node/3');
  all.cut('gateway');
  await all.untilLinked(['node/1', 'cluster/2/node/2', 'gateway'], 1);
  expect(calls).toEqual([
    ...['2: cut node/3', '1: cut gateway', '2: cut gateway'],
    ...['1: until node/1 gateway', '2: until node/2 gateway'],
  ]);
  expect(['node/1', 'node/2', 'cluster/2/node/2', 'cluster/2/node/1'].map((name) => all.isLinked(name))).toEqual([
    true,
    false,
    true,
    false,
  ]);
  expect(['node/1', 'cluster/2/node/1', 'cluster/2/node/2'].map((name) => all.clockOffsetOf(name))).toEqual([1, 2, 0]);
});

test('clocks and steps are those of all', async () => {
  const { all, calls } = clusters();
  await all.setClock(5);
  await all.rightClocks(6);
  all.step('s');
  expect(calls).toEqual(['1: clock 5', '2: clock 5', '1: right 6', '2: right 6', '1: step s', '2: step s']);
  expect([all.recorder, all.clockOffsetMs]).toEqual([1, 1]);
});
