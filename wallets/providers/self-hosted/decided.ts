/**
 * The last check before the cluster signs: what the bytes do, read back from them, is what the policy receipt of the transfer decided.
 * So whatever the records say by then, and whatever was built from them, nothing else is signed.
 */
import { canonicalAddress } from '../../networks/addresses.ts';
import { formatAmount, parseAmount } from '../../networks/amounts.ts';
import { assetOf, isClaimOf } from '../../networks/assets.ts';
import { networkOf } from '../../networks/networks.ts';
import { callOf, type TokenCall } from '../../networks/token-calls.ts';
import { type DecidedTransaction, type IntentKind, NotDecided, type Transfer } from '../port/port.ts';

/** What bytes to be signed do: those of a replacement are a transfer or a call, as those that they replace. */
export interface TransactionEffect {
  readonly kind: Extract<IntentKind, 'transfer' | 'deploy'> | TokenCall['kind'];
  /** Of a token; null: the network's coin. */
  readonly contract: string | null;
  readonly units: bigint;
  /** undefined: it pays no account. */
  readonly to: string | undefined;
  /** The most that it costs, in the network's coin. */
  readonly feeMax: bigint;
  /** Of a contract's call: its data, `0x` and lower-case hex. */
  readonly data?: string;
}

/** Throws NotDecided. */
export function assertDecided(
  { intent, wallet }: Pick<Transfer, 'intent' | 'wallet'>,
  effect: TransactionEffect,
): void {
  const { decided } = intent;
  if (decided === undefined) throw new NotDecided('no policy receipt decides about it');
  const asset = assetOf(decided.asset) ?? decided.token;
  const coin = networkOf(wallet.network).nativeAsset;
  const address = (text: string | undefined) => text && canonicalAddress(wallet.network, text);
  const feeMax = parseAmount(decided.fee?.limit ?? '', assetOf(coin)?.decimals ?? 0);
  const holds: Readonly<Record<string, boolean>> = {
    wallet: decided.wallet_id === wallet.id,
    network: decided.network === wallet.network,
    kind: kindOf(decided) === effect.kind,
    call:
      decided.call === undefined ||
      (decided.call.data === effect.data && address(decided.call.contract) === address(effect.contract ?? undefined)),
    asset: asset !== undefined && address(asset.contract ?? undefined) === address(effect.contract ?? undefined),
    token: isClaimOf(decided.token, intent.token),
    amount: decided.amount === formatAmount(effect.units, asset?.decimals ?? 0),
    destination: effect.to === undefined || address(decided.to) === address(effect.to),
    fee: decided.fee?.asset === coin && typeof feeMax === 'bigint' && effect.feeMax <= feeMax,
  };
  assertAll(holds);
}

function kindOf({ kind, call, replaces }: DecidedTransaction): string {
  if (call !== undefined) return callOf(call).kind;
  return replaces === undefined ? kind : 'transfer';
}

/** The same of a message. `hash`: what is to be signed. Throws NotDecided. */
export function assertMessageDecided({ intent, wallet }: Pick<Transfer, 'intent' | 'wallet'>, hash: string): void {
  const { decided } = intent;
  if (decided === undefined) throw new NotDecided('no policy receipt decides about it');
  assertAll({
    wallet: decided.wallet_id === wallet.id,
    network: decided.network === wallet.network,
    kind: decided.kind === intent.kind,
    message: decided.message_hash === hash,
  });
}

function assertAll(holds: Readonly<Record<string, boolean>>): void {
  const differing = Object.keys(holds).find((name) => holds[name] === false);
  if (differing !== undefined)
    throw new NotDecided(`the ${differing} to be signed is not the one of its policy receipt`);
}
