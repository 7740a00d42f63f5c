/**
 * A run as JSON lines, for programs: the run, each event, the verdict. Names are in snake_case; the order of fields is
 * fixed; the same run gives the same bytes. Times are milliseconds of scenario time.
 *
 *     {"type":"run","format":1,"scenario":"crash-before-partial","about":"…","world":"simulated","seed":"7","nodes":5,"events":412,"took_ms":830}
 *     {"type":"frame","at_ms":12.5,"arrives_ms":[14],"from":"node/2","to":"signing/tn_a/sig_1","point":"partial_reply","tenant":"tn_a","session":"sig_1","attempt":1,"bytes":211,"text":"…","faults":["f1"]}
 *     {"type":"actor","at_ms":14,"address":"node/2","event":"signer.signed","level":"info","fields":{"attempt":1}}
 *     {"type":"state","at_ms":14,"address":"signing/tn_a/sig_1","state":"collecting","fields":{"epoch":0}}
 *     {"type":"process","at_ms":15,"process":"node/2","what":"down","text":"…"}
 *     {"type":"fault","at_ms":15,"id":"f1","fault":"crash","targets":["node/2"],"what":"fired","text":"…"}
 *     {"type":"step","at_ms":0,"client":"c1","step":"sign","what":"began","session":"sig_1","text":"…"}
 *     {"type":"delivery","at_ms":90,"event":"signing.session.completed","session":"sig_1","status":200,"text":""}
 *     {"type":"violation","at_ms":91,"invariant":"a nonce signs once","text":"…"}
 *     {"type":"verdict","verdict":"failed","what":"…","cause":"…","exit_code":10,"replay":"signmesh scenario run …"}
 *
 * The verdict has `what` when it failed or is stuck, `also` with the further expectations that do not hold, `invariant` when
 * one was violated, and `cause` unless it passed.
 */
import type { RunEvent } from '../../scenarios/faults/recording.ts';
import { type Run, verdictExitCodes } from '../../scenarios/runner/world.ts';
import { sortedFields } from './plain.ts';

/** One line at a time, without its end. */
export function* jsonLines(run: Run): Generator<string> {
  const { scenario, about, world, seed, nodes, clusters, events, tookMs, verdict, replay } = run;
  yield line({
    type: 'run',
    format: 1,
    scenario,
    about,
    world,
    seed,
    nodes,
    ...(clusters !== undefined && { clusters }),
    events: events.length,
    took_ms: tookMs,
  });
  for (const event of events) yield line(eventObject(event));
  const { kind, ...words } = verdict;
  yield line({ type: 'verdict', verdict: kind, ...words, exit_code: verdictExitCodes[kind], replay });
}

/** Some readers also end a line at some of these, and none of them belongs on a terminal. */
function line(object: object): string {
  return JSON.stringify(object).replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (separator) => `\\u${separator.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The names and the order of the format. */
function eventObject(event: RunEvent): object {
  const head = { type: event.kind, at_ms: event.atMs };
  switch (event.kind) {
    case 'frame': {
      const { arrivesMs, from, to, point, tenant, session, attempt, bytes, text, faults } = event;
      return { ...head, arrives_ms: arrivesMs, from, to, point, tenant, session, attempt, bytes, text, faults };
    }
    case 'actor': {
      const { address, type, level, fields } = event;
      return { ...head, address, event: type, level, fields: Object.fromEntries(sortedFields(fields)) };
    }
    case 'state': {
      const { address, state, fields } = event;
      return { ...head, address, state, fields: Object.fromEntries(sortedFields(fields)) };
    }
    case 'process': {
      const { process, what, text } = event;
      return { ...head, process, what, text };
    }
    case 'fault': {
      const { id, fault, targets, what, text } = event;
      return { ...head, id, fault, targets, what, text };
    }
    case 'step': {
      const { client, step, what, session, text } = event;
      return { ...head, client, step, what, session, text };
    }
    case 'delivery': {
      const { event: type, session, status, text } = event;
      return { ...head, event: type, session, status, text };
    }
    case 'violation': {
      const { invariant, text } = event;
      return { ...head, invariant, text };
    }
  }
}
