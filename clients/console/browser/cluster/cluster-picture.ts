/** The cluster drawn: processes as boxes that are buttons, their links, and what is wrong with them. */
import type { SandboxFault, SandboxNode } from '../../../client/generated-api.ts';
import { familyOf } from '../../../report/html/browser/addresses.ts';
import type { ConsoleContext } from '../shared/context.ts';
import type { Svg } from '../shared/dom.ts';
import { h, type Node } from '../shared/ui.ts';
import { bytesInWords, durationInWords, nameInWords, offsetInWords } from '../shared/words.ts';
import { type Box, curveOf, type Picture, type PicturePoint } from './picture.ts';

/** A picture of this height takes it, also where it has to be scrolled. */
const tallPx = 700;

/** Faults that hold, or wait, at a process. */
export function faultsOn(faults: readonly SandboxFault[], process: string): readonly SandboxFault[] {
  return faults.filter(({ fault, state }) => {
    const { target } = fault as { readonly target?: string | readonly string[] };
    const targets = target === undefined ? [] : [target].flat();
    return (
      state !== 'over' &&
      targets.some((one) => one === process || (one.endsWith('node/*') && process.startsWith(one.slice(0, -1))))
    );
  });
}

export function drawn(context: ConsoleContext, picture: Picture, passing: { into(group: Svg | null): void }): Node {
  const { store } = context;
  const nodeOf = new Map(store.nodes.map((node) => [node.process, node]));
  return h(
    'svg',
    {
      viewBox: `0 0 ${picture.width} ${picture.height}`,
      class: picture.height > tallPx ? 'tall' : '',
      role: 'group',
      'aria-label': 'The processes and their links',
    },
    ...picture.titles.map(({ text, x, y }) => h('text', { key: text, x, y, class: 'cluster-title' }, text)),
    h(
      'g',
      { class: 'links', 'aria-hidden': 'true' },
      ...picture.links.map(({ from, to, hasFrames }) => {
        const curve = curveOf(picture.boxes.get(from)!, picture.boxes.get(to)!);
        const state = linkState(nodeOf.get(from), nodeOf.get(to), store.faults);
        return h('path', {
          key: `${from} ${to}`,
          d: pathOf(curve),
          class: `link ${hasFrames ? 'frames' : 'store'} ${state}`,
        });
      }),
    ),
    h('g', { key: 'passing', 'aria-hidden': 'true', ref: passing.into }),
    ...[...picture.boxes.values()].map((box) => boxOf(context, box, nodeOf.get(box.process)!)),
  );
}

function pathOf([a, b, c, d]: readonly [PicturePoint, PicturePoint, PicturePoint, PicturePoint]): string {
  return `M${a.x} ${a.y}C${b.x} ${b.y} ${c.x} ${c.y} ${d.x} ${d.y}`;
}

function linkState(
  from: SandboxNode | undefined,
  to: SandboxNode | undefined,
  faults: readonly SandboxFault[],
): string {
  if (from?.state === 'down' || to?.state === 'down' || to?.linked === false) return 'down';
  const touched = faultsOn(faults, to?.process ?? '').find(({ fault }) => familyOf(fault.fault) === 'link');
  return touched === undefined ? 'up' : 'faulty';
}

function boxOf(context: ConsoleContext, box: Box, node: SandboxNode): Node {
  const { store, place, go } = context;
  const { process, x, y, width, height } = box;
  const [left, top] = [x - width / 2, y - height / 2];
  const faults = faultsOn(store.faults, process);
  const family = faults[0] === undefined ? '' : familyOf(faults[0].fault.fault);
  const isChosen = place.chosen === process;
  const offset = offsetInWords(node.clock_offset_ms);
  const isSmall = width < 130;
  // Of one process that is all of them, memory says nothing about one.
  const isAlone = node.pid === null || store.nodes.filter(({ pid }) => pid === node.pid).length === 1;
  const facts = [
    node.state !== 'running'
      ? node.state
      : isAlone
        ? bytesInWords(store.usageOf(process).bytes)
        : `up ${durationInWords(store.uptimeMs(node) ?? 0)}`,
    node.restarts > 0 ? `↻ ${node.restarts}` : '',
    offset === '' ? '' : `⏱ ${offset}`,
  ].filter((fact) => fact !== '');
  const tag = tagOf(faults.map(({ fault }) => fault.fault));
  const seen = isSmall ? [nameInWords(process)] : [nameInWords(process), ...facts, tag].filter((part) => part !== '');
  const choose = () => go({ chosen: isChosen ? '' : process });
  return h(
    'g',
    {
      key: process,
      class: `process ${node.state} ${isChosen ? 'is-chosen' : ''}`,
      tabindex: 0,
      role: 'button',
      'aria-pressed': String(isChosen),
      // What can be seen stands first in the name, as it is.
      'aria-label': [seen.join(' '), node.state].join(', '),
      'data-process': process,
      onClick: choose,
      onKeyDown: (event: { readonly key: string; preventDefault(): void }) => {
        if (event.key !== 'Enter' && event.key !== ' ') return;
        event.preventDefault();
        choose();
      },
    },
    h('rect', { x: left, y: top, width, height, rx: isSmall ? 9 : 14, class: `body ${family}` }),
    ...(isSmall
      ? [
          h('text', { x, y: y + 5, class: 'name middle' }, process.split('/').at(-1)),
          h('circle', { cx: left + width - 3, cy: top + 3, r: 4.5, class: 'state' }),
        ]
      : [
          h('circle', { cx: left + 28, cy: y, r: 16, class: 'disc' }),
          h('path', { class: 'icon', transform: `translate(${left + 18} ${y - 10})`, d: iconOf(process) }),
          h('circle', { cx: left + 41, cy: y + 11, r: 5, class: 'state' }),
          h('text', { x: left + 56, y: y - 3, class: 'name' }, nameInWords(process)),
          ' ',
          h('text', { x: left + 56, y: y + 16, class: 'facts' }, facts.join('  ')),
          ' ',
        ]),
    family === '' || isSmall ? null : faultTag(tag, box, family),
  );
}

/** In a square of 20. */
function iconOf(process: string): string {
  if (process === 'gateway') return 'M3 10h13M11 5l5 5-5 5M3 4v12';
  if (process === 'worker') return 'M3 5h14v10H3zM3 6l7 5 7-5';
  if (process === 'redis') return 'M3 6c0-3 14-3 14 0s-14 3-14 0v8c0 3 14 3 14 0V6M3 10c0 3 14 3 14 0';
  if (process.endsWith('coordinator')) return 'M10 10L4 4M10 10l6-6M10 10v7M10 7.5a2.5 2.5 0 100 5 2.5 2.5 0 000-5';
  return 'M7 6.5a3.5 3.5 0 100 7 3.5 3.5 0 000-7M10.5 10H18M15 10v3.5M18 10v2.5';
}

function tagOf(kinds: readonly string[]): string {
  return kinds.length > 1 ? `${kinds[0]} +${kinds.length - 1}` : (kinds[0] ?? '');
}

function faultTag(text: string, { x, y, width, height }: Box, family: string): Node {
  const tagWidth = text.length * 7 + 16;
  const [right, top] = [x + width / 2 - 10, y - height / 2];
  return h(
    'g',
    { class: `tag ${family}` },
    h('rect', { x: right - tagWidth, y: top - 10, width: tagWidth, height: 20, rx: 10 }),
    h('text', { x: right - tagWidth / 2, y: top + 4 }, text),
  );
}
