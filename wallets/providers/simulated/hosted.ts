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
  ProviderUnavailable,
  type Transfer,
  type TransferDraft,
  type WalletOrder,
} from '../port/port.ts';
import type { BookWords, CustodianBook } from './custodian-book.ts';
import { networkFee, openingBalances } from './economy.ts';
import { progressOf, refusedTransfer } from './progress.ts';
import type { Standing } from './timeline.ts';

/** The error answer of a custodian, in its own words. */
export class CustodianError extends Error {
  /** HTTP. */
  readonly status: number;
  /** e.g. "INSUFFICIENT_FUNDS". */
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** An order at a custodian. */
export interface CustodianOrder {
  readonly id: string;
  readonly standing: Standing<string>;
}

export interface HostedBridge {
  readonly info: ProviderInfo;
  readonly book: CustodianBook;
  readonly words: BookWords;
  /** Our sub-statuses, UPPER_SNAKE, by the custodian's statuses. */
  readonly subStatuses: Readonly<Record<string, string>>;
  /** Of an order that fails on the chain. */
  readonly failure: { readonly code: string; readonly message: string };
  /** The faulty field of our request, and our reason, by the custodian's error code; without one it rejected the request. */
  readonly reasons: Readonly<Record<string, { readonly field: string; readonly issue: string }>>;
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
  submit(meta: CallMeta, transfer: Transfer): Promise<CustodianOrder>;
  /** undefined: the custodian knows of no such order. */
  find(meta: CallMeta, transfer: Transfer): Promise<CustodianOrder | undefined>;
}

export const hostedEnvironments: readonly ClusterEnvironment[] = ['sandbox', 'production'];
export const hostedCapabilities: readonly string[] = ['wallets:create', 'transfers', 'fee_estimates'];

export function hostedAdapter(bridge: HostedBridge): ProviderAdapter {
  const calling = async <T>(call: () => Promise<T>): Promise<T> => {
    try {
      return await call();
    } catch (error) {
      throw translated(error, bridge);
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
        const { id, standing } = await calling(
          async () => (isSubmitted ? await bridge.find(meta, transfer) : undefined) ?? bridge.submit(meta, transfer),
        );
        const order = {
          ...{ providerTxId: id, standing, stage: bridge.words.stageOf(standing.status), memory: { order: id } },
          ...{ subStatus: bridge.subStatuses[standing.status] ?? null, error: bridge.failure },
        };
        return progressOf(transfer, order, meta.nowMs);
      } catch (error) {
        if (!(error instanceof ProviderRejected)) throw error;
        return refusedTransfer(transfer, bridge.refusedStatus, { code: error.providerCode, message: error.message });
      }
    },
  };
}

/** The custodian's error as ProviderRejected or ProviderUnavailable; any other error as it is. */
function translated(error: unknown, { reasons }: HostedBridge): unknown {
  if (!(error instanceof CustodianError)) return error;
  if (error.status >= 500) return new ProviderUnavailable(error.message);
  const { field, issue } = reasons[error.code] ?? { field: '', issue: 'rejected_by_provider' };
  return new ProviderRejected(error.message, { field, issue, providerCode: error.code });
}
