/** Scenario files: what is right is read with its defaults, what is wrong is said with its place and its remedy. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { Check } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { faultKinds, faultSchemas } from '../../../scenarios/faults/vocabulary/fault.ts';
import { explain, type ScenarioSchema } from '../../../scenarios/runner/explain.ts';
import { stepSchemas } from '../../../scenarios/runner/format.ts';
import { loadScenario } from '../../../scenarios/runner/load.ts';
import { toYaml } from '../../../scenarios/runner/to-yaml.ts';
import { YamlError, yamlBytesMax } from '../../../scenarios/runner/yaml-file.ts';
import { root } from '../../cli/support/up-process.ts';
import { runs } from '../../support/thorough.ts';

const folder = join(root, 'scenarios');
const files = readdirSync(folder).filter((file) => file.endsWith('.yaml'));

function load(text: string) {
  return loadScenario(text, { file: 'x.yaml' });
}

/** The problems of a file, one line each. */
function problems(text: string): string[] {
  try {
    load(text);
    return [];
  } catch (error) {
    expect(error).toBeInstanceOf(YamlError);
    return (error as YamlError).message.split('\n');
  }
}

/** A right scenario with these lines in place of its steps. */
function withSteps(...steps: string[]): string {
  return ['scenario: x', 'about: a', 'steps:', ...steps.map((step) => `  - ${step}`)].join('\n');
}

const key = '{ step: key, call: make_key, session: k }';

