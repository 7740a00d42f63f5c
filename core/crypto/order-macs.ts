/**
 * Orders: requests that a gateway admitted, authenticated to every node, so that a node signs only what a gateway ordered.
 *
 * A gateway and a node share a key that follows from their pinned identities. An order has one MAC for each node, over the same
 * digest of its terms (`orderDigest`). So a node can check its own MAC and cannot forge another node's; the coordinator, which
 * relays orders, can forge none. A MAC is symmetric: a node could forge orders to itself, without any gain. Orders are no
 * evidence to third parties.
 *
 * A session that needs a human's approval needs a second order, from the gateway that admitted the witness
 * (`witnessDigest`); both name the session.
 *
 * Digests are `transcriptHash` values: injective in their parts. Signatures would achieve the same at twenty times the
 * cost.
 */
import { concatBytes, encodeParts, equalBytes, transcriptHash, u32be, utf8 } from './bytes.ts';
import { hkdfSha256, mac } from './hashing.ts';
import { agreedSecret } from './identity.ts';

const KEY_SALT = utf8('signmesh/order-key/v1');

/** The terms of an order, exactly as the request stated them. */
export interface OrderTerms {
  readonly tenant: string;
  /** The signing session; its gateway chose the id. */
  readonly sessionId: string;
  /** The key: the wallet, or the session of the DKG that made it. */
  readonly keyId: string;
  /** Numbers of svc.mesh.v1.KeystoreType; 0: the key's own scheme. */
  readonly keystoreType: number;
  /** Empty: the key's own. */
  readonly curve: string;
  readonly derivationPath: string;
  /** A digest for secp256k1, the message for ed25519. */
  readonly message: Uint8Array;
  readonly intentId: string;
  /** The wallet service ordered it: its intents have a separate namespace. */
  readonly walletService: boolean;
  /** Valid only together with an order for a witness. */
  readonly needsWitness: boolean;
  /** Milliseconds since the Unix epoch; the order's expiry. */
  readonly expiresMs: number;
}

/** The session for which a gateway admitted a witness. */
export interface WitnessTerms {
  readonly tenant: string;
  readonly sessionId: string;
}

/** The key whose shares the nodes delete. */
export interface DeletionTerms {
  readonly tenant: string;
  readonly keyId: string;
}

/** The key whose nodes make new shares. */
export interface RefreshTerms {
  readonly tenant: string;
  readonly keyId: string;
  /** Of the new shares. */
  readonly version: number;
  /** The number of the wire's Scheme that the key signs with. */
  readonly scheme: number;
  readonly expiresMs: number;
}

/** The parties that share keys: the part of a pinned roster that determines the keys. */
export interface OrderMembers {
  readonly clusterId: string;
  readonly gateway: Uint8Array;
  readonly nodes: readonly { readonly id: number; readonly publicKey: Uint8Array }[];
}

/** A gateway's side: MACs for every node, 16 bytes each, ascending by node id. */
export interface GatewayMacs {
  order(terms: OrderTerms): Uint8Array;
  witness(terms: WitnessTerms): Uint8Array;
  deletion(terms: DeletionTerms): Uint8Array;
  refresh(terms: RefreshTerms): Uint8Array;
}

/**
 * Agrees on each node's key at first use, and caches it.
 *
 * @param secretKey of the gateways' identity
 */
export function gatewayMacs(members: OrderMembers, secretKey: Uint8Array): GatewayMacs {
  let keys: readonly Uint8Array[] | undefined;
  const macs = (digest: Uint8Array): Uint8Array => {
    keys ??= members.nodes.map(({ id, publicKey }) => orderKey(members, id, secretKey, publicKey));
    return concatBytes(...keys.map((key) => mac(key, digest)));
  };
  return {
    order: (terms) => macs(orderDigest(terms)),
    witness: (terms) => macs(witnessDigest(terms)),
    deletion: (terms) => macs(deletionDigest(terms)),
    refresh: (terms) => macs(refreshDigest(terms)),
  };
}

/** A node's key for orders, 32 secret bytes. `secretKey` is the one of its own identity. */
export function nodeOrderKey(members: OrderMembers, nodeId: number, secretKey: Uint8Array): Uint8Array {
  return orderKey(members, nodeId, secretKey, members.gateway);
}

/** The same from either side: `secretKey` of one, `otherPublicKey` of the other. Errors as of `agreedSecret`. */
function orderKey(
  { clusterId, gateway, nodes }: OrderMembers,
  nodeId: number,
  secretKey: Uint8Array,
  otherPublicKey: Uint8Array,
): Uint8Array {
  const node = nodes.find(({ id }) => id === nodeId);
  if (node === undefined) throw new Error(`node ${nodeId} is not a member`);
  const info = encodeParts(utf8(clusterId), gateway, u32be(nodeId), node.publicKey);
  return hkdfSha256(agreedSecret(secretKey, otherPublicKey), KEY_SALT, info, 32);
}

/** 32 bytes over all terms of the order. */
export function orderDigest(terms: OrderTerms): Uint8Array {
  // As JSON, since one text costs a third of eleven parts; it is as injective, and the message is not text.
  const text = JSON.stringify([
    terms.tenant,
    terms.sessionId,
    terms.keyId,
    terms.keystoreType,
    terms.curve,
    terms.derivationPath,
    terms.intentId,
    terms.walletService,
    terms.needsWitness,
    terms.expiresMs,
  ]);
  return transcriptHash('signmesh/order/v1', utf8(text), terms.message);
}

/** 32 bytes over the session of the admitted witness. */
export function witnessDigest({ tenant, sessionId }: WitnessTerms): Uint8Array {
  return transcriptHash('signmesh/witness-order/v1', utf8(JSON.stringify([tenant, sessionId])));
}

/** 32 bytes over the key to delete. A key's name is never reused, so the order needs no expiry. */
export function deletionDigest({ tenant, keyId }: DeletionTerms): Uint8Array {
  return transcriptHash('signmesh/deletion-order/v1', utf8(tenant), utf8(keyId));
}

/** 32 bytes over the key, and what its new shares are. */
export function refreshDigest({ tenant, keyId, version, scheme, expiresMs }: RefreshTerms): Uint8Array {
  const text = JSON.stringify([tenant, keyId, version, scheme, expiresMs]);
  return transcriptHash('signmesh/refresh-order/v1', utf8(text));
}

/** Whether `given` is the MAC of the digest. False for another length. */
export function macHolds(key: Uint8Array, digest: Uint8Array, given: Uint8Array): boolean {
  return equalBytes(mac(key, digest), given);
}
