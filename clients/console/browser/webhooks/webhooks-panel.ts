/**
 * Webhooks and events: the event log as it happens; endpoints and inboxes; of one that is open its deliveries with every try and why
 * they failed, and what an inbox received with the checks of its signatures.
 */
import type {
  Delivery,
  DeliveryWithAnswer,
  Event,
  NewSandboxInbox,
  NewWebhook,
  SandboxInboxDelivery,
  Webhook,
} from '../../../client/generated-api.ts';
import { prettyJson } from '../requests/requests.ts';
import { actionsOnWebhook, type ConsoleAction, makeInbox, newEndpoint, redeliver } from '../shared/actions.ts';
import { callBox } from '../shared/call-box.ts';
import type { ConsoleContext } from '../shared/context.ts';
import { textIn } from '../shared/dom.ts';
import { field, fillIn, formOf, textOfField } from '../shared/form.ts';
import { placeOfId } from '../shared/place.ts';
import type { VNode } from '../shared/preact.mjs';
import {
  bar,
  button,
  card,
  chip,
  choices,
  code,
  h,
  longList,
  longTable,
  type Node,
  pairs,
  quiet,
  searchField,
  space,
} from '../shared/ui.ts';
import { ageInWords, bytesInWords, counted } from '../shared/words.ts';
import { familyOfType, listedDeliveries, listedEvents, whyOfDelivery } from './deliveries.ts';
import { followWebhooks, type WebhookData } from './webhook-data.ts';

const statuses = { All: '', delivered: 'delivered', retrying: 'retrying', failed: 'failed' };
/** Of the log; empty: all. */
let family = '';
/** Of deliveries; empty: all. */
let status = '';
/** The action whose call is shown. */
let shown = '';
/** The delivery whose latest answer is shown. */
let answered = '';
/** The endpoint that was added last, whose secret is shown while it is open. */
let added: NewWebhook | undefined;
fillIn('endpoint url', 'http://127.0.0.1:3000/webhooks');
fillIn('endpoint events', '*');

export function webhooksPanel(context: ConsoleContext): Node {
  const { place, go } = context;
  const data = context.following(followWebhooks);
  const isDelivery = place.chosen === '' && place.words.startsWith('dlv_');
  const owner = isDelivery ? data.endpointOf(place.words) : undefined;
  if (owner !== undefined) go({ chosen: owner });
  return h(
    'div',
    { class: 'panel', key: place.chosen },
    data.problem === '' ? null : h('p', { class: 'notice bad' }, data.problem),
    ...(place.chosen === ''
      ? [endpointsCard(context, data), newEndpointCard(context, data), eventLog(context, data)]
      : endpointView(context, data, place.chosen)),
  );
}

/** `done`: with its result. */
function act(
  { perform, tenants, changed }: ConsoleContext,
  action: ConsoleAction,
  data: WebhookData,
  done: (result: unknown) => void = () => undefined,
): VNode {
  const show = () => {
    if (shown === action.name) return;
    shown = action.name;
    changed();
  };
  const send = async () => {
    let result: unknown;
    const isGood = await perform(action.call, async () => {
      result = await action.send(tenants.client);
    });
    if (isGood) done(result);
    await data.refresh();
  };
  return button(action.name, {
    key: action.name,
    class: action.isHarmful === true ? 'harmful' : '',
    onFocus: show,
    onPointerEnter: show,
    onClick: () => void send(),
  });
}

function endpointsCard(context: ConsoleContext, data: WebhookData): Node {
  const { value } = data.endpoints;
  const none = 'None yet. An inbox gets every event of this tenant, and shows what a receiver of yours would get:';
  return h(
    'section',
    { class: 'card form' },
    bar(
      h('h2', null, 'Endpoints'),
      space(),
      act(context, makeInbox, data, (made) => context.go({ chosen: (made as NewSandboxInbox).id, words: '' })),
    ),
    value === undefined
      ? quiet('Reading …')
      : value.webhooks.length === 0
        ? [quiet(none), callBox(context, makeInbox.call)]
        : longTable(
            context,
            'Endpoints, the newest first',
            ['State', 'Endpoint', 'Events', 'Waiting', 'Made'],
            value.webhooks,
            (one) => endpointRow(context, one, value.inboxes.has(one.id)),
          ),
  );
}

function newEndpointCard(context: ConsoleContext, data: WebhookData): Node {
  const events = textOfField('endpoint events')
    .split(/[\s,]+/)
    .filter((one) => one !== '');
  const action = newEndpoint({ url: textOfField('endpoint url'), events }, (webhook) => {
    added = webhook;
    context.go({ chosen: webhook.id, words: '' });
    void data.refresh();
  });
  return h(
    'details',
    { class: 'card form' },
    h('summary', null, 'Add an endpoint of your own'),
    formOf(context, action, 'Add it', [
      field(context, 'endpoint url', 'URL', { required: true, type: 'url' }),
      field(context, 'endpoint events', 'Events: types or prefixes such as wallet.*', { required: true }),
    ]),
  );
}

