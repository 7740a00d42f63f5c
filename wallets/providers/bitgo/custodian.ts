/**
 * A simulated system in the manner of BitGo: coins, wallets, transfers with their states, errors with a name and a request
 * id, amounts in base units (https://developers.bitgo.com). It never calls the real one, and its keys are simulated.
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

export type TransferState = 'initialized' | 'pendingApproval' | 'signed' | 'unconfirmed' | 'confirmed' | 'failed';

export interface BitgoWallet {
  /** 32 hex digits. */
  readonly id: string;
  readonly coin: string;
  readonly receiveAddress: string;
  readonly publicKey: string;
}

export interface BitgoSend {
  /** Chosen by the caller: the same id names the same transfer. */
  readonly sequenceId: string;
  readonly coin: string;
  readonly walletId: string;
  readonly address: string;
  /** Base units, a decimal integer. */
  readonly amount: string;
  /** The same amount in decimal form, for comparison with test amounts. */
  readonly decimalAmount: string;
}

interface StoredTransfer extends BitgoSend {
  readonly id: string;
  readonly environment: ClusterEnvironment;
  readonly createdMs: number;
}

const usual: StatusTimeline<TransferState> = [
  { status: 'initialized', fromMs: 0 },
  { status: 'pendingApproval', fromMs: 300 },
  { status: 'signed', fromMs: 900 },
  { status: 'unconfirmed', fromMs: 1_200 },
  { status: 'confirmed', fromMs: 4_000 },
];

/** The timeline of a transfer. */
export function bitgoTimeline(outcome: TestOutcome | undefined): StatusTimeline<TransferState> {
  return timelineFor(usual, { queued: 'pendingApproval', confirming: 'unconfirmed', failed: 'failed' }, outcome);
}

const errors = {
  unavailable: () => new CustodianError(503, 'ServiceUnavailable', 'the platform is under maintenance'),
  credentials: () => new CustodianError(401, 'Unauthenticated', 'the access token is not valid'),
  quote: () => new CustodianError(403, 'PolicyViolation', 'the transaction violates a policy of the wallet'),
  funds: () => new CustodianError(400, 'InsufficientBalance', 'the wallet has not enough spendable balance'),
  submission: () =>
    new CustodianError(403, 'PendingApprovalRejected', 'an administrator of the enterprise rejected the transfer'),
};

export class SimulatedBitgo {
  readonly #records: CustodianRecords;
  readonly #book: CustodianBook;
  readonly #sleep: Sleep;

  constructor(records: CustodianRecords, book: CustodianBook, sleep: Sleep) {
    this.#records = records;
    this.#book = book;
    this.#sleep = sleep;
  }

  async getSession(
    connectionId: string,
    credentials: Readonly<Record<string, string>>,
    nowMs: number,
    isTest: boolean,
  ): Promise<void> {
    await this.#sleep(latencyMs('getSession', connectionId));
    refuseConnecting(errors, testCredential(credentials, connectionId, nowMs, isTest));
  }

  /** The same `label` in a coin names the same wallet. */
  async generateWallet(tenant: string, coin: string, label: string, network: NetworkId): Promise<BitgoWallet> {
    await this.#sleep(latencyMs('generateWallet', label));
    const { publicKey, address } = simulatedWallet('bitgo', label, network);
    const id = toHex(simulatedHash('bitgo/wallet', tenant, label)).slice(0, 32);
    const fresh: BitgoWallet = { id, coin, receiveAddress: address, publicKey };
    return (await this.#records.putOnce(tenant, 'wallet', label, fresh)).value;
  }

  /** Builds a transaction and discards it. */
  async buildTransaction(environment: ClusterEnvironment, { sequenceId, decimalAmount }: BitgoSend): Promise<void> {
    await this.#sleep(latencyMs('buildTransaction', sequenceId));
    refuseQuote(errors, testOutcome(environment, decimalAmount));
  }

  /** The same `sequenceId` names the same transfer. `attempt` counts from 0. */
  async sendCoins(
    tenant: string,
    environment: ClusterEnvironment,
    request: BitgoSend,
    attempt: number,
    nowMs: number,
  ): Promise<CustodianOrder> {
    const { sequenceId } = request;
    await this.#sleep(latencyMs('sendCoins', sequenceId));
    const outcome = testOutcome(environment, request.decimalAmount);
    refuseSubmission(errors, outcome, attempt);
    const id = toHex(simulatedHash('bitgo/transfer', tenant, sequenceId)).slice(0, 32);
    const fresh: StoredTransfer = { ...request, id, environment, createdMs: nowMs };
    const { value } = await this.#records.putOnce(tenant, 'transfer', sequenceId, fresh, finishedTtlMs);
    await this.#book.take(tenant, {
      ...{ id, wallet: value.walletId, reference: sequenceId, environment: value.environment },
      ...{ assetId: value.coin, amount: value.decimalAmount, toAddress: value.address, takenAtMs: value.createdMs },
    });
    withholdAnswer(errors, outcome);
    return transferAt(value, nowMs);
  }

  async getTransferBySequenceId(
    tenant: string,
    sequenceId: string,
    nowMs: number,
  ): Promise<CustodianOrder | undefined> {
    await this.#sleep(latencyMs('getTransferBySequenceId', sequenceId));
    const stored = await this.#records.find<StoredTransfer>(tenant, 'transfer', sequenceId);
    return stored === undefined ? undefined : transferAt(stored.value, nowMs);
  }
}

function transferAt({ id, environment, decimalAmount, createdMs }: StoredTransfer, nowMs: number): CustodianOrder {
  return { id, standing: standing(bitgoTimeline(testOutcome(environment, decimalAmount)), createdMs, nowMs) };
}
