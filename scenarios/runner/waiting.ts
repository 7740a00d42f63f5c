/** Waits of a scenario: polls the world until the condition holds, or the time is over. */
import type { CustodyBook } from './custody-book.ts';
import { readEvents, readIntent } from './custody-reads.ts';
import type { StepOf } from './format.ts';
import type { ScenarioWorld } from './world.ts';

const patienceMs = 30_000;

/** The real ids behind the scenario's names; undefined: none yet. */
export interface Names {
  session(name: string): string | undefined;
  fault(id: string): string | undefined;
  /** Whether this step has ended. */
  ended(step: string): boolean;
  readonly custody: CustodyBook;
}

/** Calls `end` when the condition holds, or with a description of the condition on timeout. */
export function awaitCondition(
  wait: StepOf<'wait'>['wait'],
  world: ScenarioWorld,
  names: Names,
  end: (failed: string | undefined) => void,
): void {
  if (wait.ms !== undefined) {
    world.ask('wait', { ms: wait.ms }, () => end(undefined));
    return;
  }
  const { within_ms: withinMs = patienceMs } = wait;
  const beganMs = world.nowMs();
  const check = () =>
    observe(wait, world, names, ({ holds, wanted, found }) => {
      if (holds) end(undefined);
      else if (world.nowMs() - beganMs >= withinMs) end(`${wanted} is waited for since ${withinMs} ms, found ${found}`);
      else world.ask('wait', { ms: world.kind === 'live' ? 50 : 5 }, check);
    });
  check();
}

interface Sight {
  readonly holds: boolean;
  readonly wanted: string;
  readonly found: string;
}

function observe(wait: StepOf<'wait'>['wait'], world: ScenarioWorld, names: Names, see: (sight: Sight) => void): void {
  const { session, state, nodes_ready: nodesReady, fired, delivered, intent, status, event, of, webhook, ended } = wait;
  const { custody } = names;
  if (session !== undefined) {
    const wanted = `session ${session} in state ${state}`;
    const id = names.session(session);
    if (id === undefined) see({ holds: false, wanted, found: 'no such session' });
    else
      world.ask('session', { sessionId: id }, (facts) =>
        see({ holds: facts?.state === state, wanted, found: facts?.state ?? 'no such session' }),
      );
  } else if (ended !== undefined) {
    see({ holds: names.ended(ended), wanted: `the end of step ${ended}`, found: 'it has not ended' });
  } else if (nodesReady !== undefined) {
    world.ask('nodesReady', {}, (count) =>
      see({ holds: count === nodesReady, wanted: `${nodesReady} nodes ready`, found: String(count) }),
    );
  } else if (fired !== undefined) {
    const wanted = `the fault ${fired}`;
    const id = names.fault(fired);
    if (id === undefined) see({ holds: false, wanted, found: 'it is not armed' });
    else world.ask('triggerCount', { id }, (count) => see({ holds: count > 0, wanted, found: 'it has not triggered' }));
  } else if (intent !== undefined) {
    const wanted = `the intent of ${intent} with the status ${status}`;
    readIntent(world, custody, intent, (found) =>
      see({ holds: found === status, wanted, found: found ?? 'no such intent' }),
    );
  } else if (event !== undefined) {
    const about = of === undefined ? '' : ` of ${of}`;
    const id = of === undefined ? undefined : custody.idOf(of);
    readEvents(world, (events) => {
      const holds = events.some(
        ({ type, resource }) => type === event && (of === undefined || (id !== undefined && resource.id === id)),
      );
      see({ holds, wanted: `the event ${event}${about}`, found: `${events.length} others` });
    });
  } else if (webhook !== undefined) {
    const id = of === undefined ? undefined : custody.idOf(of);
    world.ask('received', { name: webhook }, (all) => {
      const came = all.filter(({ status: answered }) => answered >= 200 && answered < 300);
      const holds = came.some(({ type, resource }) => type === delivered && (of === undefined || resource === id));
      const wanted = `delivery of ${delivered} to ${webhook}`;
      see({ holds, wanted, found: came.length === 0 ? 'no delivery' : came.map(({ type }) => type).join(', ') });
    });
  } else {
    world.ask('delivered', {}, (types) =>
      see({
        holds: types.includes(delivered!),
        wanted: `delivery of ${delivered}`,
        found: types.length === 0 ? 'no delivery' : [...new Set(types)].join(', '),
      }),
    );
  }
}
