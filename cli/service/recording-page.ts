/** The page of a running sandbox: what its recording has, as the report of a run shows it (clients/report/). */
import { writeFileSync } from 'node:fs';
import type { Client } from '../../clients/client/index.ts';
import { htmlPage } from '../../clients/report/html/page.ts';
import type { RunEvent } from '../../scenarios/faults/recording.ts';
import { type RunEventJson, runEventOf } from '../../scenarios/faults/recording-json.ts';
import { errorText, Failure } from '../common/failure.ts';

/** What the API gives at once, and what a page shows without effort. */
const limit = 10_000;
const eventsMax = 100_000;

/** Resolves with the number of events. Throws a Failure when the file cannot be written. */
export async function writeRecording(client: Pick<Client, 'sandbox'>, url: string, file: string): Promise<number> {
  let events: RunEvent[] = [];
  let isWhole = true;
  let began = '';
  for (let after = 0; ; ) {
    const part = await client.sandbox.recording({ after, limit });
    began = part.began_at;
    const more = part.events.map((event) => runEventOf(event as RunEventJson));
    isWhole &&= !part.lost && events.length + more.length <= eventsMax;
    events = [...events, ...more].slice(-eventsMax);
    // What comes while it is read has its end, too.
    if (more.length < limit) break;
    after = part.next;
  }
  const { nodes } = await client.sandbox.nodes().first();
  const signers = nodes.filter(({ process }) => /(^|\/)node\/\d+$/.test(process));
  const clusters = new Set(signers.map(({ cluster }) => cluster)).size;
  const page = htmlPage({
    scenario: `signmesh at ${url}`,
    about: `Recorded since ${began}.${isWhole ? '' : ' What came first is no longer retained.'}`,
    ...{ world: 'live', seed: '', verdict: undefined },
    nodes: signers.length / Math.max(1, clusters),
    clusters: clusters > 1 ? clusters : undefined,
    tookMs: events.reduce((latest, { atMs }) => Math.max(latest, atMs), 0),
    replay: `signmesh report --url ${url} --output ${file}`,
    events,
  });
  try {
    writeFileSync(file, page);
  } catch (error) {
    throw new Failure(`Cannot write ${file}: ${errorText(error)}`);
  }
  return events.length;
}
