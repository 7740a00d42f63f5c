/**
 * The diagram as a component: its visible part, its selection, its keys. It shows what its model holds; after an append call
 * `appended`. Runs in the browser, which is passed in.
 */
import type { Browser, Canvas, Ui, UiEvent } from './dom.ts';
import { makeDrawing } from './draw.ts';
import { type EventFilter, type Layout, makeLayout } from './layout.ts';
import { type DrawnScene, makeMargins } from './margins.ts';
import type { RunModel } from './model.ts';
import type { Spans } from './spans.ts';

export interface DiagramParts {
  readonly model: RunModel;
  readonly spans: Spans;
  /** It scrolls, has the focus, and holds `space`, which holds `canvas`. */
  readonly scroller: Ui;
  readonly space: Ui;
  readonly canvas: Canvas;
  /** An event in one line. */
  line(event: number): string;
  filter(): EventFilter;
  /** -1: none is selected any more. */
  chosen(event: number): void;
  arranged?(layout: Layout): void;
  /** Beside the diagram's own keys. */
  readonly keys?: Readonly<Record<string, () => void>>;
}

export interface DiagramView {
  /** The selected event; -1: none. */
  readonly selected: number;
  /** Call after any change of the filter: the event in the middle stays in its place. */
  arrange(): void;
  /** Call after an append: the end stays in sight if it was. */
  appended(): void;
  /** `always`: scrolls to it even if it is in sight. */
  choose(event: number, always?: boolean): void;
  step(by: 1 | -1, passes?: (event: number) => boolean): void;
  /** To the next event that is a fault's, or that a fault touched. */
  stepToFault(by: 1 | -1): void;
  setOrdinal(to: boolean): void;
  zoomBy(factor: number): void;
  /** Whether the coordinator's actors have columns of their own now. */
  toggleApart(): boolean;
  stop(): void;
}

export function makeDiagram(browser: Browser, parts: DiagramParts): DiagramView {
  const { model, spans, scroller, space, canvas, line, filter, chosen, arranged } = parts;
  const { document } = browser;
  const drawing = makeDrawing(makeMargins());
  let ordinal = true;
  let apart = false;
  let zoom = 1;
  let session = '';
  let selected = -1;
  let layout: Layout;
  let colours = new Map<string, string>();
  let waiting = false;

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
    space.style.height = `${Math.max(scroller.clientHeight, layout.height + head + 3 * pad)}px`;
    space.style.width = `${contentWidth}px`;
    redraw();
  };
  const keepInSight = (event: number, always: boolean) => {
    const { head, pad } = geometry();
    const y = layout.yOfRank(model.startRank[event]!) + pad;
    const room = scroller.clientHeight - head;
    if (always || y < scroller.scrollTop + 24 || y > scroller.scrollTop + room - 32)
      scroller.scrollTop = Math.max(0, y - room / 2.5);
    scroller.scrollIntoView({ block: 'nearest' });
  };
  const arrange = () => {
    const held = selected >= 0 ? selected : layout ? layout.eventAt(scroller.scrollTop) : -1;
    const wasAt = layout && held >= 0 ? layout.yOfRank(model.startRank[held]!) - scroller.scrollTop : 0;
    const wanted = filter();
    session = model.strings.includes(wanted.session) ? wanted.session : '';
    layout = makeLayout(model, spans, wanted, { ordinal, zoom, apart });
    resize();
    if (held >= 0) scroller.scrollTop = Math.max(0, layout.yOfRank(model.startRank[held]!) - wasAt);
    arranged?.(layout);
  };
  const isAtEnd = () => {
    const { head, pad } = geometry();
    return scroller.scrollTop + scroller.clientHeight >= layout.height + head + pad;
  };
  const choose = (event: number, always = false) => {
    if (event < 0 || event >= model.count) return;
    selected = event;
    chosen(event);
    keepInSight(event, always);
    redraw();
  };
  const step: DiagramView['step'] = (by, passes) => {
    const from = selected >= 0 ? selected : by > 0 ? -1 : model.count;
    const next = layout.neighbour(from, by, passes);
    if (next >= 0) choose(next);
  };
  const isFault = (event: number) => model.kindName(event) === 'fault' || spans.touched[event] !== 255;
  const setZoom = (to: number) => {
    zoom = Math.max(0.002, Math.min(4000, to));
    if (ordinal) zoom = Math.max(0.15, Math.min(4, zoom));
    arrange();
  };
  const setOrdinal = (to: boolean) => {
    ordinal = to;
    const tookMs = Math.max(1, model.run.tookMs, model.rankTime.at(-1) ?? 0);
    // In proportion, the whole run is four screens long at first.
    zoom = to ? 1 : Math.max(0.002, (4 * scroller.clientHeight) / (2 * tookMs));
    arrange();
  };

  const keys: Readonly<Record<string, () => void>> = {
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
    j: () => step(1),
    k: () => step(-1),
    f: () => step(1, isFault),
    F: () => step(-1, isFault),
    Home: () => choose(layout.neighbour(-1, 1), true),
    End: () => choose(layout.neighbour(model.count, -1), true),
    '+': () => setZoom(zoom * 1.25),
    '-': () => setZoom(zoom / 1.25),
    t: () => setOrdinal(!ordinal),
    Escape: () => {
      selected = -1;
      chosen(-1);
      redraw();
    },
    ...parts.keys,
  };
  scroller.addEventListener('keydown', (event) => {
    const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
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
    canvas.title = near >= 0 ? line(near) : '';
  });
  scroller.addEventListener('scroll', redraw, { passive: true });
  const watch = new browser.ResizeObserver(() => {
    if (layout) resize();
  });
  watch.observe(scroller);
  const dark = browser.matchMedia('(prefers-color-scheme: dark)');
  const recolour = () => {
    colours = new Map();
    redraw();
  };
  dark.addEventListener('change', recolour);
  return {
    get selected() {
      return selected;
    },
    arrange,
    appended: () => {
      const followed = selected < 0 && isAtEnd();
      arrange();
      if (followed) scroller.scrollTop = layout.height;
    },
    choose,
    step,
    stepToFault: (by) => step(by, isFault),
    setOrdinal,
    zoomBy: (factor) => setZoom(zoom * factor),
    toggleApart: () => {
      apart = !apart;
      arrange();
      return apart;
    },
    stop: () => {
      watch.disconnect();
      dark.removeEventListener('change', recolour);
    },
  };
}
