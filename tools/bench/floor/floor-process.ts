/** A process of the bare floor (floor.ts): the coordinator or a node, as its parent orders. It ends when its parent does. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import { groupOf } from '../../../core/crypto/group.ts';
import {
  aggregateMockEcdsa,
  combineMockNonces,
  dealMockNonce,
  mockEcdsaPartial,
  verifyEcdsa,
} from '../../../core/crypto/mock-ecdsa.ts';
import { macHolds, orderDigest } from '../../../core/crypto/order-macs.ts';
import { integerAt } from '../../../core/crypto/scalar.ts';
import { KeyStore } from '../../../nodes/key-store.ts';
import { IntentMemory, namedIntent, signedDigest } from '../../../nodes/signer/intent-memory.ts';
import { macFor } from '../../../proto/call-orders.ts';
import type { NodeOrder } from '../../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { sessionWrite } from './promises.ts';
import {
  askRecord,
  batchedSend,
  callerId,
  type FloorOrder,
  floorTerms,
  noncesAhead,
  orderBytes,
  orderRecord,
  replyRecord,
  requestRecord,
  rungs,
  signedRecord,
  socketOptions,
} from './protocol.ts';

process.once('disconnect', () => process.exit());
process.once('message', (order: FloorOrder) => {
  if (order.role === 'coordinator') coordinator(order);
  else void node(order);
});

const group = groupOf('secp256k1');

type OrderTo<Role> = Extract<FloorOrder, { readonly role: Role }>;

async function node({ key, port, rung, storeDir, orderKey }: OrderTo<'node'>): Promise<void> {
  const { nodeId, signingShare, publicKey } = key;
  const remember = rung < rungs.memory ? undefined : await intentMemory(storeDir, nodeId, publicKey);
  const requestBytes = requestRecord.length + orderBytes(rung, 1);
  const ws = new WebSocket(`ws://127.0.0.1:${port}`, socketOptions);
  const send = batchedSend(ws);
  const dealNonce = () => group.encodeScalar(dealMockNonce(randomBytes));
  ws.on('open', () => {
    ws.send(Buffer.from([nodeId]));
    ws.send(Buffer.concat(Array.from({ length: noncesAhead }, dealNonce)));
  });
  ws.on('message', (data: Buffer) => {
    const replies: Uint8Array[] = [];
    const signed: { readonly intent: Uint8Array; readonly digest: Uint8Array }[] = [];
    for (let at = 0; at < data.length; at += requestBytes) {
      const request = data.subarray(at, at + requestBytes);
      const order = request.subarray(requestRecord.length);
      const kInverse = group.decodeNonZeroScalar(request.subarray(requestRecord.kInverse, requestRecord.R));
      const R = request.subarray(requestRecord.R, requestRecord.length);
      const digest = request.subarray(requestRecord.digest, requestRecord.kInverse);
      if (rung >= rungs.orders) {
        if (!macHolds(orderKey, orderDigest(floorTerms(order, digest)), order.subarray(orderRecord.macs))) {
          throw new Error('an order of the floor does not hold');
        }
        signed.push({ intent: order.subarray(0, orderRecord.macs), digest });
      }
      const partial = mockEcdsaPartial({ kInverse, r: integerAt(R, 1) % group.order, digest, signingShare });
      const reply = Buffer.allocUnsafe(replyRecord.length);
      reply.set(request.subarray(0, 4), replyRecord.id);
      reply.set(group.encodeScalar(partial), replyRecord.partial);
      reply.set(dealNonce(), replyRecord.nonce);
      replies.push(reply);
    }
    const answer = () => replies.forEach(send);
    if (remember === undefined) answer();
    else void remember(signed).then(answer);
  });
}

/** The intents that a node of the service remembers, in its own store. */
async function intentMemory(storeDir: string, nodeId: number, publicKey: Uint8Array) {
  const store = await KeyStore.open({ storeDir, nodeId, storageKey: randomBytes(32), random: randomBytes });
  const memory = new IntentMemory();
  return async (signed: readonly { readonly intent: Uint8Array; readonly digest: Uint8Array }[]) => {
    const puts = new Map<string, Uint8Array>();
    for (const { intent, digest } of signed) {
      const { intentId: transactionIntentId, walletService, expiresMs } = floorTerms(intent, digest);
      const order = { transactionIntentId, walletService, expiresEpochMs: BigInt(expiresMs) } as NodeOrder;
      const named = namedIntent('bench-floor', order);
      if (!memory.has(named))
        memory.add(named.recordKey, puts.get(named.recordKey) ?? (await store.load(named.recordKey)));
      const bucket = memory.remember(named, signedDigest(1, publicKey, digest), Date.now());
      if (bucket !== undefined) puts.set(named.recordKey, bucket);
    }
    await store.write({ puts: [...puts].map(([key, record]) => ({ key, record })), deletes: [] });
  };
}

