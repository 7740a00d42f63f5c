/**
 * Draws the visible part: one vertical line for each process, arrows from send to arrival, faults on top. Runs in the browser. It
 * draws on a canvas and changes nothing else.
 */
import { families } from './addresses.ts';
import type { Canvas, Pen } from './dom.ts';
import type { DrawnScene, Geometry, Margins } from './margins.ts';

export interface Drawing {
  geometry: Margins['geometry'];
  /** Draws, and returns the first and the last event that it drew; -1: none. */
  draw(canvas: Canvas, scene: DrawnScene): { readonly first: number; readonly last: number };
  /** The event nearest to a point of the canvas, within reach; -1: none. */
  hit(scene: DrawnScene, x: number, y: number): number;
}

export function makeDrawing(margins: Margins): Drawing {
  const { geometry, fitted } = margins;
  /** The columns of a fault's event; when it fires, those of the processes that it hit. */
  const flagColumns = ({ model, layout }: DrawnScene, event: number) =>
    model.list(event, 'targets').flatMap((target) => layout.columnsOf(target));
  /** The positions of an event's parts on the canvas. */
  const shapeOf = (scene: DrawnScene, geo: Geometry, event: number) => {
    const { model, layout, scrollTop, scrollLeft } = scene;
    const kind = model.kindName(event);
    const dy = geo.head + geo.pad - scrollTop;
    const y = layout.yOfRank(model.startRank[event]!) + dy;
    const x = (column: number) => geo.xOf(column) - scrollLeft;
    const named = (name: string) => layout.columns.findIndex((column) => column.name === name);
    const arrows: { readonly x: number; readonly y: number; readonly lost: boolean }[] = [];
    let from = layout.columnOf(model.origin(event));
    if (kind === 'frame') {
      const to = layout.columnOf(model.text(event, 'to'));
      const first = model.arrivalStart[event]!;
      for (let arrival = first; arrival < model.arrivalStart[event + 1]!; arrival += 1)
        arrows.push({ x: x(to), y: layout.yOfRank(model.arrivalRank[arrival]!) + dy, lost: false });
      if (arrows.length === 0) arrows.push({ x: x(from) + (x(to) - x(from)) * 0.55, y: y + 7, lost: true });
    } else if (kind === 'delivery') {
      from = named('worker');
      arrows.push({ x: x(named('receiver')), y, lost: false });
    } else if (kind === 'step') from = named('clients');
    else if (kind === 'fault') from = flagColumns(scene, event)[0] ?? from;
    else if (kind === 'process') from = layout.columnsOf(model.text(event, 'process'))[0] ?? from;
    return { kind, x: x(Math.max(0, from)), y, arrows };
  };

  /** Text with a rim of the background's colour, so that lines do not cross its letters. */
  const label = (pen: Pen, scene: DrawnScene, text: string, x: number, y: number, colour: string, align = 'left') => {
    pen.textAlign = align;
    pen.textBaseline = 'middle';
    pen.lineWidth = 4;
    pen.lineJoin = 'round';
    pen.strokeStyle = scene.colour('ground');
    pen.strokeText(text, x, y);
    pen.fillStyle = colour;
    pen.fillText(text, x, y);
  };

  const drawBands = (pen: Pen, scene: DrawnScene, geo: Geometry) => {
    const { model, spans, layout, scrollTop, scrollLeft, height } = scene;
    const dy = geo.head + geo.pad - scrollTop;
    const reach = (from: number, until: number) => {
      const top = Math.max(geo.head, layout.yOfRank(model.startRank[from]!) + dy);
      const end = until < 0 ? layout.height : layout.yOfRank(model.startRank[until]!);
      return { top, bottom: Math.min(height, end + dy) };
    };
    for (const [order, span] of spans.faults.entries()) {
      const { top, bottom } = reach(span.from, span.until);
      if (bottom < geo.head || top > height || bottom - top < 1) continue;
      const colour = scene.colour(span.family);
      for (const column of span.targets.flatMap((target) => layout.columnsOf(target))) {
        const left = geo.xOf(column) - geo.columnWidth / 2 + 3 - scrollLeft;
        pen.fillStyle = colour;
        pen.globalAlpha = 0.055;
        pen.fillRect(left, top, geo.columnWidth - 6, bottom - top);
        pen.globalAlpha = 0.7;
        pen.fillRect(left + (order % 4) * 4, top, 2, bottom - top);
        pen.globalAlpha = 1;
      }
    }
    for (const span of spans.processes) {
      const { top, bottom } = reach(span.from, span.until);
      if (bottom < geo.head || top > height) continue;
      for (const column of layout.columnsOf(span.process)) {
        const middle = geo.xOf(column) - scrollLeft;
        pen.fillStyle = scene.colour(span.what === 'down' ? 'bad' : span.what === 'paused' ? 'process' : 'muted');
        pen.globalAlpha = span.what === 'linkDown' ? 0.14 : 0.2;
        pen.beginPath();
        pen.roundRect(middle - 7, top, 14, Math.max(3, bottom - top), 4);
        pen.fill();
        pen.globalAlpha = 1;
      }
    }
  };

  const inkOf = (scene: DrawnScene, event: number): string => {
    const { model, spans } = scene;
    const kind = model.kindName(event);
    if (event === scene.selected) return 'accent';
    if (spans.touched[event] !== 255) return families[spans.touched[event]!]!;
    if (kind === 'fault') return spans.faults.find(({ id }) => id === model.text(event, 'id'))?.family ?? 'process';
    const level = model.text(event, 'level');
    if (level === 'error' || kind === 'violation') return 'bad';
    if (level === 'warn') return 'clock';
    const inks: Readonly<Record<string, string>> = { frame: 'line', state: 'ink', process: 'process', step: 'accent' };
    return inks[kind] ?? 'muted';
  };
  const isFaded = ({ model, session }: DrawnScene, event: number) =>
    session !== '' && model.session[event]! >= 0 && model.strings[model.session[event]!] !== session;

  const drawArrow = (pen: Pen, x: number, y: number, arrow: { x: number; y: number; lost: boolean }, copy: number) => {
    pen.setLineDash(arrow.lost ? [5, 4] : copy > 0 ? [2, 3] : []);
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(arrow.x, arrow.y);
    pen.stroke();
    pen.setLineDash([]);
    pen.beginPath();
    if (arrow.lost) {
      for (const side of [1, -1]) {
        pen.moveTo(arrow.x - 4, arrow.y - 4 * side);
        pen.lineTo(arrow.x + 4, arrow.y + 4 * side);
      }
      pen.lineWidth = 2;
      pen.stroke();
      return;
    }
    const angle = Math.atan2(arrow.y - y, arrow.x - x);
    pen.moveTo(arrow.x, arrow.y);
    for (const turn of [0.36, -0.36])
      pen.lineTo(arrow.x - 8 * Math.cos(angle + turn), arrow.y - 8 * Math.sin(angle + turn));
    pen.closePath();
    pen.fill();
  };

  const drawEvent = (pen: Pen, scene: DrawnScene, geo: Geometry, event: number) => {
    const { model, spans } = scene;
    const { kind, x, y, arrows } = shapeOf(scene, geo, event);
    const chosen = event === scene.selected;
    const colour = scene.colour(inkOf(scene, event));
    pen.globalAlpha = isFaded(scene, event) ? 0.25 : 1;
    pen.strokeStyle = colour;
    pen.fillStyle = colour;
    for (const [copy, arrow] of arrows.entries()) {
      pen.lineWidth = chosen ? 2.2 : spans.touched[event] === 255 ? 1.1 : 1.6;
      drawArrow(pen, x, y, arrow, copy);
    }
    pen.lineWidth = 1.6;
    pen.beginPath();
    if (kind === 'violation') {
      pen.fillRect(geo.gutter, y - 1, scene.width - geo.gutter, 2);
    } else if (kind === 'fault') {
      // A flag on every process that it hits; one hollow flag where it begins or ends.
      const fires = model.text(event, 'what') === 'fired';
      const others = fires ? flagColumns(scene, event).slice(1) : [];
      for (const at of [x, ...others.map((column) => geo.xOf(column) - scene.scrollLeft)]) {
        pen.moveTo(at - 4, y - 6);
        pen.lineTo(at + 7, y);
        pen.lineTo(at - 4, y + 6);
        pen.closePath();
      }
      if (fires) pen.fill();
      else pen.stroke();
    } else if (kind === 'state') {
      pen.roundRect(x - 4, y - 4, 8, 8, 2);
      pen.fill();
    } else if (arrows.length === 0) {
      pen.arc(x, y, kind === 'actor' ? 2.6 : 4, 0, 2 * Math.PI);
      pen.fill();
    }
    pen.globalAlpha = 1;
    if (!chosen) return;
    pen.lineWidth = 1.5;
    pen.beginPath();
    pen.arc(x, y, 9, 0, 2 * Math.PI);
    pen.stroke();
  };

  const drawLabel = (pen: Pen, scene: DrawnScene, geo: Geometry, event: number) => {
    const { model } = scene;
    const { kind, x, y, arrows } = shapeOf(scene, geo, event);
    const ink = inkOf(scene, event);
    const colour = scene.colour(ink === 'line' ? 'muted' : ink);
    let text = model.title(event);
    const before = kind === 'state' ? scene.spans.stateBefore(event) : undefined;
    if (before?.state === text) {
      // The same state again: its changed fields say more.
      const news = model.fields(event).filter(([name, value]) => before.fields.get(name) !== value);
      text = news.map(([name, value]) => `${name} ${value || 'none'}`).join(', ') || text;
    }
    pen.globalAlpha = isFaded(scene, event) ? 0.25 : 1;
    const arrow = arrows[0];
    if (arrow) {
      const right = arrow.x >= x;
      const room = Math.max(104, Math.min(geo.columnWidth * 1.4, Math.abs(arrow.x - x) - 18));
      label(pen, scene, fitted(text, room), x + (right ? 9 : -9), y - 6, colour, right ? 'left' : 'right');
    } else if (kind === 'violation') {
      label(pen, scene, fitted(`violation: ${text}`, scene.width / 2), geo.gutter + 10, y - 9, colour);
    } else {
      const words = kind === 'fault' ? `${model.text(event, 'id')} ${model.text(event, 'what')}` : text;
      label(pen, scene, fitted(words, Math.max(130, geo.columnWidth)), x + 11, y, colour);
    }
    pen.globalAlpha = 1;
  };

  return {
    geometry,
    draw: (canvas, scene) => drawAll(canvas, scene),
    hit: (scene, x, y) => nearest(scene, x, y),
  };

  function drawAll(canvas: Canvas, scene: DrawnScene): { first: number; last: number } {
    const { model, spans, layout, width, height, pixelRatio, scrollTop, scrollLeft } = scene;
    const geo = geometry(layout, spans, width);
    const pen = canvas.getContext('2d');
    pen.setTransform(pixelRatio, 0, 0, pixelRatio, 0, 0);
    pen.fillStyle = scene.colour('ground');
    pen.fillRect(0, 0, width, height);
    drawBands(pen, scene, geo);
    pen.fillStyle = scene.colour('rule');
    for (let column = 0; column < layout.columns.length; column += 1)
      pen.fillRect(Math.round(geo.xOf(column) - scrollLeft), geo.head, 1, height);
    const dy = geo.head + geo.pad - scrollTop;
    if (scene.moment >= 0) {
      pen.fillStyle = scene.colour('accent');
      pen.globalAlpha = 0.5;
      pen.fillRect(geo.gutter - 8, Math.round(layout.yOfRank(model.startRank[scene.moment]!) + dy), width, 1);
      pen.globalAlpha = 1;
    }
    // Where many fall on one pixel between the same columns, it draws one for all; it always draws frames that a fault touched.
    const lastLine = new Map<number, number>();
    const lastLabel = new Map<number, number>();
    const labelled: number[] = [];
    let first = -1;
    let last = -1;
    layout.forEachBetween(scrollTop - geo.pad - 20, scrollTop + height, (event) => {
      if (first < 0) first = event;
      last = event;
      const from = layout.columnOf(model.origin(event));
      const y = layout.yOfRank(model.startRank[event]!);
      const to = model.text(event, 'to');
      const pair = from * 1000 + (to === '' ? 999 : layout.columnOf(to));
      const chosen = event === scene.selected;
      const marked = chosen || spans.touched[event] !== 255;
      if (!marked && Math.abs(y - (lastLine.get(pair) ?? -9)) < 0.75) return;
      lastLine.set(pair, y);
      if (chosen || y - (lastLabel.get(from) ?? -99) >= 13) {
        lastLabel.set(from, y);
        labelled.push(event);
      }
      drawEvent(pen, scene, geo, event);
    });
    pen.font = scene.colour('small-font');
    for (const event of labelled) drawLabel(pen, scene, geo, event);
    margins.drawSessions(pen, scene, geo);
    margins.drawRims(pen, scene, geo);
    return { first, last };
  }

  function nearest(scene: DrawnScene, x: number, y: number): number {
    const geo = geometry(scene.layout, scene.spans, scene.width);
    let best = -1;
    let bestDistance = 9;
    const distance = (ax: number, ay: number, bx: number, by: number) => {
      const length = (bx - ax) ** 2 + (by - ay) ** 2;
      const along = length === 0 ? 0 : Math.max(0, Math.min(1, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length));
      return Math.hypot(x - ax - along * (bx - ax), y - ay - along * (by - ay));
    };
    scene.layout.forEachBetween(scene.scrollTop - geo.pad - 20, scene.scrollTop + scene.height, (event) => {
      const shape = shapeOf(scene, geo, event);
      // A mark covers the lines that pass it.
      let near = Math.hypot(x - shape.x, y - shape.y) - 3;
      for (const arrow of shape.arrows) near = Math.min(near, distance(shape.x, shape.y, arrow.x, arrow.y));
      if (shape.kind === 'violation') near = Math.abs(y - shape.y);
      if (near < bestDistance) {
        best = event;
        bestDistance = near;
      }
    });
    return best;
  }
}
