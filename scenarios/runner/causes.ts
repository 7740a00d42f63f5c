/** The cause of a failed expectation: the session's own record, and the triggered faults. */
import { blamed, blameText } from './final.ts';
import type { SessionBook } from './sessions.ts';
import type { ScenarioWorld } from './world.ts';

/** `known`: text of the last answer. */
export function findCause(
  world: ScenarioWorld,
  book: SessionBook,
  session: string | undefined,
  known: string,
  see: (cause: string) => void,
): void {
  const triggered = triggeredText(world);
  const finish = (record: string) => {
    const cause = [known, record, triggered].filter((part) => part !== '').join('; ');
    see(cause === '' ? 'nothing is known of it' : cause);
  };
  const id = session === undefined ? undefined : book.note(session).id;
  if (id === undefined) {
    finish('');
    return;
  }
  world.ask('session', { sessionId: id }, (facts) => {
    if (facts === undefined) return finish(`session ${session} has no record`);
    const { state, reasonCode, attempt, culprits } = facts;
    world.ask('events', {}, (events) => {
      const ever = blamed(events, new Set([id]));
      finish(`session ${session} is ${state} ${reasonCode}, attempt ${attempt}, and ${blameText(culprits, ever)}`);
    });
  });
}

/** The faults that have triggered, in words; each once. */
function triggeredText(world: ScenarioWorld): string {
  const triggered = new Map<string, string>();
  for (const event of world.recording()) {
    if (event.kind !== 'fault' || event.what !== 'fired' || triggered.has(event.id)) continue;
    triggered.set(
      event.id,
      `${event.fault}${event.targets.length > 0 ? ` of ${event.targets.join(', ')}` : ''} at ${event.atMs} ms`,
    );
  }
  return triggered.size === 0 ? '' : `triggered: ${[...triggered.values()].slice(0, 8).join(', ')}`;
}
