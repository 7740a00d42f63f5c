/** The page of a run: the diagram with its filters, and the panels beside it. Runs in the browser, which is passed in. */
import { makeDiagram } from './diagram.ts';
import type { Browser, Canvas, Ui } from './dom.ts';
import { showMarks } from './marks.ts';
import { readModel } from './model.ts';
import { makePanels } from './panels.ts';
import { findSpans } from './spans.ts';

export function startPage(browser: Browser): void {
  const { document } = browser;
  const byId = (id: string): Ui => {
    const element = document.getElementById(id);
    if (!element) throw new Error(`the page has no #${id}`);
    return element;
  };
  const model = readModel(byId('run').textContent ?? '');
  const spans = findSpans(model);
  const panels = makePanels(browser, model, spans);
  const hidden = new Set<string>();
  let typing = 0;
  const diagram = makeDiagram(browser, {
    ...{ model, spans },
    scroller: byId('scroller'),
    space: byId('space'),
    canvas: byId('diagram') as Canvas,
    line: (event) => panels.line(event),
    filter: () => ({
      words: byId('words').value,
      without: hidden,
      actor: byId('actor').value,
      session: byId('session').value,
      fault: byId('fault').value,
    }),
    chosen: (event) => {
      panels.showEvent(byId('details'), event, { session: (name) => only('session', name) });
      byId('said').textContent = event < 0 ? '' : panels.line(event);
      showMoment();
    },
    arranged: ({ shown, ordinal }) => {
      byId('ordinal').setAttribute('aria-pressed', String(ordinal));
      byId('proportional').setAttribute('aria-pressed', String(!ordinal));
      byId('count').textContent = shown === model.count ? `${shown} events` : `${shown} of ${model.count} events`;
    },
    keys: {
      v: () => diagram.step(1, isViolation),
      V: () => diagram.step(-1, isViolation),
      '/': () => byId('words').focus(),
    },
  });
  const { arrange, choose } = diagram;
  const showMoment = () => {
    const { selected } = diagram;
    const moment = selected < 0 ? model.count - 1 : selected;
    const when = selected < 0 || moment < 0 ? 'the end' : `${model.at[moment]!.toFixed(3)} ms`;
    byId('moment-words').textContent = `at ${when}`;
    byId('moment').value = String(moment);
    byId('moment').setAttribute('aria-valuetext', `${when}, event ${moment + 1} of ${model.count}`);
    panels.showStates(byId('states'), moment, byId('states-words').value);
  };
  const only = (field: string, value: string) => {
    byId(field).value = value;
    arrange();
    if (diagram.selected >= 0) choose(diagram.selected, true);
  };
  const isViolation = (event: number) => model.kindName(event) === 'violation';

  for (const id of ['words', 'actor', 'session'])
    byId(id).addEventListener('input', () => {
      browser.clearTimeout(typing);
      typing = browser.setTimeout(arrange, 150);
    });
  byId('fault').addEventListener('change', arrange);
  byId('moment').addEventListener('input', () => choose(Number(byId('moment').value)));
  byId('states-words').addEventListener('input', showMoment);
  const pressed = (id: string, act: () => void) => byId(id).addEventListener('click', act);
  pressed('ordinal', () => diagram.setOrdinal(true));
  pressed('proportional', () => diagram.setOrdinal(false));
  pressed('closer', () => diagram.zoomBy(1.5));
  pressed('farther', () => diagram.zoomBy(1 / 1.5));
  pressed('next-fault', () => diagram.stepToFault(1));
  pressed('last-fault', () => diagram.stepToFault(-1));
  pressed('apart', () => byId('apart').setAttribute('aria-pressed', String(diagram.toggleApart())));
  pressed('everything', () => {
    for (const id of ['words', 'actor', 'session', 'fault']) byId(id).value = '';
    for (const kind of [...hidden]) kindButtons.get(kind)?.setAttribute('aria-pressed', 'true');
    hidden.clear();
    arrange();
  });
  pressed('copy', () => {
    const say = (words: string) => {
      byId('copy').textContent = words;
    };
    const { clipboard } = browser.navigator;
    if (clipboard)
      void clipboard.writeText(byId('replay').textContent ?? '').then(
        () => say('Copied'),
        () => say('Not allowed here'),
      );
    else say('Not allowed here');
  });

  const kindButtons = new Map<string, Ui>();
  for (const [index, kind] of model.run.kinds.entries()) {
    if (!model.kind.includes(index)) continue;
    const toggle = panels.button(kind, 'chip', () => {
      if (!hidden.delete(kind)) hidden.add(kind);
      toggle.setAttribute('aria-pressed', String(!hidden.has(kind)));
      arrange();
    });
    toggle.setAttribute('aria-pressed', 'true');
    kindButtons.set(kind, toggle);
    byId('kinds').append(toggle);
  }
  const offer = (id: string, values: readonly string[]) => {
    for (const value of values.slice(0, 500)) {
      const option = panels.make('option', '', id === 'fault' ? value : '');
      option.value = value;
      byId(id).append(option);
    }
  };
  offer('actors', [...spans.processNames, ...spans.actors]);
  offer(
    'sessions',
    spans.sessions.map(({ name }) => name),
  );
  offer('fault', [...new Set(spans.faults.map(({ id }) => id))]);
  showMarks(byId('marks'), model, spans, panels, {
    to: (event) => {
      choose(event, true);
      byId('scroller').focus({ preventScroll: true });
    },
    fault: (id) => only('fault', id),
  });
  byId('moment').setAttribute('max', String(Math.max(0, model.count - 1)));

  arrange();
  panels.showEvent(byId('details'), -1, { session: () => {} });
  if (spans.violations[0] === undefined) showMoment();
  else choose(spans.violations[0], true);
  document.body.dataset.ready = 'yes';
}
