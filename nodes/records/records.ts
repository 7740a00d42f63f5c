/**
 * The records of a node's store, and their changes.
 *
 * Four kinds of records, JSON text with bytes as lowercase hex (codecs: dkg/record.ts, key-record.ts,
 * signer/intent-memory.ts):
 * - `dkg/<tenant>/<session>`: one DKG session, as far as this node has come;
 * - `key/<tenant>/<session>`: a final key package. It appears in the same write that makes its session final;
 * - `intent/<tenant>/<bucket>`: what was signed for some of the tenant's intents;
 * - `vendor/<tenant>/<reference>`: the order of an intent at the vendor of its key (vendor/record.ts).
 *
 * Records are secret: the live store encrypts each at rest (key-store.ts). Tenant and session hold no "/", so that no
 * two pairs share a key; the code that makes a key checks that (`isRecordName`).
 */
import { sessionIdPattern } from '../../proto/limits.ts';

const intentPrefix = 'intent/';

/** The plaintext of one record. Secret. */
export type NodeRecord = Uint8Array;

/** One atomic change: all of it is durable, or none. A key stands at most once in it. */
export interface NodeWrite {
  readonly puts: readonly { readonly key: string; readonly record: NodeRecord }[];
  readonly deletes: readonly string[];
  /** Keys of `puts` whose earlier bytes must leave the files, as those of a deleted record do. Absent: none. */
  readonly erased?: readonly string[];
}

export function dkgRecordKey(tenant: string, session: string): string {
  return `dkg/${tenant}/${session}`;
}

/** Digests that this node signed for a tenant's intents. `bucket`: four hex digits. */
export function intentBucketKey(tenant: string, bucket: string): string {
  return `${intentPrefix}${tenant}/${bucket}`;
}

export function isIntentBucket(recordKey: string): boolean {
  return recordKey.startsWith(intentPrefix);
}

const vendorPrefix = 'vendor/';

/** The order of an intent at the vendor. `reference`: 32 hex digits (signer/intent-memory.ts). */
export function vendorRecordKey(tenant: string, reference: string): string {
  return `${vendorPrefix}${tenant}/${reference}`;
}

/** Tenant and reference of a record of an order; undefined: it is another record's key. */
export function vendorRecordName(recordKey: string): { tenant: string; reference: string } | undefined {
  const [tenant, reference] = recordKey.slice(vendorPrefix.length).split('/');
  if (!recordKey.startsWith(vendorPrefix) || !tenant || !reference) return undefined;
  return { tenant, reference };
}

export function keyRecordKey(tenant: string, session: string): string {
  return `key/${tenant}/${session}`;
}

/** Whether a pair may name a record (and an actor): neither part is empty or holds a "/". */
export function isRecordName(tenant: string, session: string): boolean {
  return tenant !== '' && !tenant.includes('/') && sessionIdPattern.test(session);
}
