/**
 * Calls of a token's contract (ERC-20), as a wallet signs them: a selector, then one word of 32 bytes for each argument
 * (https://docs.soliditylang.org/en/latest/abi-spec.html). They are read strictly: no byte more or less, and no address with other bytes
 * in its word, so that a call has one spelling. Pure.
 */
import { fromHex, toHex } from '../../core/crypto/bytes.ts';

/** A call that a wallet makes as its caller asks. */
export interface EvmCall {
  /** EIP-55. */
  readonly contract: string;
  /** `0x` and lower-case hex. */
  readonly data: string;
}

/** Addresses: 0x and 40 hex digits, lower case when they are read. */
export type TokenCall =
  | { readonly kind: 'mint'; readonly to: string; readonly units: bigint }
  | { readonly kind: 'burn'; readonly units: bigint }
  | CallersCall;

/** What a caller may name: tokens are minted and burned by token operations, which know their supply. */
export type CallersCall =
  | { readonly kind: 'transfer'; readonly to: string; readonly units: bigint }
  /** From now on `spender` may move so many units of the caller. */
  | { readonly kind: 'approve'; readonly spender: string; readonly units: bigint }
  | { readonly kind: 'transferFrom'; readonly from: string; readonly to: string; readonly units: bigint };

/** An argument is an address, or the amount in smallest units. */
const functions: Readonly<Record<TokenCall['kind'], { readonly selector: string; readonly takes: readonly string[] }>> =
  {
    transfer: { selector: 'a9059cbb', takes: ['to', 'amount'] },
    mint: { selector: '40c10f19', takes: ['to', 'amount'] },
    burn: { selector: '42966c68', takes: ['amount'] },
    approve: { selector: '095ea7b3', takes: ['spender', 'amount'] },
    transferFrom: { selector: '23b872dd', takes: ['from', 'to', 'amount'] },
  };

export const callableText =
  'transfer(address,uint256), approve(address,uint256), transferFrom(address,address,uint256)';

const wordDigits = 64;
const addressDigits = 40;

/** The account that gets the units, or may take them. */
export function targetOf(call: Exclude<TokenCall, { readonly kind: 'burn' }>): string {
  return call.kind === 'approve' ? call.spender : call.to;
}

export function callData(call: TokenCall): Uint8Array {
  const { selector, takes } = functions[call.kind];
  const words = takes.map((name) =>
    name === 'amount' ? call.units.toString(16) : call[name as keyof typeof call].toString().slice(2),
  );
  return fromHex(selector + words.map((digits) => digits.padStart(wordDigits, '0')).join(''));
}

/** undefined: another function, or arguments that are not its. */
export function parseCall(data: Uint8Array): TokenCall | undefined {
  const hex = toHex(data);
  const found = Object.entries(functions).find(([, { selector }]) => hex.startsWith(selector));
  if (found === undefined) return undefined;
  const [kind, { selector, takes }] = found;
  const args = hex.slice(selector.length);
  if (args.length !== takes.length * wordDigits) return undefined;
  const read: Record<string, string | bigint> = {};
  for (const [index, name] of takes.entries()) {
    const digits = args.slice(index * wordDigits, (index + 1) * wordDigits);
    if (name === 'amount') read.units = BigInt(`0x${digits}`);
    else if (!digits.startsWith('0'.repeat(wordDigits - addressDigits))) return undefined;
    else read[name] = `0x${digits.slice(-addressDigits)}`;
  }
  return { kind, ...read } as TokenCall;
}

export type CallProblem = 'invalid_format' | 'unknown_selector' | 'malformed_arguments';

/** A call as its caller gives it. `data`: `0x` and hex digits of any case. */
export function readCall(data: string): CallersCall | CallProblem {
  if (!/^0x(?:[0-9a-f]{2})*$/i.test(data)) return 'invalid_format';
  const bytes = fromHex(data.slice(2).toLowerCase());
  const selector = toHex(bytes.subarray(0, 4));
  const { mint, burn, ...callable } = functions;
  if (!Object.values(callable).some((known) => known.selector === selector)) return 'unknown_selector';
  return (parseCall(bytes) as CallersCall | undefined) ?? 'malformed_arguments';
}

/** Of data that `readCall` takes. Throws Error for any other. */
export function callOf({ data }: Pick<EvmCall, 'data'>): CallersCall {
  const call = readCall(data);
  if (typeof call === 'string') throw new Error(`the data of a stored call is wrong: ${call}`);
  return call;
}

/** What a rule and a person read of a call: amounts in decimal, addresses in lower case. */
export function partsOfCall({ data }: Pick<EvmCall, 'data'>): {
  readonly selector: string;
  readonly function: string;
  readonly arguments: Readonly<Record<string, string>>;
} {
  const call = callOf({ data });
  const { selector, takes } = functions[call.kind];
  const textOf = (name: string) => String(name === 'amount' ? call.units : call[name as keyof typeof call]);
  return {
    selector: `0x${selector}`,
    function: call.kind,
    arguments: Object.fromEntries(takes.map((name) => [name, textOf(name)])),
  };
}
