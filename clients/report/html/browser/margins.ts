/**
 * The margins of the diagram: its measures, the time at its left, the heads of its columns, and the lanes of sessions at its
 * right. Runs in the browser.
 */
import type { Pen } from './dom.ts';
import type { Layout } from './layout.ts';
import type { RunModel } from './model.ts';
import type { Spans } from './spans.ts';

export interface DrawnScene {
  readonly model: RunModel;
  readonly spans: Spans;
  readonly layout: Layout;
  readonly width: number;
  readonly height: number;
  readonly pixelRatio: number;
  readonly scrollTop: number;
  readonly scrollLeft: number;
  readonly selected: number;
  readonly moment: number;
  readonly session: string;
  /** By name of the style sheet's variables, without `--`. */
  readonly colour: (name: string) => string;
}

export interface Geometry {
  readonly head: number;
  readonly gutter: number;
  readonly lanes: number;
  readonly laneWidth: number;
  readonly columnWidth: number;
  /** Of all columns with gutter and lanes: wider than the canvas when it has to be scrolled. */
  readonly contentWidth: number;
  readonly pad: number;
  xOf(column: number): number;
}

export interface Margins {
  geometry(layout: Layout, spans: Spans, width: number): Geometry;
  /** `text` cut to this many pixels. */
  fitted(text: string, width: number): string;
  drawSessions(pen: Pen, scene: DrawnScene, geo: Geometry): void;
  drawRims(pen: Pen, scene: DrawnScene, geo: Geometry): void;
}

