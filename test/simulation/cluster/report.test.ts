/** Text, JSON lines and JUnit of a run: stable, complete, and safe whatever its texts say. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jsonLines } from '../../../clients/report/json-lines.ts';
import { junit } from '../../../clients/report/junit.ts';
import { eventLine, textReport, verdictText } from '../../../clients/report/text.ts';
import type { RunEvent } from '../../../scenarios/faults/recording.ts';
import type { Run, Verdict } from '../../../scenarios/runner/world.ts';
import { codePoint } from '../../support/code-point.ts';
import { hostileRun, hostileTexts, oneOfEach, runOf } from './report-sample.ts';

const texts = fc.oneof(fc.string({ unit: codePoint }), fc.constantFrom(...hostileTexts));
const verdicts: readonly Verdict[] = [
  { kind: 'passed' },
  { kind: 'failed', what: 'the signature verifies', cause: 'no signature came' },
  { kind: 'violated', invariant: 'a nonce signs once', cause: 'n_1 signed twice' },
  { kind: 'stuck', what: 'the session ends', cause: 'node/2 is silent' },
  { kind: 'unsupported', cause: 'store_slow is for the simulated world' },
];

test('each expectation that does not hold is named, also in the results that a server of builds reads', () => {
  const verdict: Verdict = { kind: 'failed', what: 'a', cause: 'b', also: ['s2 ends DENIED', 'no nonce <twice>'] };
  const run = { ...runOf([]), verdict };
  expect(verdictText(run)).toContain(
    ['verdict   failed: a', 'cause     b', 'also      s2 ends DENIED', 'also      no nonce <twice>'].join('\n'),
  );
  expect(junit([run])).toContain(
    'message="failed: a" type="failed">b\ns2 ends DENIED\nno nonce &lt;twice&gt;</failure>',
  );
  expect(JSON.parse([...jsonLines(run)].at(-1)!)).toMatchObject({ also: verdict.also });
});

describe('a line an event', () => {
  test('has fixed columns', () => {
    const lines = oneOfEach('x').map((event) => eventLine(event));
    expect(lines).toEqual([
      '        0.000  step       x                                                           x began                   x · x',
      '        0.500  process    x                                                           up                        x',
      '*       1.000  fault      x                                                           drop armed                x · x',
      '*       2.000  frame      x                             node/2                        partial_request           x · x/x#1 · 211 B · +1.250 +2.000 · by x',
      '        4.000  actor      x                                                           x                         warn: node=2 of=1,2 x=x',
      '        5.000  state      x                                                           x                         epoch=3 x=x',
      '        6.000  delivery   worker                        receiver                      x                         status 500 · x · x',
      '!       7.000  violation                                                              x                         x',
    ]);
  });

  test('keeps the columns when an address is long, and says when a frame is lost', () => {
    const frame: RunEvent = {
      kind: 'frame',
      atMs: 1234.5,
      arrivesMs: [],
      from: 'signing/tn_aaaaaaaaaaaaaaaa/sig_bbbbbbbbbbbbbbbb',
      to: 'node/1',
      point: 'partial_request',
      tenant: 'tn_a',
      session: '',
      attempt: 0,
      bytes: 9,
      text: '',
      faults: [],
    };
    expect(eventLine(frame)).toBe(
      '     1234.500  frame      signing/tn_aaa…bbbbbbbbbbbbb  node/1                        partial_request           9 B · lost',
    );
  });

  test('shows an address of 28 characters whole, and more of them clipped in the middle', () => {
    const up = (process: string): RunEvent => ({ kind: 'process', atMs: 0, process, what: 'up', text: '' });
    const shown = (address: string) => eventLine(up(address)).slice(26).split('  ')[0];
    expect(shown('a'.repeat(28))).toBe('a'.repeat(28));
    expect(shown(`${'a'.repeat(20)}${'b'.repeat(9)}`)).toBe(`${'a'.repeat(14)}…${'a'.repeat(4)}${'b'.repeat(9)}`);
    // Of 28 characters that are pairs of surrogates.
    expect(shown('😀'.repeat(28))).toBe('😀'.repeat(28));
    expect(shown(`${'a'.repeat(13)}😀${'b'.repeat(30)}`)).toBe(`${'a'.repeat(13)}😀…${'b'.repeat(13)}`);
  });

  test('does not depend on the order in which fields were set', () => {
    const state = (fields: Record<string, number>): RunEvent => ({
      kind: 'state',
      atMs: 0,
      address: 'a',
      state: 's',
      fields,
    });
    expect(eventLine(state({ a: 1, b: 2 }))).toBe(eventLine(state({ b: 2, a: 1 })));
  });

  test('is one line without control characters, whatever the texts', () => {
    fc.assert(
      fc.property(texts, (text) => {
        for (const event of oneOfEach(text)) {
          const line = eventLine(event);
          expect(line).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u202a-\u202e\u2066-\u2069]/u);
        }
      }),
    );
  });

  test('is coloured only when asked, and the colours change no letter', () => {
    for (const event of oneOfEach('x')) {
      const line = eventLine(event, { colour: true });
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the colours are what it is about
      expect(line.replace(/\u001b\[\d+m/g, '')).toBe(eventLine(event));
    }
    const violation = oneOfEach('x').at(-1)!;
    expect(eventLine(violation, { colour: true })).toBe(`\u001b[31m${eventLine(violation)}\u001b[0m`);
  });
});

describe('the text of a run', () => {
  test('says what ran, what happened, the verdict with its cause, and how to run it again', () => {
    const run = runOf(oneOfEach('x'), { verdict: verdicts[1]! });
    const lines = textReport(run).split('\n');
    expect(lines.slice(0, 6)).toEqual([
      'scenario  a-crash',
      'about     What it shows.',
      'world     simulated',
      'seed      7',
      'nodes     5',
      '',
    ]);
    expect(lines.slice(6, 14)).toEqual(run.events.map((event) => eventLine(event)));
    expect(lines.slice(14)).toEqual([
      '',
      'verdict   failed: the signature verifies',
      'cause     no signature came',
      // A fault that touches frames triggers at each.
      'fault     x: drop of x, triggered once',
      'took      7.000 ms of scenario time, 8 events',
      'replay    signmesh scenario run a-crash.yaml --seed 7',
      '',
    ]);
  });

  test.each(verdicts)('gives a verdict of its own: $kind', (verdict) => {
    const text = verdictText(runOf([], { verdict }));
    expect(text).toContain(`verdict   ${verdict.kind}: `);
    for (const words of Object.values(verdict)) expect(text).toContain(words);
  });

  test('counts how often a fault triggered', () => {
    const fault = { kind: 'fault', id: 'f1', fault: 'crash', targets: ['node/1', 'node/2'], text: '' } as const;
    const events = (['armed', 'fired', 'fired', 'ended'] as const).map((what, atMs) => ({ ...fault, what, atMs }));
    expect(verdictText(runOf(events))).toContain('fault     f1: crash of node/1, node/2, triggered 2 times\n');
    expect(verdictText(runOf(events.slice(0, 2)))).toContain(', triggered once\n');
    // A fault of frames triggers at each frame that it touches, and says so once a process.
    const [frame] = oneOfEach('f1').filter(({ kind }) => kind === 'frame');
    const dropped = [{ ...events[1]!, fault: 'drop' as const }, frame!, frame!, frame!];
    expect(verdictText(runOf(dropped))).toContain('fault     f1: drop of node/1, node/2, triggered 3 times\n');
    expect(verdictText(runOf([events[1]!, frame!, frame!]))).toContain('crash of node/1, node/2, triggered once\n');
  });
});

describe('JSON lines', () => {
  test('are the run, its events and the verdict, in snake case and one order', () => {
    expect([...jsonLines(runOf(oneOfEach('x'), { verdict: verdicts[2]! }))]).toEqual([
      '{"type":"run","format":1,"scenario":"a-crash","about":"What it shows.","world":"simulated","seed":"7","nodes":5,"events":8,"took_ms":7}',
      '{"type":"step","at_ms":0,"client":"x","step":"x","what":"began","session":"x","text":"x"}',
      '{"type":"process","at_ms":0.5,"process":"x","what":"up","text":"x"}',
      '{"type":"fault","at_ms":1,"id":"x","fault":"drop","targets":["x"],"what":"armed","text":"x"}',
      '{"type":"frame","at_ms":2,"arrives_ms":[3.25,4],"from":"x","to":"node/2","point":"partial_request","tenant":"x","session":"x","attempt":1,"bytes":211,"text":"x","faults":["x"]}',
      '{"type":"actor","at_ms":4,"address":"x","event":"x","level":"warn","fields":{"node":2,"of":[1,2],"x":"x"}}',
      '{"type":"state","at_ms":5,"address":"x","state":"x","fields":{"epoch":3,"x":["x"]}}',
      '{"type":"delivery","at_ms":6,"event":"x","session":"x","status":500,"text":"x"}',
      '{"type":"violation","at_ms":7,"invariant":"x","text":"x"}',
      '{"type":"verdict","verdict":"violated","invariant":"a nonce signs once","cause":"n_1 signed twice","exit_code":11,"replay":"signmesh scenario run a-crash.yaml --seed 7"}',
    ]);
  });

  test('say how many clusters ran, if there were several', () => {
    const first = (run: Run) => JSON.parse([...jsonLines(run)][0]!);
    const several = runOf([], { clusters: 3 });
    expect([first(several), first(runOf([]))]).toMatchObject([{ nodes: 5, clusters: 3 }, { nodes: 5 }]);
    expect(first(runOf([]))).not.toHaveProperty('clusters');
    expect(textReport(several)).toContain('nodes     5 in each of 3 clusters\n');
  });

  test('are each one line that gives the texts back', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const lines = [...jsonLines(hostileRun(text))];
        expect(lines).toHaveLength(10);
        for (const line of lines) expect(line).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u);
        const parsed = lines.map((line) => JSON.parse(line) as { readonly text?: string; readonly cause?: string });
        expect(parsed[1]?.text).toBe(text);
        expect(parsed[9]?.cause).toBe(text);
      }),
    );
  });
});

describe('JUnit', () => {
  test('has a suite a world, a case a scenario, failures by verdict, and what replays them', () => {
    const runs = verdicts.map((verdict, index) =>
      runOf([], { verdict, scenario: `s${index}`, tookMs: 500, world: index === 4 ? 'live' : 'simulated' }),
    );
    const document = parseXml(junit(runs));
    expect(document.attributes).toEqual({
      name: 'signmesh',
      tests: '5',
      failures: '3',
      errors: '0',
      skipped: '1',
      time: '2.500',
    });
    expect(document.children.map(({ attributes }) => `${attributes.name} ${attributes.tests}`)).toEqual([
      'simulated 4',
      'live 1',
    ]);
    const [passed, failed, violated, stuck] = document.children[0]!.children;
    expect(passed!.children.map(({ name }) => name)).toEqual(['properties', 'system-out']);
    expect(failed!.attributes).toEqual({ name: 's1', classname: 'signmesh.simulated', time: '0.500' });
    expect([failed, violated, stuck].map((each) => each!.children[1]!.attributes.type)).toEqual([
      'failed',
      'violated',
      'stuck',
    ]);
    expect(violated!.children[1]!.text).toBe('n_1 signed twice');
    expect(violated!.children[0]!.children.map(({ attributes }) => attributes)).toContainEqual({
      name: 'replay',
      value: 'signmesh scenario run a-crash.yaml --seed 7',
    });
    expect(document.children[1]!.children[0]!.children[1]!.name).toBe('skipped');
  });

  test('shows the last events of a run that failed', () => {
    const events = Array.from(
      { length: 50 },
      (_, atMs): RunEvent => ({
        kind: 'violation',
        atMs,
        invariant: 'i',
        text: `event ${atMs}`,
      }),
    );
    const text = junit([runOf(events, { verdict: verdicts[1]! })]);
    expect(text).toContain('… 30 events before');
    expect(text).toContain('event 49');
    expect(text).not.toContain('event 29\n');
    expect(junit([runOf(events.slice(0, 20), { verdict: verdicts[1]! })])).not.toContain('events before');
    expect(junit([runOf([], { verdict: verdicts[1]! })])).not.toContain('events before');
  });

  test('has no suite of a world without runs', () => {
    const suites = (runs: readonly Run[]) => parseXml(junit(runs)).children.map(({ attributes }) => attributes.name);
    expect([suites([]), suites([runOf([])]), suites([runOf([], { world: 'live' })])]).toEqual([
      ...[[], ['simulated'], ['live']],
    ]);
  });

  test('is XML 1.0 whatever the texts', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const document = junit([hostileRun(text)]);
        // XML 1.0, production 2; above U+FFFF everything that is a pair.
        expect(document).not.toMatch(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/u);
        const [testcase] = parseXml(document).children[0]!.children;
        expect(testcase!.children.map(({ name }) => name)).toEqual(['properties', 'failure', 'system-out']);
      }),
    );
  });
});

interface Element {
  readonly name: string;
  readonly attributes: Record<string, string>;
  readonly children: Element[];
  text: string;
}

/** A strict reader of the little XML that is written here: throws on anything that is not well formed. */
function parseXml(document: string): Element {
  const root: Element = { name: '', attributes: {}, children: [], text: '' };
  const open = [root];
  const pattern =
    /<\?xml version="1\.0" encoding="UTF-8"\?>|<(\/?)([a-z-]+)((?: [a-z]+="[^"<]*")*)(\/?)>|([^<>]+)|([\s\S])/g;
  const words = (text: string) => {
    if (/&(?!(amp|lt|gt|quot|apos);)/.test(text)) throw new Error(`a bare & in ${text}`);
    return text.replace(/&(\w+);/g, (_, name: string) => ({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" })[name]!);
  };
  for (const [all, closes, name, attributes, empty, text, wrong] of document.matchAll(pattern)) {
    if (wrong !== undefined) throw new Error(`not well formed at ${all}`);
    if (text !== undefined) open.at(-1)!.text += words(text);
    if (name === undefined) continue;
    if (closes) {
      if (open.pop()?.name !== name) throw new Error(`</${name}> closes nothing`);
      continue;
    }
    const pairs = [...attributes!.matchAll(/ ([a-z]+)="([^"]*)"/g)].map((pair) => [pair[1]!, words(pair[2]!)]);
    const element = { name, attributes: Object.fromEntries(pairs), children: [], text: '' };
    open.at(-1)!.children.push(element);
    if (!empty) open.push(element);
  }
  if (open.length !== 1 || root.children.length !== 1) throw new Error('not one root element');
  return root.children[0]!;
}
