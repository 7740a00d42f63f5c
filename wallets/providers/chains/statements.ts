/**
 * The statements of wallets whose keys our own cluster holds: their chain's record of their address. A chain knows no ids
 * of ours; transfers are found by the ids of their transactions. It only contains mined transactions.
 */
import { networkOf } from '../../networks/networks.ts';
import { type HeldWallet, ProviderUnavailable } from '../port/port.ts';
import { type Movement, type ProviderStatements, placeOf } from '../port/statement.ts';
import { type ChainMovement, ChainUnavailable } from './chain.ts';
import type { Chains } from './chains.ts';

export function chainStatements(chains: Chains): ProviderStatements {
  return {
    joinsBy: 'tx_id',
    page: ({ nowMs }, wallet, query) =>
      answered(async () => {
        const found = await chains.of(wallet.network).movements(addressOf(wallet), query, nowMs);
        const movements = found.map(movementOf);
        const last = movements.at(-1);
        return {
          movements: movements.filter(isShown),
          next: found.length < query.limit || last === undefined ? undefined : placeOf(last),
        };
      }),
    find: ({ nowMs }, wallet, direction, keys) =>
      answered(() =>
        Promise.all(
          keys.map(async (key) => {
            const found = await chains.of(wallet.network).movement(addressOf(wallet), direction, key, nowMs);
            return found === undefined ? [] : [movementOf(found)].filter(isShown);
          }),
        ),
      ),
    balances: (_meta, wallet) => answered(() => chains.of(wallet.network).balances(addressOf(wallet))),
  };
}

/** A transaction that fills a gap pays its own sender zero. */
function isShown({ direction, units }: Movement): boolean {
  return direction === 'out' || units > 0n;
}

function movementOf({ direction, units, feeUnits, transaction }: ChainMovement): Movement {
  const { id, network, effect, state, succeeded, from, owner = from, to } = transaction;
  const minedAtMs = transaction.minedAtMs!;
  const { nativeAsset } = networkOf(network);
  // A deployment sends none of the native asset, and the transaction moves no units of the new token.
  const asset = effect === 'deploy' ? nativeAsset : transaction.asset;
  return {
    ...{ id, key: id, direction, reference: null, txId: id, asset, units },
    fee: { asset: nativeAsset, units: feeUnits },
    counterparty: direction === 'out' ? to : owner,
    state: state !== 'confirmed' ? 'pending' : succeeded ? 'completed' : 'failed',
    providerStatus: state === 'confirmed' && !succeeded ? 'REVERTED' : state.toUpperCase(),
    ...{ bookedAtMs: minedAtMs, settledAtMs: minedAtMs, hasMoved: succeeded },
  };
}

function addressOf({ id, network, addresses }: HeldWallet): string {
  const held = addresses.find((each) => each.network === network);
  if (held === undefined) throw new Error(`wallet ${id} has no address on its network`);
  return held.address;
}

/** An unreachable chain counts as an unreachable provider. */
async function answered<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof ChainUnavailable) throw new ProviderUnavailable(error.message);
    throw error;
  }
}
