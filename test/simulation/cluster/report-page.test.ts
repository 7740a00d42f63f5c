/** The page's parts without a browser: what it embeds, how it reads it back, and what it finds at any moment. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Canvas, Pen } from '../../../clients/report/html/browser/dom.ts';
import { makeDrawing } from '../../../clients/report/html/browser/draw.ts';
import { encodeRun } from '../../../clients/report/html/browser/encode.ts';
import { type EventFilter, makeLayout } from '../../../clients/report/html/browser/layout.ts';
import { makeLiveModel } from '../../../clients/report/html/browser/live-model.ts';
import { makeMargins } from '../../../clients/report/html/browser/margins.ts';
import { type RunModel, readModel } from '../../../clients/report/html/browser/model.ts';
import { findSpans, type Spans } from '../../../clients/report/html/browser/spans.ts';
import { htmlPage } from '../../../clients/report/html/page.ts';
import type { RunEvent } from '../../../scenarios/faults/recording.ts';
import { codePoint } from '../../support/code-point.ts';
import { runs } from '../../support/thorough.ts';
import { hostileRun, hostileTexts, manySessions, oneOfEach, runOf } from './report-sample.ts';

const modelOf = (events: readonly RunEvent[]): RunModel => readModel(JSON.stringify(encodeRun(runOf(events))));
const everything: EventFilter = { words: '', without: new Set(), actor: '', session: '', fault: '' };
const byOrder = { ordinal: true, zoom: 1, apart: false };
const texts = fc.oneof(fc.string({ unit: codePoint }), fc.constantFrom(...hostileTexts));

describe('the document', () => {
  test('holds what a run says as text alone, whatever that is', () => {
    const shape = (page: string) => [...page.matchAll(/<\/?[a-z!][^\s>]*/gi)].map(([tag]) => tag);
    const calm = htmlPage(hostileRun('calm'));
    fc.assert(
      fc.property(
        texts.filter((text) => text !== ''),
        (text) => {
          const page = htmlPage(hostileRun(text));
          // The script has no tags of its own: the same elements in the same order.
          expect(shape(page)).toEqual(shape(calm));
        },
      ),
      { numRuns: 40, examples: hostileTexts.filter((text) => text !== '').map((text) => [text]) },
    );
  });

  test('allows its own script and style by their digests, and nothing else', () => {
    const page = htmlPage(manySessions(2));
    const policy = /Content-Security-Policy" content="([^"]*)"/.exec(page)?.[1] ?? '';
    expect(policy).toMatch(/^default-src 'none'; /);
    expect(policy).not.toMatch(/unsafe|https?:|\*|data:/);
    const digest = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
    const style = /<style>([\s\S]*?)<\/style>/.exec(page)![1]!;
    const script = /<script>([\s\S]*?)<\/script>/.exec(page)![1]!;
    expect(policy).toContain(`style-src ${digest(style)}`);
    expect(policy).toContain(`script-src ${digest(script)}`);
    expect(page).not.toMatch(/https?:\/\/|\son\w+=|\sstyle=|<link|<img|@import|url\(/);
  });

  test('is the same for the same run', () => {
    expect(htmlPage(manySessions(3))).toBe(htmlPage(manySessions(3)));
  });

  test('stays below 15 MB for 100,000 events', () => {
    const run = manySessions(5300);
    expect(run.events.length).toBeGreaterThan(100_000);
    expect(Buffer.byteLength(htmlPage(run))).toBeLessThan(15_000_000);
  });
});

describe('the run as the page reads it', () => {
  test('has every value of every event', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const events = oneOfEach(text);
        const model = modelOf(events);
        expect(model.count).toBe(events.length);
        for (const [index, event] of events.entries()) {
          const { kind, atMs, ...values } = event;
          expect([model.kindName(index), model.at[index]]).toEqual([kind, atMs]);
          for (const [name, value] of Object.entries(values)) {
            if (name === 'fields') {
              const shown = Object.entries(value).map(([field, each]) => [
                field,
                Array.isArray(each) ? each.join(', ') : String(each),
              ]);
              expect([...model.fields(index)].sort()).toEqual(shown.sort());
            } else if (name === 'arrivesMs') expect(model.value(index, 'arrives')).toEqual([1.25, 2]);
            else expect(model.value(index, name)).toEqual(value);
          }
        }
      }),
    );
  });

  test('knows the session of an actor by its address', () => {
    const state = (address: string): RunEvent => ({ kind: 'state', atMs: 0, address, state: 's', fields: {} });
    const step: RunEvent = { kind: 'step', atMs: 0, client: 'c', step: 's', what: 'began', session: 'k/1', text: '' };
    const model = modelOf([
      step,
      state('signing/tn/k/1'),
      state('dkg/tn/k/1'),
      state('node/3/dkg/tn/k/1'),
      state('node/3'),
    ]);
    expect([...model.session].map((index) => model.strings[index])).toEqual(['k/1', 'k/1', 'k/1', 'k/1', undefined]);
  });

  test('orders starts and arrivals by time', () => {
    const model = modelOf(manySessions(40).events);
    for (let rank = 1; rank < model.rankTime.length; rank += 1)
      expect(model.rankTime[rank]).toBeGreaterThanOrEqual(model.rankTime[rank - 1]!);
    for (let event = 0; event < model.count; event += 1)
      for (let arrival = model.arrivalStart[event]!; arrival < model.arrivalStart[event + 1]!; arrival += 1)
        expect(model.arrivalRank[arrival]).toBeGreaterThan(model.startRank[event]!);
  });

  test('tells the state of every actor at any moment', () => {
    const { events } = manySessions(30);
    const model = modelOf(events);
    const spans = findSpans(model);
    fc.assert(
      fc.property(fc.nat(events.length - 1), (moment) => {
        const last = new Map<string, string>();
        for (const event of events.slice(0, moment + 1))
          if (event.kind === 'state') last.set(event.address, event.state);
        const found = [...spans.statesAt(moment)].flatMap((event, actor) =>
          event < 0 ? [] : [[spans.actors[actor]!, model.text(event, 'state')] as const],
        );
        expect(new Map(found)).toEqual(last);
      }),
    );
  });

  test('shows no state of actors whose process has gone down since', () => {
    const state = (address: string, atMs: number): RunEvent => ({
      kind: 'state',
      atMs,
      address,
      state: 's',
      fields: {},
    });
    const process = { kind: 'process', atMs: 2, process: 'coordinator', what: 'down', text: '' } as const;
    const spans = findSpans(modelOf([state('cluster', 0), state('node/1', 1), process, state('cluster', 3)]));
    expect([0, 1, 2, 3].map((event) => [...spans.statesAt(event)])).toEqual([
      [0, -1],
      [0, 1],
      [-1, 1],
      [3, 1],
    ]);
  });

  test('tells what an actor’s state was before', () => {
    const state = (atMs: number, address: string, epoch: number): RunEvent => {
      return { kind: 'state', atMs, address, state: `s${epoch}`, fields: { epoch } };
    };
    const spans = findSpans(modelOf([state(0, 'a', 1), state(1, 'b', 5), state(2, 'a', 2)]));
    expect([0, 1].map((event) => spans.stateBefore(event))).toEqual([undefined, undefined]);
    expect(spans.stateBefore(2)).toEqual({ state: 's1', fields: new Map([['epoch', '1']]) });
  });

  test('tells which process was down when', () => {
    const { events } = manySessions(30);
    const spans = findSpans(modelOf(events));
    const at = (what: string) => events.findIndex((event) => event.kind === 'process' && event.what === what);
    expect(
      [at('down') - 1, at('down'), at('up') - 1, at('up')].map((event) => spans.processAt('node/2', event)),
    ).toEqual(['up', 'down', 'down', 'up']);
    expect(spans.faults.map(({ id, frames }) => [id, frames > 0])).toEqual(
      ['crash-2', 'slow-3', 'lossy-4', 'liar-5', 'twice-1'].map((id) => [id, true]),
    );
  });
});

