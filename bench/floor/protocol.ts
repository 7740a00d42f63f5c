/**
 * What the processes of the bare floor say to each other: records of one size, as many in one WebSocket message as one turn of
 * the event loop has. No names, no versions, no checks: what a service needs them for is what the floor leaves out.
 */
import type { WebSocket } from 'ws';
import type { KeyPackage } from '../../crypto/key-package.ts';

/** A caller to the coordinator: what to sign. */
export const askRecord = { id: 0, digest: 4, length: 36 } as const;
/** The answer: r, s and the recovery id. */
export const signedRecord = { id: 0, signature: 4, recoveryId: 68, length: 69 } as const;
/** The coordinator to a node. */
export const requestRecord = { id: 0, digest: 4, kInverse: 36, R: 68, length: 101 } as const;
/** The answer of a node: its partial signature, and a nonce for a ceremony to come. */
export const replyRecord = { id: 0, partial: 4, nonce: 36, length: 68 } as const;

/** What a floor process gets from its parent, over IPC. */
export type FloorOrder =
  | { readonly role: 'coordinator'; readonly key: KeyPackage; readonly nodes: number }
  | { readonly role: 'node'; readonly key: KeyPackage; readonly port: number };

/** Nonces that a node deals ahead: as many ceremonies may be under way that it takes part in. */
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
