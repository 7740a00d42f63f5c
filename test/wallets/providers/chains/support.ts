/** Raw transactions of real keys, made by libraries that the chains do not use. */
import { type TransactionLike, Wallet } from 'ethers';
import { assetOf } from '../../../../wallets/networks/assets.ts';
import type { NetworkId } from '../../../../wallets/networks/networks.ts';
import { coinGas, tokenGas } from '../../../../wallets/providers/chains/evm-transaction.ts';
import { evmLevel, evmLimits } from '../../../../wallets/providers/chains/fees.ts';

export const startMs = 1_790_000_000_250;
export const sepolia: NetworkId = 'eip155:11155111';
export const testnet: NetworkId = 'bip122:000000000933ea01ad0ee984209779ba';
export const devnet: NetworkId = 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';
const { maxFeePerGas, maxPriorityFeePerGas } = evmLevel('medium', evmLimits.initial);

export { maxFeePerGas };
export const coinFee = coinGas * (evmLimits.initial + maxPriorityFeePerGas);
export const tokenFee = tokenGas * (evmLimits.initial + maxPriorityFeePerGas);

export function evmKey(index: number): Wallet {
  return new Wallet(`0x${(index + 1).toString(16).padStart(64, '0')}`);
}

export const usdc = assetOf('USDC')!.contract!;

/** Signed by ethers. */
export async function evmRaw(key: Wallet, fields: Partial<TransactionLike>): Promise<Uint8Array> {
  const signed = await key.signTransaction({
    type: 2,
    chainId: 11155111,
    maxFeePerGas,
    maxPriorityFeePerGas,
    gasLimit: fields.data === undefined ? coinGas : tokenGas,
    value: 0n,
    ...fields,
  });
  return Buffer.from(signed.slice(2), 'hex');
}

/** transfer(address,uint256) */
export function usdcCall(to: string, units: bigint): string {
  return `0xa9059cbb${to.slice(2).toLowerCase().padStart(64, '0')}${units.toString(16).padStart(64, '0')}`;
}
