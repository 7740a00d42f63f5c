/**
 * Frames that pass, as points that move along the links of the picture. It draws into an SVG group of its own, by DOM calls, and
 * keeps a few elements for all. Runs in the browser.
 */
import { familyOf, processOf } from '../../../report/html/browser/addresses.ts';
import type { ConsoleBrowser, Svg } from '../shared/dom.ts';
import type { SeenEvent } from '../shared/store.ts';
import { type Box, curveOf, type Picture, pointAt } from './picture.ts';

export interface PassingFrames {
  /** `familyOfFault`: by a fault's id. */
  show(seen: readonly SeenEvent[], picture: Picture, kindOfFault: (id: string) => string | undefined): void;
  /** The group that holds the points: a new one each time the picture is made. */
  into(group: Svg | null): void;
}

const movingMax = 40;
const tripMs = 520;
/** Some thirty pictures a second: each is painted by the processor where there is no graphics card. */
const pauseMs = 20;
/** What a batch holds is spread over the time until the next one. */
const spreadMs = 110;
const space = 'http://www.w3.org/2000/svg';

interface Trip {
  readonly curve: ReturnType<typeof curveOf>;
  readonly isBack: boolean;
  readonly isLost: boolean;
  readonly beginMs: number;
  readonly colour: string;
}

export function makePassing(page: ConsoleBrowser): PassingFrames {
  const { document, performance } = page;
  let group: Svg | null = null;
  const points: Svg[] = [];
  const idle = new Set<Svg>();
  let trips: Trip[] = [];
  let running = false;
  const isStill = page.matchMedia('(prefers-reduced-motion: reduce)').matches;

  const draw = () => {
    const nowMs = performance.now();
    trips = trips.filter(({ beginMs }) => nowMs - beginMs < tripMs);
    if (group === null) trips = [];
    while (group !== null && points.length < trips.length) {
      const point = document.createElementNS(space, 'circle');
      point.setAttribute('r', '5');
      points.push(point);
      group.append(point);
    }
    for (const [index, point] of points.entries()) {
      const trip = trips[index];
      const part = trip === undefined ? -1 : (nowMs - trip.beginMs) / tripMs;
      if (trip === undefined || part < 0) {
        if (!idle.has(point)) point.setAttribute('class', 'frame idle');
        idle.add(point);
        continue;
      }
      idle.delete(point);
      const eased = part < 0.5 ? 2 * part ** 2 : 1 - (2 - 2 * part) ** 2 / 2;
      const reached = trip.isLost ? eased * 0.55 : eased;
      const { x, y } = pointAt(trip.curve, trip.isBack ? 1 - reached : reached);
      point.setAttribute('cx', x.toFixed(1));
      point.setAttribute('cy', y.toFixed(1));
      point.setAttribute('opacity', trip.isLost ? (1 - part).toFixed(2) : '1');
      point.setAttribute('class', `frame ${trip.colour}`);
    }
    running = trips.length > 0;
    if (running) page.setTimeout(() => page.requestAnimationFrame(draw), pauseMs);
  };

  return {
    into: (to) => {
      if (to === group) return;
      group = to;
      points.length = 0;
      idle.clear();
    },
    show: (seen, picture, kindOfFault) => {
      if (group === null || isStill) return;
      const frames = seen.filter(({ event }) => event.kind === 'frame');
      const nowMs = performance.now();
      for (const [index, { event }] of frames.entries()) {
        if (event.kind !== 'frame' || trips.length >= movingMax) break;
        const found = linkOf(picture, processOf(event.from), processOf(event.to));
        if (found === undefined) continue;
        const [fault] = event.faults;
        const colour = fault === undefined ? 'plain' : familyOf(kindOfFault(fault) ?? 'drop');
        const isLost = event.arrives_ms.length === 0;
        trips.push({ ...found, isLost, colour, beginMs: nowMs + (index / frames.length) * spreadMs });
      }
      if (!running && trips.length > 0) {
        running = true;
        page.requestAnimationFrame(draw);
      }
    },
  };
}

function linkOf({ boxes, links }: Picture, from: string, to: string) {
  const link = links.find((one) => (one.from === from && one.to === to) || (one.from === to && one.to === from));
  const [a, b] = [boxes.get(link?.from ?? ''), boxes.get(link?.to ?? '')] as [Box | undefined, Box | undefined];
  if (link === undefined || a === undefined || b === undefined) return undefined;
  return { curve: curveOf(a, b), isBack: link.from !== from };
}
