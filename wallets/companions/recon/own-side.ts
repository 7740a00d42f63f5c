/**
 * Our side of a comparison: intents, deposits and exchanges at the venue as movements. Pure.
 *
 * | `state` | What the provider must show |
 * |---|---|
 * | `none` | nothing, or a movement that failed: the transfer never reached it, or is a message |
 * | `open` | anything: it may have the transfer already |
 * | `pending` | the movement, in any state |
 * | `completed` | the movement, completed |
 * | `failed` | nothing, or the movement, failed |
 */
import { type IntentRecord, isFinal, isSubmitted, unitsTaken } from '../../custody/intents/public.ts';
import type { DepositRecord } from '../../custody/wallets/public.ts';
import { networkOf } from '../../networks/networks.ts';
import { isMessage } from '../../providers/port/kinds.ts';
import type { NewBalance } from '../../providers/port/port.ts';
import { exchangeKey, type MovementDirection, type ProviderStatements } from '../../providers/port/statement.ts';
import type { ExchangeRecord } from '../treasury/public.ts';

export type OwnState = 'none' | 'open' | 'pending' | 'completed' | 'failed';

export interface OwnMovement {
  readonly kind: 'transaction_intent' | 'deposit' | 'withdrawal' | 'exchange';
  readonly id: string;
  readonly version: number;
  /** As the provider's statements name it; null: the provider has no name for it yet. */
  readonly key: string | null;
  readonly direction: MovementDirection;
  readonly asset: string;
  readonly units: bigint;
  /** Zero until it is paid. */
  readonly fee: NewBalance;
  readonly status: string;
  readonly state: OwnState;
  /** It has ended. A reorganisation may still undo a completed one. */
  readonly isFinal: boolean;
  readonly createdAtMs: number;
  /** The time of its latest change. */
  readonly changedAtMs: number;
}

export function intentMovement(intent: IntentRecord, joinsBy: ProviderStatements['joinsBy']): OwnMovement {
  const { id, version, asset, status, feePaid, feeReserve, createdAtMs, updatedAtMs, providerTxId } = intent;
  return {
    ...{ kind: 'transaction_intent', id, version, direction: 'out', asset, status, createdAtMs },
    key: joinsBy === 'reference' ? id : providerTxId,
    units: unitsTaken(intent),
    fee: { asset: feePaid?.asset ?? feeReserve.asset, units: BigInt(feePaid?.units ?? '0') },
    state: stateOf(intent),
    isFinal: isFinal(status),
    changedAtMs: updatedAtMs,
  };
}

/** The empty transaction that used the number of a failed transfer: the wallet paid its fee and sent nothing. */
export function fillerMovement(intent: IntentRecord): OwnMovement {
  const movement = intentMovement(intent, 'tx_id');
  return { ...movement, key: intent.filler?.id ?? null, asset: movement.fee.asset, units: 0n, state: 'completed' };
}

function stateOf({ kind, provider, status, submission, providerTxId }: IntentRecord): OwnState {
  if (isMessage(kind)) return 'none';
  if (status === 'completed' || status === 'failed') return status;
  if (!isSubmitted(status)) return 'none';
  // A chain shows no transaction that waits for its turn, or for a lower market.
  if (provider === 'self_hosted' && status === 'broadcasting') return 'open';
  return providerTxId !== null || (status !== 'signing' && submission !== null) ? 'pending' : 'open';
}

export function depositMovement(deposit: DepositRecord, nativeAsset: string): OwnMovement {
  const { id, version, asset, txId, createdAtMs, open } = deposit;
  const units = BigInt(deposit.units);
  if (units < 0n) {
    return {
      ...{ kind: 'withdrawal', id, version, key: txId, direction: 'out', asset, createdAtMs, changedAtMs: createdAtMs },
      ...{ status: 'debited', state: 'completed', isFinal: true, units: -units },
      fee: { asset: nativeAsset, units: 0n },
    };
  }
  const isReverted = open?.standing === 'reverted';
  return {
    ...{ kind: 'deposit', id, version, key: txId, direction: 'in', asset, createdAtMs, changedAtMs: createdAtMs },
    ...{ status: isReverted ? 'reverted' : 'credited', state: isReverted ? 'pending' : 'completed' },
    ...{ isFinal: !isReverted, units },
    fee: { asset: nativeAsset, units: 0n },
  };
}

/** An exchange at the venue, one movement for each asset that it moves in the wallet. */
export function exchangeMovements({ id, version, orderId, effect, createdAtMs }: ExchangeRecord): OwnMovement[] {
  return effect.map(({ asset, units: signed }) => {
    const units = BigInt(signed);
    return {
      ...{ kind: 'exchange', id, version, key: exchangeKey(orderId, asset), asset, status: 'booked', createdAtMs },
      ...{ state: 'completed', isFinal: true, changedAtMs: createdAtMs, fee: { asset, units: 0n } },
      direction: units < 0n ? 'out' : 'in',
      units: units < 0n ? -units : units,
    };
  });
}

/** The amounts that our ledger has booked, or will book if the transfer succeeds, by asset. */
export function ownEffect({ state, direction, asset, units, fee }: OwnMovement): readonly NewBalance[] {
  const paid = { asset: fee.asset, units: -fee.units };
  if (state !== 'completed' && state !== 'pending') return [paid];
  return [{ asset, units: direction === 'in' ? units : -units }, paid];
}

export function nativeAssetOf(network: Parameters<typeof networkOf>[0]): string {
  return networkOf(network).nativeAsset;
}