describe('a scenario file', () => {
  test('has defaults for what it leaves out', () => {
    expect(load(withSteps(key))).toEqual({
      scenario: 'x',
      about: 'a',
      worlds: ['simulated', 'live'],
      cluster: { nodes: 5, seed: 'x', partial_timeout_ms: 300, nodes_wait_ms: 2000, client_dealers: true },
      faults: [],
      clients: { client: [{ step: 'key', call: 'make_key', session: 'k' }] },
      expect: [],
    });
  });

  test('says every problem at once, each with line, column, field and remedy', () => {
    const text = `scenario: Bad Name
about: a
faults:
  - { fault: crsh, target: node/1 }
  - { fault: crash, target: node/9 , count: many }
steps:
  - { step: one, call: sing }
  - { step: two, call: sign, session: tx, key: k, expect: { state: DONE } }
  - { step: three }
extra: 1
`;
    expect(problems(text)).toEqual([
      expect.stringMatching(/^x\.yaml:1:11 scenario: "Bad Name" is not of the form/),
      'x.yaml:4:14 faults[0].fault: there is no fault "crsh"; did you mean crash?',
      expect.stringMatching(
        /^x\.yaml:5:45 faults\[1\]\.count: the string "many" is not taken here; a whole number of 1/,
      ),
      expect.stringMatching(/^x\.yaml:7:24 steps\[0\]\.call: there is no call "sing"; did you mean sign\?/),
      expect.stringMatching(/^x\.yaml:8:68 steps\[1\]\.expect\.state: "DONE" is none of its values; one of ACCEPTED/),
      'x.yaml:9:5 steps[2]: the step does nothing; it has one of call, wait, inject, heal, advance_ms, api, receiver',
      expect.stringMatching(/^x\.yaml:10:1 extra: there is no field "extra" here; one of scenario, about/),
    ]);
  });

  test.each([
    ['', /the file is empty/],
    ['- 1', /1:1 a list is not taken here/],
    ['scenario: [', /x\.yaml:1:/],
    ['scenario: x\nscenario: y', /2:1 this field is there already; each field stands once/],
    ['scenario: &a x\nabout: *a', /anchors and aliases are not taken/],
    ['scenario: !!js x', /1:11/],
    ['scenario: x\nsteps:\n\t- { step: s, heal: true }', /^x\.yaml:3:1 a tab does not indent; use spaces$/],
    [withSteps('{ step: w, wait: { fired: f } }'), /no fault has the id f; there is none/],
    ['a: 1\n---\nb: 2', /a file holds one document; put the other into a file of its own/],
    [`about: ${'x'.repeat(yamlBytesMax)}`, /the file is too large/],
    [
      '['.repeat(50_000),
      /^x\.yaml:1:66 lists and mappings are nested more than 64 levels deep; a scenario needs fewer$/,
    ],
    ['- '.repeat(50_000), /:1:131 lists and mappings are nested more than 64 levels deep/],
    [`about: x\nsteps: ${'{a: '.repeat(70)}1`, /^x\.yaml:2:\d+ lists and mappings are nested more than 64 levels deep/],
    [`a: ${'['.repeat(60)}${']'.repeat(60)}`, /there is no field "a" here/],
    ['scenario: x\nabout: a', /a scenario has either steps or clients/],
    ['scenario: x\nabout: a\nclients: {}', /there is no client/],
    [
      'scenario: x\nabout: a\nclients: { Bob: [] }',
      /3:12 clients\.Bob: there is no field "Bob" here; names here match/,
    ],
    [`${withSteps(key)}\nclients: { a: [${key}] }`, /either steps or clients/],
    [withSteps(), /steps: nothing is not taken here; a list of 1 to 1000/],
  ])('is refused: %#', (text, said) => {
    expect(problems(text).join('\n')).toMatch(said);
  });

  test.each([
    [[key, key], /steps\[1\]\.step: another step is named key/],
    [['{ step: s, call: sign, session: tx, key: k }'], /steps\[0\]\.key: no step makes the key k/],
    [['{ step: s, call: sign, session: tx, key: k }', key], /steps\[0\]\.key: k is used before it is made/],
    [[key, '{ step: s, call: submit_signature_share, session: k }'], /no step makes the signing session k/],
    [[key, '{ step: s, call: resume_session, session: q }'], /no step makes the session q/],
    [[key, '{ step: s, call: refresh_key, session: q, version: 2 }'], /no step makes the key q/],
    [
      [key, '{ step: s, call: refresh_key, session: k, version: 2, transport: grpc }'],
      /steps\[1\]\.transport: gRPC has the calls of the signing API alone/,
    ],
    [[key, '{ step: s, call: sign, session: k, key: k }'], /steps\[1\]\.session: k names a key already/],
    [
      [key, '{ step: s, call: sign, session: t, key: k }', '{ step: r, call: sign, session: t, key: k }'],
      /steps\[2\]\.session: t names another signing session/,
    ],
    [[key, '{ step: s, call: exchange_dkg_shares, session: k, client_supplied: right }'], /give sender and recipient/],
    [[key, '{ step: s, call: exchange_dkg_shares, session: k, play: right }'], /give sender and recipient/],
    [
      [key, '{ step: s, call: exchange_dkg_shares, session: k, play: right, client_supplied: right }'],
      /steps\[1\]\.play: play is the old name of client_supplied/,
    ],
    [['{ step: w, wait: {} }'], /a wait is for one thing/],
    [[key, '{ step: w, wait: { session: k } }'], /session and state come together/],
    [['{ step: w, wait: { fired: f } }'], /no fault has the id f/],
    [['{ step: v, wait: { ms: 1 } }', '{ step: w, wait: { ended: v } }'], /wait\.ended: no other client has a step v/],
    [
      ['{ step: i, inject: { fault: crash, target: node/7 } }'],
      /inject\.target: node\/7 does not exist in this cluster of 5/,
    ],
    [
      ['{ step: i, inject: { fault: drop, target: node/1, at: { phase: after } } }'],
      /inject\.at\.phase: .*give at\.point/,
    ],
    [['{ step: i, inject: { fault: drop, target: node/1, at: { step: j } } }'], /there is no step j/],
    [['{ step: i, inject: { fault: drop, target: node/1, at: { point: dkg_seal, session: j } } }'], /the session j/],
    [['{ step: i, inject: }'], /steps\[0\]\.inject: nothing is not taken here/],
    [['{ step: i, inject: { fault: store_lost, target: coordinator } }'], /say worlds: \[simulated\]/],
    [
      ['{ step: i, inject: { fault: crash, target: [gateway, gateway/2] } }'],
      /gateway\/2 is a name of the simulated world alone/,
    ],
    [
      ['{ step: i, inject: { fault: crash, target: worker, at: { point: call, of: worker/2 } } }'],
      /worker\/2 is a name of the sim/,
    ],
    [['{ step: k, call: make_key, session: k, expect: { is_complete: true } }'], /make_key does not answer it/],
    [['{ step: k, call: make_key, session: k, expect: { error: any, state: DENIED } }'], /has no receipt/],
    [
      ['{ step: k, call: make_key, session: k, expect: { reason_code: DKG_DONE } }'],
      /there is no reason code DKG_DONE/,
    ],
    [['{ step: k, call: make_key, session: k, expect: { at_least_ms: 5, within_ms: 4 } }'], /less than at_least_ms/],
  ])('means something: %#', (steps, said) => {
    expect(problems(withSteps(...steps)).join('\n')).toMatch(said);
  });

  test.each([
    ['{ state: DENIED }', /expect\[0\]\.state: whose it is is missing/],
    ['{ session: k }', /nothing is expected/],
    ['{ session: q, state: DENIED }', /no step makes the session q; one of k|did you mean k/],
    ['{ culprits: [6] }', /culprits\[0\]: there is no node 6; nodes are 1 to 5/],
    ['{ fired: f }', /no fault has the id f/],
    ['{ trigger_count: 1 }', /the fault that it counts is missing/],
    ['{ strikes: 1 }', /the fault that it counts is missing/],
    ['{ fired: f, trigger_count: 1, strikes: 1 }', /strikes is the old name of trigger_count/],
  ])('expects something that can be: %s', (expectation, said) => {
    expect(problems(`${withSteps(key)}\nexpect: [${expectation}]`).join('\n')).toMatch(said);
  });

  test('takes strikes as the old name of trigger_count', () => {
    const expectations = ['strikes', 'trigger_count'].map(
      (name) =>
        load(`${withSteps(key)}\nfaults: [{ id: f, fault: drop, target: node/2 }]\nexpect: [{ fired: f, ${name}: 2 }]`)
          .expect,
    );
    expect(expectations[0]).toEqual([{ fired: 'f', trigger_count: 2 }]);
    expect(expectations[1]).toEqual(expectations[0]);
  });

  test('a key made by another client may be used at once', () => {
    const text = `scenario: x\nabout: a\nclients:\n  a: [${key}]\n  b: [{ step: s, call: sign, session: t, key: k, insist: true }]`;
    expect(Object.keys(load(text).clients)).toEqual(['a', 'b']);
  });

  // 35 times the text takes some 20 times as long; it took 560 times as long when each error quoted its line.
  test('takes time by its length, and not by its square, with all its errors in one line', () => {
    const spentOn = (length: number): number => {
      const before = process.cpuUsage();
      expect(problems('"'.repeat(length))).toHaveLength(1);
      return process.cpuUsage(before).user;
    };
    spentOn(4_000);
    const short = Math.max(spentOn(4_000), spentOn(4_000));
    expect(spentOn(140_000) / short).toBeLessThan(100);
  });

  test('never makes the loader throw anything but its own error', () => {
    const words = fc.constantFrom(
      'scenario',
      'about',
      'steps',
      'faults',
      ':',
      '-',
      '{',
      '}',
      '[',
      '&a',
      '*a',
      '\n',
      '  ',
      '1',
      '!!x',
      '"',
    );
    fc.assert(
      fc.property(fc.array(words, { maxLength: 40 }), (parts) => {
        problems(parts.join(' '));
      }),
      { numRuns: runs(100, 300) },
    );
  });
});

