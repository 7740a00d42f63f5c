/**
 * "Save as scenario": what the page did (console-requests.ts), as a scenario file that comes to the same end. Ids become names or references
 * to the steps that made them. What no step can say stands as a comment in its place. Pure; loaded when it is asked for.
 */
import type { Fault } from '../../../../scenarios/faults/vocabulary/fault.ts';
import type { CheckedScenario, Expectation, ScenarioStep } from '../../../../scenarios/runner/format.ts';
import { oneClient, toYaml } from '../../../../scenarios/runner/to-yaml.ts';
import type { ConsoleRequest } from '../shared/console-requests.ts';
import { SavedCluster } from './saved-cluster.ts';
import { operationAt, type SavedFile } from './saved-operations.ts';
import { SavedRequests } from './saved-requests.ts';
import { SavedSessions, type SessionFact } from './saved-sessions.ts';

export interface SavedFrom {
  readonly ownRequests: readonly ConsoleRequest[];
  /** Who the page is. */
  readonly own: ConsoleRequest['by'];
  readonly clusters: number;
  /** Of each cluster. */
  readonly nodes: number;
  /** What is known of a session at the end. */
  readonly session: (id: string) => SessionFact | undefined;
  /** The status of an intent at the end, by its id. */
  readonly intents: ReadonlyMap<string, string>;
  /** Kinds of faults that one world alone has. */
  readonly only: ReadonlyMap<string, 'simulated' | 'live'>;
}

const scenarioName = 'from-the-console';

/** The text of the file; undefined: nothing was done that a step can say. */
export function savedScenario(from: SavedFrom): string | undefined {
  const { ownRequests, nodes, clusters, only } = from;
  const steps: ScenarioStep[] = [];
  const notes = new Map<string, readonly string[]>();
  let said: string[] = [];
  const file: SavedFile = {
    put: (kind, draft) => {
      const step = `${kind}-${steps.length + 1}`;
      steps.push({ step, ...draft } as ScenarioStep);
      if (said.length > 0) notes.set(step, said);
      said = [];
      return step;
    },
    say: (text) => said.push(text),
  };
  // What was before a fresh start is gone.
  const fresh = ownRequests.findLastIndex(({ method, target, status }) => {
    const name = operationAt(method, target)?.name;
    return (name === 'sandbox.reset' || name === 'sandbox.restoreSnapshot') && status !== undefined && status < 300;
  });
  if (fresh !== -1) file.say('The sandbox was reset or restored here: what was done before is not in this file.');
  const done = ownRequests.slice(fresh + 1);
  const sessions = new SavedSessions(file, from.session);
  const cluster = new SavedCluster(file, nodes * clusters, (id) => sessions.nameOf(id));
  const requests = new SavedRequests(file, done, from.own);
  for (const request of done) {
    const found = operationAt(request.method, request.target);
    cluster.passTime(request.beganMs);
    const why =
      found === undefined
        ? 'the page knows no such operation'
        : found.name.startsWith('signing.')
          ? sessions.write(found, request)
          : found.name.startsWith('sandbox.') && found.name !== 'sandbox.createInbox'
            ? cluster.write(found, request)
            : requests.write(found, request);
    if (why !== '')
      file.say(`Not a step: ${found?.name ?? `${request.method} ${request.target.split('?')[0]}`}: ${why}.`);
  }
  requests.finals(from.intents);
  if (steps.length === 0) return undefined;
  const kinds = steps.flatMap((step) => ('inject' in step ? [only.get((step.inject as Fault).fault)] : []));
  const world = kinds.find((kind) => kind !== undefined);
  const scenario: CheckedScenario = {
    scenario: scenarioName,
    about: 'Saved from the console of a sandbox: what its page did, and its outcome.',
    worlds: world === undefined ? ['simulated', 'live'] : [world],
    cluster: {
      ...{ nodes, seed: scenarioName, partial_timeout_ms: 300, nodes_wait_ms: 2_000, client_dealers: true },
      ...(clusters > 1 && { clusters }),
    },
    faults: [],
    clients: { [oneClient]: steps },
    expect: sessions.ends() as readonly Expectation[],
  };
  return toYaml(scenario, { steps: notes, after: said });
}
