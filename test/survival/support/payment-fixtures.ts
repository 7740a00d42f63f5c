/** Fixtures of payments: our wallets, on the signer cluster and at a sandbox custodian, and foreign addresses. */
import { base58 } from '@scure/base';
import { networks, payments } from 'bitcoinjs-lib';
import type { Made, RestClient } from '../../support/rest.ts';
import type { Seeded } from './seeded.ts';

export const evm = 'eip155:11155111';
export const bitcoin = 'bip122:000000000933ea01ad0ee984209779ba';
export const solana = 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';

/** The assets of each network, the one that pays fees first; and what a new wallet holds of it. */
export const testFunds: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  [evm]: { ETH: '10', USDC: '10000' },
  [bitcoin]: { BTC: '1' },
  [solana]: { SOL: '100' },
};

export interface PayingWallet {
  readonly id: string;
  readonly network: string;
  readonly address: string;
  readonly hosting: 'self_hosted' | 'sandbox';
}

export interface PaymentFixtures {
  readonly wallets: readonly PayingWallet[];
  /** Addresses by network that belong to none of our wallets. */
  readonly foreign: Readonly<Record<string, readonly string[]>>;
}

/** `apiKey`: the credential of the sandbox custodian. */
export async function openFixtures(api: RestClient, chance: Seeded, apiKey: string): Promise<PaymentFixtures> {
  const ours = { provider: 'self_hosted', name: 'ours', credentials: {} };
  const connection = await api.made('/v1/provider-connections', ours);
  interface Opened extends Made {
    readonly addresses: readonly { readonly address: string }[];
  }
  const open = async (network: string): Promise<PayingWallet> => {
    const body = { name: `on ${network}`, provider_connection_id: connection.id, network };
    const { id, addresses } = await api.made<Opened>('/v1/wallets', body);
    return { id, network, address: addresses[0]!.address, hosting: 'self_hosted' };
  };
  const opened = await Promise.all([evm, evm, evm, bitcoin, bitcoin, solana, solana].map(open));

  interface Connected extends Made {
    readonly test_wallets: readonly { readonly id: string; readonly network: string; readonly address: string }[];
  }
  const theirs = { type: 'sandbox', name: 'theirs', credentials: { api_key: apiKey } };
  const { test_wallets } = await api.made<Connected>('/v1/providers/connect', theirs);
  const hosted = test_wallets.map(({ id, network, address }): PayingWallet => {
    return { id, network, address, hosting: 'sandbox' };
  });

  const segwit = (): string => payments.p2wpkh({ hash: chance.bytes(20), network: networks.testnet }).address!;
  const foreign = {
    [evm]: [`0x${chance.bytes(20).toString('hex')}`, `0x${chance.bytes(20).toString('hex')}`],
    [bitcoin]: [segwit(), segwit()],
    [solana]: [base58.encode(chance.bytes(32)), base58.encode(chance.bytes(32))],
  };
  return { wallets: [...opened, ...hosted], foreign };
}

/** An address as its chain names it. */
export function onChain(network: string, address: string): string {
  return network === evm ? address.toLowerCase() : address;
}

/** undefined: the address belongs to none of our wallets. */
export function ownerOf({ wallets }: PaymentFixtures, network: string, address: string): PayingWallet | undefined {
  const wanted = onChain(network, address);
  return wallets.find((wallet) => wallet.network === network && onChain(network, wallet.address) === wanted);
}
