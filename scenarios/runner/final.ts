/** Compares the final state of the world with the expectations, when all clients are done. */
import type { LoggedEvent } from '../../core/redis/event-log.ts';
import type { CustodyBook } from './custody-book.ts';
import { custodyMismatches } from './custody-final.ts';
import type { Mismatch } from './expectations.ts';
import type { Expectation } from './format.ts';
import type { SessionBook } from './sessions.ts';
import type { ScenarioWorld, SessionFacts } from './world.ts';

export interface FinalNames {
  readonly book: SessionBook;
  readonly custody: CustodyBook;
  /** The world's id of a fault of the scenario. */
  faultId(id: string): string | undefined;
}

/** Calls `see` with every mismatch. */
export function finalMismatches(
  expectation: Expectation,
  world: ScenarioWorld,
  names: FinalNames,
  see: (wrong: readonly Mismatch[]) => void,
): void {
  gather(expectation, world, names, (found) => {
    const wrong = compare(expectation, names.book, found);
    custodyMismatches(expectation, world, names.custody, (others) => see([...wrong, ...others]));
  });
}

interface Found {
  facts: SessionFacts | undefined;
  culprits: readonly number[];
  delivered: readonly string[];
  triggerCount: number;
}

/** Asks only for the data that the expectation names. */
function gather(
  expectation: Expectation,
  world: ScenarioWorld,
  { book, faultId }: FinalNames,
  see: (f: Found) => void,
) {
  const { session, state, reason_code: code, attempts, culprits, delivered, fired } = expectation;
  const found: Found = { facts: undefined, culprits: [], delivered: [], triggerCount: 0 };
  const ids = new Map<string, string>();
  for (const name of session === undefined ? book.names : [session]) {
    const { id } = book.note(name);
    if (id !== undefined) ids.set(name, id);
  }
  const id = session === undefined ? undefined : ids.get(session);
  const asks: ((then: () => void) => void)[] = [];
  if (id !== undefined && (state ?? code ?? attempts) !== undefined) {
    asks.push((then) =>
      world.ask('session', { sessionId: id }, (facts) => {
        found.facts = facts;
        then();
      }),
    );
  }
  if (culprits !== undefined) {
    const own = new Set(ids.values());
    asks.push((then) =>
      world.ask('events', {}, (events) => {
        found.culprits = blamed(events, own);
        then();
      }),
    );
    // A session may blame a node without an event: a step within a state emits none.
    for (const one of own) {
      asks.push((then) =>
        world.ask('session', { sessionId: one }, (facts) => {
          found.culprits = [...new Set([...found.culprits, ...(facts?.culprits ?? [])])].sort((a, b) => a - b);
          then();
        }),
      );
    }
  }
  if (delivered !== undefined && expectation.webhook === undefined) {
    asks.push((then) =>
      world.ask('delivered', {}, (types) => {
        found.delivered = types;
        then();
      }),
    );
  }
  const fault = fired === undefined ? undefined : faultId(fired);
  if (fault !== undefined) {
    asks.push((then) =>
      world.ask('triggerCount', { id: fault }, (count) => {
        found.triggerCount = count;
        then();
      }),
    );
  }
  const next = (index: number): void => (index === asks.length ? see(found) : asks[index]!(() => next(index + 1)));
  next(0);
}

function compare(expectation: Expectation, book: SessionBook, found: Found): Mismatch[] {
  const { session, state, reason_code: code, attempts, culprits, signatures, delivered, fired } = expectation;
  const { trigger_count: triggerCount } = expectation;
  const of = session === undefined ? '' : ` of ${session}`;
  const wrong: Mismatch[] = [];
  const differs = (field: string, expected: unknown, actual: unknown): void => {
    wrong.push({ field: `${field}${of}`, expected: String(expected), found: String(actual) });
  };
  const { facts } = found;
  if (state !== undefined && facts?.state !== state) differs('state', state, facts?.state ?? 'no such session');
  if (code !== undefined && facts?.reasonCode !== code) {
    differs('reason_code', code, facts?.reasonCode ?? 'no such session');
  }
  if (attempts !== undefined && facts?.attempt !== attempts) {
    differs('attempts', attempts, facts?.attempt ?? 'no such session');
  }
  if (culprits !== undefined) {
    const expected = nodes([...culprits].sort((a, b) => a - b));
    if (expected !== nodes(found.culprits)) differs('culprits', expected, nodes(found.culprits));
  }
  const released = book.signatureCount(session);
  if (signatures !== undefined && released !== signatures) differs('signatures', signatures, released);
  const own = expectation.webhook === undefined ? (delivered ?? []) : [];
  const missing = own.filter((type) => !found.delivered.includes(type));
  if (missing.length > 0) {
    const came = [...new Set(found.delivered)].sort();
    differs('delivered', missing.join(', '), came.length === 0 ? 'no delivery' : came.join(', '));
  }
  if (fired === undefined) return wrong;
  const isRight = triggerCount === undefined ? found.triggerCount > 0 : found.triggerCount === triggerCount;
  if (!isRight) differs(`trigger_count of the fault ${fired}`, triggerCount ?? 'at least 1', found.triggerCount);
  return wrong;
}

/** `last`: of the last attempt; `ever`: of every attempt that has an event. */
export function blameText(last: readonly number[], ever: readonly number[]): string {
  const earlier = ever.filter((id) => !last.includes(id));
  if (earlier.length === 0) return `blames ${nodes(last)}`;
  return `blames ${nodes(last)} in its last attempt, ${nodes(earlier)} in an earlier one`;
}

function nodes(ids: readonly number[]): string {
  return ids.length === 0 ? 'no node' : `node ${ids.join(', ')}`;
}

/** The nodes that the events of these sessions blame. */
export function blamed(events: readonly LoggedEvent[], sessions: ReadonlySet<string>): readonly number[] {
  const named = events
    .filter(({ resource }) => sessions.has(resource.id))
    .flatMap(({ object }) => (object as { readonly culprits?: readonly number[] }).culprits ?? []);
  return [...new Set(named)].sort((a, b) => a - b);
}