describe('what is said of a shape', () => {
  const schemas = [...Object.values(faultSchemas), ...Object.values(stepSchemas)];
  const value = fc.oneof(
    fc.constantFrom<unknown>(
      'node/1',
      'node/*',
      'coordinator',
      1,
      0,
      -1,
      1.5,
      true,
      null,
      'x',
      'DENIED',
      [],
      ['node/1'],
      [1],
    ),
    fc.record({ point: fc.constantFrom('call', 'nope'), nth: fc.integer({ min: -1, max: 3 }) }, { requiredKeys: [] }),
  );

  test('is judged as TypeBox judges it', () => {
    const names = [...new Set(schemas.flatMap((schema) => Object.keys(schema.properties)))].filter(
      (name) => name !== 'inject',
    );
    const object = fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 6 });
    const numRuns = runs(200, 2000);
    let refused = 0;
    fc.assert(
      fc.property(fc.constantFrom(...schemas), object, (schema, random) => {
        // Constants and plain values that are right often enough to get past the first field.
        const fixed = Object.entries(schema.properties)
          .filter(([, property]) => 'const' in property)
          .map(([name, property]) => [name, (property as { const: unknown }).const]);
        const candidate = { ...random, ...Object.fromEntries(fixed) };
        const found = explain(schema as unknown as ScenarioSchema, candidate);
        expect(found.length === 0).toBe(Check(schema, candidate));
        if (found.length > 0) refused += 1;
      }),
      { numRuns },
    );
    expect(refused).toBeLessThan(numRuns);
  });

  test('knows every fault', () => {
    for (const kind of faultKinds) {
      expect(
        problems(`scenario: x\nabout: a\nfaults: [{ fault: ${kind}, zz: 1 }]\nsteps: [${key}]`).join('\n'),
      ).toContain('faults[0].zz: there is no field "zz" here');
    }
  });
});

