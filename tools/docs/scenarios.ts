/** The generated parts of docs/scenarios.md, from the format itself; and scenarios/schema.json, for editors. */
import type { TSchema } from 'typebox';
import { CallExpectation, custodyStepSchemas, operationNames } from '../../scenarios/runner/custody-format.ts';
import {
  Cluster,
  Expectation,
  Scenario,
  StepExpectation,
  type StepKind,
  stepSchemas,
} from '../../scenarios/runner/format.ts';
import { scenarioJsonSchema } from '../../scenarios/runner/json-schema.ts';
import { type Verdict, verdictExitCodes } from '../../scenarios/runner/world.ts';
import { requestTable } from './schemas.ts';
import { code, table, withSections } from './sections.ts';

/** The page as it must be, from the present page: hand-written parts stay. */
export function scenariosPage(page: string): string {
  return withSections(
    page,
    new Map([
      ['a file', requestTable(Scenario).replace('map of strings', 'map of lists')],
      ['cluster', requestTable(Cluster)],
      ['common fields of steps', requestTable(only(stepSchemas.initiate_dkg, [...common]))],
      ['calls', calls.map(callSection).join('\n\n')],
      [
        'common fields of wallet steps',
        requestTable(only(custodyStepSchemas.make_wallet, ['step', 'expect', 'insist', 'by'])),
      ],
      ['operations', table(['Of', 'Operations'], operationRows())],
      ['wallet steps', walletSteps.map(callSection).join('\n\n')],
      ['expectations of a wallet step', requestTable(CallExpectation)],
      ['waits', requestTable(member(stepSchemas.wait, 'wait'))],
      ['expectations of a step', requestTable(StepExpectation)],
      ['expectations at the end', requestTable(Expectation)],
      ['verdicts', table(['Verdict', 'Exit code', 'Meaning'], verdicts())],
    ]),
  );
}

/** The whole scenarios/schema.json. */
export function scenarioSchemaFile(): string {
  return `${JSON.stringify(scenarioJsonSchema())}\n`;
}

const common = ['step', 'expect', 'insist'] as const;
const ofWallet = [...common, 'by'] as const;
const walletSteps = Object.keys(custodyStepSchemas) as (keyof typeof custodyStepSchemas)[];
const calls = (Object.keys(stepSchemas) as StepKind[]).filter(
  (kind) => 'call' in propertiesOf(stepSchemas[kind]) && !(walletSteps as readonly string[]).includes(kind),
);

const meanings: Readonly<Record<Verdict['kind'], string>> = {
  passed: 'every expectation holds',
  failed: 'an expectation does not hold: which, and what was there instead',
  violated: 'an invariant does not hold',
  stuck: 'what must happen did not, in its time',
  unsupported: 'this world cannot run the scenario, and why',
};

function callSection(kind: StepKind): string {
  const schema = stepSchemas[kind];
  const names = Object.keys(propertiesOf(schema)).filter((name) => name !== 'call' && !isCommon(name));
  const { description } = schema as { readonly description?: string };
  const about = description === undefined ? '' : `\n\n${sentence(description)}`;
  return `### ${kind}${about}\n\n${requestTable(only(schema, names))}`;
}

function sentence(words: string): string {
  return `${words[0]!.toUpperCase()}${words.slice(1)}${words.endsWith('.') ? '' : '.'}`;
}

/** One row for each group of the client. */
function operationRows(): string[][] {
  const groups = [...new Set(operationNames.map((name) => name.split('.')[0]!))];
  return groups.map((group) => [
    group,
    operationNames
      .filter((name) => name.startsWith(`${group}.`))
      .map(code)
      .join(', '),
  ]);
}

function verdicts(): string[][] {
  return (Object.keys(meanings) as Verdict['kind'][]).map((kind) => [
    code(kind),
    String(verdictExitCodes[kind]),
    meanings[kind],
  ]);
}

function isCommon(name: string): boolean {
  return (ofWallet as readonly string[]).includes(name);
}

function propertiesOf(schema: TSchema): Readonly<Record<string, TSchema>> {
  return (schema as unknown as { readonly properties: Readonly<Record<string, TSchema>> }).properties;
}

function member(schema: TSchema, name: string): TSchema {
  return propertiesOf(schema)[name]!;
}

/** The same object with only these fields. */
function only(schema: TSchema, names: readonly string[]): TSchema {
  const properties = Object.fromEntries(names.map((name) => [name, member(schema, name)]));
  const { required = [] } = schema as { readonly required?: readonly string[] };
  return { properties, required } as unknown as TSchema;
}
