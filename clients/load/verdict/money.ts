/**
 * Checks that money is conserved: each wallet's decrease is the sum of its completed transfers and their paid fees, to the last
 * unit, and nothing stays reserved. And that each accepted transfer ended once.
 */
import { type Check, Faults } from './check.ts';

/** A wallet's asset, as the service shows it; decimal numbers. */
export interface ShownBalance {
  readonly walletId: string;
  readonly asset: string;
  readonly decimals: number;
  readonly balance: string;
  readonly pending: string;
}

/** The end of a transfer, as in its event. */
export interface EndedTransfer {
  readonly intentId: string;
  readonly walletId: string;
  readonly asset: string;
  readonly amount: string;
  /** "completed", "failed", … */
  readonly status: string;
  readonly feeAsset: string;
  /** "0": no fee was paid. */
  readonly feePaid: string;
}

export class TransferRecord {
  readonly #accepted = new Map<string, { readonly walletId: string; readonly amount: string }>();
  readonly #ended = new Map<string, EndedTransfer>();
  readonly #faults = new Faults();

  /** The service has answered with this intent. */
  accepted(intentId: string, walletId: string, amount: string): void {
    this.#accepted.set(intentId, { walletId, amount });
  }

  /** A final event. It also records those of other callers' intents: they explain balances of shared wallets. */
  ended(transfer: EndedTransfer): void {
    const before = this.#ended.get(transfer.intentId);
    if (before !== undefined) this.#faults.add(`${transfer.intentId}: ended ${before.status} and ${transfer.status}`);
    this.#ended.set(transfer.intentId, transfer);
  }

  /** Accepted transfers without an end so far. */
  get open(): number {
    let count = 0;
    for (const intentId of this.#accepted.keys()) if (!this.#ended.has(intentId)) count += 1;
    return count;
  }

  checks(before: readonly ShownBalance[], after: readonly ShownBalance[]): readonly Check[] {
    const counts: Record<string, number> = {};
    for (const [intentId, { walletId, amount }] of this.#accepted) {
      const ended = this.#ended.get(intentId);
      const status = ended?.status ?? 'without an end';
      counts[status] = (counts[status] ?? 0) + 1;
      if (ended === undefined) this.#faults.add(`${intentId}: accepted, and no final event came`);
      else if (ended.walletId !== walletId || units(ended.amount, 18) !== units(amount, 18)) {
        this.#faults.add(
          `${intentId}: asked for ${amount} of ${walletId}, ended as ${ended.amount} of ${ended.walletId}`,
        );
      }
    }
    const words = Object.entries(counts).map(([status, count]) => `${count} ${status}`);
    const transfers = this.#faults.check(
      'transfers',
      `${this.#accepted.size} accepted, each ended once: ${words.join(', ') || 'none'}`,
    );
    return [transfers, conserved(before, after, [...this.#ended.values()])];
  }
}

function conserved(
  before: readonly ShownBalance[],
  after: readonly ShownBalance[],
  transfers: readonly EndedTransfer[],
): Check {
  const faults = new Faults();
  for (const { walletId, asset, decimals, balance } of before) {
    const now = after.find((each) => each.walletId === walletId && each.asset === asset);
    if (now === undefined) {
      faults.add(`${walletId}: its ${asset} is gone from the answer`);
      continue;
    }
    if (units(now.pending, decimals) !== 0n) faults.add(`${walletId}: ${now.pending} ${asset} are still reserved`);
    let spent = 0n;
    for (const each of transfers) {
      if (each.walletId !== walletId) continue;
      if (each.status === 'completed' && each.asset === asset) spent += units(each.amount, decimals);
      if (each.feeAsset === asset) spent += units(each.feePaid, decimals);
    }
    const left = units(balance, decimals) - units(now.balance, decimals);
    if (left !== spent) {
      faults.add(`${walletId}: ${left} units of ${asset} left, its transfers and fees explain ${spent}`);
    }
  }
  return faults.check('money', `${before.length} balances before and after against transfers and fees, to the unit`);
}

/** A decimal number in the smallest units of its asset. Throws for a text that is no number. */
function units(text: string, decimals: number): bigint {
  const found = /^(-?)(\d+)(?:\.(\d*))?$/.exec(text);
  if (found === null) throw new Error(`"${text}" is no decimal number`);
  const [, sign, whole, part = ''] = found;
  return BigInt(`${sign}${whole}${part.padEnd(decimals, '0')}`);
}
