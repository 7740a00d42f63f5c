/** An intent of 1 ETH before its evaluation. */
import type { IntentDraft } from '../../../../../wallets/custody/intents/machine.ts';
import type { WalletRecord } from '../../../../../wallets/custody/wallets/record.ts';
import { feeReserve } from './fake-provider.ts';

export const somewhere = '0x1111111111111111111111111111111111111111';
export const oneEth = 10n ** 18n;

export function draft(id: string, wallet: WalletRecord): IntentDraft {
  return {
    id,
    kind: 'transfer',
    walletId: wallet.id,
    connectionId: wallet.connectionId,
    provider: wallet.provider,
    network: wallet.network,
    asset: 'ETH',
    amount: '1',
    units: oneEth.toString(),
    fromAddress: wallet.addresses[0]!.address,
    destination: { address: somewhere },
    feeReserve: { asset: 'ETH', units: feeReserve.toString() },
    policy: { name: 'default', id: 'pol_1', version: 1 },
    decisionId: 'dec_1',
    policyReceipt: 'header.payload.signature',
    riskScore: 5,
    screeningId: 'scr_1',
    initiator: 'tok_maker',
    metadata: {},
    correlationId: 'req_test',
  };
}