describe('what is in sight', () => {
  const run = manySessions(60);
  const model = modelOf(run.events);
  const spans = findSpans(model);

  test.each([
    ['by order', true],
    ['by time', false],
  ])('is found as by looking at every event, %s', (_, ordinal) => {
    const layout = makeLayout(model, spans, everything, { ...byOrder, ordinal });
    fc.assert(
      fc.property(fc.nat(Math.ceil(layout.height)), fc.nat(2000), (top, size) => {
        const expected = Array.from({ length: model.count }, (_, event) => event).filter((event) => {
          const ranks = [model.startRank[event]!];
          for (let arrival = model.arrivalStart[event]!; arrival < model.arrivalStart[event + 1]!; arrival += 1)
            ranks.push(model.arrivalRank[arrival]!);
          const ys = ranks.map((rank) => layout.yOfRank(rank));
          return ys[0]! <= top + size && Math.max(...ys) >= top;
        });
        const found: number[] = [];
        layout.forEachBetween(top, top + size, (event) => found.push(event));
        expect(found).toEqual(expected);
      }),
      { numRuns: runs(20, 50) },
    );
  });

  test('is drawn by time without the stretches in which nothing happens', () => {
    // So near that a few milliseconds take more room than an idle stretch may.
    const layout = makeLayout(model, spans, everything, { ...byOrder, ordinal: false, zoom: 2000 });
    const { stretches, scale } = layout;
    expect(stretches.length).toBeGreaterThan(1);
    const busy = stretches.reduce((sum, { fromMs, untilMs }) => sum + (untilMs - fromMs), 0);
    expect(layout.height).toBeCloseTo(busy * scale + (stretches.length - 1) * 44, 3);
    for (const [index, { fromMs, y }] of stretches.entries()) {
      const before = stretches[index - 1];
      if (before === undefined) continue;
      expect((fromMs - before.untilMs) * scale).toBeGreaterThan(160);
      expect(y).toBeCloseTo(before.y + (before.untilMs - before.fromMs) * scale + 44, 3);
    }
    for (let rank = 1; rank < model.rankTime.length; rank += 1)
      expect(layout.yOfRank(rank)).toBeGreaterThanOrEqual(layout.yOfRank(rank - 1));
  });

  const shownBy = (filter: Partial<EventFilter>) => {
    const layout = makeLayout(model, spans, { ...everything, ...filter }, byOrder);
    return run.events.filter((_, event) => layout.isShown(event));
  };

  test('is what the filter leaves: by kind, actor, session, fault and words', () => {
    const session = 'sig_00000a';
    expect(new Set(shownBy({ without: new Set(['frame', 'actor']) }).map(({ kind }) => kind))).toEqual(
      new Set(['step', 'state', 'fault', 'process', 'delivery']),
    );
    const ofNode = shownBy({ actor: 'node/4' });
    expect(ofNode.length).toBeGreaterThan(50);
    for (const event of ofNode) expect(JSON.stringify(event)).toContain('node/4');
    expect(shownBy({ session })).toEqual(run.events.filter((event) => JSON.stringify(event).includes(session)));
    expect(shownBy({ fault: 'slow-3' })).toEqual(
      run.events.filter(
        (event) =>
          (event.kind === 'fault' && event.id === 'slow-3') ||
          (event.kind === 'frame' && event.faults.includes('slow-3')),
      ),
    );
    expect(shownBy({ words: 'Node/4 PARTIAL_reply' })).toEqual(
      run.events.filter(
        (event) => event.kind === 'frame' && event.point === 'partial_reply' && event.from === 'node/4',
      ),
    );
    expect(shownBy({ words: 'nothing says this' })).toEqual([]);
  });

  test('has the coordinator’s actors apart when asked', () => {
    const names = (apart: boolean) =>
      makeLayout(model, spans, everything, { ...byOrder, apart }).columns.map(({ name }) => name);
    const nodes = [1, 2, 3, 4, 5].map((id) => `node/${id}`);
    expect(names(false)).toEqual(['clients', 'gateway', 'coordinator', ...nodes, 'worker', 'receiver']);
    expect(names(true)).toEqual(['clients', 'gateway', 'coordinator', 'signing', ...nodes, 'worker', 'receiver']);
  });

  test('is nothing for a run without events', () => {
    const empty = modelOf([]);
    const layout = makeLayout(empty, findSpans(empty), everything, byOrder);
    expect([layout.shown, layout.eventAt(0), layout.neighbour(-1, 1), layout.height]).toEqual([0, -1, -1, 0]);
    layout.forEachBetween(0, 1000, () => expect.unreachable());
  });
});