function endpointRow({ go }: ConsoleContext, webhook: Webhook, isInbox: boolean): VNode {
  const { id, url, events, queue, created_at: createdAt } = webhook;
  const choose = () => go({ chosen: id, words: '' });
  return h(
    'tr',
    { key: id, class: 'choosable', 'data-webhook': id, onClick: choose },
    h('td', null, stateChip(webhook)),
    h(
      'th',
      { scope: 'row' },
      button(isInbox ? 'inbox' : url, { class: 'link id', onClick: choose }),
      h('span', { class: 'under id' }, id),
    ),
    h('td', { class: 'id' }, events.join(', ')),
    h('td', { class: 'number' }, queue.outstanding + queue.retrying + queue.behind),
    h('td', { class: 'number' }, ageInWords(Date.now() - Date.parse(createdAt))),
  );
}

function stateChip({ status: state, failing_since: failing }: Webhook): Node {
  if (state !== 'enabled') return chip(state, 'down');
  return failing === null ? chip('enabled', 'running') : chip('failing', 'failed');
}

function endpointView(context: ConsoleContext, data: WebhookData, id: string): readonly Node[] {
  const { go, tenants } = context;
  const reads = data.endpoint(id);
  const webhook = data.endpoints.value?.webhooks.find((one) => one.id === id);
  const head = (...more: readonly Node[]) =>
    h(
      'header',
      { class: 'session-head' },
      button('← Webhooks', { class: 'link', onClick: () => go({ chosen: '', words: '' }) }),
      h('h2', { class: 'id' }, id),
      ...more,
    );
  if (webhook === undefined) {
    const text =
      data.endpoints.value === undefined
        ? 'Reading …'
        : `${tenants.acting?.tenant ?? 'This tenant'} has no endpoint of that id: choose another one under Tenants.`;
    return [head(), h('p', { class: 'card quiet' }, text)];
  }
  const isInbox = data.endpoints.value?.inboxes.has(id) === true;
  const actions = actionsOnWebhook(webhook, isInbox);
  const { url, events, queue, failing_since: failing } = webhook;
  return [
    head(stateChip(webhook), isInbox ? chip('inbox', '') : null),
    h(
      'section',
      { class: 'card form' },
      pairs([
        ['URL', url],
        ['Events', events.join(', ')],
        ['Queue', `${queue.outstanding} in flight, ${queue.retrying} to be tried again, ${queue.behind} behind`],
        ['Fails since', failing ?? ''],
        ['Secret, shown once', added?.id === id ? added.secret : ''],
      ]),
      h(
        'div',
        { class: 'actions', role: 'group', 'aria-label': 'Actions' },
        ...actions.map((action) =>
          act(context, action, data, () => action.isHarmful === true && go({ chosen: '', words: '' })),
        ),
      ),
      callBox(context, (actions.find(({ name }) => name === shown) ?? actions[0]).call),
    ),
    deliveriesCard(context, data, reads.value?.deliveries),
    isInbox ? receivedCard(context, reads.value?.inbox?.received, reads.value?.inbox?.deliveries ?? []) : null,
  ];
}

function deliveriesCard(context: ConsoleContext, data: WebhookData, all: readonly Delivery[] | undefined): Node {
  const { place, changed } = context;
  const found = listedDeliveries(all ?? [], place.words, status);
  return card(
    bar(
      h('h2', null, 'Deliveries'),
      searchField(context, 'Search for a delivery by type or id'),
      choices('Which deliveries', statuses, status, (one) => {
        status = one;
        changed();
      }),
    ),
    all === undefined
      ? quiet('Reading …')
      : found.length === 0
        ? quiet(all.length === 0 ? 'None yet: it gets the next event. “Ping” sends one.' : 'None matches.')
        : longTable(
            context,
            'Deliveries, the newest event first',
            ['State', 'Event', 'Tries', 'Why', 'Again'],
            found,
            (one) => deliveryRow(context, data, one),
          ),
  );
}

function deliveryRow(context: ConsoleContext, data: WebhookData, delivery: Delivery): VNode {
  const { id, status: state, event_type: type, event_id: event, attempts, attempt_count: count } = delivery;
  const kind = { delivered: 'completed', failed: 'failed', retrying: 'waiting', queued: 'open' }[state];
  const older = count - attempts.length;
  return h(
    'tr',
    { key: id, 'data-delivery': id },
    h('td', null, chip(state, kind)),
    h('th', { scope: 'row' }, type, h('span', { class: 'under id' }, event), h('span', { class: 'under id' }, id)),
    h(
      'td',
      { class: 'number' },
      older > 0 ? h('span', { class: 'under' }, `${counted(older, 'older one')}, and`) : null,
      ...attempts.map(({ at, status: code, error, latency_ms: ms }) =>
        h(
          'span',
          { class: 'try-of', key: at },
          `${code ?? error} in ${ms} ms, ${ageInWords(Date.now() - Date.parse(at))}`,
        ),
      ),
    ),
    h(
      'td',
      { class: 'why-of' },
      whyOfDelivery(delivery, context.store.faults, Date.now()) || '–',
      attempts.at(-1)?.status == null ? null : lastAnswer(context, data, delivery),
    ),
    h('td', null, state === 'queued' ? null : act(context, redeliver(delivery), data)),
  );
}

