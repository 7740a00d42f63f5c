/** What stands around the panels: the menu, the connection, notices, the form for a token, the last call. */
import { lastCall } from './shared/call-box.ts';
import type { ConsoleContext } from './shared/context.ts';
import { textIn } from './shared/dom.ts';
import { type Panel, panels, placeOfId } from './shared/place.ts';
import type { VNode } from './shared/preact.mjs';
import type { ConsoleStore } from './shared/store.ts';
import { strangers } from './shared/tenants.ts';
import { button, h, type Node } from './shared/ui.ts';

export const panelNames: Readonly<Record<Panel, string>> = {
  cluster: 'Cluster',
  ceremonies: 'Ceremonies',
  requests: 'Requests',
  webhooks: 'Webhooks',
  faults: 'Faults',
  load: 'Load',
  wallets: 'Wallets',
  time: 'Time and state',
  tenants: 'Tenants',
};

export interface Shell {
  /** null: nothing is known yet. */
  readonly content: Node;
  /** For screen readers: what happened last. */
  readonly said: string;
  readonly needsToken: boolean;
  enter(token: string): void;
}

let entered = '';
let wantedId = '';

export function shell(context: ConsoleContext, { content, said, needsToken, enter }: Shell): VNode {
  const { page, store, place, go } = context;
  const { connection, hello } = store;
  const skip = (event: { preventDefault(): void }) => {
    event.preventDefault();
    page.document.getElementById('main')?.focus();
  };
  const waiting = connection.state === 'refused' ? connection.why : 'Connecting …';
  return h(
    'div',
    { class: 'shell' },
    h('a', { class: 'skip', href: '#main', onClick: skip }, 'To the content'),
    h(
      'header',
      { class: 'top' },
      brand(),
      h(
        'nav',
        { 'aria-label': 'Panels' },
        ...panels.map((panel) =>
          button(h('span', null, panelNames[panel], badge(context, panel)), {
            key: panel,
            'aria-current': place.panel === panel ? 'page' : undefined,
            onClick: () => go({ panel, chosen: '', words: '' }),
          }),
        ),
      ),
      h(
        'div',
        { class: 'status' },
        search(context),
        connectionChip(store),
        whoActs(context),
        hello === undefined ? null : h('span', { class: 'world' }, worldInWords(hello)),
        h('a', { href: '/v1/docs' }, 'API'),
      ),
    ),
    h(
      'main',
      { id: 'main', tabIndex: -1 },
      ...notices(context),
      needsToken ? tokenForm(store, enter) : (content ?? h('p', { class: 'quiet waiting' }, waiting)),
    ),
    h('footer', { class: 'foot' }, lastCall(context)),
    h('output', { class: 'unseen', 'aria-live': 'polite' }, said),
  );
}

function badge({ store, tenants }: ConsoleContext, panel: Panel): Node {
  const { faults, sessions, nodes } = store;
  const marks: Partial<Record<Panel, readonly [count: number, of: string]>> = {
    cluster: [nodes.filter(({ state }) => state !== 'running').length, 'not running'],
    ceremonies: [[...sessions.values()].filter(({ state }) => state === 'open').length, 'open'],
    faults: [faults.filter(({ state }) => state !== 'over').length, 'armed'],
    tenants: [tenants.held.length === 0 ? 0 : strangers(store, tenants.held).length, 'without a token'],
  };
  const [count, of] = marks[panel] ?? [0, ''];
  if (count === 0) return null;
  return h('span', { class: `badge ${panel}`, title: `${count} ${of}` }, count);
}

/** Goes to what has an id. */
function search({ go }: ConsoleContext): Node {
  return h(
    'form',
    {
      class: 'go-to',
      role: 'search',
      onSubmit: (event: { preventDefault(): void }) => {
        event.preventDefault();
        if (wantedId.trim() !== '') go(placeOfId(wantedId));
        wantedId = '';
      },
    },
    h('input', {
      ...{ type: 'search', placeholder: 'Go to any id', 'aria-label': 'Go to any id', value: wantedId },
      onInput: (event: { readonly target: unknown }) => {
        wantedId = textIn(event);
      },
    }),
  );
}

