/** The forms of the wallets: a new one, and a transfer, with first tries to fill in. */
import type { Wallet } from '../../client/generated-api.ts';
import type { ConsoleAction } from './actions.ts';
import { callBox } from './call-box.ts';
import type { ConsoleContext } from './context.ts';
import { textIn } from './dom.ts';
import { button, h, type Node } from './ui.ts';
import { networkNames, newWallet, transfer, type WalletNetwork } from './wallet-actions.ts';
import type { WalletData } from './wallet-data.ts';

/** Texts of the forms. */
const texts = new Map<string, string>([
  ['name', 'Treasury'],
  ['network', 'eip155:11155111'],
  ['approval', 'unspecified'],
  ['amount', '0.25'],
]);
let busy = false;

/** First tries of a transfer; the amounts are test triggers of the sandbox (docs/wallet-api.md). */
const tries: readonly (readonly [words: string, amount: string, address?: string])[] = [
  ['An ordinary one', '0.25'],
  ['One that needs an approval', '0.00477'],
  ['One that fails on the chain', '0.00441'],
  ['One to a sanctioned address', '0.1', '0x000000000000000000000000000000000000dEaD'],
];
const receivers: Partial<Record<WalletNetwork, string>> = {
  'eip155:11155111': '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
};

export function newWalletCard(context: ConsoleContext, isFirst: boolean): Node {
  const { go } = context;
  const network = textOfField('network') as WalletNetwork;
  const approval = textOfField('approval') as 'unspecified' | 'human_required';
  const wanted = { name: textOfField('name'), network, ...(approval !== 'unspecified' && { approval_mode: approval }) };
  const action = newWallet(wanted, (wallet) => go({ chosen: wallet.id }));
  return h(
    'section',
    { class: 'card' },
    h('h2', null, isFirst ? 'Make a first wallet' : 'Make a wallet'),
    formOf(context, action, 'Make it', [
      field(context, 'name', 'Name', { required: true }),
      choice(context, 'network', 'Network', Object.entries(networkNames)),
      choice(context, 'approval', 'Approvals', [
        ['unspecified', 'as its policy says'],
        ['human_required', 'every transfer needs one'],
      ]),
    ]),
  );
}

export function transferCard(context: ConsoleContext, data: WalletData, wallet: Wallet): Node {
  const { go, changed } = context;
  const { id, network, assets } = wallet;
  const others = (data.wallets.value ?? []).filter((one) => one.network === network && one.id !== id);
  const usual = receivers[network] ?? others[0]?.addresses[0]?.address ?? '';
  const address = textOfField(`to ${network}`) || usual;
  const symbols = assets.map(({ symbol }) => symbol);
  const asset = symbols.includes(textOfField('asset')) ? textOfField('asset') : (symbols[0] ?? '');
  const body = { asset, amount: textOfField('amount'), destination: { address } };
  const action = transfer(id, body, (intent) => {
    data.see(intent);
    go({ chosen: intent.id });
  });
  const fill = (amount: string, to: string) => () => {
    texts.set('amount', amount);
    texts.set(`to ${network}`, to);
    changed();
  };
  const isKnown = receivers[network] !== undefined;
  return h(
    'section',
    { class: 'card' },
    h('h2', null, 'Send'),
    formOf(context, action, `Send ${body.amount} ${asset}`, [
      h(
        'div',
        { class: 'try', role: 'group', 'aria-label': 'Fill in' },
        ...tries
          .filter(([, , to]) => to === undefined || isKnown)
          .map(([words, amount, to = usual]) =>
            button(words, {
              class: 'small',
              'aria-pressed': String(body.amount === amount),
              onClick: fill(amount, to),
            }),
          ),
      ),
      choice(
        context,
        'asset',
        'Asset',
        symbols.map((symbol) => [symbol, symbol]),
      ),
      field(context, 'amount', 'Amount', { required: true, inputMode: 'decimal' }),
      field(context, `to ${network}`, 'To', { required: true, value: address, list: 'addresses' }),
      h(
        'datalist',
        { id: 'addresses' },
        ...others.flatMap(({ name, addresses }) =>
          addresses.map((one) => h('option', { value: one.address, key: one.address }, name)),
        ),
      ),
    ]),
  );
}

function textOfField(name: string): string {
  return texts.get(name) ?? '';
}

function formOf(context: ConsoleContext, action: ConsoleAction, words: string, fields: readonly Node[]): Node {
  const { perform, tenants, changed, made } = context;
  const last = made.at(-1);
  const isOwn = last?.call.title === action.call.title && last.outcome?.isGood === false;
  return h(
    'form',
    {
      onSubmit: (event: { preventDefault(): void }) => {
        event.preventDefault();
        if (busy) return;
        busy = true;
        changed();
        void perform(action.call, () => action.send(tenants.client)).finally(() => {
          busy = false;
          changed();
        });
      },
    },
    ...fields,
    h('button', { type: 'submit', class: 'primary', 'aria-disabled': String(busy) }, busy ? 'At work …' : words),
    isOwn ? h('p', { role: 'status', class: 'said bad' }, last?.outcome?.text ?? '') : null,
    callBox(context, action.call),
  );
}

function field(
  { changed }: ConsoleContext,
  name: string,
  words: string,
  more: Readonly<Record<string, unknown>>,
): Node {
  return h(
    'label',
    { class: 'field', key: name },
    h('span', null, words),
    h('input', {
      ...{ name, value: textOfField(name), autocomplete: 'off', spellcheck: false },
      ...more,
      onInput: (event: { readonly target: unknown }) => {
        texts.set(name, textIn(event));
        changed();
      },
    }),
  );
}

function choice(
  { changed }: ConsoleContext,
  name: string,
  words: string,
  choices: readonly (readonly [string, string])[],
): Node {
  const value = choices.some(([one]) => one === textOfField(name)) ? textOfField(name) : choices[0]?.[0];
  return h(
    'label',
    { class: 'field', key: name },
    h('span', null, words),
    h(
      'select',
      {
        ...{ name, value },
        onChange: (event: { readonly target: unknown }) => {
          texts.set(name, textIn(event));
          changed();
        },
      },
      ...choices.map(([one, shown]) => h('option', { value: one, key: one, selected: one === value }, shown)),
    ),
  );
}
