/** The cluster as a living picture, and as a table; a process that is chosen shows what it does and what can be done to it. */
import type { SandboxNode } from '../../../client/generated-api.ts';
import { actionsOn, type ConsoleAction } from '../shared/actions.ts';
import { callBox } from '../shared/call-box.ts';
import type { ConsoleContext } from '../shared/context.ts';
import type { Svg } from '../shared/dom.ts';
import { button, card, chip, h, type Node, pairs, table } from '../shared/ui.ts';
import { bytesInWords, cpuInWords, durationInWords, nameInWords, offsetInWords } from '../shared/words.ts';
import { drawn, faultsOn } from './cluster-picture.ts';
import { figures } from './figures.ts';
import type { Picture } from './picture.ts';

/** The action whose call is shown. */
let shownAction = '';

export function clusterPanel(
  context: ConsoleContext,
  picture: Picture,
  passing: { into(group: Svg | null): void },
): Node {
  const { store, place } = context;
  const chosen = store.nodes.find(({ process }) => process === place.chosen);
  return h(
    'div',
    { class: 'panel' },
    figures(store),
    h(
      'div',
      { class: chosen === undefined ? 'stage' : 'stage chosen' },
      h(
        'div',
        { class: 'picture' },
        store.nodes.length === 0
          ? h('p', { class: 'quiet waiting' }, 'The processes of this cluster are not known here.')
          : drawn(context, picture, passing),
      ),
      chosen === undefined ? null : inspector(context, chosen),
    ),
    card(h('h2', null, 'Processes'), processTable(context)),
  );
}

function inspector(context: ConsoleContext, node: SandboxNode): Node {
  const { store, perform, client, go, changed } = context;
  const { process } = node;
  const { cpu, bytes } = store.usageOf(process);
  const uptime = store.uptimeMs(node);
  const actions = actionsOn(node);
  const shown = actions.find(({ name }) => name === shownAction) ?? actions[0];
  const faults = faultsOn(store.faults, process);
  const show = (action: ConsoleAction) => () => {
    if (shownAction === action.name) return;
    shownAction = action.name;
    changed();
  };
  return h(
    'aside',
    { class: 'inspector card', 'aria-label': nameInWords(process), key: process },
    h(
      'header',
      null,
      h('h2', null, nameInWords(process)),
      chip(node.state, node.state),
      button('×', { class: 'close', 'aria-label': 'Close', onClick: () => go({ chosen: '' }) }),
    ),
    pairs([
      ['name', process],
      ['link', node.linked === null ? '' : node.linked ? 'up' : 'down'],
      ['up for', uptime === undefined ? '' : durationInWords(uptime)],
      ['restarts', String(node.restarts)],
      ['CPU', cpu === null ? '' : cpuInWords(cpu)],
      ['memory', bytesInWords(bytes)],
      ['clock', offsetInWords(node.clock_offset_ms) || 'no offset'],
      ['pid', node.pid === null ? '' : String(node.pid)],
      ['shares its process with', node.together.filter((one) => one !== process).join(', ')],
    ]),
    faults.length === 0
      ? null
      : h(
          'p',
          { class: 'on-it' },
          'Faults: ',
          ...faults.map(({ id, fault }) =>
            button(fault.fault, { class: 'link', onClick: () => go({ panel: 'faults', chosen: '', words: id }) }),
          ),
        ),
    h(
      'div',
      { class: 'actions', role: 'group', 'aria-label': 'Actions' },
      ...actions.map((action) =>
        button(action.name, {
          key: action.name,
          class: action.isHarmful === true ? 'harmful' : '',
          onFocus: show(action),
          onPointerEnter: show(action),
          onClick: () => {
            void perform(action.call, () => action.send(client));
          },
        }),
      ),
    ),
    shown === undefined ? null : callBox(context, shown.call),
  );
}

/** As the picture has them, from left to right. */
function inOrder(nodes: readonly SandboxNode[]): readonly SandboxNode[] {
  const rank = ({ process }: SandboxNode) =>
    process === 'gateway' ? 0 : process === 'worker' ? 2 : process === 'redis' ? 3 : 1;
  const number = ({ process }: SandboxNode) => Number(/node\/(\d+)$/.exec(process)?.[1] ?? 0);
  return [...nodes].sort((a, b) => rank(a) - rank(b) || (a.cluster ?? 0) - (b.cluster ?? 0) || number(a) - number(b));
}

function processTable(context: ConsoleContext): Node {
  const { store, go, place } = context;
  const rows = inOrder(store.nodes).map((node) => {
    const { process, state, linked, restarts } = node;
    const { cpu, bytes } = store.usageOf(process);
    const uptime = store.uptimeMs(node);
    return h(
      'tr',
      { key: process, class: place.chosen === process ? 'is-chosen' : '' },
      h('th', { scope: 'row' }, button(process, { class: 'link', onClick: () => go({ chosen: process }) })),
      h('td', null, chip(state, state)),
      h('td', null, linked === null ? '–' : linked ? 'up' : 'down'),
      h('td', { class: 'number' }, uptime === undefined ? '–' : durationInWords(uptime)),
      h('td', { class: 'number' }, restarts),
      h('td', { class: 'number' }, cpuInWords(cpu)),
      h('td', { class: 'number' }, bytesInWords(bytes)),
      h('td', { class: 'number' }, offsetInWords(node.clock_offset_ms) || '–'),
      h(
        'td',
        null,
        faultsOn(store.faults, process)
          .map(({ fault }) => fault.fault)
          .join(', ') || '–',
      ),
    );
  });
  return table(
    'The processes',
    ['Process', 'State', 'Link', 'Up for', 'Restarts', 'CPU', 'Memory', 'Clock', 'Faults'],
    rows,
  );
}
