/** A provider that never answers a question of reconciliation is unavailable after a while. Found by a random run. */
import { expect, test } from 'vitest';
import { inTime, statementWithinMs } from '../../../../wallets/companions/recon/in-time.ts';
import { ProviderUnavailable } from '../../../../wallets/providers/port/port.ts';
import type { ProviderStatements } from '../../../../wallets/providers/port/statement.ts';
import { VirtualTimers } from '../../../support/virtual-timers.ts';

const never = new Promise<never>(() => undefined);
const silent: ProviderStatements = {
  joinsBy: 'reference',
  page: () => never,
  find: () => never,
  balances: () => never,
};
const [meta, wallet] = [{}, {}] as unknown as Parameters<ProviderStatements['balances']>;

test('a provider that never answers is unavailable after its limit', async () => {
  const time = new VirtualTimers();
  const statements = inTime(silent, time);
  const asked = [
    statements.balances(meta, wallet),
    statements.find(meta, wallet, 'out', ['key']),
    statements.page(meta, wallet, { fromMs: 0, toMs: 1, limit: 1 }),
  ].map((question) => question.catch((error: unknown) => error));
  await time.advance(statementWithinMs);
  for (const outcome of await Promise.all(asked)) expect(outcome).toBeInstanceOf(ProviderUnavailable);
});