describe('a run that has not ended', () => {
  /** Every stroke of the whole diagram, and every state at its end. */
  function shown(model: RunModel, spans: Spans, ordinal: boolean) {
    const strokes: unknown[] = [];
    const pen = new Proxy({} as Pen, {
      get:
        (_, name) =>
        (...values: unknown[]) =>
          strokes.push([name, ...values]),
      set: (_, name, value) => strokes.push([name, value]) > 0,
    });
    const layout = makeLayout(model, spans, everything, { ordinal, zoom: 1, apart: true });
    const screen = { width: 1400, height: layout.height + 200, pixelRatio: 1, scrollTop: 0, scrollLeft: 0 };
    const chosen = { selected: model.count - 1, moment: model.count - 1, session: '' };
    const colour = (name: string) => name;
    makeDrawing(makeMargins()).draw({ getContext: () => pen } as unknown as Canvas, {
      ...{ model, spans, layout, ...screen, ...chosen, colour },
    });
    const last = [...spans.statesAt(model.count - 1)];
    const states = last.map((event, actor) => [
      spans.actors[actor],
      event < 0 ? undefined : model.text(event, 'state'),
    ]);
    return { strokes, states, processes: spans.processNames, faults: spans.faults, lanes: spans.lanes };
  }

  test('is drawn event by event as if it was read at once', () => {
    const events = manySessions(5).events.toSorted((a, b) => a.atMs - b.atMs);
    const live = makeLiveModel(5);
    let strokes = 0;
    for (const [index, event] of events.entries()) {
      live.append([event]);
      const read = modelOf(events.slice(0, index + 1));
      const ordinal = index % 2 === 0;
      const grown = shown(live.model, live.spans, ordinal);
      expect(grown).toEqual(shown(read, findSpans(read), ordinal));
      strokes = grown.strokes.length;
    }
    expect(strokes).toBeGreaterThan(1_000);
  });

  test('is the same however its events are divided', () => {
    const events = [...hostileTexts.flatMap(oneOfEach), ...manySessions(4).events].toSorted((a, b) => a.atMs - b.atMs);
    const read = modelOf(events);
    const atOnce = shown(read, findSpans(read), true);
    fc.assert(
      fc.property(fc.array(fc.nat(events.length), { maxLength: 8 }), (cuts) => {
        const live = makeLiveModel(5);
        const bounds = [0, ...cuts.sort((a, b) => a - b), events.length];
        for (const [index, until] of bounds.entries()) live.append(events.slice(bounds[index - 1] ?? 0, until));
        expect(shown(live.model, live.spans, true)).toEqual(atOnce);
      }),
      { numRuns: runs(10, 100) },
    );
  });

  test('gives an event that comes late the time of the one before it', () => {
    const process = (atMs: number): RunEvent => ({ kind: 'process', atMs, process: 'redis', what: 'up', text: '' });
    const live = makeLiveModel(1);
    live.append([process(5)]);
    live.append([process(3), process(7)]);
    expect(live.model.at).toEqual([5, 5, 7]);
  });
});
