/** What a tenant's request and the operator's decision make of a module's access, in every order. */
import { expect, it } from 'vitest';
import { systemPorts } from '../../../../core/actors/live/ports.ts';
import { ask, decide } from '../../../../wallets/companions/access/decide.ts';
import { decideAccess } from '../../../../wallets/companions/access/operator.ts';
import { type AccessRecord, requestFor } from '../../../../wallets/companions/access/record.ts';
import type { Change, TenantStore } from '../../../../wallets/store/contract.ts';

type Step = 'asks' | 'granted' | 'denied';

/** The status after the last step, with the types of its events; null: it changed nothing. */
function after(steps: readonly Step[], isAutomatic: boolean) {
  let record: AccessRecord = { id: 'module-access', version: 0, requests: [] };
  let last: readonly string[] | null = null;
  for (const [index, step] of steps.entries()) {
    const reporter = { nowMs: index, requestId: 'req_1', newId: (prefix: string) => `${prefix}_${index}` };
    const change: Change | undefined =
      step === 'asks'
        ? ask(record, 'vaults', null, isAutomatic, reporter).change
        : decide(record, 'vaults', step, null, reporter)?.change;
    last = change === undefined ? null : change.events!.map(({ type }) => type.replace('module_access.', ''));
    if (change !== undefined) record = change.puts![0]!.after as AccessRecord;
  }
  return [requestFor(record, 'vaults')?.status, last];
}

it.each([
  [['asks'], true, 'granted', ['requested', 'granted']],
  [['asks'], false, 'pending', ['requested']],
  [['asks', 'asks'], false, 'pending', null],
  [['asks', 'granted'], false, 'granted', ['granted']],
  [['asks', 'granted', 'granted'], false, 'granted', null],
  [['asks', 'denied'], true, 'denied', ['denied']],
  // Whom the operator has denied, the operator alone grants it.
  [['asks', 'denied', 'asks'], true, 'pending', ['requested']],
  [['asks', 'denied', 'asks', 'asks'], true, 'pending', null],
  [['asks', 'denied', 'asks', 'granted'], true, 'granted', ['granted']],
  [['denied'], true, undefined, null],
  [['granted'], false, 'granted', ['granted']],
] as const)('%j, granted at once: %s', (steps, isAutomatic, status, events) => {
  expect(after(steps, isAutomatic)).toEqual([status, events]);
});

it('the operator’s decision is made again while the tenant’s requests change, eleven times at most', async () => {
  let reads = 0;
  let refusals = 10;
  const store = {
    read: async () => {
      reads += 1;
      return { id: 'module-access', version: reads, requests: [] };
    },
    commit: async (_: string, { puts }: Change) => {
      expect(puts![0]!.after.version).toBe(reads + 1);
      refusals -= 1;
      return { committed: refusals < 0 };
    },
  } as unknown as TenantStore;
  const decided = (status: 'granted' | 'denied') =>
    decideAccess(store, { tenant: 'tn_a', module: 'vaults', status, note: 'n' }, systemPorts);
  expect(await decided('granted')).toMatchObject({ module: 'vaults', status: 'granted', note: 'n' });
  expect(reads).toBe(11);
  // There is no request to deny, and nothing to commit.
  expect([await decided('denied'), refusals]).toEqual([undefined, -1]);
  refusals = 11;
  await expect(decided('granted')).rejects.toThrow('keeps changing');
});
