/** The page's state: selection, filter and visible part. Runs in the browser, which is passed in. */
import type { Browser, Canvas, Ui, UiEvent } from './dom.ts';
import { makeDrawing } from './draw.ts';
import { type EventFilter, type Layout, makeLayout } from './layout.ts';
import { type DrawnScene, makeMargins } from './margins.ts';
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
  const drawing = makeDrawing(makeMargins());
  const scroller = byId('scroller');
  const canvas = byId('diagram') as Canvas;
  const hidden = new Set<string>();
  let ordinal = true;
  let apart = false;
  let zoom = 1;
  let session = '';
  let selected = -1;
  let layout: Layout;
  let colours = new Map<string, string>();
  let waiting = false;
  let typing = 0;

  const colour = (name: string) => {
    let found = colours.get(name);
    if (found === undefined) {
      found = browser.getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
      colours.set(name, found);
    }
    return found;
  };
  const scene = (): DrawnScene => ({
    model,
    spans,
    layout,
    width: scroller.clientWidth,
    height: scroller.clientHeight,
    pixelRatio: browser.devicePixelRatio,
    scrollTop: scroller.scrollTop,
    scrollLeft: scroller.scrollLeft,
    selected,
    moment: selected,
    session,
    colour,
  });
  const geometry = () => drawing.geometry(layout, spans, scroller.clientWidth);
  const redraw = () => {
    if (waiting) return;
    waiting = true;
    browser.requestAnimationFrame(() => {
      waiting = false;
      const now = scene();
      const [width, height] = [Math.round(now.width * now.pixelRatio), Math.round(now.height * now.pixelRatio)];
      if (canvas.width !== width || canvas.height !== height) {
        canvas.width = width;
        canvas.height = height;
        canvas.style.width = `${now.width}px`;
        canvas.style.height = `${now.height}px`;
      }
      const { first, last } = drawing.draw(canvas, now);
      canvas.dataset.first = String(first);
      canvas.dataset.last = String(last);
    });
  };
  const resize = () => {
    const { head, pad, contentWidth } = geometry();
    const space = byId('space');
    space.style.height = `${Math.max(scroller.clientHeight, layout.height + head + 3 * pad)}px`;
    space.style.width = `${contentWidth}px`;
    redraw();
  };
  const keepInSight = (event: number, always = false) => {
    const { head, pad } = geometry();
    const y = layout.yOfRank(model.startRank[event]!) + pad;
    const room = scroller.clientHeight - head;
    if (always || y < scroller.scrollTop + 24 || y > scroller.scrollTop + room - 32)
      scroller.scrollTop = Math.max(0, y - room / 2.5);
    scroller.scrollIntoView({ block: 'nearest' });
  };
  /** Call after any change of the content or its display: the event in the middle stays in its place. */
  const arrange = () => {
    const held = selected >= 0 ? selected : layout ? layout.eventAt(scroller.scrollTop) : -1;
    const wasAt = layout && held >= 0 ? layout.yOfRank(model.startRank[held]!) - scroller.scrollTop : 0;
    const filter: EventFilter = {
      words: byId('words').value,
      without: hidden,
      actor: byId('actor').value,
      session: byId('session').value,
      fault: byId('fault').value,
    };
    session = model.strings.includes(filter.session) ? filter.session : '';
    layout = makeLayout(model, spans, filter, { ordinal, zoom, apart });
    resize();
    if (held >= 0) scroller.scrollTop = Math.max(0, layout.yOfRank(model.startRank[held]!) - wasAt);
    const all = layout.shown === model.count;
    byId('count').textContent = all ? `${model.count} events` : `${layout.shown} of ${model.count} events`;
  };
  const showMoment = () => {
    const moment = selected < 0 ? model.count - 1 : selected;
    const when = selected < 0 || moment < 0 ? 'the end' : `${model.at[moment]!.toFixed(3)} ms`;
    byId('moment-words').textContent = `at ${when}`;
    byId('moment').value = String(moment);
    byId('moment').setAttribute('aria-valuetext', `${when}, event ${moment + 1} of ${model.count}`);
    panels.showStates(byId('states'), moment, byId('states-words').value);
  };
  const choose = (event: number, always = false) => {
    if (event < 0 || event >= model.count) return;
    selected = event;
    panels.showEvent(byId('details'), event, { session: (name) => only('session', name) });
    byId('said').textContent = panels.line(event);
    showMoment();
    keepInSight(event, always);
    redraw();
  };
  const only = (field: string, value: string) => {
    byId(field).value = value;
    arrange();
    if (selected >= 0) keepInSight(selected, true);
  };
  const step = (by: 1 | -1, passes?: (event: number) => boolean) => {
    const from = selected >= 0 ? selected : by > 0 ? -1 : model.count;
    const next = layout.neighbour(from, by, passes);
    if (next >= 0) choose(next);
  };
  const isFault = (event: number) => model.kindName(event) === 'fault' || spans.touched[event] !== 255;
  const isViolation = (event: number) => model.kindName(event) === 'violation';
  const setZoom = (to: number) => {
    zoom = Math.max(0.002, Math.min(4000, to));
    if (ordinal) zoom = Math.max(0.15, Math.min(4, zoom));
    arrange();
  };
  const setOrdinal = (to: boolean) => {
    ordinal = to;
    // In proportion, the whole run is four screens long at first.
    zoom = to ? 1 : Math.max(0.002, (4 * scroller.clientHeight) / (2 * Math.max(1, model.run.tookMs)));
    byId('ordinal').setAttribute('aria-pressed', String(to));
    byId('proportional').setAttribute('aria-pressed', String(!to));
    arrange();
  };

  const keys: Readonly<Record<string, (event: UiEvent) => void>> = {
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
    j: () => step(1),
    k: () => step(-1),
    f: () => step(1, isFault),
    F: () => step(-1, isFault),
    v: () => step(1, isViolation),
    V: () => step(-1, isViolation),
    Home: () => choose(layout.neighbour(-1, 1), true),
    End: () => choose(layout.neighbour(model.count, -1), true),
    '+': () => setZoom(zoom * 1.25),
    '-': () => setZoom(zoom / 1.25),
    t: () => setOrdinal(!ordinal),
    '/': () => byId('words').focus(),
    Escape: () => {
      selected = -1;
      panels.showEvent(byId('details'), -1, { session: () => {} });
      showMoment();
      redraw();
    },
  };
  scroller.addEventListener('keydown', (event) => {
    const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
    if (!act) return;
    event.preventDefault();
    act(event);
  });
  const pointed = (event: UiEvent) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  canvas.addEventListener('click', (event) => {
    const { x, y } = pointed(event);
    const { head, pad } = geometry();
    const near = drawing.hit(scene(), x, y);
    const there = near >= 0 ? near : layout.eventAt(y - head - pad + scroller.scrollTop);
    scroller.focus({ preventScroll: true });
    if (y > head) choose(there);
  });
  canvas.addEventListener('pointermove', (event) => {
    const { x, y } = pointed(event);
    const near = drawing.hit(scene(), x, y);
    canvas.style.cursor = near >= 0 ? 'pointer' : 'default';
    canvas.title = near >= 0 ? panels.line(near) : '';
  });
  scroller.addEventListener('scroll', redraw, { passive: true });
  for (const id of ['words', 'actor', 'session'])
    byId(id).addEventListener('input', () => {
      browser.clearTimeout(typing);
      typing = browser.setTimeout(arrange, 150);
    });
  byId('fault').addEventListener('change', arrange);
  byId('moment').addEventListener('input', () => choose(Number(byId('moment').value)));
  byId('states-words').addEventListener('input', showMoment);
  const pressed = (id: string, act: () => void) => byId(id).addEventListener('click', act);
  pressed('ordinal', () => setOrdinal(true));
  pressed('proportional', () => setOrdinal(false));
  pressed('closer', () => setZoom(zoom * 1.5));
  pressed('farther', () => setZoom(zoom / 1.5));
  pressed('next-fault', () => step(1, isFault));
  pressed('last-fault', () => step(-1, isFault));
  pressed('apart', () => {
    apart = !apart;
    byId('apart').setAttribute('aria-pressed', String(apart));
    arrange();
  });
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
      scroller.focus({ preventScroll: true });
    },
    fault: (id) => only('fault', id),
  });
  byId('moment').setAttribute('max', String(Math.max(0, model.count - 1)));

  arrange();
  new browser.ResizeObserver(resize).observe(scroller);
  browser.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    colours = new Map();
    redraw();
  });
  panels.showEvent(byId('details'), -1, { session: () => {} });
  if (spans.violations[0] === undefined) showMoment();
  else choose(spans.violations[0], true);
  document.body.dataset.ready = 'yes';
}
