/** Worlds whose runs overlap in one process: each computes with its own cryptography, and gives the trace that it gives alone. */
import { expect, test } from 'vitest';
import type { Cryptography } from '../../../core/crypto/backend.ts';
import { cryptography } from '../../../core/crypto/backend.ts';
import { CustodyWorld } from '../../../simulation/service/custody-world.ts';
import { openTenant, pay } from './support/payments.ts';

async function traceOf(which: Cryptography): Promise<readonly string[]> {
  const world = new CustodyWorld({ seed: 'overlap', cryptography: which, chainBlockMs: 100 });
  const tenant = await openTenant(world);
  expect(await world.run(pay(tenant, 'small', '0.1'))).toBe('completed');
  return world.trace;
}

test('runs with the model and with real curves do not disturb each other', async () => {
  const alone = [await traceOf('model'), await traceOf('real')];
  const overlapping = await Promise.all([traceOf('model'), traceOf('real')]);
  for (const [index, trace] of overlapping.entries()) {
    const at = trace.findIndex((line, place) => line !== alone[index]![place]);
    expect([at, trace[at], trace.length]).toEqual([-1, undefined, alone[index]!.length]);
  }
  expect(cryptography()).toBe('real');
});
