/** The form of every fault, made from the vocabulary's schema: its fields, and bodies that the schema takes. */
import { Compile } from 'typebox/compile';
import { describe, expect, test } from 'vitest';
import { type FaultSchema, faultBody, fieldsOf, isCommon } from '../../../clients/console/browser/shared/fault-form.ts';
import { consoleFile } from '../../../clients/console/page.ts';
import { faultKinds, faultSchemas } from '../../../scenarios/faults/vocabulary/fault.ts';
import { Trigger } from '../../../scenarios/faults/vocabulary/fault-parts.ts';

const page = consoleFile('/')!.body;
const words = JSON.parse(consoleFile(/content="(\/console\/words-[^"]+)"/.exec(page)![1]!)!.body) as {
  kinds: { kind: string; schema: FaultSchema; only?: string }[];
  trigger: FaultSchema;
  reasons: Record<string, { text: string; helps: string }>;
};
const schemaOf = (kind: string) => words.kinds.find((one) => one.kind === kind)!.schema;

test('the page has every kind with its sentence, the trigger, and every reason', () => {
  expect(words.kinds.map(({ kind }) => kind)).toEqual([...faultKinds]);
  for (const { kind, schema } of words.kinds)
    expect([kind, schema.description]).toEqual([kind, expect.stringMatching(/\w/)]);
  expect(words.trigger).toEqual(JSON.parse(JSON.stringify(Trigger)));
  expect(words.reasons.QUORUM_UNAVAILABLE).toMatchObject({ helps: 'resume' });
});

/** A text that a person could enter. */
function textFor(field: ReturnType<typeof fieldsOf>[number], schema: FaultSchema): string {
  if (field.how === 'choice') return field.choices[0]!;
  if (field.how === 'switch') return 'true';
  if (field.how === 'number') return String(field.minimum ?? 1);
  const { pattern } = schema.properties?.[field.name] ?? {};
  return [
    ...(field.name === 'target' ? ['node/2', 'worker', 'redis', 'receiver'] : []),
    'POST /v1/wallets',
    'a_b',
    '1',
    'a',
  ].find((text) => pattern === undefined || new RegExp(pattern).test(text))!;
}

describe('the form of', () => {
  test.each(words.kinds.map(({ kind }) => kind))('%s makes a body that the vocabulary takes', (kind) => {
    const schema = schemaOf(kind);
    const fields = fieldsOf(schema, words.trigger);
    const texts = Object.fromEntries(
      fields.filter(({ isRequired }) => isRequired).map((field) => [field.name, textFor(field, schema)]),
    );
    const body = faultBody(kind, schema, words.trigger, texts);
    const check = Compile(faultSchemas[kind as keyof typeof faultSchemas]);
    expect([body, check.Errors(body)]).toEqual([body, []]);
    // What and whom come first.
    const names = fields.map(({ name }) => name);
    expect(names.slice(names.findIndex(isCommon)).every(isCommon)).toBe(true);
    expect(new Set(names)).toEqual(
      new Set([
        ...Object.keys(schema.properties!).filter((name) => name !== 'fault' && name !== 'at'),
        ...(schema.properties!.at === undefined
          ? []
          : Object.keys(words.trigger.properties!).map((name) => `at.${name}`)),
      ]),
    );
  });
});

test('texts become numbers, lists, switches and a trigger as the schema says', () => {
  const body = (kind: string, texts: Record<string, string>) => faultBody(kind, schemaOf(kind), words.trigger, texts);
  expect(
    body('delay', { target: 'node/1, node/3', by_ms: ' 20 ', 'at.point': 'partial_reply', 'at.nth': '3' }),
  ).toEqual({
    fault: 'delay',
    target: ['node/1', 'node/3'],
    by_ms: 20,
    at: { point: 'partial_reply', nth: 3 },
  });
  expect(body('crash', { target: 'node/1', restart_after_ms: 'null', lose_state: 'true' })).toEqual({
    fault: 'crash',
    target: 'node/1',
    restart_after_ms: null,
    lose_state: true,
  });
  expect(body('drop', { target: 'node/1', probability: '0.5', id: '7' })).toMatchObject({ probability: 0.5, id: '7' });
  // The service says what is wrong with it.
  expect(body('delay', { target: 'node/1', by_ms: 'soon' })).toMatchObject({ by_ms: 'soon' });
});
