/**
 * The writes of the floor's coordinator on the higher rungs of the ladder (protocol.ts): first the smallest durable write, then
 * the service's writes for a session, with the service's own scripts.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { WriteBatches } from '../../../coordinator/store/batches.ts';
import type { SessionWriteArguments } from '../../../coordinator/store/layout.ts';
import { writeSessions } from '../../../coordinator/store/scripts.ts';
import { mac } from '../../../core/crypto/hashing.ts';
import { tenantPrefix } from '../../../core/redis/event-log.ts';
import { luaCommand } from '../../../core/redis/lua.ts';
import { type Rung, rungs } from './protocol.ts';

const retentionMs = 60_000;
const tenant = 'bench-floor';
const prefix = tenantPrefix(tenant);
/** Characters of the JSON of a session, and of its event's object, as the service has them for a mock ECDSA signature. */
const sessionChars = 900;
const eventChars = 700;
/** Numbers of svc.mesh.v1.ReceiptState: accepted, and completed. */
const states = [1, 8] as const;

/** Calls `then` when the write of this epoch (1: the session begins, 2: it is complete) of a session is durable. */
export type SessionWrite = (sessionId: string, epoch: 1 | 2, digest: Uint8Array, then: () => void) => void;

export function sessionWrite(rung: Rung, redisUrl: string): SessionWrite {
  if (rung < rungs.writes) return (_id, _epoch, _digest, then) => then();
  const redis = new Redis(redisUrl, { enableAutoPipelining: rung < rungs.sessions });
  const failed = (error: unknown) => {
    throw error;
  };
  if (rung < rungs.sessions) {
    return (sessionId, epoch, digest, then) => {
      const text = recordText(sessionId, digest, sessionChars);
      redis.set(`${prefix}floor:${sessionId}:${epoch}`, text, 'PX', retentionMs).then(then, failed);
    };
  }
  const script = luaCommand(redis, writeSessions);
  const keys = { fenceKey: `${prefix}fence`, endingKey: `${prefix}ending`, listKey: `${prefix}sessions` };
  const batches = new WriteBatches(setImmediate, (_tenant, writes) =>
    script(keys, { fence: 1, retentionMs, prefix, bytesMax: '', writes }),
  );
  const key = randomBytes(32);
  return (sessionId, epoch, digest, then) => {
    const ends = epoch === 2;
    const nowMs = Date.now();
    const data = recordText(sessionId, digest, sessionChars);
    const facts = { epoch, state: states[epoch - 1]!, checkpointId: `ckp_${randomUUID()}`, checkpointMs: nowMs };
    const sealed = Buffer.from(JSON.stringify([facts, data]));
    const write: SessionWriteArguments = {
      ...{
        kind: ends ? 'update' : 'create',
        sessionId,
        nowMs,
        guard: `intent:${sessionId}`,
        walletKey: '',
        change: '',
      },
      ...{ endsAtMs: ends ? '' : nowMs + retentionMs, counted: '', keyId: '', keyRecord: '', boundScheme: '' },
      ...{ ...facts, reasonCode: 'FLOOR', message: 'a session of the floor', expiresMs: nowMs + retentionMs },
      ...{ cluster: 1, data, mac: Buffer.from(mac(key, sealed)).toString('base64url') },
      ...{ id: `evt_${randomUUID()}`, type: 'session.changed', atMs: nowMs, resourceType: 'session' },
      ...{ resourceId: sessionId, resourceVersion: epoch, correlationId: '', provider: '', connectionId: '' },
      object: recordText(sessionId, digest, eventChars),
    };
    batches.write(tenant, write).then(([code]) => {
      if (code !== 'OK') throw new Error(`the floor's session was refused: ${code}`);
      then();
    }, failed);
  };
}

function recordText(sessionId: string, digest: Uint8Array, chars: number): string {
  const text = JSON.stringify({ tenant, sessionId, messageHash: Buffer.from(digest).toString('hex') });
  return text.padEnd(chars);
}
