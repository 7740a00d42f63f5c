/**
 * The messages between the processes of the bare floor: records of one size, one WebSocket message for all records of one turn of
 * the event loop. No names, no versions, no checks: the floor omits their purposes.
 */
import type { WebSocket } from 'ws';
import type { KeyPackage } from '../../../core/crypto/key-package.ts';
import type { OrderTerms } from '../../../core/crypto/order-macs.ts';

/** A caller to the coordinator: the digest to sign. */
export const askRecord = { id: 0, digest: 4, length: 36 } as const;
/** The answer: r, s and the recovery id. */
export const signedRecord = { id: 0, signature: 4, recoveryId: 68, length: 69 } as const;
/** The coordinator to a node. */
export const requestRecord = { id: 0, digest: 4, kInverse: 36, R: 68, length: 101 } as const;
/** The answer of a node: its partial signature, and a nonce for a later ceremony. */
export const replyRecord = { id: 0, partial: 4, nonce: 36, length: 68 } as const;

/**
 * The ladder from the bare floor to a durable service: each rung adds one promise to those below it. The report uses its names.
 */
export const rungs = { bare: 0, calls: 1, writes: 2, sessions: 3, orders: 4, memory: 5 } as const;
export type Rung = (typeof rungs)[keyof typeof rungs];

/** Behind an ask and a request from `rungs.orders` on: the intent, and the gateway's MAC for each node, or for the one that is asked. */
export const orderRecord = { intent: 0, macs: 16, macBytes: 16 } as const;
/** After a plain record with this many MACs. */
export function orderBytes(rung: Rung, macs: number): number {
  return rung < rungs.orders ? 0 : orderRecord.macs + macs * orderRecord.macBytes;
}

/** Orders to the floor's nodes. */
export function floorTerms(intent: Uint8Array, message: Uint8Array): OrderTerms {
  const name = Buffer.from(intent.buffer, intent.byteOffset, orderRecord.macs).toString('hex');
  return {
    ...{ tenant: 'bench-floor', sessionId: `sig_${name}`, keyId: 'floor', keystoreType: 0, curve: '' },
    ...{ derivationPath: '', message, intentId: name, walletService: false, needsWitness: false, expiresMs: 2 ** 42 },
  };
}

/** The configuration of a floor process from its parent, over IPC. `orderKey`: secret, of the node. */
export type FloorOrder = { readonly rung: Rung; readonly key: KeyPackage } & (
  | { readonly role: 'coordinator'; readonly nodes: number; readonly redisUrl: string }
  | { readonly role: 'node'; readonly port: number; readonly storeDir: string; readonly orderKey: Uint8Array }
);

/** Nonces that a node makes ahead: the limit of its ceremonies in progress. */
export const noncesAhead = 2_048;

/** The first message of each connection: a node's id, or this. */
export const callerId = 0;

export const socketOptions = { perMessageDeflate: false, generateMask: (mask: Buffer) => mask.fill(0) } as const;
const sendOptions = { binary: true, compress: false } as const;

/** Sends the records of one turn of the event loop in one message, as the links of the service do. */
export function batchedSend(ws: WebSocket): (record: Uint8Array) => void {
  let batch: Uint8Array[] = [];
  const flush = () => {
    ws.send(batch.length === 1 ? batch[0]! : Buffer.concat(batch), sendOptions);
    batch = [];
  };
  return (record) => {
    if (batch.push(record) === 1) setImmediate(flush);
  };
}
