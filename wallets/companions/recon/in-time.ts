/** A provider that never answers counts as unavailable: its job is tried again, and does not block its worker. */
import type { Timers } from '../../../core/actors/contract.ts';
import { withinLimit } from '../../../core/actors/waiting.ts';
import { ProviderUnavailable } from '../../providers/port/port.ts';
import type { ProviderStatements } from '../../providers/port/statement.ts';

/** For one request; a job that is silent for longer than a minute is dispatched again. */
export const statementWithinMs = 15_000;

export function inTime(statements: ProviderStatements, timers: Timers): ProviderStatements {
  const within = <T>(work: Promise<T>): Promise<T> =>
    withinLimit(timers, statementWithinMs, work, () => {
      throw new ProviderUnavailable('the provider gave no statement in time');
    });
  return {
    joinsBy: statements.joinsBy,
    page: (...asked) => within(statements.page(...asked)),
    find: (...asked) => within(statements.find(...asked)),
    balances: (...asked) => within(statements.balances(...asked)),
  };
}
