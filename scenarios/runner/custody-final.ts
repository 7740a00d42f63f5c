/** Compares wallets, intents, events and webhooks with the expectations, when all clients are done. */
import type { CustodyBook } from './custody-book.ts';
import { readBalances, readEvents, readIntent } from './custody-reads.ts';
import type { Mismatch } from './expectations.ts';
import type { Expectation } from './format.ts';
import type { ScenarioWorld } from './world.ts';

type Check = (expectation: Expectation, world: ScenarioWorld, book: CustodyBook, see: See) => void;
type See = (wrong: readonly Mismatch[]) => void;

/** Calls `see` with every mismatch. */
export function custodyMismatches(
  expectation: Expectation,
  world: ScenarioWorld,
  book: CustodyBook,
  see: (wrong: readonly Mismatch[]) => void,
): void {
  const wrong: Mismatch[] = [];
  const next = (index: number): void => {
    if (index === checks.length) {
      see(wrong);
      return;
    }
    checks[index]!(expectation, world, book, (found) => {
      wrong.push(...found);
      next(index + 1);
    });
  };
  next(0);
}

const intentStatus: Check = ({ intent, status }, world, book, see) => {
  if (intent === undefined || status === undefined) return see([]);
  return readIntent(world, book, intent, (found) =>
    see(found === status ? [] : [{ field: `status of ${intent}`, expected: status, found: found ?? 'no such intent' }]),
  );
};

const balancesRight: Check = ({ wallet, balances }, world, book, see) => {
  if (wallet === undefined || balances === undefined) return see([]);
  return readBalances(world, book, wallet, (found) =>
    see(
      Object.entries(balances).flatMap(([asset, expected]) => {
        const balance = found?.[asset] ?? (found === undefined ? 'no such wallet' : '0');
        if (decimalsEqual(balance, expected)) return [];
        return [{ field: `${asset} of ${wallet}`, expected, found: balance }];
      }),
    ),
  );
};

const eventsInOrder: Check = ({ events, of }, world, book, see) => {
  if (events === undefined) return see([]);
  const id = of === undefined ? undefined : book.idOf(of);
  return readEvents(world, (all) => {
    const types = all.filter(({ resource }) => of === undefined || resource.id === id).map(({ type }) => type);
    let at = -1;
    const isInOrder = events.every((type) => {
      at = types.indexOf(type, at + 1);
      return at >= 0;
    });
    const field = of === undefined ? 'events' : `events of ${of}`;
    see(isInOrder ? [] : [{ field, expected: events.join(', '), found: types.join(', ') || 'no event' }]);
  });
};

const webhookGot: Check = ({ webhook, delivered, tries }, world, _, see) => {
  if (webhook === undefined) return see([]);
  return world.ask('received', { name: webhook }, (all) => {
    const came = new Set(all.filter(({ status }) => status >= 200 && status < 300).map(({ type }) => type));
    const missing = (delivered ?? []).filter((type) => !came.has(type));
    see([
      ...(missing.length === 0
        ? []
        : [
            {
              field: `delivered of ${webhook}`,
              expected: missing.join(', '),
              found: [...came].sort().join(', ') || 'no delivery',
            },
          ]),
      ...(tries === undefined || tries === all.length
        ? []
        : [{ field: `tries of ${webhook}`, expected: String(tries), found: String(all.length) }]),
    ]);
  });
};

const decimal = /^0*(\d+?)(?:[.](\d*?)0*)?$/;

/** Whether two texts are the same decimal: "1", "1.0" and "01.00" are. */
function decimalsEqual(one: string, other: string): boolean {
  const [a, b] = [decimal.exec(one), decimal.exec(other)];
  return a !== null && b !== null && a[1] === b[1] && (a[2] ?? '') === (b[2] ?? '');
}

const checks: readonly Check[] = [intentStatus, balancesRight, eventsInOrder, webhookGot];
