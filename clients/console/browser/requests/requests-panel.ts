/** The requests of the API as they come; one that is chosen shows its body, its answer, why it was refused, and is sent again. */
import type { SandboxRequest, SandboxRequestLine } from '../../../client/generated-api.ts';
import { sessionOf } from '../ceremonies/ceremonies.ts';
import { callBox } from '../shared/call-box.ts';
import type { ConsoleContext } from '../shared/context.ts';
import { type ConsolePlace, placeOfId } from '../shared/place.ts';
import type { VNode } from '../shared/preact.mjs';
import {
  bar,
  button,
  card,
  chip,
  choices,
  code,
  h,
  longTable,
  type Node,
  pairs,
  quiet,
  searchField,
  space,
} from '../shared/ui.ts';
import { ageInWords, bytesInWords, counted, durationInWords } from '../shared/words.ts';
import type { RequestReader } from './request-reads.ts';
import {
  callAgain,
  hindranceOf,
  intentOf,
  listedRequests,
  nameOf,
  outcomeOf,
  prettyJson,
  type RequestFilter,
  whyOfRequest,
} from './requests.ts';

const filters: Readonly<Record<string, RequestFilter>> = {
  ...{ All: 'all', Failed: 'failed', Replays: 'replays', 'Met a fault': 'faulty' },
};
let filter: RequestFilter = 'all';

export function requestsPanel(context: ConsoleContext, reads: RequestReader): Node {
  const { store, place, changed } = context;
  reads.wantList();
  if (place.chosen !== '') return requestView(context, reads, place.chosen);
  if (store.requests.length === 0) return h('div', { class: 'panel' }, emptyState());
  const found = listedRequests(store, place.words, filter);
  const choose = (one: RequestFilter) => {
    filter = one;
    changed();
  };
  return h(
    'div',
    { class: 'panel' },
    h(
      'div',
      { class: 'bar' },
      searchField(context, 'Search for a request', {
        id: 'request-words',
        placeholder: 'Search by route, error, field, id, tenant',
      }),
      choices('Which requests', filters, filter, choose),
      space(),
      h('span', { class: 'quiet' }, counted(found.length, 'request')),
    ),
    card(
      found.length === 0
        ? quiet('No request matches. ', button('Show all', { class: 'link', onClick: () => showAll(context) }))
        : longTable(
            context,
            'Requests, the newest first',
            ['Status', 'Request', 'Error', 'Limit left', 'Faults', 'Took', 'Begun'],
            found,
            (line) => row(context, line),
          ),
    ),
  );
}

function showAll({ go, changed }: ConsoleContext): void {
  filter = 'all';
  go({ words: '' });
  changed();
}

function row({ go }: ConsoleContext, line: SandboxRequestLine): VNode {
  const [words, kind] = outcomeOf(line);
  const { id, tenant, error_code: code, field, reason_code: reason, is_replay: isReplay, faults } = line;
  const failure = code ?? (kind === 'failed' ? reason : null);
  return h(
    'tr',
    { key: id, class: 'choosable', 'data-request': id, onClick: () => go({ chosen: id }) },
    h('td', null, chip(words, kind)),
    h(
      'th',
      { scope: 'row' },
      button(nameOf(line), { class: 'link id', onClick: () => go({ chosen: id }) }),
      h(
        'span',
        { class: 'under' },
        [line.door === 'grpc' ? 'gRPC' : 'REST', tenant ?? 'no tenant', isReplay ? 'a replay' : '']
          .filter((part) => part !== '')
          .join(' · '),
      ),
    ),
    h('td', null, failure === null ? '–' : failure, field === null ? null : h('span', { class: 'under id' }, field)),
    h('td', { class: 'number' }, line.rate_limit_left ?? '–'),
    h('td', null, faults.length === 0 ? '–' : h('span', { class: 'faults' }, faults.join(', '))),
    h('td', { class: 'number' }, durationInWords(line.duration_ms)),
    h('td', { class: 'number' }, ageInWords(Date.now() - Date.parse(line.began_at))),
  );
}

