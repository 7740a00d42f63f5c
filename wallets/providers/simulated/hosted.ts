/**
 * The common part of the adapters of the hosted custodians: the order of the calls. Each custodian's own terms, ids and
 * errors stay in its folder, behind this bridge.
 */
import type { ClusterEnvironment } from '../../../proto/roster.ts';
import {
  type CallMeta,
  type ProviderAdapter,
  type ProviderInfo,
  ProviderRejected,
  type Transfer,
  type TransferDraft,
  type WalletOrder,
} from '../port/port.ts';
import type { CustodianBook } from './custodian-book.ts';
import { networkFee, openingBalances } from './economy.ts';
import { type OrderStanding, progressOf, refusedTransfer } from './progress.ts';

export interface HostedBridge {
  readonly info: ProviderInfo;
  readonly book: CustodianBook;
  /** The custodian's status of a refused order. */
  readonly refusedStatus: string;
  signIn(
    meta: CallMeta,
    connectionId: string,
    credentials: Readonly<Record<string, string>>,
    isTest: boolean,
  ): Promise<void>;
  openWallet(
    meta: CallMeta,
    order: WalletOrder,
  ): Promise<{ readonly id: string; readonly address: string; readonly publicKey: string }>;
  /** Asks whether it would accept the transfer, without any effect. */
  estimate(draft: TransferDraft): Promise<void>;
  /** Idempotent by the intent's id. */
  submit(meta: CallMeta, transfer: Transfer): Promise<OrderStanding>;
  /** undefined: the custodian knows of no such order. */
  find(meta: CallMeta, transfer: Transfer): Promise<OrderStanding | undefined>;
  /** The custodian's error as ProviderRejected or ProviderUnavailable; any other error as it is. */
  translate(error: unknown): unknown;
}

export const hostedEnvironments: readonly ClusterEnvironment[] = ['sandbox', 'production'];
export const hostedCapabilities: readonly string[] = ['wallets:create', 'transfers', 'fee_estimates'];

export function hostedAdapter(bridge: HostedBridge): ProviderAdapter {
  const calling = async <T>(call: () => Promise<T>): Promise<T> => {
    try {
      return await call();
    } catch (error) {
      throw bridge.translate(error);
    }
  };
  return {
    info: bridge.info,

    async connect(meta, connectionId, credentials, _environment, isTest) {
      await calling(() => bridge.signIn(meta, connectionId, credentials, isTest));
      return { testWallets: [] };
    },

    async createWallet(meta, { environment }, order) {
      const { id, address, publicKey } = await calling(() => bridge.openWallet(meta, order));
      const { network } = order;
      const balances = openingBalances(network, environment);
      await bridge.book.open(meta.tenant, id, balances);
      return { providerWalletId: id, addresses: [{ network, address }], publicKey, balances };
    },

    async quote(_meta, draft) {
      await calling(() => bridge.estimate(draft));
      return { fee: networkFee(draft.asset) };
    },

    sequenceCounter: () => undefined,

    async advance(meta, transfer) {
      const isSubmitted = transfer.intent.submission !== null;
      try {
        const order = await calling(
          async () => (isSubmitted ? await bridge.find(meta, transfer) : undefined) ?? bridge.submit(meta, transfer),
        );
        return progressOf(transfer, order, meta.nowMs);
      } catch (error) {
        if (!(error instanceof ProviderRejected)) throw error;
        return refusedTransfer(transfer, bridge.refusedStatus, { code: error.providerCode, message: error.message });
      }
    },
  };
}
