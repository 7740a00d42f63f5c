/** The forms of the wallets: a new one, and a transfer, with first tries to fill in. */
import type { Wallet } from '../../../client/generated-api.ts';
import type { ConsoleContext } from '../shared/context.ts';
import { choice, field, fillIn, formOf, textOfField } from '../shared/form.ts';
import { button, card, h, type Node } from '../shared/ui.ts';
import { networkNames, newWallet, transfer, type WalletNetwork } from './wallet-actions.ts';
import type { WalletData } from './wallet-data.ts';

for (const [name, text] of [
  ['name', 'Treasury'],
  ['network', 'eip155:11155111'],
  ['approval', 'unspecified'],
  ['amount', '0.25'],
] as const)
  fillIn(name, text);

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
  return card(
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
    fillIn('amount', amount);
    fillIn(`to ${network}`, to);
    changed();
  };
  const isKnown = receivers[network] !== undefined;
  return card(
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
