/**
 * What an EVM wallet signs instead of a transaction: a text (EIP-191, version 0x45, `personal_sign`) or typed data (EIP-712). The hash
 * is always made from what a person can read: nothing here takes a digest. Pure.
 */
import { hashMessage } from 'ethers/hash';
import { hashTypedData, type TypedData } from './typed-data.ts';

/** Either text or typed data. */
export interface EvmMessage {
  readonly text?: string;
  readonly typedData?: TypedData;
  /** What is signed: `0x` and 64 hex digits. */
  readonly hash: string;
}

/** undefined: the text is a digest in hex, which says nothing that a rule or a person could read. */
export function textMessage(text: string): EvmMessage | undefined {
  return /^(0x)?[0-9a-f]{64}$/i.test(text.trim()) ? undefined : { text, hash: hashOfMessage({ text }) };
}

/** `typedData`: as `readTypedData` gives it. */
export function typedMessage(typedData: TypedData): EvmMessage {
  return { typedData, hash: hashOfMessage({ typedData }) };
}

/** The hash of a stored message, made anew. */
export function hashOfMessage({ text = '', typedData }: Omit<EvmMessage, 'hash'>): string {
  return typedData === undefined ? hashMessage(text) : hashTypedData(typedData);
}