/** The switch between the people whose tokens the page holds. */
function whoActs({ tenants }: ConsoleContext): Node {
  if (tenants.held.length < 2) return null;
  return h(
    'select',
    {
      'aria-label': 'Act as',
      value: tenants.acting?.actor,
      onChange: (event: { readonly target: unknown }) => tenants.act(textIn(event)),
    },
    ...tenants.held.map(({ actor, tenant }) =>
      h('option', { key: actor, value: actor, selected: actor === tenants.acting?.actor }, `${tenant} · ${actor}`),
    ),
  );
}

function connectionChip({ connection: { state } }: ConsoleStore): Node {
  const text = { live: 'live', connecting: 'connecting', broken: 'reconnecting', refused: 'not connected' }[state];
  return h('span', { class: `connection ${state}`, role: 'status' }, h('span', { class: 'dot' }), text);
}

function worldInWords({ world, clusters, version }: NonNullable<ConsoleStore['hello']>): string {
  const size = clusters.length === 1 ? `${clusters[0]!.nodes} nodes` : `${clusters.length} clusters`;
  return `${size} · ${world === 'embedded' ? 'embedded' : 'processes'} · ${version}`;
}

function notices({ store, changed }: ConsoleContext): readonly Node[] {
  const { connection, hello, lost, leftOut } = store;
  const notice = (key: string, kind: string, ...text: readonly Node[]) =>
    h('p', { key, class: `notice ${kind}` }, ...text);
  const dismiss = () => {
    store.lost = false;
    changed();
  };
  const sampled = `Under load the page gets a sample: ${leftOut.toLocaleString('en')} events were left out. Ceremonies that failed or met a fault come first.`;
  return [
    connection.state !== 'broken'
      ? null
      : notice(
          'broken',
          'bad',
          `Not connected: ${connection.why}. The page shows what it knew last, and reconnects by itself.`,
        ),
    !lost
      ? null
      : notice(
          'lost',
          'warn',
          'Events were lost while the page was not connected: the recording has made room for newer ones. ',
          button('Dismiss', { class: 'link', onClick: dismiss }),
        ),
    leftOut === 0 ? null : notice('sampled', '', sampled),
    // Deliveries have a panel of their own, which does not need the stream.
    ...(hello?.missing ?? []).flatMap(({ topic, why }) =>
      topic === 'deliveries' ? [] : [notice(topic, 'warn', `No ${topic}: ${why}`)],
    ),
  ];
}

function tokenForm({ connection }: ConsoleStore, enter: (token: string) => void): Node {
  return h(
    'form',
    {
      class: 'card token',
      onSubmit: (event: { preventDefault(): void }) => {
        event.preventDefault();
        if (entered.trim() !== '') enter(entered.trim());
        entered = '';
      },
    },
    h('h2', null, 'Enter a token'),
    h(
      'p',
      null,
      'The banner of the service prints one. It needs the scope sandbox:admin. The page keeps it for this tab alone, and sends it in a header only.',
    ),
    connection.state === 'refused' ? h('p', { class: 'said bad' }, connection.why) : null,
    h(
      'label',
      { class: 'field' },
      h('span', null, 'Token'),
      h('input', {
        ...{ type: 'password', id: 'token', autocomplete: 'off', required: true, value: entered },
        onInput: (event: { readonly target: unknown }) => {
          entered = textIn(event);
        },
      }),
    ),
    h('button', { type: 'submit', class: 'primary' }, 'Open the console'),
  );
}

/** Three of five. */
function brand(): Node {
  const corners = [0, 1, 2, 3, 4].map((index) => ({
    x: 16 + 11 * Math.sin((index * 2 * Math.PI) / 5),
    y: 16.5 - 11 * Math.cos((index * 2 * Math.PI) / 5),
  }));
  return h(
    'span',
    { class: 'brand' },
    h(
      'svg',
      { viewBox: '0 0 32 32', 'aria-hidden': 'true' },
      h('path', {
        d: `M${[0, 2, 3].map((index) => `${corners[index]!.x.toFixed(1)} ${corners[index]!.y.toFixed(1)}`).join('L')}Z`,
      }),
      ...corners.map(({ x, y }, index) =>
        h('circle', { cx: x.toFixed(1), cy: y.toFixed(1), r: 3.6, class: [0, 2, 3].includes(index) ? 'signs' : '' }),
      ),
    ),
    h('strong', null, 'signmesh'),
  );
}
