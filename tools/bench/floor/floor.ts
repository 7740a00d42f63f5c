/**
 * The bare floor under a signature: a coordinator and five node processes, linked as the service's are (ws, one message a turn of
 * the event loop), with the same cryptography and one round trip; the bench calls it as it calls the service's APIs. It has no
 * names, no sessions, no orders, no MACs, no memory of intents, no receipts and no Redis: the service's extra cost is the price
 * of all these. The ladder adds these promises to it one by one (`rungs` in protocol.ts), so that each has its price.
 *
 * The floor's coordinator verifies every signature, as the service's does, and the bench verifies it again afterwards.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { builtFile } from '../../../cli/common/built.ts';
import type { Pids } from '../../../clients/load/measure/processes.ts';
import type { ClusterKey, Evidence } from '../../../clients/load/verdict/signatures.ts';
import { mac } from '../../../core/crypto/hashing.ts';
import { orderDigest } from '../../../core/crypto/order-macs.ts';
import { makeKey } from '../reference/cryptography.ts';
import {
  askRecord,
  batchedSend,
  callerId,
  type FloorOrder,
  floorTerms,
  orderRecord,
  type Rung,
  rungs,
  signedRecord,
  socketOptions,
} from './protocol.ts';

interface Pending {
  readonly resolve: (signed: Buffer) => void;
  readonly reject: (error: Error) => void;
}

export class BareFloor {
  readonly pids: Pids;
  readonly #children: readonly ChildProcess[];
  readonly #ws: WebSocket;
  readonly #send: (record: Uint8Array) => void;
  readonly #key: ClusterKey;
  readonly #rung: Rung;
  readonly #orderKeys: readonly Uint8Array[];
  readonly #run = randomUUID().slice(0, 8);
  readonly #waiting = new Map<number, Pending>();
  #serial = 0;

  private constructor(
    pids: Pids,
    children: readonly ChildProcess[],
    ws: WebSocket,
    publicKey: Uint8Array,
    { rung, orderKeys }: { readonly rung: Rung; readonly orderKeys: readonly Uint8Array[] },
  ) {
    this.#rung = rung;
    this.#orderKeys = orderKeys;
    this.pids = pids;
    this.#children = children;
    this.#ws = ws;
    this.#send = batchedSend(ws);
    this.#key = { walletId: `floor-${this.#run}`, curve: 'secp256k1', publicKey };
    ws.on('message', (data: Buffer) => {
      for (let at = 0; at < data.length; at += signedRecord.length) {
        const signed = data.subarray(at, at + signedRecord.length);
        const id = signed.readUInt32LE(signedRecord.id);
        const pending = this.#waiting.get(id);
        this.#waiting.delete(id);
        pending?.resolve(signed);
      }
    });
    ws.on('close', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('the coordinator of the floor has ended'));
    });
  }

  /** `redisUrl`: the Redis for the floor's sessions, from `rungs.writes` on. `folder`: for the stores of its nodes. */
  static async start(rung: Rung = rungs.bare, redisUrl = '', folder = ''): Promise<BareFloor> {
    const keys = makeKey('secp256k1');
    const orderKeys = keys.map(() => new Uint8Array(randomBytes(32)));
    const children: ChildProcess[] = [];
    const start = (order: FloorOrder) => {
      const child = spawn(process.execPath, [builtFile('tools/bench/floor/floor-process.js')], {
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
        serialization: 'advanced',
      });
      children.push(child);
      child.send(order);
      return child;
    };
    try {
      const coordinator = start({ role: 'coordinator', rung, key: keys[0]!, nodes: keys.length, redisUrl });
      const [port] = (await once(coordinator, 'message')) as [number];
      const ready = once(coordinator, 'message');
      const nodes = keys.map((key, index) => {
        const storeDir = join(folder, `floor-node-${key.nodeId}`);
        return start({ role: 'node', rung, key, port, storeDir, orderKey: orderKeys[index]! });
      });
      await ready;
      const ws = new WebSocket(`ws://127.0.0.1:${port}`, socketOptions);
      await once(ws, 'open');
      ws.send(Buffer.from([callerId]));
      const named = nodes.map((child, index): [string, number] => [`node-${index + 1}`, child.pid!]);
      const pids = { coordinator: coordinator.pid!, ...Object.fromEntries(named) };
      return new BareFloor(pids, children, ws, keys[0]!.publicKey, { rung, orderKeys });
    } catch (error) {
      for (const child of children) child.kill();
      throw error;
    }
  }

  /** One ceremony. */
  async sign(evidence: Evidence[]): Promise<void> {
    const text = randomBytes(32);
    const message = createHash('sha256').update(text).digest();
    this.#serial = (this.#serial + 1) >>> 0;
    const id = this.#serial;
    const plain = Buffer.allocUnsafe(askRecord.length);
    plain.writeUInt32LE(id, askRecord.id);
    plain.set(message, askRecord.digest);
    const ask = this.#rung < rungs.orders ? plain : Buffer.concat([plain, this.#order(message)]);
    if (this.#rung >= rungs.calls) await this.#call(id, ask);
    const signed = await this.#call(id, ask);
    // A copy: the received bytes are a view of a whole message.
    const signature = new Uint8Array(signed.subarray(signedRecord.signature, signedRecord.recoveryId));
    const recoveryId = signed[signedRecord.recoveryId]!;
    evidence.push({ key: this.#key, text, message, sessionId: `${this.#key.walletId}-${id}`, signature, recoveryId });
  }

  #call(id: number, ask: Buffer): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#send(ask);
    });
  }

  #order(message: Uint8Array): Buffer {
    const intent = randomBytes(orderRecord.macs);
    const digest = orderDigest(floorTerms(intent, message));
    return Buffer.concat([intent, ...this.#orderKeys.map((key) => mac(key, digest))]);
  }

  async stop(): Promise<void> {
    this.#ws.close();
    await Promise.all(
      this.#children.map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        child.kill();
        await once(child, 'exit');
      }),
    );
  }
}
