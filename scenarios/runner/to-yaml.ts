/** Writes a scenario as a readable file that loads to the same scenario. */
import { Document, isMap, isSeq, type Node, type Pair, visit } from 'yaml';
import type { CheckedScenario } from './format.ts';
import type { ScenarioFile } from './shape.ts';
import { clusterConstants, optionalSettings } from './terms.ts';

/** The client of a scenario that has `steps`. */
export const oneClient = 'client';

/** Lists and mappings that fit are written on one line. */
const flowCharsMax = 100;

/** The first line of every scenario file: editors find the schema by it. */
export const schemaHeader = '# yaml-language-server: $schema=./schema.json';

/** What a file says in comments: lines before it, before a step by its name, and at the end. */
export interface FileNotes {
  readonly before?: readonly string[];
  readonly steps?: ReadonlyMap<string, readonly string[]>;
  readonly after?: readonly string[];
}

/** Text that `loadScenario` reads as the same scenario, without defaults. */
export function toYaml(scenario: CheckedScenario, notes: FileNotes = {}): string {
  const { about, worlds, cluster, faults, clients, expect } = scenario;
  const names = Object.keys(clients);
  const isOne = names.length === 1 && names[0] === oneClient;
  const settings = {
    ...(cluster.nodes === 5 ? {} : { nodes: cluster.nodes }),
    ...(cluster.clusters === undefined ? {} : { clusters: cluster.clusters }),
    ...(cluster.seed === scenario.scenario ? {} : { seed: cluster.seed }),
    ...(cluster.partial_timeout_ms === 300 ? {} : { partial_timeout_ms: cluster.partial_timeout_ms }),
    ...(cluster.nodes_wait_ms === 2000 ? {} : { nodes_wait_ms: cluster.nodes_wait_ms }),
    ...(cluster.client_dealers ? {} : { client_dealers: false }),
    ...givenOnly(cluster),
  };
  const document = new Document(
    {
      scenario: scenario.scenario,
      about,
      ...(worlds.length === 2 ? {} : { worlds }),
      ...(Object.keys(settings).length === 0 ? {} : { cluster: settings }),
      ...(faults.length === 0 ? {} : { faults }),
      ...(isOne ? { steps: clients[oneClient] } : { clients }),
      ...(expect.length === 0 ? {} : { expect }),
    },
    { aliasDuplicateObjects: false },
  );
  visit(document, {
    Collection: (_, node, path) => {
      // Not the file itself, its lists, nor the clients.
      const depth = path.filter((parent) => isMap(parent) || isSeq(parent)).length;
      if (depth >= 2 && !isStepList(node, path) && JSON.stringify(node).length <= flowCharsMax) node.flow = true;
      else if (depth === 1 && isMap(node) && JSON.stringify(node).length <= flowCharsMax) node.flow = true;
    },
  });
  const { before = [], steps: ofSteps = new Map(), after = [] } = notes;
  const comment = before.map((line) => `# ${line}\n`).join('');
  const steps = document.get('steps');
  for (const step of isSeq(steps) ? steps.items : [])
    if (isMap(step)) step.commentBefore = commentOf(ofSteps.get(String(step.get('step'))) ?? []);
  document.comment = commentOf(after);
  return `${schemaHeader}\n${comment}${document.toString({ lineWidth: 100, flowCollectionPadding: true })}`;
}

function commentOf(lines: readonly string[]): string | null {
  return lines.length === 0 ? null : lines.map((line) => ` ${line}`).join('\n');
}

/** The settings that have no default here. */
export function givenOnly(cluster: NonNullable<ScenarioFile['cluster']>): object {
  const names = [...optionalSettings, ...clusterConstants];
  return Object.fromEntries(names.flatMap((name) => (name in cluster ? [[name, cluster[name]]] : [])));
}

/** The steps of one of several clients. */
function isStepList(node: Node, path: readonly unknown[]): boolean {
  const pair = path.at(-3) as Pair | undefined;
  return isSeq(node) && (pair?.key as { value?: unknown } | undefined)?.value === 'clients';
}