describe('the scenarios that come with signmesh', () => {
  test('are at least thirty, named as their files, and each says what it shows', () => {
    expect(files.length).toBeGreaterThanOrEqual(30);
    for (const file of files) {
      const text = readFileSync(join(folder, file), 'utf8');
      const { scenario, about } = loadScenario(text, { file });
      expect(`${scenario}.yaml`).toBe(file);
      expect(about.length, file).toBeGreaterThan(100);
      expect(text.split('\n')[0]).toBe('# yaml-language-server: $schema=./schema.json');
    }
  });

  test.each(files)('%s is the same once it is written and read again', (file) => {
    const scenario = loadScenario(readFileSync(join(folder, file), 'utf8'), { file });
    expect(load(toYaml(scenario))).toEqual(scenario);
  });
});

test('a process of a fault may have any of its names, and numbers are names too', () => {
  const named = (target: string) => load(`${withSteps(key)}\nfaults: [{ fault: crash, target: ${target} }]`).faults[0];
  for (const target of ['2', 'node-2', 'node/2', '"2"']) expect(named(target)).toMatchObject({ target: 'node/2' });
  expect(named('[2, node-3, coordinator]')).toMatchObject({ target: ['node/2', 'node/3', 'coordinator'] });
  const step =
    '{ step: cut, inject: { fault: crash, target: [coordinator, node-1], at: { point: partial_reply, of: 3 } } }';
  const [injecting] = load(withSteps(step)).clients.client!;
  expect(injecting).toMatchObject({ inject: { target: ['coordinator', 'node/1'], at: { of: 'node/3' } } });
});

test('a number of a node may be any of its names', () => {
  const read = (node: string) =>
    load(
      `${withSteps(key, `{ step: cut, call: exchange_dkg_shares, session: k, sender: ${node}, recipient: 1 }`)}
expect: [{ culprits: [${node}] }]
faults: [{ fault: false_report, target: node/1, about: ${node} }]`,
    );
  for (const node of ['node-2', 'node/2', '"2"']) expect(read(node)).toEqual(read('2'));
  expect(problems(withSteps(key, '{ step: cut, call: exchange_dkg_shares, session: k, sender: worker }'))).toEqual([
    expect.stringContaining('steps[1].sender'),
  ]);
});
