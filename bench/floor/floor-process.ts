/** A process of the bare floor (floor.ts): the coordinator or a node, as its parent orders. It ends when its parent does. */
import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import { groupOf } from '../../crypto/group.ts';
import type { KeyPackage } from '../../crypto/key-package.ts';
import {
  aggregateMockEcdsa,
  combineMockNonces,
  dealMockNonce,
  mockEcdsaPartial,
  verifyEcdsa,
} from '../../crypto/mock-ecdsa.ts';
import { integerAt } from '../../crypto/scalar.ts';
import {
  askRecord,
  batchedSend,
  callerId,
  type FloorOrder,
  noncesAhead,
  replyRecord,
  requestRecord,
  signedRecord,
  socketOptions,
} from './protocol.ts';

process.once('disconnect', () => process.exit());
process.once('message', (order: FloorOrder) => {
  if (order.role === 'coordinator') coordinator(order.key, order.nodes);
  else node(order.key, order.port);
});

const group = groupOf('secp256k1');

function node({ nodeId, signingShare }: KeyPackage, port: number): void {
  const ws = new WebSocket(`ws://127.0.0.1:${port}`, socketOptions);
  const send = batchedSend(ws);
  const dealNonce = () => group.encodeScalar(dealMockNonce(randomBytes));
  ws.on('open', () => {
    ws.send(Buffer.from([nodeId]));
    ws.send(Buffer.concat(Array.from({ length: noncesAhead }, dealNonce)));
  });
  ws.on('message', (data: Buffer) => {
    for (let at = 0; at < data.length; at += requestRecord.length) {
      const request = data.subarray(at, at + requestRecord.length);
      const kInverse = group.decodeNonZeroScalar(request.subarray(requestRecord.kInverse, requestRecord.R));
      const R = request.subarray(requestRecord.R);
      const digest = request.subarray(requestRecord.digest, requestRecord.kInverse);
      const partial = mockEcdsaPartial({ kInverse, r: integerAt(R, 1) % group.order, digest, signingShare });
      const reply = Buffer.allocUnsafe(replyRecord.length);
      reply.set(request.subarray(0, 4), replyRecord.id);
      reply.set(group.encodeScalar(partial), replyRecord.partial);
      reply.set(dealNonce(), replyRecord.nonce);
      send(reply);
    }
  });
}

interface Ceremony {
  readonly id: Buffer;
  readonly digest: Buffer;
  readonly R: Uint8Array;
  readonly r: bigint;
  readonly partials: { readonly nodeId: number; readonly partial: bigint }[];
}

function coordinator({ publicKey, threshold }: KeyPackage, nodes: number): void {
  const links: { readonly nodeId: number; readonly nonces: bigint[]; readonly send: (record: Uint8Array) => void }[] =
    [];
  const ceremonies = new Map<number, Ceremony>();
  let answer: (record: Uint8Array) => void = () => undefined;
  let serial = 0;

  function begin(ask: Buffer): void {
    serial = (serial + 1) >>> 0;
    const signers = Array.from({ length: threshold }, (_, step) => links[(serial + step) % links.length]!);
    const { kInverse, R, r } = combineMockNonces(signers.map(({ nonces }) => nonces.shift()!));
    const digest = ask.subarray(askRecord.digest);
    ceremonies.set(serial, { id: ask.subarray(0, 4), digest, R, r, partials: [] });
    const request = Buffer.allocUnsafe(requestRecord.length);
    request.writeUInt32LE(serial, requestRecord.id);
    request.set(digest, requestRecord.digest);
    request.set(group.encodeScalar(kInverse), requestRecord.kInverse);
    request.set(R, requestRecord.R);
    for (const { send } of signers) send(request);
  }

  function take(nodeId: number, reply: Buffer): void {
    const number = reply.readUInt32LE(replyRecord.id);
    const ceremony = ceremonies.get(number)!;
    const partial = group.decodeNonZeroScalar(reply.subarray(replyRecord.partial, replyRecord.nonce));
    ceremony.partials.push({ nodeId, partial });
    if (ceremony.partials.length < threshold) return;
    ceremonies.delete(number);
    const { id, digest, R, r, partials } = ceremony;
    const { signature, recoveryId } = aggregateMockEcdsa({ R, r, partials });
    if (!verifyEcdsa({ signature, digest, publicKey })) throw new Error('a signature of the floor is wrong');
    const signed = Buffer.allocUnsafe(signedRecord.length);
    signed.set(id, signedRecord.id);
    signed.set(signature, signedRecord.signature);
    signed[signedRecord.recoveryId] = recoveryId;
    answer(signed);
  }

  const server: WebSocketServer = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false }, () =>
    process.send?.((server.address() as AddressInfo).port),
  );
  server.on('connection', (ws) =>
    ws.once('message', (hello: Buffer) => {
      const [peer] = hello as unknown as [number];
      if (peer === callerId) {
        answer = batchedSend(ws);
        ws.on('message', (data: Buffer) => records(data, askRecord.length, begin));
        return;
      }
      const nonces: bigint[] = [];
      ws.once('message', (dealt: Buffer) => {
        records(dealt, 32, (nonce) => nonces.push(group.decodeNonZeroScalar(nonce)));
        links.push({ nodeId: peer, nonces, send: batchedSend(ws) });
        if (links.length === nodes) process.send?.('ready');
        ws.on('message', (data: Buffer) =>
          records(data, replyRecord.length, (reply) => {
            nonces.push(group.decodeNonZeroScalar(reply.subarray(replyRecord.nonce)));
            take(peer, reply);
          }),
        );
      });
    }),
  );
}

function records(data: Buffer, length: number, each: (record: Buffer) => void): void {
  for (let at = 0; at < data.length; at += length) each(data.subarray(at, at + length));
}