function lastAnswer({ changed }: ConsoleContext, data: WebhookData, delivery: Delivery): Node {
  const isOpen = answered === delivery.id;
  const turn = () => {
    answered = isOpen ? '' : delivery.id;
    changed();
  };
  const answer = isOpen ? data.answerTo(delivery) : undefined;
  return h(
    'div',
    { class: 'last-answer' },
    button('Its answer', { class: 'small', 'aria-expanded': String(isOpen), onClick: turn }),
    !isOpen ? null : answer === undefined ? quiet('Reading …') : answerText(answer),
  );
}

function answerText(answer: DeliveryWithAnswer['last_answer']): Node {
  if (answer === null) return quiet('It is not kept.');
  const { headers, body, truncated } = answer;
  return [
    pairs(Object.entries(headers)),
    body === '' ? quiet('No body.') : code(prettyJson(body)),
    truncated ? quiet('The receiver sent more than is kept.') : null,
  ];
}

function receivedCard(context: ConsoleContext, count: number | undefined, all: readonly SandboxInboxDelivery[]): Node {
  return card(
    bar(h('h2', null, 'Received'), h('span', { class: 'quiet' }, counted(count ?? 0, 'delivery', 'deliveries'))),
    all.length === 0
      ? quiet('Nothing yet.')
      : longList(context, 'Received', all, (first) => h('ul', { class: 'faults-list' }, ...first.map(receivedItem))),
  );
}

function receivedItem(delivery: SandboxInboxDelivery): VNode {
  const { received_at: at, headers, body, bytes, checks, answered } = delivery;
  const id = headers['webhook-id'] ?? 'no id';
  const check = (name: string, found: string) =>
    h('span', { class: 'check' }, `${name} `, chip(found, found === 'valid' ? 'completed' : 'failed'));
  return h(
    'li',
    { key: `${at} ${id}`, 'data-received': id },
    h(
      'div',
      { class: 'fault-head' },
      h('strong', null, /"type":"([^"]+)"/.exec(body)?.[1] ?? 'a delivery'),
      check('X-Svc-Signature', checks.x_svc_signature),
      check('webhook-timestamp', checks.webhook_timestamp),
      check('webhook-signature', checks.webhook_signature),
      space(),
      h('span', { class: 'quiet' }, answered === null ? 'its connection was cut' : `answered ${answered}`),
    ),
    h('p', { class: 'under' }, `${id} · ${bytesInWords(bytes)} · ${ageInWords(Date.now() - Date.parse(at))}`),
    h('details', null, h('summary', null, 'Headers and body'), pairs(Object.entries(headers)), code(prettyJson(body))),
  );
}

function eventLog(context: ConsoleContext, { events }: WebhookData): Node {
  const { place, changed } = context;
  const families = [...new Set(events.map(({ type }) => familyOfType(type)))].sort();
  if (!families.includes(family)) family = '';
  const found = listedEvents(events, place.words, family);
  const choose = (event: { readonly target: unknown }) => {
    family = textIn(event);
    changed();
  };
  return card(
    bar(
      h('h2', null, 'Events'),
      searchField(context, 'Search by type or any id'),
      h(
        'select',
        { 'aria-label': 'Which events', value: family, onChange: choose },
        h('option', { value: '', selected: family === '' }, 'all types'),
        ...families.map((one) => h('option', { key: one, value: one, selected: family === one }, `${one}.*`)),
      ),
      space(),
      h('span', { class: 'quiet' }, counted(found.length, 'event')),
    ),
    found.length === 0
      ? quiet(
          events.length === 0 ? 'None in the last hour. Make a wallet: its event appears here.' : 'No event matches.',
        )
      : longTable(
          context,
          'Events, the newest first',
          ['Event', 'About', 'Sequence', 'When', 'What it says'],
          found,
          (one) => eventRow(context, one),
        ),
  );
}

function eventRow({ go }: ConsoleContext, event: Event): VNode {
  const { id, type, resource, sequence, timestamp } = event;
  return h(
    'tr',
    { key: id, 'data-event': type },
    h('th', { scope: 'row' }, type, h('span', { class: 'under id' }, id)),
    h('td', null, button(resource.id, { class: 'link id', onClick: () => go(placeOfId(resource.id)) })),
    h('td', { class: 'number' }, sequence),
    h('td', { class: 'number' }, ageInWords(Date.now() - Date.parse(timestamp))),
    h('td', null, h('details', null, h('summary', null, 'show'), code(prettyJson(JSON.stringify(event.data))))),
  );
}
