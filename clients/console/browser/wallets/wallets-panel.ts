/** The wallets of whom acts, and their transfers: balances, addresses, new ones by a form, each intent with its steps. */
import type { Intent, Wallet } from '../../../client/generated-api.ts';
import type { ConsoleContext } from '../shared/context.ts';
import { bar, button, card, chip, h, type Node, pairs, quiet, searchField, table } from '../shared/ui.ts';
import { ageInWords, counted } from '../shared/words.ts';
import { intentKind, intentView } from './intent-view.ts';
import { networkNames } from './wallet-actions.ts';
import { followWallets, type WalletData } from './wallet-data.ts';
import { newWalletCard, transferCard } from './wallet-forms.ts';

const rowsMax = 100;
export function walletsPanel(context: ConsoleContext): Node {
  const { place, tenants } = context;
  const data = context.following(followWallets);
  const wallets = data.wallets.value ?? [];
  if (data.problem !== '' && data.wallets.value === undefined)
    return h('p', { class: 'card quiet' }, `They cannot be read: ${data.problem}`);
  if (!data.isLoaded) return h('p', { class: 'quiet waiting' }, 'Reading the wallets …');
  const wallet = wallets.find(({ id }) => id === place.chosen);
  const intent = data.intents.find(({ id }) => id === place.chosen);
  if (intent !== undefined) return intentView(context, data, intent);
  if (wallet !== undefined) return walletView(context, data, wallet);
  return h(
    'div',
    { class: 'panel columns' },
    h('div', { class: 'lists' }, newWalletCard(context, wallets.length === 0)),
    h(
      'div',
      { class: 'lists' },
      place.chosen === ''
        ? null
        : h(
            'p',
            { class: 'card quiet' },
            `${tenants.acting?.tenant ?? 'This tenant'} has nothing of that id: choose another one under Tenants, or search below.`,
          ),
      card(
        h('h2', null, 'Wallets'),
        wallets.length === 0
          ? quiet('None yet. Make one: five nodes generate its key, and it comes with test money.')
          : table(
              'Wallets, the newest first',
              ['Wallet', 'Balances', 'State'],
              wallets.map((one) => walletRow(context, one)),
            ),
      ),
      intentsCard(context, data.intents),
    ),
  );
}

function walletRow({ go }: ConsoleContext, { id, name, network, assets, status }: Wallet): ReturnType<typeof h> {
  return h(
    'tr',
    { key: id, class: 'choosable', onClick: () => go({ chosen: id }) },
    h(
      'th',
      { scope: 'row' },
      button(name, { class: 'link', onClick: () => go({ chosen: id }) }),
      h('span', { class: 'under' }, networkNames[network]),
    ),
    h(
      'td',
      { class: 'number' },
      ...assets
        .slice(0, 4)
        .map(({ symbol, balance }) => h('span', { class: 'balance', key: symbol }, `${balance} ${symbol}`)),
    ),
    h('td', null, chip(status, status === 'active' ? 'running' : 'paused')),
  );
}

function walletView(context: ConsoleContext, data: WalletData, wallet: Wallet): Node {
  const { go } = context;
  const own = data.intents.filter(({ wallet_id: of }) => of === wallet.id);
  return h(
    'div',
    { class: 'panel', key: wallet.id },
    h(
      'header',
      { class: 'session-head' },
      button('← Wallets', { class: 'link', onClick: () => go({ chosen: '', words: '' }) }),
      h('h2', null, wallet.name),
      chip(wallet.status, wallet.status === 'active' ? 'running' : 'paused'),
    ),
    h(
      'div',
      { class: 'panel columns' },
      h('div', { class: 'lists' }, transferCard(context, data, wallet)),
      h(
        'div',
        { class: 'lists' },
        card(
          table(
            'Balances',
            ['Asset', 'Balance', 'Available', 'Pending'],
            wallet.assets.map(({ symbol, balance, available, pending }) =>
              h(
                'tr',
                { key: symbol },
                h('th', { scope: 'row' }, symbol),
                ...[balance, available, pending].map((amount) => h('td', { class: 'number' }, amount)),
              ),
            ),
          ),
        ),
        card(
          pairs([
            ['wallet', wallet.id],
            ['address', wallet.addresses.map(({ address }) => address).join(', ')],
            ['network', networkNames[wallet.network]],
            ['provider', wallet.provider],
            ['key', wallet.public_key === null ? 'at the custodian' : keyLink(context, wallet)],
            ['scheme', wallet.key_scheme],
            ['policy', wallet.policy ?? 'the default one'],
            [
              'approvals',
              wallet.approval_mode === 'human_required' ? 'every transfer needs one' : 'as its policy says',
            ],
          ]),
        ),
        intentsCard(context, own),
      ),
    ),
  );
}

function keyLink({ go }: ConsoleContext, { id, public_key: key }: Wallet): Node {
  return button(key, {
    class: 'link id',
    title: 'how the nodes made it',
    onClick: () => go({ panel: 'ceremonies', chosen: id }),
  });
}

function intentsCard(context: ConsoleContext, intents: readonly Intent[]): Node {
  const { store, place, go } = context;
  const wanted = place.words.toLowerCase();
  const found = intents.filter((intent) => wanted === '' || textOf(intent).includes(wanted));
  const rows = found
    .slice(0, rowsMax)
    .map((intent) =>
      h(
        'tr',
        { key: intent.id, class: 'choosable', onClick: () => go({ chosen: intent.id }) },
        h('td', null, chip(intent.status.replaceAll('_', ' '), intentKind(intent))),
        h(
          'th',
          { scope: 'row' },
          button(`${intent.amount} ${intent.asset}`, { class: 'link', onClick: () => go({ chosen: intent.id }) }),
          h('span', { class: 'under' }, intent.sub_status ?? intent.id),
        ),
        h('td', { class: 'number to' }, intent.destination.address),
        h('td', { class: 'number' }, ageInWords(Date.now() - Date.parse(intent.created_at))),
      ),
    );
  const clock = store.nodes.some(({ clock_offset_ms: ms }) => ms !== 0);
  return card(
    bar(
      h('h2', null, 'Transfers'),
      searchField(context, 'Search for a transfer', { placeholder: 'Search by any id, address, state' }),
    ),
    intents.length === 0
      ? quiet('None yet: make a wallet, and send something.')
      : found.length === 0
        ? quiet('None matches.')
        : table('Transfers, the newest first', ['State', 'Amount', 'To', clock ? 'Age, by this machine' : 'Age'], rows),
    found.length > rowsMax ? quiet(`and ${counted(found.length - rowsMax, 'older one')}: search for them`) : null,
  );
}

function textOf({
  id,
  wallet_id: wallet,
  status,
  sub_status: sub,
  destination,
  asset,
  provider_tx_id: hash,
}: Intent): string {
  return [id, wallet, status, sub ?? '', destination.address, asset, hash ?? ''].join(' ').toLowerCase();
}
