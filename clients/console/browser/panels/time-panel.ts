/** The sandbox's clock, its snapshots, and a fresh start. */
import type { SandboxClock, SandboxSnapshot } from '../../../client/generated-api.ts';
import type { ConsoleAction } from '../shared/actions.ts';
import { operationCall } from '../shared/call.ts';
import { callBox } from '../shared/call-box.ts';
import type { ConsoleContext } from '../shared/context.ts';
import { textIn } from '../shared/dom.ts';
import { makePageRead, type PageRead } from '../shared/page-read.ts';
import { button, card, h, type Node, quiet, table } from '../shared/ui.ts';
import { bytesInWords, durationInWords, offsetInWords } from '../shared/words.ts';

interface TimeState {
  readonly clock: SandboxClock;
  /** The page's clock when it was read. */
  readonly readMs: number;
  readonly snapshots: readonly SandboxSnapshot[];
}

const steps: readonly (readonly [words: string, seconds: number])[] = [
  ['+1 min', 60],
  ['+1 h', 3_600],
  ['+1 day', 86_400],
];

let state: PageRead<TimeState> | undefined;
/** What the state was read of: the recording, and the clocks of the processes. */
let readOf = '';
let seconds = '900';
let name = '';
/** The action whose call is shown. */
let shown: ConsoleAction | undefined;
/** The action that a second click performs. */
let asked = '';

export function advance(bySeconds: number): ConsoleAction {
  const body = { advance_s: bySeconds };
  return {
    name: 'Advance',
    call: operationCall(
      `Advance the clock by ${durationInWords(bySeconds * 1_000)}`,
      ['sandbox', 'advanceClock'],
      [],
      body,
    ),
    send: async ({ sandbox }) => `it is ${(await sandbox.advanceClock(body)).now}`,
  };
}

export function takeSnapshot(called: string): ConsoleAction {
  const body = called === '' ? {} : { name: called };
  return {
    name: 'Take a snapshot',
    call: operationCall('Take a snapshot', ['sandbox', 'takeSnapshot'], [], body),
    send: async ({ sandbox }) => `taken as ${(await sandbox.takeSnapshot(body)).id}`,
  };
}

export function restoreSnapshot({ id, name: called }: SandboxSnapshot): ConsoleAction {
  return {
    name: 'Restore',
    isHarmful: true,
    call: operationCall(`Restore ${called || id}`, ['sandbox', 'restoreSnapshot'], [id]),
    send: async ({ sandbox }) => `restored in ${durationInWords((await sandbox.restoreSnapshot(id)).took_ms)}`,
  };
}

export function deleteSnapshot({ id, name: called }: SandboxSnapshot): ConsoleAction {
  return {
    name: 'Delete',
    call: operationCall(`Delete ${called || id}`, ['sandbox', 'deleteSnapshot'], [id]),
    send: ({ sandbox }) => sandbox.deleteSnapshot(id),
  };
}

export const reset: ConsoleAction = {
  name: 'Reset',
  isHarmful: true,
  call: operationCall('Start afresh', ['sandbox', 'reset']),
  send: async ({ sandbox }) => `done in ${durationInWords((await sandbox.reset()).took_ms)}`,
};

export function timePanel(context: ConsoleContext): Node {
  const { store, client, page, changed } = context;
  state ??= makePageRead(async () => {
    const readMs = page.performance.now();
    const [clock, snapshots] = await Promise.all([client.sandbox.clock(), client.sandbox.snapshots().toArray(1_000)]);
    return { clock, snapshots, readMs };
  }, changed);
  const present = `${store.hello?.began_at} ${store.nodes.map(({ clock_offset_ms: ms }) => ms).join(' ')}`;
  if (readOf !== present) {
    readOf = present;
    void state.refresh();
  }
  return h(
    'div',
    { class: 'panel columns' },
    h('div', { class: 'lists' }, clockCard(context, state), freshCard(context)),
    h('div', { class: 'lists' }, snapshotCard(context, state), callCard(context)),
  );
}

