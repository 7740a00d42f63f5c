/**
 * The places of processes and links in the picture of a cluster: gateway, coordinators, nodes by number, and below them worker and
 * Redis. Pure: the same processes give the same picture.
 */
import type { SandboxNode } from '../../../client/generated-api.ts';

export interface Box {
  readonly process: string;
  /** Of its middle. */
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface PictureLink {
  readonly from: string;
  readonly to: string;
  /** Frames that the recording shows pass here. */
  readonly hasFrames: boolean;
}

export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly boxes: ReadonlyMap<string, Box>;
  readonly links: readonly PictureLink[];
  /** Names of clusters where there are several, each with the middle of its upper edge. */
  readonly titles: readonly { readonly text: string; readonly x: number; readonly y: number }[];
}

const width = 1_000;
const boxHeight = 58;
const rowHeight = 78;
const rowsMax = 8;
/** Of a cluster with more nodes each is a small box with its number. */
const wideMax = 16;
const small = { width: 40, height: 36, row: 46, rowsMin: 7, columnsMax: 8 } as const;

export function pictureOf(nodes: readonly SandboxNode[]): Picture {
  const names = new Set(nodes.map(({ process }) => process));
  const clusters = [...new Set(nodes.flatMap(({ cluster }) => (cluster === null ? [] : [cluster])))].sort(
    (a, b) => a - b,
  );
  const boxes = new Map<string, Box>();
  const links: PictureLink[] = [];
  const titles: { text: string; x: number; y: number }[] = [];
  const put = (process: string, x: number, y: number, size = 176, height = boxHeight) => {
    if (names.has(process)) boxes.set(process, { process, x, y, width: size, height });
  };
  const link = (from: string, to: string, hasFrames: boolean) => {
    if (boxes.has(from) && boxes.has(to)) links.push({ from, to, hasFrames });
  };
  let top = 24;
  for (const cluster of clusters) {
    const prefix = cluster === 1 ? '' : `cluster/${cluster}/`;
    const numbers = nodes
      .filter((node) => node.cluster === cluster && node.process.startsWith(`${prefix}node/`))
      .map(({ process }) => Number(process.slice(prefix.length + 5)))
      .sort((a, b) => a - b);
    const isSmall = numbers.length > wideMax;
    const most = isSmall ? Math.max(small.rowsMin, Math.ceil(numbers.length / small.columnsMax)) : rowsMax;
    const columns = Math.max(1, Math.ceil(numbers.length / most));
    const rows = Math.max(1, Math.ceil(numbers.length / columns));
    if (clusters.length > 1) titles.push({ text: `cluster ${cluster}`, x: 500, y: top + 8 });
    const titleRoom = clusters.length > 1 ? 24 : 0;
    const step = isSmall ? small.row : rowHeight;
    const height = Math.max(2 * rowHeight, rows * step);
    const middle = top + titleRoom + height / 2;
    put(`${prefix}coordinator`, 500, middle);
    const room = (width - 640) / columns;
    for (const [index, number] of numbers.entries()) {
      const [column, row] = [Math.floor(index / rows), index % rows];
      const inColumn = Math.min(rows, numbers.length - column * rows);
      const y = top + titleRoom + height / 2 + (row - (inColumn - 1) / 2) * step;
      // One column is an arc around the coordinator.
      const bend = Math.cos(((row - (inColumn - 1) / 2) / Math.max(1, inColumn)) * Math.PI);
      const x = columns === 1 ? 800 + 88 * (bend - 0.5) : 640 + room * (column + 0.5);
      if (isSmall)
        put(`${prefix}node/${number}`, 636 + Math.min(room, 60) * (column + 0.5), y, small.width, small.height);
      else put(`${prefix}node/${number}`, x, y, Math.min(176, room - 12));
      link(`${prefix}coordinator`, `${prefix}node/${number}`, true);
    }
    top += titleRoom + height + 20;
  }
  const inTheMiddle = clusters.length === 0 ? 90 : (24 + top - 20) / 2;
  put('gateway', 130, inTheMiddle);
  for (const cluster of clusters)
    link('gateway', cluster === 1 ? 'coordinator' : `cluster/${cluster}/coordinator`, true);
  const below = top + 46;
  put('worker', 130, below);
  put('redis', 500, below);
  link('gateway', 'redis', false);
  link('worker', 'redis', false);
  for (const cluster of clusters)
    link(cluster === 1 ? 'coordinator' : `cluster/${cluster}/coordinator`, 'redis', false);
  const hasBelow = names.has('worker') || names.has('redis');
  return { width, height: hasBelow ? below + 54 : top + 10, boxes, links, titles };
}

export interface PicturePoint {
  readonly x: number;
  readonly y: number;
}

/** A curve from box to box, between their near edges: its end points and control points. */
export function curveOf(from: Box, to: Box): readonly [PicturePoint, PicturePoint, PicturePoint, PicturePoint] {
  const across = Math.abs(to.x - from.x) > (from.width + to.width) / 2;
  const side = across ? Math.sign(to.x - from.x) : Math.sign(to.y - from.y);
  const start = across
    ? { x: from.x + (side * from.width) / 2, y: from.y }
    : { x: from.x, y: from.y + (side * from.height) / 2 };
  const end = across ? { x: to.x - (side * to.width) / 2, y: to.y } : { x: to.x, y: to.y - (side * to.height) / 2 };
  const middle = { x: (start.x + end.x) / 2, y: (start.y + end.y) / 2 };
  return across
    ? [start, { x: middle.x, y: start.y }, { x: middle.x, y: end.y }, end]
    : [start, { x: start.x, y: middle.y }, { x: end.x, y: middle.y }, end];
}

/** The point at `part` (0 to 1) of a cubic Bézier curve. */
export function pointAt(
  [a, b, c, d]: readonly [PicturePoint, PicturePoint, PicturePoint, PicturePoint],
  part: number,
): PicturePoint {
  const rest = 1 - part;
  const mix = (name: 'x' | 'y') =>
    rest ** 3 * a[name] + 3 * rest ** 2 * part * b[name] + 3 * rest * part ** 2 * c[name] + part ** 3 * d[name];
  return { x: mix('x'), y: mix('y') };
}
