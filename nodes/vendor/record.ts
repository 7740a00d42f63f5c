/**
 * The order of an intent at the vendor of its key, as stored by a node (JSON, `v` 1, bytes as lowercase hex).
 *
 * | Phase | To |
 * |---|---|
 * | placing: the vendor may have the order | open, signed, ended |
 * | open: the vendor has it, and has not decided | signed, ended |
 * | ended: rejected, cancelled, expired, or not a signature | placing, with the next ordinal, when it is requested again |
 * | signed | – : the one signature of the intent |
 */
import { fromHex, toHex, utf8 } from '../../core/crypto/bytes.ts';
import type { Curve } from '../../core/crypto/group.ts';
import { parseRecord } from '../records/key-record.ts';
import type { NodeRecord } from '../records/records.ts';

/** The reason why an order ended without a signature: names of the wire's refusal codes. */
export type VendorEnd = 'VENDOR_REJECTED' | 'VENDOR_CANCELLED' | 'VENDOR_EXPIRED' | 'VENDOR_SIGNATURE_INVALID';

export interface VendorOrderRecord {
  readonly phase: 'placing' | 'open' | 'signed' | 'ended';
  /** Counts the orders of the intent, from 1. At most one of them has not ended. */
  readonly ordinal: number;
  readonly externalId: string;
  /** The session that asked last: it gets the outcome of the order. */
  readonly session: string;
  readonly keySession: string;
  readonly curve: Curve;
  readonly publicKey: Uint8Array;
  readonly message: Uint8Array;
  /** The digest of message, key and scheme (signer/intent-memory.ts). */
  readonly digest: string;
  /** Milliseconds, from the vendor; 0: not known yet. */
  readonly expiresMs: number;
  /** The partial of a signed order. */
  readonly partial: Uint8Array;
  /** The reason of an ended order. */
  readonly end: VendorEnd | '';
  readonly detail: string;
  /** The session has acknowledged the outcome. */
  readonly noted: boolean;
  /** After this time requests for the intent are no longer possible. */
  readonly retainUntilMs: number;
}

export function isSettled({ phase }: VendorOrderRecord): boolean {
  return phase === 'signed' || phase === 'ended';
}

export function encodeVendorOrder({ publicKey, message, partial, ...rest }: VendorOrderRecord): NodeRecord {
  const bytes = { publicKey: toHex(publicKey), message: toHex(message), partial: toHex(partial) };
  return utf8(JSON.stringify({ v: 1, ...rest, ...bytes }));
}

/**
 * Throws on anything that `encodeVendorOrder` did not write: the store has authenticated it, so that would be a bug of
 * signmesh.
 */
export function decodeVendorOrder(record: NodeRecord): VendorOrderRecord {
  const { v: _, ...json } = parseRecord(record, 'vendor order');
  const { publicKey, message, partial, ...rest } = json as unknown as VendorOrderRecord & Record<BytesField, string>;
  return { ...rest, publicKey: fromHex(publicKey), message: fromHex(message), partial: fromHex(partial) };
}

type BytesField = 'publicKey' | 'message' | 'partial';