function clockCard(context: ConsoleContext, { value, problem }: PageRead<TimeState>): Node {
  const { page, changed } = context;
  const now = value && new Date(Date.parse(value.clock.now) + page.performance.now() - value.readMs).toISOString();
  const step = act(context);
  const custom = Number(seconds);
  return h(
    'section',
    { class: 'card steps' },
    h('h2', null, 'Clock'),
    now === undefined
      ? quiet(problem || 'Reading it …')
      : h(
          'p',
          { class: 'clock' },
          h('strong', null, now.slice(11, 19)),
          h('span', null, now.slice(0, 10), ' UTC'),
          h('span', { id: 'offset' }, offsetInWords(value?.clock.offset_ms ?? 0) || 'no offset'),
        ),
    h('p', { class: 'help' }, 'Advance it so that expiry needs no waiting. It goes back by a reset alone.'),
    h('span', { class: 'try' }, ...steps.map(([words, by]) => step(advance(by), words))),
    h(
      'span',
      { class: 'try' },
      h('input', {
        ...{ type: 'number', min: 1, step: 1, value: seconds, 'aria-label': 'Seconds' },
        onInput: (event: { readonly target: unknown }) => {
          seconds = textIn(event);
          changed();
        },
      }),
      step(advance(custom), 'Advance by these seconds'),
    ),
  );
}

function snapshotCard(context: ConsoleContext, { value, problem }: PageRead<TimeState>): Node {
  const { changed } = context;
  const step = act(context);
  const snapshots = value?.snapshots ?? [];
  const rows = snapshots.map((snapshot) =>
    h(
      'tr',
      { key: snapshot.id },
      h(
        'th',
        { scope: 'row' },
        snapshot.name || snapshot.id,
        snapshot.name === '' ? null : h('span', { class: 'under id' }, snapshot.id),
      ),
      h('td', { class: 'number' }, snapshot.taken_at.slice(0, 19).replace('T', ' ')),
      h('td', { class: 'number' }, bytesInWords(snapshot.bytes)),
      h(
        'td',
        null,
        h(
          'span',
          { class: 'try' },
          step(restoreSnapshot(snapshot), 'Restore'),
          step(deleteSnapshot(snapshot), 'Delete'),
        ),
      ),
    ),
  );
  return h(
    'section',
    { class: 'card steps' },
    h('h2', null, 'Snapshots'),
    h(
      'span',
      { class: 'try' },
      h('input', {
        ...{ type: 'text', value: name, placeholder: 'Name, if you like', 'aria-label': 'Name of the snapshot' },
        onInput: (event: { readonly target: unknown }) => {
          name = textIn(event);
          changed();
        },
      }),
      step(takeSnapshot(name.trim()), 'Take a snapshot', 'primary'),
    ),
    value === undefined
      ? quiet(problem || 'Reading them …')
      : snapshots.length === 0
        ? quiet('None yet. Take one before a test: it holds all that Redis and the nodes store, and brings it back.')
        : table('Snapshots', ['Snapshot', 'Taken', 'Size', 'Choose'], rows),
  );
}

function freshCard(context: ConsoleContext): Node {
  return h(
    'section',
    { class: 'card steps' },
    h('h2', null, 'Start afresh'),
    h('p', { class: 'help' }, 'No faults, no data but access tokens, the right time. Snapshots stay.'),
    act(context)(reset, 'Reset the sandbox'),
  );
}

function callCard(context: ConsoleContext): Node {
  return card(h('h2', null, 'The call'), callBox(context, (shown ?? advance(3_600)).call));
}

/** A button of an action; one that loses data asks first. */
function act({ client, perform, changed }: ConsoleContext) {
  return (action: ConsoleAction, words: string, kind = ''): Node => {
    const { title } = action.call;
    const mustAsk = action.isHarmful === true && asked !== title;
    const show = () => {
      if (shown?.call.title === title) return;
      shown = action;
      changed();
    };
    return button(action.isHarmful === true && asked === title ? 'Yes: lose what is there now' : words, {
      class: action.isHarmful === true ? 'harmful' : kind,
      title,
      onFocus: show,
      onPointerEnter: show,
      onClick: () => {
        asked = mustAsk ? title : '';
        changed();
        if (!mustAsk) void perform(action.call, () => action.send(client)).then(() => state?.refresh());
      },
    });
  };
}
