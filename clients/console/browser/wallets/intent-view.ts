/** One intent: why it is as it is, who may decide about it, and the steps that it passes. */
import type { Intent } from '../../../client/generated-api.ts';
import { operationCall } from '../shared/call.ts';
import { callBox } from '../shared/call-box.ts';
import type { ConsoleContext } from '../shared/context.ts';
import { button, card, chip, h, type Node, pairs, space } from '../shared/ui.ts';
import { endedBadly, type IntentStep, stepsOfIntent, whyOfIntent } from './intent-timeline.ts';
import { cancelIntent, networkNames, vote } from './wallet-actions.ts';
import type { WalletData } from './wallet-data.ts';

const stateNames: Readonly<Record<IntentStep['state'], string>> = {
  ...{ done: 'done', now: 'under way', bad: 'it ended here', next: 'to come', none: 'not reached' },
};

export function intentView(context: ConsoleContext, data: WalletData, intent: Intent): Node {
  const { store, go, words } = context;
  const { value: grounds } = data.grounds(intent);
  const why = whyOfIntent(intent, grounds, words?.sub_statuses ?? {}, store.faults);
  const kind = intentKind(intent);
  return h(
    'div',
    { class: 'panel', key: intent.id },
    h(
      'header',
      { class: 'session-head' },
      button('← Wallets', { class: 'link', onClick: () => go({ chosen: '', words: '' }) }),
      h('h2', null, `${intent.amount} ${intent.asset}`),
      chip(intent.status.replaceAll('_', ' '), kind),
      space(),
      ...decisions(context, data, intent),
      why === '' ? null : h('p', { class: `why ${kind}`, id: 'why' }, why),
    ),
    h(
      'div',
      { class: 'stage chosen' },
      card(
        h('h3', null, 'What happened to it'),
        h('ol', { class: 'timeline' }, ...stepsOfIntent(intent, grounds).map((step) => stepItem(context, step))),
      ),
      h(
        'div',
        { class: 'lists' },
        card(
          pairs([
            ['intent', intent.id],
            ['wallet', button(intent.wallet_id, { class: 'link id', onClick: () => go({ chosen: intent.wallet_id }) })],
            ['to', intent.destination.address],
            ['network', networkNames[intent.network]],
            ['fee', `${intent.fee.paid ?? `at most ${intent.fee.reserved}`} ${intent.fee.asset}`],
            ['sub status', intent.sub_status],
            ['error', intent.provider_error && `${intent.provider_error.code}: ${intent.provider_error.message}`],
            ['expires', endedBadly(intent) || intent.status === 'completed' ? '' : intent.expires_at],
          ]),
        ),
        card(
          h('h3', null, 'Read it'),
          callBox(context, operationCall(`Read ${intent.id}`, ['intents', 'get'], [intent.wallet_id, intent.id])),
        ),
      ),
    ),
  );
}

export function intentKind(intent: Pick<Intent, 'status'>): string {
  if (intent.status === 'completed') return 'completed';
  if (endedBadly(intent)) return 'failed';
  return intent.status === 'pending_approval' ? 'waiting' : 'open';
}

function stepItem({ go }: ConsoleContext, { name, state, at, words, sessions }: IntentStep): ReturnType<typeof h> {
  const [first, ...more] = words;
  return h(
    'li',
    { key: name, class: state },
    h(
      'div',
      null,
      h('strong', null, name),
      h('span', { class: 'unseen' }, ` ${stateNames[state]} `),
      at === '' ? null : h('time', { class: 'number', dateTime: at }, at.slice(11, 23)),
    ),
    first === undefined ? null : h('p', null, first),
    more.length === 0 ? null : h('ul', null, ...more.map((line) => h('li', null, line))),
    sessions.length === 0
      ? null
      : h(
          'p',
          null,
          ...sessions.map((session) =>
            button(session, { class: 'link id', onClick: () => go({ panel: 'ceremonies', chosen: session }) }),
          ),
        ),
  );
}

/** As the approver: with each token of its tenant that is not the initiator's. */
function decisions(context: ConsoleContext, data: WalletData, intent: Intent): readonly Node[] {
  const { tenants, perform, client, go } = context;
  const { acting, held } = tenants;
  if (['created', 'screening', 'approved'].includes(intent.status)) return [cancel(context, data, intent)];
  if (intent.status !== 'pending_approval') return [];
  const approvers = held.filter(({ tenant, actor }) => tenant === acting?.tenant && actor !== intent.initiator);
  const run = (decision: 'approve' | 'reject') => () => {
    const by = approvers.find(({ actor }) => actor === acting?.actor) ?? approvers[0];
    const action = vote(intent, decision, data.see);
    if (by !== undefined) void perform(action.call, () => action.send(tenants.clientAs(by)));
  };
  if (approvers.length > 0)
    return [
      cancel(context, data, intent),
      button('Reject', { class: 'harmful', onClick: run('reject') }),
      button('Approve', {
        class: 'primary',
        title: `as ${approvers.map(({ actor }) => actor).join(' or ')}`,
        onClick: run('approve'),
      }),
    ];
  const body = { name: 'approver' };
  const call = operationCall('Issue an approver’s token', ['sandbox', 'issueToken'], [], body);
  const issue = () =>
    void perform(call, async () => {
      const { token } = await client.sandbox.issueToken(body);
      const { actor } = await tenants.add(token);
      return `${actor} can approve it now`;
    });
  const isOwnTenant = acting?.tenant === held[0]?.tenant;
  return [
    cancel(context, data, intent),
    isOwnTenant
      ? button('Make an approver', { class: 'primary', onClick: issue })
      : button('Add an approver’s token', { class: 'primary', onClick: () => go({ panel: 'tenants' }) }),
  ];
}

function cancel({ perform, tenants }: ConsoleContext, data: WalletData, intent: Intent): Node {
  const action = cancelIntent(intent, data.see);
  return button('Cancel', {
    class: 'harmful',
    onClick: () => void perform(action.call, () => action.send(tenants.client)),
  });
}
