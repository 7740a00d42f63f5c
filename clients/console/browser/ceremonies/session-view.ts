/** One ceremony: why it is as it is, its receipt, and its sequence diagram, which grows while it runs; the same as a table. */
import type { SandboxSession, SandboxStreamSession } from '../../../client/generated-api.ts';
import type { Client } from '../../../client/index.ts';
import { type ConsoleAction, resumeSession } from '../shared/actions.ts';
import { operationCall } from '../shared/call.ts';
import { callBox } from '../shared/call-box.ts';
import type { ConsoleContext } from '../shared/context.ts';
import { newName, randomDigest } from '../shared/names.ts';
import { keyOf } from '../shared/store.ts';
import {
  bar,
  button,
  card,
  chip,
  choices,
  h,
  type Node,
  pairs,
  quiet,
  searchField,
  space,
  table,
} from '../shared/ui.ts';
import { whyOf } from '../shared/why.ts';
import { counted, durationInWords } from '../shared/words.ts';
import { nodesOf, stateOf } from './ceremonies.ts';
import { nodeMarks } from './node-marks.ts';
import { type OpenSession, openSession } from './open-session.ts';
import { beginSignature } from './steps.ts';
import { stepsView } from './steps-view.ts';

export interface SessionViews {
  /** The session that is open, with its events; `begin` opens another one. */
  open(begin: typeof openSession, id: string, seen: SandboxStreamSession | undefined): OpenSession;
}

let asTable = false;
const rowsMax = 500;

export function sessionView(
  context: ConsoleContext,
  views: SessionViews,
  id: string,
  seen: SandboxStreamSession | undefined,
): Node {
  const { store, tenants, go, words } = context;
  const open = views.open(openSession, id, seen);
  const read = open.read !== undefined || seen === undefined ? open.read : store.reads.get(keyOf(seen));
  const client = seen === undefined ? tenants.client : (tenants.clientOf(seen.tenant) ?? tenants.client);
  const [state, kind] = stateOf(seen, read);
  const why = seen === undefined ? '' : whyOf(seen, read ?? undefined, store.faults, words?.reasons ?? {});
  const isKnown = seen !== undefined || (read !== undefined && read !== null);
  return h(
    'div',
    { class: 'panel', key: id },
    h(
      'header',
      { class: 'session-head' },
      button('← Ceremonies', { class: 'link', onClick: () => go({ chosen: '', words: '' }) }),
      h('h2', { class: 'id' }, id),
      isKnown ? chip(state, kind) : null,
      space(),
      ...buttons(context, client, open, read),
      why === '' ? null : h('p', { class: `why ${kind}`, id: 'why' }, why),
    ),
    isKnown
      ? card(receipt(seen, read))
      : h(
          'p',
          { class: 'card quiet' },
          open.isLoading
            ? 'Looking for it …'
            : 'No session of this tenant has this id, or it has expired. Search for it among the ceremonies.',
        ),
    stepsView(context, client, read, () => void open.refresh()),
    h(
      'section',
      { class: 'card flow' },
      bar(
        h('h3', null, counted(open.live.model.count, 'event')),
        searchField(context, 'Narrow the events by words', { placeholder: 'Narrow by words' }),
        space(),
        choices('Show it as', { Diagram: false, Table: true }, asTable, (isTable) => showAsTable(context, isTable)),
        asTable ? null : button('By time', { 'aria-pressed': String(open.isByTime), onClick: () => open.toggleTime() }),
        asTable ? null : button('Next fault', { onClick: () => open.diagram?.stepToFault(1) }),
      ),
      note(open, seen),
      asTable
        ? eventTable(open)
        : h(
            'div',
            { class: 'diagram' },
            h('div', {
              class: 'scroller',
              id: 'scroller',
              key: `diagram ${id}`,
              tabIndex: 0,
              role: 'application',
              'aria-label':
                'Message sequence diagram. The arrow keys go from event to event; the table has the same events.',
              ref: open.mount,
            }),
            h('div', { class: 'event', 'aria-live': 'polite', key: 'event', ref: open.mountDetails }),
          ),
    ),
    card(h('h3', null, 'Read it'), callBox(context, operationCall(`Read ${id}`, ['sandbox', 'session'], [id]))),
  );
}

