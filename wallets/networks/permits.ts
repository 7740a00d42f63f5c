/**
 * Typed data that lets a spender take tokens of the wallet: permits of a token itself (EIP-2612) and of Permit2
 * (https://github.com/Uniswap/permit2, AllowanceTransfer and SignatureTransfer). A contract takes exactly one type, so a permit is known by
 * the text of its type and the contract that verifies it. Pure.
 */
import { type TypedData, typeTextOf } from './typed-data.ts';

export interface Permit {
  /** The token's contract, lower case. */
  readonly contract: string;
  /** Lower case. */
  readonly spender: string;
  /** The most that the spender may take, in smallest units. */
  readonly units: bigint;
  /** Whose tokens; undefined: those of who signs. */
  readonly owner?: string;
}

/** Permit2 has one address on every network. */
const permit2 = '0x000000000022d473030f116ddee9f6b43ac78ba3';

// biome-ignore lint/suspicious/noExplicitAny: the values of a known type, as they were read.
type Values = Readonly<Record<string, any>>;

/** By their types; null: the token itself verifies it. */
const forms: Readonly<
  Record<string, readonly [verifier: string | null, read: (message: Values, verifier: string) => Permit]>
> = {
  'Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)': [
    null,
    ({ owner, spender, value }, contract) => ({ contract, spender, units: BigInt(value), owner }),
  ],
  'PermitSingle(PermitDetails details,address spender,uint256 sigDeadline)PermitDetails(address token,uint160 amount,uint48 expiration,uint48 nonce)':
    [permit2, ({ details: { token, amount }, spender }) => ({ contract: token, spender, units: BigInt(amount) })],
  'PermitTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline)TokenPermissions(address token,uint256 amount)':
    [permit2, ({ permitted: { token, amount }, spender }) => ({ contract: token, spender, units: BigInt(amount) })],
};

/** `typedData`: as it was read. */
export function permitOf(typedData: TypedData): Permit | undefined {
  const [verifier, read] = forms[typeTextOf(typedData)] ?? [];
  const { verifyingContract } = typedData.domain;
  if (read === undefined || typeof verifyingContract !== 'string') return undefined;
  if (verifier !== null && verifier !== verifyingContract) return undefined;
  return read(typedData.message as Values, verifyingContract);
}

/** Whether it is called a permit, or is for Permit2: then it may move what nothing here can read. */
export function looksLikePermit({ primaryType, domain }: TypedData): boolean {
  return /permit/i.test(primaryType) || domain.verifyingContract === permit2;
}
