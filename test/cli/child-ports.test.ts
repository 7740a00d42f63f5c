/** The ports of a child through its restarts: what it tries, what it gives up, and what ends `up`. */
import { describe, expect, test } from 'vitest';
import { ChildPorts, oldPortForMs } from '../../cli/up/child-ports.ts';

const variable = 'SIGNMESH_COORDINATOR_PORT';

describe('the ports of a child', () => {
  test('are any at first, and at a restart those that it reported', () => {
    const ports = new ChildPorts({ [variable]: { configured: 0 } });
    expect(ports.environment).toEqual({ [variable]: '0' });
    expect(ports.report({ [variable]: 40_001 })).toBe(true);
    expect(ports.report({ [variable]: 40_001 })).toBe(false);
    expect(ports.environment).toEqual({ [variable]: '40001' });
  });

  test('that only our processes know are tried for two seconds, then given up for any other', () => {
    const ports = new ChildPorts({ [variable]: { configured: 0 } });
    ports.report({ [variable]: 40_001 });
    expect(ports.taken(variable, true, 1_000)).toBeGreaterThan(0);
    expect(ports.taken(variable, true, 1_000 + oldPortForMs - 1)).toBeGreaterThan(0);
    expect(ports.of(variable)).toBe(40_001);
    expect(ports.taken(variable, true, 1_000 + oldPortForMs)).toBe(0);
    expect(ports.environment).toEqual({ [variable]: '0' });
    // The next loss has its own two seconds.
    expect(ports.report({ [variable]: 40_002 })).toBe(true);
    expect(ports.taken(variable, true, 9_000)).toBeGreaterThan(0);
  });

  test.each([
    ['configured', { configured: 8080 }],
    ['announced', { configured: 0, isAnnounced: true }],
  ])('that are %s end the start at once, and a restart after two seconds', (_, port) => {
    const ports = new ChildPorts({ [variable]: port });
    ports.report({ [variable]: 8080 });
    expect(ports.taken(variable, false, 1_000)).toBeUndefined();
    const restarted = new ChildPorts({ [variable]: port });
    restarted.report({ [variable]: 8080 });
    expect(restarted.taken(variable, true, 1_000)).toBeGreaterThan(0);
    expect(restarted.taken(variable, true, 1_000 + oldPortForMs)).toBeUndefined();
    expect(restarted.of(variable)).toBe(8080);
  });
});
