/**
 * The simulated hosted custodians: one behaviour, in the terms of each. A custodian's own statuses, ids, errors and stored records
 * are data of its folder (CustodianTerms); it never calls the real one, and its keys are simulated.
 */
import type { ClusterEnvironment } from '../../../proto/roster.ts';
import { networkIds } from '../../networks/networks.ts';
import {
  type ProviderAdapter,
  type ProviderInfo,
  ProviderRejected,
  ProviderUnavailable,
  type Transfer,
  type WalletOrder,
} from '../port/port.ts';
import {
  refuseConnecting,
  refuseQuote,
  refuseSubmission,
  type TestErrors,
  withholdAnswer,
} from '../port/test-refusals.ts';
import { testCredential, testOutcome } from '../port/test-triggers.ts';
import type { BookWords, CustodianBook, TakenOrder } from './custodian-book.ts';
import { type CustodianRecords, finishedTtlMs } from './custodian-records.ts';
import { networkFee, openingBalances } from './economy.ts';
import { latencyMs, type Sleep } from './latency.ts';
import { progressOf, refusedTransfer, type Stage } from './progress.ts';
import { type SimulatedWallet, simulatedWallet } from './simulated-keys.ts';
import { type Phase, standing, type TurningPoints, timelineFor } from './timeline.ts';

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

interface CustodianStatus extends Phase<string> {
  readonly stage: Stage;
  /** Our sub-status, UPPER_SNAKE. */
  readonly subStatus?: string;
}

/** An order as the custodian gets it. */
export interface NewOrder extends Omit<TakenOrder, 'id'> {
  readonly tenant: string;
  /** The amount in the asset's smallest units, a decimal integer. */
  readonly units: string;
  /** Our symbol of the coin that pays the fee. */
  readonly coin: string;
}

/** `W` and `O`: the stored records of a wallet and of an order, whose layouts are stored formats. */
export interface CustodianTerms<W = unknown, O = unknown> {
  readonly info: Omit<ProviderInfo, 'hosting' | 'environments' | 'networks'>;
  /** The names of its calls. */
  readonly calls: Readonly<Record<'signIn' | 'openWallet' | 'estimate' | 'submit' | 'find', string>>;
  /** Its names for assets, by our symbols. */
  readonly assetIds: Readonly<Record<string, string>>;
  /** The statuses of an order that completes, in order of time. */
  readonly statuses: readonly CustodianStatus[];
  readonly points: TurningPoints<string>;
  /** Of an order that fails on the chain. */
  readonly failure: { readonly code: string; readonly message: string };
  /** The status of a refused order. */
  readonly refusedStatus: string;
  readonly errors: TestErrors;
  /** The faulty field of our request, and our reason, by the custodian's error code; without one it rejected the request. */
  readonly reasons: Readonly<Record<string, { readonly field: string; readonly issue: string }>>;
  /** Of its records; `number` counts those of a family, from 1. */
  readonly families: { readonly wallet: string; readonly order: string };
  walletRecord(tenant: string, order: WalletOrder, keys: SimulatedWallet): W;
  walletOf(record: W, number: number): { readonly id: string; readonly address: string };
  orderRecord(order: NewOrder): O;
  takenOf(record: O, number: number): TakenOrder;
}

export interface CustodianDeps {
  readonly records: CustodianRecords;
  readonly book: CustodianBook;
  readonly sleep: Sleep;
}

const hostedEnvironments: readonly ClusterEnvironment[] = ['sandbox', 'production'];
export const hostedCapabilities: readonly string[] = ['wallets:create', 'transfers', 'fee_estimates'];

export function bookWords({ statuses, points, assetIds }: CustodianTerms): BookWords {
  return {
    timeline: (outcome) => timelineFor(statuses, points, outcome),
    stageOf: (status) => statuses.find((one) => one.status === status)?.stage ?? 'failed',
    assetIds,
  };
}