/** What its tenant can do with it now. */
function buttons(
  context: ConsoleContext,
  client: Client,
  open: OpenSession,
  read: SandboxSession | null | undefined,
): readonly Node[] {
  if (!read || read.requested_by === 'wallet_service') return [];
  const { perform, go, page } = context;
  const run = ({ call, send }: ConsoleAction) => perform(call, () => send(client));
  if (read.resume_token !== null) {
    const action = resumeSession(read.kind, open.id, read.resume_token);
    const resume = () => void run(action).then(() => open.refresh());
    return [button('Resume', { class: 'primary', onClick: resume })];
  }
  if (read.kind !== 'dkg' || read.state !== 'RECEIPT_STATE_BACKEND_COMPLETED') return [];
  const sign = () => {
    const began = (session: string) => go({ chosen: session, words: '' });
    void run(beginSignature(open.id, `console-${newName(page)}`, randomDigest(page), began));
  };
  return [button('Sign step by step', { onClick: sign })];
}

function showAsTable({ changed }: ConsoleContext, to: boolean): void {
  asTable = to;
  changed();
}

function receipt(seen: SandboxStreamSession | undefined, read: SandboxSession | null | undefined): Node {
  return pairs(
    [
      ['what', (read?.kind ?? seen?.kind) === 'dkg' ? 'key generation' : 'signature'],
      ['tenant', seen?.tenant],
      ['receipt', read ? `${read.state.replace('RECEIPT_STATE_', '')} ${read.reason_code}` : (seen?.reason_code ?? '')],
      ['message', read?.message],
      ['key', read?.key_session],
      ['round', String(read?.attempt || seen?.attempt || '')],
      ['threshold', read && read.threshold > 0 ? `${read.threshold} of ${read.total_nodes}` : ''],
      ['scheme', read?.key_scheme],
      ['nodes', nodeMarks(nodesOf(seen, read))],
      ['public key', read?.public_key],
      ['faults', seen?.faults.join(', ')],
      ['took', seen === undefined ? '' : durationInWords(seen.last_ms - seen.began_ms)],
      ['expires', read?.expires_at],
      ['note', read === null ? 'no receipt: the page holds no token of its tenant (Tenants), or it has expired' : ''],
    ],
    'wide',
  );
}

function note(open: OpenSession, seen: SandboxStreamSession | undefined): Node {
  if (open.problem !== '') return quiet(open.problem);
  if (open.isLoading || open.live.model.count > 0) return null;
  const isNew = seen === undefined ? open.read?.state === 'RECEIPT_STATE_ACCEPTED' : seen.frames === 0;
  const words = isNew
    ? 'No frame of it yet.'
    : 'Its frames are gone: the recording has made room for newer ones. The receipt above is what is left.';
  return quiet(words);
}

function eventTable({ live }: OpenSession): Node {
  const { model, spans } = live;
  const from = Math.max(0, model.count - rowsMax);
  const rows = Array.from({ length: model.count - from }, (_, index) => {
    const event = from + index;
    const to = model.text(event, 'to');
    const lost = model.kindName(event) === 'frame' && model.arrivalStart[event] === model.arrivalStart[event + 1];
    return h(
      'tr',
      { key: event, class: spans.touched[event] === 255 ? '' : 'touched' },
      h('td', { class: 'number' }, `${model.at[event]!.toFixed(1)} ms`),
      h('td', null, model.kindName(event)),
      h('th', { scope: 'row' }, model.title(event)),
      h('td', null, model.origin(event), to === '' ? '' : ` → ${to}`, lost ? ' (lost)' : ''),
      h('td', null, model.text(event, 'text')),
      h('td', null, model.list(event, 'faults').join(', ')),
    );
  });
  return table('The events of the ceremony', ['At', 'Kind', 'What', 'From and to', 'In words', 'Faults'], rows);
}