export function makeMargins(): Margins {
  const geometry: Margins['geometry'] = (layout, spans, width) => {
    const gutter = 84;
    const laneWidth = 22;
    const lanes = Math.min(spans.lanes, 8);
    const room = width - gutter - lanes * laneWidth - 24;
    const columnWidth = Math.max(86, Math.min(220, room / layout.columns.length));
    return {
      head: 46,
      gutter,
      lanes,
      laneWidth,
      columnWidth,
      contentWidth: Math.max(width, gutter + columnWidth * layout.columns.length + lanes * laneWidth + 24),
      pad: 22,
      xOf: (column) => gutter + (column + 0.5) * columnWidth,
    };
  };

  const fitted = (text: string, width: number) => {
    const most = Math.max(3, Math.floor(width / 6.1));
    return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
  };
  const drawSessions = (pen: Pen, scene: DrawnScene, geo: Geometry) => {
    const { model, spans, layout, width, height, scrollTop } = scene;
    const left = width - geo.lanes * geo.laneWidth - 8;
    const dy = geo.head + geo.pad - scrollTop;
    if (geo.lanes === 0) return;
    pen.fillStyle = scene.colour('ground');
    pen.fillRect(left - 8, geo.head, width - left + 8, height);
    for (const span of spans.sessions) {
      if (span.lane >= geo.lanes) continue;
      const top = layout.yOfRank(span.firstRank) + dy - 5;
      const bottom = layout.yOfRank(span.lastRank) + dy + 5;
      if (bottom < geo.head || top > height) continue;
      const x = left + span.lane * geo.laneWidth;
      const segment = (from: number, until: number, tint: string, words: string) => {
        pen.globalAlpha = scene.session !== '' && scene.session !== span.name ? 0.25 : 1;
        pen.fillStyle = scene.colour(tint);
        pen.beginPath();
        pen.roundRect(x + 2, from, geo.laneWidth - 5, Math.max(4, until - from - 1), 4);
        pen.fill();
        const shownTop = Math.max(from, geo.head);
        const room = Math.min(until, height) - shownTop;
        if (room > 34) {
          pen.save();
          pen.translate(x + geo.laneWidth / 2 - 0.5, shownTop + 7);
          pen.rotate(Math.PI / 2);
          pen.font = scene.colour('small-font');
          pen.textAlign = 'left';
          pen.textBaseline = 'middle';
          pen.fillStyle = scene.colour('ink');
          pen.fillText(fitted(words, room - 12), 0, 0);
          pen.restore();
        }
        pen.globalAlpha = 1;
      };
      const yOf = (event: number) => layout.yOfRank(model.startRank[event]!) + dy;
      const starts = span.segments.map(({ event }) => yOf(event));
      segment(top, starts[0] ?? bottom, 'lane-0', span.name);
      for (const [index, { state, epoch }] of span.segments.entries()) {
        const upper = state.toUpperCase();
        const tint = /COMPLETED|SIGNED|DONE/.test(upper)
          ? 'lane-good'
          : /FAIL|DENIED|EXPIRED|REVOKED|REFUSED/.test(upper)
            ? 'lane-bad'
            : `lane-${1 + (index % 2)}`;
        const words = epoch === '' || epoch === '0' ? state : `${state} · epoch ${epoch}`;
        segment(starts[index]!, starts[index + 1] ?? bottom, tint, `${words} · ${span.name}`);
      }
    }
  };

  /** Above `y` is time without events, drawn short: a dotted line across, with its length. */
  const drawIdle = (pen: Pen, scene: DrawnScene, geo: Geometry, y: number, ms: number) => {
    const middle = y - 22;
    pen.strokeStyle = scene.colour('muted');
    pen.lineWidth = 1;
    pen.setLineDash([2, 5]);
    pen.beginPath();
    pen.moveTo(geo.gutter - 8, middle);
    pen.lineTo(scene.width - geo.lanes * geo.laneWidth - 16, middle);
    pen.stroke();
    pen.setLineDash([]);
    pen.fillStyle = scene.colour('muted');
    pen.fillText(ms >= 10_000 ? `+${(ms / 1000).toFixed(1)} s` : `+${ms.toFixed(0)} ms`, geo.gutter - 16, middle);
  };

  const drawRims = (pen: Pen, scene: DrawnScene, geo: Geometry) => {
    const { model, layout, width, height, scrollTop, scrollLeft } = scene;
    const dy = geo.head + geo.pad - scrollTop;
    // Time, in the gutter: a label at most every 40 pixels, and only where it changes.
    pen.fillStyle = scene.colour('ground');
    pen.fillRect(0, geo.head, geo.gutter - 10, height);
    pen.font = scene.colour('mono-font');
    pen.textBaseline = 'middle';
    pen.textAlign = 'right';
    const write = (ms: number, y: number) => {
      const digits = layout.ordinal ? 3 : Math.max(0, Math.min(3, Math.ceil(Math.log10(layout.scale / 40))));
      pen.fillStyle = scene.colour('muted');
      pen.fillText(`${ms.toFixed(layout.ordinal && ms >= 1e5 ? 1 : digits)}`, geo.gutter - 16, y);
    };
    if (layout.ordinal) {
      let lastY = Number.NEGATIVE_INFINITY;
      let lastTime = Number.NaN;
      layout.forEachBetween(scrollTop - geo.pad, scrollTop + height, (event) => {
        const y = layout.yOfRank(model.startRank[event]!) + dy;
        if (y < geo.head || y - lastY < 15 || model.at[event] === lastTime) return;
        write(model.at[event]!, y);
        lastY = y;
        lastTime = model.at[event]!;
      });
    } else {
      const raw = 48 / layout.scale;
      const power = 10 ** Math.floor(Math.log10(raw));
      const step = power * (raw / power > 5 ? 10 : raw / power > 2 ? 5 : 2);
      let lastY = Number.NEGATIVE_INFINITY;
      for (const [index, { fromMs, untilMs, y: top }] of layout.stretches.entries()) {
        const yOf = (ms: number) => top + (ms - fromMs) * layout.scale + dy;
        if (yOf(fromMs) > height) break;
        const before = layout.stretches[index - 1];
        if (before !== undefined && yOf(fromMs) > geo.head)
          drawIdle(pen, scene, geo, yOf(fromMs), fromMs - before.untilMs);
        if (yOf(untilMs) < geo.head) continue;
        const firstSeen = Math.max(fromMs, fromMs + (geo.head - yOf(fromMs)) / layout.scale);
        for (let ms = Math.ceil(firstSeen / step) * step; ms <= untilMs && yOf(ms) <= height; ms += step) {
          if (yOf(ms) < geo.head + 6 || yOf(ms) - lastY < 15) continue;
          write(ms, yOf(ms));
          lastY = yOf(ms);
        }
        // A short stretch may lie between two steps.
        if (fromMs > 0 && yOf(fromMs) >= geo.head + 6 && yOf(fromMs) - lastY >= 15) {
          write(fromMs, yOf(fromMs));
          lastY = yOf(fromMs);
        }
      }
    }
    // Heads, on top of everything.
    pen.fillStyle = scene.colour('panel');
    pen.fillRect(0, 0, width, geo.head - 6);
    pen.fillStyle = scene.colour('rule');
    pen.fillRect(0, geo.head - 7, width, 1);
    pen.fillStyle = scene.colour('muted');
    pen.fillText('ms', geo.gutter - 16, 20);
    if (geo.lanes > 0) {
      pen.textAlign = 'left';
      const left = width - geo.lanes * geo.laneWidth - 6;
      pen.fillText(geo.lanes > 2 ? 'sessions' : '', left, 20);
    }
    pen.save();
    pen.beginPath();
    pen.rect(geo.gutter - 10, 0, width - geo.gutter - geo.lanes * geo.laneWidth - 6, geo.head);
    pen.clip();
    for (const [index, column] of layout.columns.entries()) {
      const x = geo.xOf(index) - scrollLeft;
      pen.textAlign = 'center';
      if (column.group !== '') {
        pen.font = scene.colour('small-font');
        pen.fillStyle = scene.colour('muted');
        pen.fillText(column.group, x, 10);
      }
      pen.font = scene.colour('head-font');
      pen.fillStyle = scene.colour('ink');
      pen.fillText(column.name, x, column.group === '' ? 20 : 26);
    }
    pen.restore();
  };

  return { geometry, fitted, drawSessions, drawRims };
}