function requestView(context: ConsoleContext, reads: RequestReader, id: string): Node {
  const { store, go, words } = context;
  const read = reads.want(id);
  const line = read ?? store.requests.find((one) => one.id === id);
  const back = button('← Requests', { class: 'link', onClick: () => go({ chosen: '' }) });
  if (line === undefined) {
    const text =
      read === null
        ? 'This gateway no longer has it: it keeps the last ones alone, and a restart ends them.'
        : 'Looking for it …';
    return h(
      'div',
      { class: 'panel' },
      h('header', { class: 'session-head' }, back),
      h('p', { class: 'card quiet' }, text),
    );
  }
  const [text, kind] = outcomeOf(line);
  const why = read ? whyOfRequest(read, words?.reasons ?? {}) : '';
  return h(
    'div',
    { class: 'panel', key: id },
    h(
      'header',
      { class: 'session-head' },
      back,
      h('h2', { class: 'id' }, nameOf(line)),
      chip(text, kind),
      why === '' ? null : h('p', { class: `why ${kind}`, id: 'why' }, why),
    ),
    card(facts(context, line, read ?? undefined)),
    read === undefined ? h('p', { class: 'card quiet' }, 'Reading its body …') : null,
    read === null
      ? h(
          'p',
          { class: 'card quiet' },
          `Body and answer are shown to a token of ${line.tenant ?? 'its tenant'} alone: enter one to read them.`,
        )
      : null,
    read
      ? h(
          'div',
          { class: 'pair' },
          bodyCard('Body', read.body, 'It had none.'),
          bodyCard('Answer', read.answer, 'It had no body.'),
        )
      : null,
    read ? again(context, read) : null,
  );
}

function facts({ store, go }: ConsoleContext, line: SandboxRequestLine, read: SandboxRequest | undefined): Node {
  const { session, faults } = line;
  const seen = session === null ? undefined : sessionOf(store, session, line.tenant ?? undefined);
  const intent = read && intentOf(read);
  const touching = [...new Set([...faults, ...(seen?.faults ?? [])])];
  const link = (id: string, place: Partial<ConsolePlace> = placeOfId(id)) =>
    button(id, { class: 'link id', onClick: () => go(place) });
  return pairs(
    [
      ['Begun', `${line.began_at} (${ageInWords(Date.now() - Date.parse(line.began_at))})`],
      ['Took', durationInWords(line.duration_ms)],
      ['Path', read?.target ?? ''],
      ['Tenant', line.tenant ?? 'none: no token admitted it'],
      ['Request id', line.request_id],
      ['Client', read?.user_agent ?? ''],
      ['Idempotency key', read?.idempotency_key ?? ''],
      ['Replay', line.is_replay ? 'yes: nothing was done again' : ''],
      ['Limit left', line.rate_limit_left === null ? '' : String(line.rate_limit_left)],
      ['Reason', [line.receipt_state, line.reason_code].filter((part) => part !== null).join(' · ')],
      ['Session', session === null ? '' : link(session, { panel: 'ceremonies', chosen: session })],
      ['Intent', intent === undefined ? '' : link(intent)],
      ['Faults', touching.length === 0 ? '' : h('span', null, ...touching.map((fault) => link(fault)))],
    ],
    'wide',
  );
}

function bodyCard(name: string, body: SandboxRequest['body'], none: string): Node {
  const notes =
    body === null
      ? []
      : [
          bytesInWords(body.bytes),
          body.masked.length === 0 ? '' : `not shown: ${body.masked.join(', ')}`,
          body.text !== null && !body.is_whole && body.masked.length === 0 ? 'only the beginning' : '',
        ].filter((part) => part !== '');
  const text = body?.text ?? null;
  return h(
    'section',
    { class: 'card body', 'aria-label': name },
    bar(h('h2', null, name), h('span', { class: 'quiet' }, notes.join(' · '))),
    text === null
      ? quiet(body === null ? none : 'It is not shown: it is no JSON, or the API does not describe it.')
      : code(prettyJson(text)),
  );
}

function again(context: ConsoleContext, read: SandboxRequest): Node {
  const { perform, resend } = context;
  const call = callAgain(read, false);
  const replay = read.idempotency_key === null ? undefined : callAgain(read, true);
  const send = (one: NonNullable<typeof call>) => () => void perform(one, () => resend(one.requests[0]!));
  return h(
    'section',
    { class: 'card form' },
    bar(
      h('h2', null, 'Send again'),
      space(),
      call === undefined ? null : button('Send again', { class: 'primary', onClick: send(call) }),
      replay === undefined ? null : button('Repeat under its key', { onClick: send(replay) }),
    ),
    call === undefined ? quiet(hindranceOf(read)) : callBox(context, replay ?? call),
  );
}

function emptyState(): Node {
  return h(
    'div',
    { class: 'empty' },
    h('h2', null, 'No request yet'),
    h(
      'p',
      null,
      'Every call of the API over REST and gRPC appears here: what it asked, what it got, and what was wrong with it. Make one with your client, or from the page of the API:',
    ),
    h('p', null, h('a', { href: '/v1/docs' }, 'Open the page of the API')),
  );
}
