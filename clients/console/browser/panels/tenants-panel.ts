/** Who the page acts as: the tokens that it holds, tenants that act and whose token it lacks, and new people for a test. */
import type { IssueSandboxToken } from '../../../client/generated-api.ts';
import { operationCall } from '../shared/call.ts';
import { callBox } from '../shared/call-box.ts';
import type { ConsoleContext } from '../shared/context.ts';
import { textIn } from '../shared/dom.ts';
import { type HeldToken, strangers } from '../shared/tenants.ts';
import { button, card, chip, choices, h, type Node, quiet, table } from '../shared/ui.ts';
import { counted } from '../shared/words.ts';

let entered = '';
let asked: IssueSandboxToken = { name: 'approver' };

export function tenantsPanel(context: ConsoleContext): Node {
  const { tenants, store, go } = context;
  const others = tenants.held.length === 0 ? [] : strangers(store, tenants.held);
  return h(
    'div',
    { class: 'panel columns' },
    h('div', { class: 'lists' }, card(pasteForm(context)), newPerson(context)),
    h(
      'div',
      { class: 'lists' },
      card(
        h('h2', null, 'Tokens of this tab'),
        tenants.held.length === 0
          ? quiet('The service has not said yet whose the page’s token is.')
          : table(
              'Tokens of this tab',
              ['Tenant, and who', 'Choose'],
              tenants.held.map((one, index) => row(context, one, index === 0)),
            ),
      ),
      card(
        h('h2', null, 'Tenants that act without one'),
        others.length === 0
          ? quiet('None: the page holds a token of every tenant whose ceremonies it has seen.')
          : h(
              'ul',
              { class: 'faults-list' },
              ...others.map(({ tenant, ceremonies }) =>
                h(
                  'li',
                  { key: tenant },
                  button(tenant, {
                    class: 'link id',
                    onClick: () => go({ panel: 'ceremonies', chosen: '', words: tenant }),
                  }),
                  ` ran ${counted(ceremonies, 'ceremony', 'ceremonies')}: paste its token to see its receipts, wallets and intents.`,
                ),
              ),
            ),
      ),
    ),
  );
}

function row(context: ConsoleContext, { tenant, actor, scopes }: HeldToken, isOwn: boolean): ReturnType<typeof h> {
  const { tenants, announce } = context;
  const isActing = tenants.acting?.actor === actor;
  const act = () => {
    tenants.act(actor);
    announce(`The page acts as ${actor} of ${tenant}`);
  };
  const more = [actor, counted(scopes.length, 'scope'), isOwn ? 'reads the stream' : ''].filter((part) => part !== '');
  return h(
    'tr',
    { key: actor, class: isActing ? 'is-chosen' : '' },
    h('th', { scope: 'row' }, h('span', { class: 'id' }, tenant), h('span', { class: 'under' }, more.join(' · '))),
    h(
      'td',
      null,
      h(
        'span',
        { class: 'try' },
        isActing ? chip('acts', 'running') : button('Act as', { 'aria-label': `Act as ${actor}`, onClick: act }),
        isOwn
          ? null
          : button('Forget', {
              'aria-label': `Forget ${actor}`,
              class: 'quiet-button',
              onClick: () => tenants.forget(actor),
            }),
      ),
    ),
  );
}

function pasteForm(context: ConsoleContext): Node {
  const { tenants, perform } = context;
  const call = operationCall('Add a token', ['sandbox', 'tokenOwner'], [], { token: '<the token>' });
  return h(
    'form',
    {
      onSubmit: (event: { preventDefault(): void }) => {
        event.preventDefault();
        const token = entered.trim();
        if (token === '') return;
        entered = '';
        void perform(call, async () => {
          const { actor, tenant } = await tenants.add(token);
          tenants.act(actor);
          return `the page acts as ${actor} of ${tenant}`;
        });
      },
    },
    h('h2', null, 'Paste a token'),
    h('p', { class: 'help' }, 'Of any tenant. It stays in this tab, and goes out in a header only.'),
    h(
      'label',
      { class: 'field' },
      h('span', null, 'Token'),
      h('input', {
        ...{ type: 'password', id: 'other-token', autocomplete: 'off', required: true, value: entered },
        onInput: (event: { readonly target: unknown }) => {
          entered = textIn(event);
        },
      }),
    ),
    h('button', { type: 'submit', class: 'primary' }, 'Add it, and act with it'),
  );
}

/** Another person of the same tenant, who can approve, or another tenant. */
function newPerson(context: ConsoleContext): Node {
  const { tenants, perform, client, changed } = context;
  const person: IssueSandboxToken = { name: 'approver' };
  const offered = { 'Another person of this tenant': person, 'Another tenant': { name: 'someone', tenant: 'another' } };
  const chosen = Object.values(offered).find((body) => body.name === asked.name) ?? person;
  const call = operationCall('Issue a token', ['sandbox', 'issueToken'], [], chosen);
  const issue = () =>
    void perform(call, async () => {
      const { token } = await client.sandbox.issueToken(chosen);
      const { actor, tenant } = await tenants.add(token);
      return `${actor} of ${tenant} is in the list`;
    });
  return h(
    'section',
    { class: 'card steps' },
    h('h2', null, 'Make one up'),
    h('p', { class: 'help' }, 'Approvals need a second person, isolation a second tenant.'),
    choices('For whom', offered, chosen, (body) => {
      asked = body;
      changed();
    }),
    button('Issue a token', { class: 'primary', onClick: issue }),
    callBox(context, call),
  );
}
