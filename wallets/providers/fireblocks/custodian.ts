/**
 * A simulated system in the manner of Fireblocks: vault accounts, asset ids, transaction statuses and sub-statuses from its
 * public documentation (https://developers.fireblocks.com/reference/primary-transaction-statuses). It never calls the real one,
 * and its keys are simulated.
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

export type FireblocksStatus =
  | 'SUBMITTED'
  | 'PENDING_AML_SCREENING'
  | 'QUEUED'
  | 'PENDING_SIGNATURE'
  | 'BROADCASTING'
  | 'CONFIRMING'
  | 'COMPLETED'
  | 'FAILED';

export interface VaultAccount {
  /** A small number, as text. */
  readonly id: string;
  readonly assetId: string;
  readonly address: string;
  readonly publicKey: string;
}

export interface TransactionRequest {
  readonly externalTxId: string;
  readonly assetId: string;
  /** Decimal. */
  readonly amount: string;
  readonly vaultAccountId: string;
  readonly oneTimeAddress: string;
}

interface StoredTransaction extends TransactionRequest {
  readonly id: string;
  readonly environment: ClusterEnvironment;
  readonly createdAt: number;
}

const usual: StatusTimeline<FireblocksStatus> = [
  { status: 'SUBMITTED', fromMs: 0 },
  { status: 'PENDING_AML_SCREENING', fromMs: 150 },
  { status: 'QUEUED', fromMs: 400 },
  { status: 'PENDING_SIGNATURE', fromMs: 600 },
  { status: 'BROADCASTING', fromMs: 1_000 },
  { status: 'CONFIRMING', fromMs: 1_300 },
  { status: 'COMPLETED', fromMs: 3_000 },
];

/** The timeline of a transaction. */
export function fireblocksTimeline(outcome: TestOutcome | undefined): StatusTimeline<FireblocksStatus> {
  return timelineFor(usual, { queued: 'QUEUED', confirming: 'CONFIRMING', failed: 'FAILED' }, outcome);
}

const errors = {
  unavailable: () => new CustodianError(503, 'SERVICE_UNAVAILABLE', 'the service is temporarily unavailable'),
  credentials: () => new CustodianError(401, '-7', 'unauthorized: the API key is not known'),
  quote: () => new CustodianError(400, 'BLOCKED_BY_POLICY', 'the transaction is blocked by the workspace’s policy'),
  funds: () => new CustodianError(400, 'INSUFFICIENT_FUNDS', 'the vault account holds too little'),
  submission: () =>
    new CustodianError(400, 'REJECTED_AML_SCREENING', 'the transaction was rejected by the AML screening'),
};

export class SimulatedFireblocks {
  readonly #records: CustodianRecords;
  readonly #book: CustodianBook;
  readonly #sleep: Sleep;

  constructor(records: CustodianRecords, book: CustodianBook, sleep: Sleep) {
    this.#records = records;
    this.#book = book;
    this.#sleep = sleep;
  }

  async signIn(
    connectionId: string,
    credentials: Readonly<Record<string, string>>,
    nowMs: number,
    isTest: boolean,
  ): Promise<void> {
    await this.#sleep(latencyMs('signIn', connectionId));
    refuseConnecting(errors, testCredential(credentials, connectionId, nowMs, isTest));
  }

  async createVaultAccount(
    tenant: string,
    request: {
      readonly customerRefId: string;
      readonly name: string;
      readonly assetId: string;
      readonly network: NetworkId;
    },
  ): Promise<VaultAccount> {
    const { customerRefId, assetId, name, network } = request;
    await this.#sleep(latencyMs('createVaultAccount', customerRefId));
    const { publicKey, address } = simulatedWallet('fireblocks', customerRefId, network);
    const stored = await this.#records.putOnce(tenant, 'vault', customerRefId, { name, assetId, address, publicKey });
    return { id: String(stored.number), assetId: stored.value.assetId, address: stored.value.address, publicKey };
  }

  /** A draft that `POST /transactions/estimate_fee` refuses would also fail as a transaction. */
  async estimateFee(environment: ClusterEnvironment, request: TransactionRequest): Promise<void> {
    await this.#sleep(latencyMs('estimateFee', request.externalTxId));
    refuseQuote(errors, testOutcome(environment, request.amount));
  }

  /** The same `externalTxId` names the same transaction. `attempt` counts from 0. */
  async createTransaction(
    tenant: string,
    environment: ClusterEnvironment,
    request: TransactionRequest,
    attempt: number,
    nowMs: number,
  ): Promise<CustodianOrder> {
    const { externalTxId } = request;
    await this.#sleep(latencyMs('createTransaction', externalTxId));
    const outcome = testOutcome(environment, request.amount);
    refuseSubmission(errors, outcome, attempt);
    const id = uuidOf(simulatedHash('fireblocks/transaction', tenant, externalTxId));
    const fresh: StoredTransaction = { ...request, id, environment, createdAt: nowMs };
    const { value } = await this.#records.putOnce(tenant, 'tx', externalTxId, fresh, finishedTtlMs);
    await this.#book.take(tenant, {
      ...{ id, wallet: value.vaultAccountId, reference: externalTxId, environment: value.environment },
      ...{ assetId: value.assetId, amount: value.amount, toAddress: value.oneTimeAddress, takenAtMs: value.createdAt },
    });
    withholdAnswer(errors, outcome);
    return transactionAt(value, nowMs);
  }

  async getTransaction(tenant: string, externalTxId: string, nowMs: number): Promise<CustodianOrder | undefined> {
    await this.#sleep(latencyMs('getTransaction', externalTxId));
    const stored = await this.#records.find<StoredTransaction>(tenant, 'tx', externalTxId);
    return stored === undefined ? undefined : transactionAt(stored.value, nowMs);
  }
}

function transactionAt({ id, environment, amount, createdAt }: StoredTransaction, nowMs: number): CustodianOrder {
  return { id, standing: standing(fireblocksTimeline(testOutcome(environment, amount)), createdAt, nowMs) };
}

/** A UUID in the form of version 4, from a hash. */
function uuidOf(hash: Uint8Array): string {
  const hex = toHex(hash);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
