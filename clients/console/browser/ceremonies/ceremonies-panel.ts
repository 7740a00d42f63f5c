/** The list of ceremonies; one that is chosen shows why it is as it is, its receipt, and its diagram (session-view.ts). */
import type { SandboxStreamSession } from '../../../client/generated-api.ts';
import { makeKey, sign } from '../shared/actions.ts';
import type { ConsoleContext } from '../shared/context.ts';
import { newName, randomDigest } from '../shared/names.ts';
import type { VNode } from '../shared/preact.mjs';
import { keyOf } from '../shared/store.ts';
import {
  button,
  card,
  chip,
  choices,
  firstOf,
  h,
  longTable,
  type Node,
  quiet,
  searchField,
  space,
} from '../shared/ui.ts';
import { ageInWords, durationInWords } from '../shared/words.ts';
import { listed, nodesOf, type StateFilter, sessionOf, stateOf } from './ceremonies.ts';
import { nodeMarks } from './node-marks.ts';
import type { SessionReader } from './session-reads.ts';
import { type SessionViews, sessionView } from './session-view.ts';
import { beginKey } from './steps.ts';

const caption = 'Ceremonies, the newest first';
const filters: Readonly<Record<string, StateFilter>> = {
  ...{ All: 'all', Open: 'open', Completed: 'completed', Failed: 'failed', 'Met a fault': 'faulty' },
};
let filter: StateFilter = 'all';
/** The key that this page made last: what "Sign" signs with. */
let ownKey = '';
let busy = false;

export function ceremoniesPanel(context: ConsoleContext, reads: SessionReader, views: SessionViews): Node {
  const { store, tenants, place, changed } = context;
  if (place.chosen !== '')
    return sessionView(context, views, place.chosen, sessionOf(store, place.chosen, tenants.acting?.tenant));
  if (store.sessions.size === 0) return h('div', { class: 'panel' }, emptyState(context));
  const found = listed(store, place.words, filter);
  reads.want(firstOf(caption, found));
  const choose = (state: StateFilter) => {
    filter = state;
    changed();
  };
  return h(
    'div',
    { class: 'panel' },
    h(
      'div',
      { class: 'bar' },
      searchField(context, 'Search for a session by any id', {
        id: 'ceremony-words',
        placeholder: 'Search by any id, node, reason, fault',
      }),
      choices('Which ceremonies', filters, filter, choose),
      space(),
      tryButtons(context),
    ),
    card(
      found.length === 0
        ? quiet('No ceremony matches. ', button('Show all', { class: 'link', onClick: () => showAll(context) }))
        : longTable(
            context,
            caption,
            ['State', 'Ceremony', 'Round', 'Nodes', 'Faults', 'Took', 'Begun'],
            found,
            (session) => row(context, session),
          ),
    ),
  );
}

function showAll({ go, changed }: ConsoleContext): void {
  filter = 'all';
  go({ words: '' });
  changed();
}

function row({ store, go }: ConsoleContext, seen: SandboxStreamSession): VNode {
  const read = store.reads.get(keyOf(seen));
  const [words, kind] = stateOf(seen, read);
  const nodes = nodesOf(seen, read);
  return h(
    'tr',
    { key: keyOf(seen), class: 'choosable', onClick: () => go({ chosen: seen.session }) },
    h('td', null, chip(words, kind)),
    h(
      'th',
      { scope: 'row' },
      button(seen.session, {
        class: 'link id',
        onClick: () => go({ chosen: seen.session }),
      }),
      h(
        'span',
        { class: 'under' },
        `${seen.kind === 'dkg' ? 'key generation' : 'signature'} · ${seen.tenant}${seen.cluster > 1 ? ` · cluster ${seen.cluster}` : ''}`,
      ),
    ),
    h('td', { class: 'number' }, seen.attempt > 0 ? seen.attempt : '–'),
    h('td', null, nodeMarks(nodes)),
    h('td', null, seen.faults.length === 0 ? '–' : h('span', { class: 'faults' }, seen.faults.join(', '))),
    h('td', { class: 'number' }, durationInWords(seen.last_ms - seen.began_ms)),
    h('td', { class: 'number' }, ageInWords(store.nowMs() - seen.began_ms)),
  );
}

function emptyState(context: ConsoleContext): Node {
  return h(
    'div',
    { class: 'empty' },
    h(
      'svg',
      { viewBox: '0 0 240 120', 'aria-hidden': 'true' },
      ...[30, 75, 120, 165, 210].map((x, index) =>
        h('line', { x1: x, y1: 24, x2: x, y2: 112, class: index === 1 ? 'hub' : '' }),
      ),
      ...[
        [30, 75, 36],
        [75, 120, 50],
        [75, 165, 58],
        [75, 210, 66],
        [120, 75, 80],
        [165, 75, 90],
        [75, 30, 104],
      ].map(([a = 0, b = 0, y = 0]) => h('line', { x1: a, y1: y, x2: b, y2: y + 4, class: 'arrow' })),
      ...[30, 75, 120, 165, 210].map((x) => h('circle', { cx: x, cy: 18, r: 7 })),
    ),
    h('h2', null, 'No ceremony yet'),
    h(
      'p',
      null,
      'Every key generation and every signature of this cluster appears here while it runs: who sends what to whom, and who is blamed. Begin with one of your own:',
    ),
    tryButtons(context),
  );
}

/** A first ceremony by one click: a key, and a signature with it. */
function tryButtons(context: ConsoleContext): Node {
  const { tenants, perform, store, page, changed, go } = context;
  const { client } = tenants;
  const signWith = async (key: string) => {
    const action = sign(key, `console-${newName(page)}`, randomDigest(page));
    return perform(action.call, () => action.send(client));
  };
  const nodes = store.hello?.clusters[0]?.nodes ?? 5;
  const once = (work: () => Promise<unknown>) => () => {
    if (busy) return;
    busy = true;
    changed();
    void work().finally(() => {
      busy = false;
      changed();
    });
  };
  const makeAndSign = once(async () => {
    const key = `console-key-${newName(page)}`;
    const action = makeKey(key, nodes);
    if (!(await perform(action.call, () => action.send(client)))) return;
    ownKey = key;
    await signWith(key);
  });
  const begin = once(async () => {
    const key = `console-key-${newName(page)}`;
    const action = beginKey(key, nodes);
    if (await perform(action.call, () => action.send(client))) go({ chosen: key, words: '' });
  });
  return h(
    'span',
    { class: 'try' },
    ownKey === ''
      ? null
      : button('Sign again', { 'aria-disabled': String(busy), onClick: once(() => signWith(ownKey)) }),
    button(busy ? 'At work …' : 'Make a key and sign', {
      class: 'primary',
      'aria-disabled': String(busy),
      onClick: makeAndSign,
    }),
    button('A key step by step', { 'aria-disabled': String(busy), onClick: begin }),
    store.sessions.size === 0 ? button('Arm a fault first', { onClick: () => go({ panel: 'faults' }) }) : null,
  );
}
