/**
 * The bare floor under a signature: a coordinator and five node processes, linked as the service's are (ws, one message a turn
 * of the event loop), with the same cryptography and one round trip, driven by the bench as its doors are. It has no names,
 * no sessions, no orders, no MACs, no memory of intents, no receipts and no Redis: what the service costs beyond it is the price
 * of all that.
 *
 * Every signature is verified, by the floor's coordinator as by the service's, and by the bench afterwards.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { builtFile } from '../../cli/common/built.ts';
import type { Pids } from '../../load/measure/processes.ts';
import type { Evidence, Key } from '../../load/verdict/signatures.ts';
import { makeKey } from '../reference/cryptography.ts';
import { askRecord, batchedSend, callerId, type FloorOrder, signedRecord, socketOptions } from './protocol.ts';

export class BareFloor {
  readonly pids: Pids;
  readonly #children: readonly ChildProcess[];
  readonly #ws: WebSocket;
  readonly #send: (record: Uint8Array) => void;
  readonly #key: Key;
  readonly #run = randomUUID().slice(0, 8);
  readonly #waiting = new Map<number, (signed: Buffer) => void>();
  #serial = 0;

  private constructor(pids: Pids, children: readonly ChildProcess[], ws: WebSocket, publicKey: Uint8Array) {
    this.pids = pids;
    this.#children = children;
    this.#ws = ws;
    this.#send = batchedSend(ws);
    this.#key = { walletId: `floor-${this.#run}`, curve: 'secp256k1', publicKey };
    ws.on('message', (data: Buffer) => {
      for (let at = 0; at < data.length; at += signedRecord.length) {
        const signed = data.subarray(at, at + signedRecord.length);
        const id = signed.readUInt32LE(signedRecord.id);
        const settle = this.#waiting.get(id);
        this.#waiting.delete(id);
        settle?.(signed);
      }
    });
  }

  static async start(): Promise<BareFloor> {
    const keys = makeKey('secp256k1');
    const children: ChildProcess[] = [];
    const start = (order: FloorOrder) => {
      const child = spawn(process.execPath, [builtFile('bench/floor/floor-process.js')], {
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
        serialization: 'advanced',
      });
      children.push(child);
      child.send(order);
      return child;
    };
    try {
      const coordinator = start({ role: 'coordinator', key: keys[0]!, nodes: keys.length });
      const [port] = (await once(coordinator, 'message')) as [number];
      const ready = once(coordinator, 'message');
      const nodes = keys.map((key) => start({ role: 'node', key, port }));
      await ready;
      const ws = new WebSocket(`ws://127.0.0.1:${port}`, socketOptions);
      await once(ws, 'open');
      ws.send(Buffer.from([callerId]));
      const named = nodes.map((child, index): [string, number] => [`node-${index + 1}`, child.pid!]);
      const pids = { coordinator: coordinator.pid!, ...Object.fromEntries(named) };
      return new BareFloor(pids, children, ws, keys[0]!.publicKey);
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
    const ask = Buffer.allocUnsafe(askRecord.length);
    ask.writeUInt32LE(id, askRecord.id);
    ask.set(message, askRecord.digest);
    const signed = await new Promise<Buffer>((resolve) => {
      this.#waiting.set(id, resolve);
      this.#send(ask);
    });
    // Its own memory: what came is a view of a whole message.
    const signature = new Uint8Array(signed.subarray(signedRecord.signature, signedRecord.recoveryId));
    const recoveryId = signed[signedRecord.recoveryId]!;
    evidence.push({ key: this.#key, text, message, sessionId: `${this.#key.walletId}-${id}`, signature, recoveryId });
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