/** Its answers come after the latency of the call, and the test triggers make calls fail. Calls may be repeated. */
export function hostedAdapter(terms: CustodianTerms, { records, book, sleep }: CustodianDeps): ProviderAdapter {
  const { calls, errors, families, statuses } = terms;
  const { kind, displayName, ...info } = terms.info;
  const words = bookWords(terms);
  const calling = async <T>(call: keyof typeof calls, id: string, answer: () => T | Promise<T>): Promise<T> => {
    await sleep(latencyMs(calls[call], id));
    try {
      return await answer();
    } catch (error) {
      throw translated(error, terms);
    }
  };
  const find = async ({ tenant }: { readonly tenant: string }, id: string) => {
    const stored = await records.find(tenant, families.order, id);
    return stored && terms.takenOf(stored.value, stored.number);
  };
  const submit = async (tenant: string, { intent, wallet }: Transfer, nowMs: number): Promise<TakenOrder> => {
    const outcome = testOutcome(wallet.environment, intent.amount);
    refuseSubmission(errors, outcome, intent.attempts);
    const assetId = terms.assetIds[intent.asset];
    if (assetId === undefined) throw new Error(`${kind} has no name for ${intent.asset}`);
    const order: NewOrder = {
      ...{ tenant, reference: intent.id, wallet: wallet.providerWalletId, environment: wallet.environment },
      ...{ assetId, amount: intent.amount, units: intent.units, toAddress: intent.destination.address },
      ...{ coin: networkFee(intent.asset).asset, takenAtMs: nowMs },
    };
    const record = terms.orderRecord(order);
    const { value, number } = await records.putOnce(tenant, families.order, intent.id, record, finishedTtlMs);
    const taken = terms.takenOf(value, number);
    await book.take(tenant, taken);
    withholdAnswer(errors, outcome);
    return taken;
  };
  return {
    info: { kind, displayName, hosting: 'hosted', environments: hostedEnvironments, ...info, networks: networkIds },

    async connect({ nowMs }, connectionId, credentials, _environment, isTest) {
      await calling('signIn', connectionId, () =>
        refuseConnecting(errors, testCredential(credentials, connectionId, nowMs, isTest)),
      );
      return { testWallets: [] };
    },

    async createWallet({ tenant }, { environment }, order) {
      const { walletId, network } = order;
      const keys = simulatedWallet(kind, walletId, network);
      const { id, address } = await calling('openWallet', walletId, async () => {
        const fresh = terms.walletRecord(tenant, order, keys);
        const { value, number } = await records.putOnce(tenant, families.wallet, walletId, fresh);
        return terms.walletOf(value, number);
      });
      const balances = openingBalances(network, environment);
      await book.open(tenant, id, balances);
      return { providerWalletId: id, addresses: [{ network, address }], publicKey: keys.publicKey, balances };
    },

    async quote(_meta, { intentId, wallet, asset, amount }) {
      await calling('estimate', intentId, () => refuseQuote(errors, testOutcome(wallet.environment, amount)));
      return { fee: networkFee(asset) };
    },

    sequenceCounter: () => undefined,

    async advance(meta, transfer) {
      const { intent } = transfer;
      const isSubmitted = intent.submission !== null;
      try {
        const { id, environment, amount, takenAtMs } =
          (isSubmitted ? await calling('find', intent.id, () => find(meta, intent.id)) : undefined) ??
          (await calling('submit', intent.id, () => submit(meta.tenant, transfer, meta.nowMs)));
        const now = standing(words.timeline(testOutcome(environment, amount)), takenAtMs, meta.nowMs);
        const order = {
          ...{ providerTxId: id, standing: now, stage: words.stageOf(now.status), memory: { order: id } },
          subStatus: statuses.find(({ status }) => status === now.status)?.subStatus ?? null,
          error: terms.failure,
        };
        return progressOf(transfer, order, meta.nowMs);
      } catch (error) {
        if (!(error instanceof ProviderRejected)) throw error;
        return refusedTransfer(transfer, terms.refusedStatus, { code: error.providerCode, message: error.message });
      }
    },
  };
}

/** The custodian's error as ProviderRejected or ProviderUnavailable; any other error as it is. */
function translated(error: unknown, { reasons }: CustodianTerms): unknown {
  if (!(error instanceof CustodianError)) return error;
  if (error.status >= 500) return new ProviderUnavailable(error.message);
  const { field, issue } = reasons[error.code] ?? { field: '', issue: 'rejected_by_provider' };
  return new ProviderRejected(error.message, { field, issue, providerCode: error.code });
}
