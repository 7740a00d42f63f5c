/**
 * The signatures of a node by intent: (tenant, intent) to a digest of scheme, public key and message. Once it has given a
 * partial for an intent, it gives none for another message, even if the coordinator's store was rolled back.
 *
 * Intents are in buckets by their hash, 65,536 per tenant, one record per used bucket: so a look-up is one read, recording is
 * one write that other requests share, and no scan is needed. Writing a bucket drops its expired entries. A full bucket
 * (`bucketEntriesMax`) replaces the entry that expires first.
 * A tenant only fills its own buckets. With 500,000 live intents of a tenant, that is eight a bucket, no bucket is ever
 * full in practice (the odds are below one in 10⁹ a bucket).
 *
 * Mutable, and owned by one actor state.
 */

import { recentlyUsed } from '../../core/actors/recently-used.ts';
import { fromHex, toHex, transcriptHash, u32be, utf8 } from '../../core/crypto/bytes.ts';
import type { NodeOrder } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { parseRecord } from '../records/key-record.ts';
import { intentBucketKey, type NodeRecord } from '../records/records.ts';

/** The most intents of one bucket. */
export const bucketEntriesMax = 32;
/**
 * The most cached buckets, for the present requests. Intents rarely recur, and buckets that outlive V8's nursery would cost
 * more than the reads that they save.
 */
export const bucketsCachedMax = 64;
/** A later order of the same intent extends the entry if it gains at least this much. */
const prolongedByMs = 24 * 3_600_000;

/** One intent: the first half of its hash, the digest of its signature, and its expiry. */
interface Entry {
  /** Hex, 16 bytes: hash of tenant, namespace and id. */
  readonly intent: string;
  /** Hex, 32 bytes. */
  readonly digest: string;
  readonly expiresMs: number;
}

/** An intent from its order. */
export interface NamedIntent {
  /** The record key of its bucket. */
  readonly recordKey: string;
  readonly intent: string;
  readonly expiresMs: number;
}

export function namedIntent(tenant: string, order: NodeOrder): NamedIntent {
  const { transactionIntentId, walletService, expiresEpochMs } = order;
  const space = walletService ? 'wallet-service' : 'client';
  const hash = transcriptHash('signmesh/intent/v1', utf8(tenant), utf8(space), utf8(transactionIntentId));
  return {
    // Other bytes of the hash than the entry uses, so that the two are independent.
    recordKey: intentBucketKey(tenant, toHex(hash.subarray(30))),
    intent: toHex(hash.subarray(0, 16)),
    expiresMs: Number(expiresEpochMs),
  };
}

/** The purpose of a partial: a digest of everything that distinguishes two signatures of an intent. 32 bytes, as hex. */
export function signedDigest(scheme: number, publicKey: Uint8Array, message: Uint8Array): string {
  return toHex(transcriptHash('signmesh/signed/v1', u32be(scheme), publicKey, message));
}

export class IntentMemory {
  readonly #buckets = recentlyUsed<readonly Entry[]>(bucketsCachedMax);

  /** Whether the intent's bucket is cached. */
  has({ recordKey }: NamedIntent): boolean {
    return this.#buckets.has(recordKey);
  }

  /** A bucket was read; undefined: none exists yet. */
  add(recordKey: string, record: NodeRecord | undefined): void {
    this.#buckets.set(recordKey, record === undefined ? [] : decodeBucket(record));
  }

  /** The signed digest of an intent with a cached bucket; undefined: none is valid. */
  digestOf({ recordKey, intent }: NamedIntent, nowMs: number): string | undefined {
    const known = this.#buckets.get(recordKey)?.find((entry) => entry.intent === intent);
    return known !== undefined && nowMs < known.expiresMs ? known.digest : undefined;
  }

  /**
   * Records a signature for an intent with a cached bucket, before signing: returns the bucket's new record, or undefined if it
   * is already recorded. The caller must write it.
   */
  remember({ recordKey, intent, expiresMs }: NamedIntent, digest: string, nowMs: number): NodeRecord | undefined {
    const entries = this.#buckets.get(recordKey);
    if (entries === undefined) throw new Error('the bucket is not at hand');
    const known = entries.find((entry) => entry.intent === intent);
    if (known?.digest === digest && expiresMs < known.expiresMs + prolongedByMs) return undefined;
    const live = entries
      .filter((entry) => entry.intent !== intent && nowMs < entry.expiresMs)
      .sort((a, b) => b.expiresMs - a.expiresMs)
      .slice(0, bucketEntriesMax - 1);
    const next = [...live, { intent, digest, expiresMs }];
    this.#buckets.set(recordKey, next);
    return encodeBucket(next);
  }

  /** The next request reads it again. */
  evict(recordKey: string): void {
    this.#buckets.delete(recordKey);
  }
}

function encodeBucket(entries: readonly Entry[]): NodeRecord {
  const intents = entries.map(({ intent, digest, expiresMs }) => [intent, digest, expiresMs]);
  return utf8(JSON.stringify({ v: 1, intents }));
}

/** Throws on anything that `encodeBucket` did not write; the store has authenticated it, so that would be a bug of signmesh. */
function decodeBucket(record: NodeRecord): readonly Entry[] {
  const { intents } = parseRecord(record, 'intent') as { readonly intents?: readonly [string, string, number][] };
  if (intents === undefined) throw new Error('an intent record holds no intents');
  return intents.map(([intent, digest, expiresMs]) => {
    if (fromHex(digest).length !== 32) throw new Error('an intent record holds a malformed digest');
    return { intent, digest, expiresMs };
  });
}
