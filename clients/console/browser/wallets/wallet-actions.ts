/** What the page does with wallets and intents: each is a call as data, and what performs it. */
import type {
  ApproveTransactionIntent,
  CreateTransactionIntent,
  CreateWallet,
  Intent,
  Wallet,
} from '../../../client/generated-api.ts';
import type { ConsoleAction } from '../shared/actions.ts';
import { literal, operationCall, requestOf } from '../shared/call.ts';

export const networkNames = {
  'eip155:11155111': 'Ethereum (Sepolia)',
  'bip122:000000000933ea01ad0ee984209779ba': 'Bitcoin (testnet)',
  'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1': 'Solana (devnet)',
} as const;

export type WalletNetwork = keyof typeof networkNames;

/** A wallet whose key the cluster makes, over a connection to the cluster: the tenant's first one, or a new one. */
export function newWallet(
  wanted: Omit<CreateWallet, 'provider_connection_id'>,
  made: (wallet: Wallet) => void,
): ConsoleAction {
  const connection = { provider: 'self_hosted', name: 'Our cluster', credentials: {} } as const;
  const shown = { ...wanted, provider_connection_id: '<id of the connection>' };
  return {
    name: 'Make a wallet',
    call: {
      title: `Make the wallet ${wanted.name}`,
      requests: [requestOf(['connections', 'create'], [], connection), requestOf(['wallets', 'create'], [], shown)],
      program: [
        `const { id } = await client.connections.create(${literal(connection)});`,
        `const wallet = await client.wallets.create({ ...${literal(wanted)}, provider_connection_id: id });`,
      ],
    },
    send: async ({ connections, wallets }) => {
      const [found] = await connections.list({ provider: 'self_hosted', status: 'connected' }).toArray(1);
      const { id } = found ?? (await connections.create(connection));
      const wallet = await wallets.create({ ...wanted, provider_connection_id: id });
      made(wallet);
      return `made as ${wallet.id}`;
    },
  };
}

export function transfer(wallet: string, body: CreateTransactionIntent, made: (intent: Intent) => void): ConsoleAction {
  return {
    name: 'Send',
    call: operationCall(`Send ${body.amount} ${body.asset}`, ['intents', 'create'], [wallet], body),
    send: async ({ intents }) => {
      const intent = await intents.create(wallet, body);
      made(intent);
      return `${intent.id}: ${intent.status.replaceAll('_', ' ')}`;
    },
  };
}

export function vote(
  { id, wallet_id: wallet }: Intent,
  decision: 'approve' | 'reject',
  made: (intent: Intent) => void,
): ConsoleAction {
  const body: ApproveTransactionIntent =
    decision === 'approve' ? { decision } : { decision, reason: 'rejected in the console' };
  return {
    name: decision === 'approve' ? 'Approve' : 'Reject',
    isHarmful: decision === 'reject',
    call: operationCall(
      `${decision === 'approve' ? 'Approve' : 'Reject'} ${id}`,
      ['intents', 'approve'],
      [wallet, id],
      body,
    ),
    send: async ({ intents }) => {
      const intent = await intents.approve(wallet, id, body);
      made(intent);
      return intent.status.replaceAll('_', ' ');
    },
  };
}

export function cancelIntent({ id, wallet_id: wallet }: Intent, made: (intent: Intent) => void): ConsoleAction {
  return {
    name: 'Cancel',
    isHarmful: true,
    call: operationCall(`Cancel ${id}`, ['intents', 'cancel'], [wallet, id], {}),
    send: async ({ intents }) => {
      made(await intents.cancel(wallet, id, {}));
      return 'cancelled';
    },
  };
}
