/**
 * A simulated system in the manner of Copper: portfolios, deposit targets, orders with their statuses, errors as a code in
 * kebab-case (https://developer.copper.co/enums/OrderStatus). It never calls the real one, and its keys are simulated.
 */
import { toHex } from '../../../core/crypto/bytes.ts';
import type { ClusterEnvironment } from '../../../proto/roster.ts';
import type { NetworkId } from '../../networks/networks.ts';
import { refuseConnecting, refuseQuote, refuseSubmission, withholdAnswer } from '../port/test-refusals.ts';
import { type TestOutcome, testCredential, testOutcome } from '../port/test-triggers.ts';
import type { CustodianBook } from '../simulated/custodian-book.ts';
import { type CustodianRecords, finishedTtlMs } from '../simulated/custodian-records.ts';
import { CustodianError, type CustodianOrder } from '../simulated/hosted.ts';
import { latencyMs, type Sleep } from '../simulated/latency.ts';
import { simulatedHash, simulatedWallet } from '../simulated/simulated-keys.ts';
import { type StatusTimeline, standing, timelineFor } from '../simulated/timeline.ts';

export type CopperStatus =
  | 'new'
  | 'queued'
  | 'reserved'
  | 'waiting-approve'
  | 'approved'
  | 'full-signed-tx-added'
  | 'processing'
  | 'executed'
  | 'error';

export interface DepositTarget {
  /** The portfolio created for it. */
  readonly portfolioId: string;
  readonly address: string;
  readonly publicKey: string;
}

export interface WithdrawRequest {
  readonly externalOrderId: string;
  readonly portfolioId: string;
  readonly baseCurrency: string;
  readonly mainCurrency: string;
  /** Decimal. */
  readonly amount: string;
  readonly toAddress: string;
}

interface StoredOrder extends WithdrawRequest {
  /** Missing in older orders, whose id counts the tenant's orders. */
  readonly orderId?: string;
  readonly environment: ClusterEnvironment;
  readonly createdAt: number;
}

const usual: StatusTimeline<CopperStatus> = [
  { status: 'new', fromMs: 0 },
  { status: 'queued', fromMs: 100 },
  { status: 'reserved', fromMs: 350 },
  { status: 'waiting-approve', fromMs: 600 },
  { status: 'approved', fromMs: 1_100 },
  { status: 'full-signed-tx-added', fromMs: 1_400 },
  { status: 'processing', fromMs: 1_700 },
  { status: 'executed', fromMs: 5_000 },
];

/** The timeline of an order. */
export function copperTimeline(outcome: TestOutcome | undefined): StatusTimeline<CopperStatus> {
  return timelineFor(usual, { queued: 'queued', confirming: 'processing', failed: 'error' }, outcome);
}

const errors = {
  unavailable: () => new CustodianError(503, 'service-unavailable', 'the platform is temporarily not available'),
  credentials: () => new CustodianError(401, 'unauthorized', 'the signature of the request is not valid'),
  quote: () => new CustodianError(403, 'rejected-permission', 'the permission engine denies the withdrawal'),
  funds: () => new CustodianError(400, 'insufficient-balance', 'the portfolio holds too little'),
  submission: () => new CustodianError(403, 'rejected-compliance', 'the order was rejected by the compliance checks'),
};
/** Order ids are numbers, all different: a wallet that two tenants pay distinguishes their transfers by them. */
const orderIdBase = 7_000_000;
const orderIdBytes = 6;

export class SimulatedCopper {
  readonly #records: CustodianRecords;
  readonly #book: CustodianBook;
  readonly #sleep: Sleep;

  constructor(records: CustodianRecords, book: CustodianBook, sleep: Sleep) {
    this.#records = records;
    this.#book = book;
    this.#sleep = sleep;
  }

  async getAccount(
    connectionId: string,
    credentials: Readonly<Record<string, string>>,
    nowMs: number,
    isTest: boolean,
  ): Promise<void> {
    await this.#sleep(latencyMs('getAccount', connectionId));
    refuseConnecting(errors, testCredential(credentials, connectionId, nowMs, isTest));
  }

  /** The same `externalId` names the same portfolio. */
  async createPortfolio(tenant: string, externalId: string, name: string, network: NetworkId): Promise<DepositTarget> {
    await this.#sleep(latencyMs('createPortfolio', externalId));
    const { publicKey, address } = simulatedWallet('copper', externalId, network);
    const portfolioId = `pf${toHex(simulatedHash('copper/portfolio', tenant, externalId)).slice(0, 22)}`;
    const fresh = { name, portfolioId, address, publicKey };
    return (await this.#records.putOnce(tenant, 'portfolio', externalId, fresh)).value;
  }

  async estimateWithdrawal(environment: ClusterEnvironment, request: WithdrawRequest): Promise<void> {
    await this.#sleep(latencyMs('estimateWithdrawal', request.externalOrderId));
    refuseQuote(errors, testOutcome(environment, request.amount));
  }

  /** The same `externalOrderId` names the same order. `attempt` counts from 0. */
  async createOrder(
    tenant: string,
    environment: ClusterEnvironment,
    request: WithdrawRequest,
    attempt: number,
    nowMs: number,
  ): Promise<CustodianOrder> {
    const { externalOrderId } = request;
    await this.#sleep(latencyMs('createOrder', externalOrderId));
    const outcome = testOutcome(environment, request.amount);
    refuseSubmission(errors, outcome, attempt);
    const hash = simulatedHash('copper/order', tenant, externalOrderId).subarray(0, orderIdBytes);
    const orderId = String(orderIdBase + Number.parseInt(toHex(hash), 16));
    const fresh: StoredOrder = { ...request, orderId, environment, createdAt: nowMs };
    const { value, number } = await this.#records.putOnce(tenant, 'order', externalOrderId, fresh, finishedTtlMs);
    await this.#book.take(tenant, {
      ...{ id: orderIdOf(value, number), wallet: value.portfolioId, reference: externalOrderId },
      ...{ assetId: value.baseCurrency, amount: value.amount, toAddress: value.toAddress },
      ...{ environment: value.environment, takenAtMs: value.createdAt },
    });
    withholdAnswer(errors, outcome);
    return orderAt(value, number, nowMs);
  }

  async getOrder(tenant: string, externalOrderId: string, nowMs: number): Promise<CustodianOrder | undefined> {
    await this.#sleep(latencyMs('getOrder', externalOrderId));
    const stored = await this.#records.find<StoredOrder>(tenant, 'order', externalOrderId);
    return stored === undefined ? undefined : orderAt(stored.value, stored.number, nowMs);
  }
}

function orderAt(order: StoredOrder, number: number, nowMs: number): CustodianOrder {
  const { environment, amount, createdAt } = order;
  const timeline = copperTimeline(testOutcome(environment, amount));
  return { id: orderIdOf(order, number), standing: standing(timeline, createdAt, nowMs) };
}

function orderIdOf({ orderId }: StoredOrder, number: number): string {
  return orderId ?? String(orderIdBase + number);
}
