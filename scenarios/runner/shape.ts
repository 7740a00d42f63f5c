/**
 * Checks the shape of a scenario: every field against its schema. Faults and steps have many kinds; one field names the kind, and
 * only the schema of that kind applies, so that errors are about that kind.
 */
import type { Static, TSchema } from 'typebox';
import { faultKinds, faultSchemas } from '../faults/vocabulary/fault.ts';
import { explain, isRecord, oneOf, type Path, type ScenarioSchema, type SchemaFault, shown } from './explain.ts';
import { Scenario, type StepKind, stepSchemas } from './format.ts';

/** The content of a file of the right shape. */
export type ScenarioFile = Static<typeof Scenario>;

const top = Scenario as unknown as ScenarioSchema;
/** Steps with their own naming field instead of `call`. */
const otherSteps: Readonly<Record<string, StepKind>> = {
  wait: 'wait',
  inject: 'inject',
  heal: 'heal',
  advance_ms: 'advance',
  api: 'api',
  receiver: 'receiver',
};
const callNames = (Object.keys(stepSchemas) as StepKind[]).filter((kind) => !Object.values(otherSteps).includes(kind));

/** Every fault of the shape. */
export function shapeFaults(value: unknown): SchemaFault[] {
  const { faults, steps, clients, ...rest } = top.properties!;
  const lists = { faults: withoutItems(faults!), steps: withoutItems(steps!), clients: withoutItems(clients!) };
  const found = explain({ ...top, properties: { ...rest, ...lists } }, value);
  if (!isRecord(value)) return found;
  const each = (list: unknown, path: Path, check: (item: unknown, path: Path) => SchemaFault[]) =>
    Array.isArray(list) ? list.flatMap((item, index) => check(item, [...path, index])) : [];
  found.push(...each(value.faults, ['faults'], faultFaults), ...each(value.steps, ['steps'], stepFaults));
  if (isRecord(value.clients)) {
    for (const [name, list] of Object.entries(value.clients)) {
      found.push(...each(list, ['clients', name], stepFaults));
    }
  }
  return found;
}

/** Every fault of the shape of an injected fault, whatever its kind. */
export function faultFaults(value: unknown, path: Path): SchemaFault[] {
  if (!isRecord(value)) return explain({ type: 'object' }, value, path);
  const names = faultKinds as readonly string[];
  if (!Object.hasOwn(value, 'fault')) {
    return [{ path, message: 'fault is missing', remedy: oneOf(names, undefined) }];
  }
  const { fault } = value;
  if (typeof fault !== 'string' || !names.includes(fault)) {
    return [{ path: [...path, 'fault'], message: `there is no fault ${shown(fault)}`, remedy: oneOf(names, fault) }];
  }
  return explain(asJson(faultSchemas[fault as keyof typeof faultSchemas]), value, path);
}

function stepFaults(value: unknown, path: Path): SchemaFault[] {
  if (!isRecord(value)) return explain({ type: 'object' }, value, path);
  const kind = kindOfStep(value);
  if (kind === undefined) {
    if (Object.hasOwn(value, 'call')) {
      const message = `there is no call ${shown(value.call)}`;
      return [{ path: [...path, 'call'], message, remedy: oneOf(callNames, value.call) }];
    }
    const remedy = `it has one of call, ${Object.keys(otherSteps).join(', ')}`;
    return [{ path, message: 'the step does nothing', remedy }];
  }
  const found = explain(asJson(stepSchemas[kind]), value, path);
  return kind === 'inject' ? [...found, ...faultFaults(value.inject, [...path, 'inject'])] : found;
}

function kindOfStep(value: Readonly<Record<string, unknown>>): StepKind | undefined {
  const { call } = value;
  if (typeof call === 'string') return callNames.find((name) => name === call);
  const field = Object.keys(otherSteps).find((name) => Object.hasOwn(value, name));
  return field === undefined ? undefined : otherSteps[field];
}

/** The schema without its items: they are checked separately, by kind. */
function withoutItems(schema: ScenarioSchema): ScenarioSchema {
  const { items: _, patternProperties, ...rest } = schema;
  if (patternProperties === undefined) return rest;
  const lists = Object.entries(patternProperties).map(([pattern, list]) => [pattern, withoutItems(list)] as const);
  return { ...rest, patternProperties: Object.fromEntries(lists) };
}

function asJson(schema: TSchema): ScenarioSchema {
  return schema as ScenarioSchema;
}