interface Ceremony {
  readonly id: Buffer;
  readonly sessionId: string;
  readonly digest: Buffer;
  readonly R: Uint8Array;
  readonly r: bigint;
  readonly partials: { readonly nodeId: number; readonly partial: bigint }[];
}

function coordinator({ key: { publicKey, threshold }, nodes, rung, redisUrl }: OrderTo<'coordinator'>): void {
  const write = sessionWrite(rung, redisUrl);
  const askBytes = askRecord.length + orderBytes(rung, nodes);
  const run = randomUUID();
  /** Sessions whose first call was answered. */
  const begun = new Set<number>();
  const links: { readonly nodeId: number; readonly nonces: bigint[]; readonly send: (record: Uint8Array) => void }[] =
    [];
  const ceremonies = new Map<number, Ceremony>();
  let answer: (record: Uint8Array) => void = () => undefined;
  let serial = 0;

  function asked(ask: Buffer): void {
    const id = ask.readUInt32LE(askRecord.id);
    if (rung < rungs.calls || begun.delete(id)) {
      sign(ask, `${run}-${id}`);
      return;
    }
    begun.add(id);
    write(`${run}-${id}`, 1, ask.subarray(askRecord.digest, askRecord.length), () => answer(answerTo(ask)));
  }

  function sign(ask: Buffer, sessionId: string): void {
    serial = (serial + 1) >>> 0;
    const signers = Array.from({ length: threshold }, (_, step) => links[(serial + step) % links.length]!);
    const { kInverse, R, r } = combineMockNonces(signers.map(({ nonces }) => nonces.shift()!));
    const digest = ask.subarray(askRecord.digest, askRecord.length);
    const order = ask.subarray(askRecord.length);
    ceremonies.set(serial, { id: ask.subarray(0, 4), sessionId, digest, R, r, partials: [] });
    const request = Buffer.allocUnsafe(requestRecord.length);
    request.writeUInt32LE(serial, requestRecord.id);
    request.set(digest, requestRecord.digest);
    request.set(group.encodeScalar(kInverse), requestRecord.kInverse);
    request.set(R, requestRecord.R);
    for (const { nodeId, send } of signers) {
      if (order.length === 0) send(request);
      else
        send(
          Buffer.concat([
            request,
            order.subarray(0, orderRecord.macs),
            macFor(nodeId, order.subarray(orderRecord.macs)),
          ]),
        );
    }
  }

  function take(nodeId: number, reply: Buffer): void {
    const number = reply.readUInt32LE(replyRecord.id);
    const ceremony = ceremonies.get(number)!;
    const partial = group.decodeNonZeroScalar(reply.subarray(replyRecord.partial, replyRecord.nonce));
    ceremony.partials.push({ nodeId, partial });
    if (ceremony.partials.length < threshold) return;
    ceremonies.delete(number);
    const { id, sessionId, digest, R, r, partials } = ceremony;
    const { signature, recoveryId } = aggregateMockEcdsa({ R, r, partials });
    if (!verifyEcdsa({ signature, digest, publicKey })) throw new Error('a signature of the floor is wrong');
    const signed = answerTo(id);
    signed.set(signature, signedRecord.signature);
    signed[signedRecord.recoveryId] = recoveryId;
    write(sessionId, 2, digest, () => answer(signed));
  }

  const server: WebSocketServer = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false }, () =>
    process.send?.((server.address() as AddressInfo).port),
  );
  server.on('connection', (ws) =>
    ws.once('message', (hello: Buffer) => {
      const [peer] = hello as unknown as [number];
      if (peer === callerId) {
        answer = batchedSend(ws);
        ws.on('message', (data: Buffer) => records(data, askBytes, asked));
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

/** Without a signature yet: the answer to a first call. */
function answerTo(ask: Buffer): Buffer {
  const answer = Buffer.alloc(signedRecord.length);
  answer.set(ask.subarray(0, 4), signedRecord.id);
  return answer;
}

function records(data: Buffer, length: number, each: (record: Buffer) => void): void {
  for (let at = 0; at < data.length; at += length) each(data.subarray(at, at + length));
}
