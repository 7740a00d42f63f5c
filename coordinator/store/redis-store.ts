/**
 * The coordinator's Store port on Redis. Durable means: the script ran and Redis answered (with the append-only file on,
 * that survives the death of any process).
 *
 * While Redis is away commands wait for it, up to commandTimeoutMs; then the write's fate is unknown and it rejects.
 * Keys of finished DKGs change when a session binds them, through this store alone, so they are cached.
 */
import { Redis } from 'ioredis';
import type { Store, WriteOutcome } from '../../actors/contract.ts';
import { type Log, silentLog } from '../../actors/live/ports.ts';
import { RedisWatch } from '../../actors/live/redis-watch.ts';
import { tenantPrefix } from '../../proto/event-log.ts';
import { pendingLifetimeMs, retentionMs } from '../../proto/limits.ts';
import { type ConflictCode, type CoordinatorRecord, type CoordinatorWrite, keyKey } from '../messages.ts';
import type { KeyRecord } from '../session/record.ts';
import { EndingSessions } from './ending-sessions.ts';
import {
  changeOf,
  endingOf,
  openingOf,
  readKey,
  readSession,
  redisKeys,
  sessionArguments,
  sessionRecord,
} from './layout.ts';
import { closeKey, createSession, updateSession } from './scripts.ts';

const keyCacheMax = 10_000;
const keepMs = String(retentionMs + pendingLifetimeMs);

type ScriptReply = [code: 'OK' | ConflictCode, fields?: string[]];

interface Scripts {
  createSession(...keysAndArguments: (string | number)[]): Promise<ScriptReply>;
  updateSession(...keysAndArguments: (string | number)[]): Promise<ScriptReply>;
  closeKey(...keysAndArguments: (string | number)[]): Promise<ScriptReply>;
}

export interface RedisStore extends Store<CoordinatorWrite, CoordinatorRecord> {
  /** This start's fence. */
  readonly fence: number;
  close(): Promise<void>;
}

export interface RedisStoreOptions {
  readonly redisUrl: string;
  readonly clusterId: string;
  /** Where it is said, once for each change, why Redis takes no writes. */
  readonly log?: Log;
  /** Called likewise; undefined: it takes writes. */
  readonly onTrouble?: (trouble: string | undefined) => void;
  /** How long a command waits for Redis; 5 s by default. */
  readonly commandTimeoutMs?: number;
  /** Called at every change of whether Redis answers. */
  readonly onStatus: (ready: boolean) => void;
  /** A newer coordinator of this cluster has written: this one must stop. */
  readonly onFenced: () => void;
}

const fenceRetryMs = 250;

/** Connects and raises the fence, however long Redis refuses: until then nothing can be opened. Never rejects. */
export async function openRedisStore(options: RedisStoreOptions): Promise<RedisStore> {
  const redis = new Redis(options.redisUrl, {
    enableAutoPipelining: true,
    maxRetriesPerRequest: null,
    commandTimeout: options.commandTimeoutMs ?? 5000,
    retryStrategy: (times) => Math.min(50 * times, 1000),
  });
  redis.on('error', () => options.onStatus(false));
  redis.on('close', () => options.onStatus(false));
  redis.on('ready', () => options.onStatus(true));
  redis.defineCommand('createSession', { numberOfKeys: 6, lua: createSession });
  redis.defineCommand('updateSession', { numberOfKeys: 6, lua: updateSession });
  redis.defineCommand('closeKey', { numberOfKeys: 2, lua: closeKey });
  const scripts = redis as unknown as Scripts;
  const watch = new RedisWatch({
    ...{ redis, url: options.redisUrl, log: options.log ?? silentLog },
    probeKey: redisKeys.probe,
    onChange: () => options.onTrouble?.(watch.trouble),
  });
  options.onTrouble?.(watch.trouble);
  const fence = await raiseFence(redis, redisKeys.fenceCounter(options.clusterId));
  const ending = new EndingSessions(redis);
  const keys = new Map<string, CoordinatorRecord>();

  return {
    fence,
    load,
    write,
    close: async () => {
      watch.stop();
      // A Redis that is away would keep a polite goodbye waiting.
      if (redis.status === 'ready') await redis.quit().catch(() => undefined);
      redis.disconnect();
    },
  };

  async function load(key: string): Promise<CoordinatorRecord | undefined> {
    const [kind, tenant, ...id] = key.split('/') as [string, string, ...string[]];
    if (kind === 'session') {
      return sessionRecord(readSession(await redis.hgetall(redisKeys.session(tenant, id.join('/')))));
    }
    if (kind === 'overdue') return { kind: 'overdue', sessions: await ending.overdue(Number(tenant)) };
    if (kind === 'open') {
      const sessionIds = await redis.zrange(redisKeys.open(tenant, id.join('/')), '0', '-1');
      return { kind: 'openSessions', sessionIds };
    }
    const cached = keys.get(key);
    if (cached) return cached;
    const record = readKey(await redis.get(redisKeys.key(tenant, id.join('/'))));
    if (record) cache(key, record);
    return record;
  }

  function cache(key: string, record: CoordinatorRecord): void {
    if (keys.size >= keyCacheMax) keys.delete(keys.keys().next().value!);
    keys.set(key, record);
  }

  /** What a write that binds a key said of it: what stands there is known now. */
  function learn(
    binds: KeyRecord | undefined,
    result: WriteOutcome<CoordinatorRecord>,
  ): WriteOutcome<CoordinatorRecord> {
    if (!binds) return result;
    const key = keyKey(binds.tenant, binds.keyId);
    if (result.kind === 'written') cache(key, { kind: 'key', key: binds });
    else if (result.code === 'KEY_BOUND' && result.current) cache(key, result.current);
    return result;
  }

  async function write(write: CoordinatorWrite): Promise<WriteOutcome<CoordinatorRecord>> {
    if (write.kind === 'closeKey') {
      const { tenant, keyId } = write;
      return outcome(await scripts.closeKey(redisKeys.fence(tenant), redisKeys.closed(tenant, keyId), fence));
    }
    const { session } = write;
    const { tenant, sessionId } = session;
    const at = redisKeys.session(tenant, sessionId);
    const fenceKey = redisKeys.fence(tenant);
    const facts = session.ceremony.kind === 'signing' ? session.ceremony.facts : undefined;
    const intentKey = facts?.walletService ? redisKeys.order : redisKeys.intent;
    const ofKey = (mode: string): [string, string] =>
      mode === '' || !facts ? [at, at] : [redisKeys.open(tenant, facts.keyId), redisKeys.closed(tenant, facts.keyId)];
    const endsAt = endingOf(session);
    // Sent first; both are under way together.
    const named = endsAt === '' || !write.event ? undefined : ending.name(tenant, session.expiresMs);
    if (write.kind === 'create') {
      const { event, guardIntent, nowMs, ends, binds } = write;
      const guard = guardIntent === '' ? at : intentKey(tenant, guardIntent);
      const opening = openingOf(session);
      const [reply] = await Promise.all([
        scripts.createSession(
          at,
          fenceKey,
          guard,
          ...ofKey(opening),
          binds ? redisKeys.key(tenant, binds.keyId) : at,
          fence,
          keepMs,
          nowMs,
          sessionId,
          guardIntent === '' ? 0 : 1,
          tenantPrefix(tenant),
          opening,
          endsAt,
          ends?.session.sessionId ?? '',
          ...bindingArguments(binds),
          ...sessionArguments(session, event),
          ...(ends ? sessionArguments(ends.session, ends.event) : []),
        ),
        named,
      ]);
      return learn(binds, outcome(reply));
    }
    const { event, binds, key = binds } = write;
    const intentId = facts?.intentId ?? '';
    const change = changeOf(session);
    const [reply] = await Promise.all([
      scripts.updateSession(
        at,
        fenceKey,
        key ? redisKeys.key(tenant, key.keyId) : at,
        intentId === '' ? at : intentKey(tenant, intentId),
        ...ofKey(change),
        fence,
        keepMs,
        key ? JSON.stringify(key) : '',
        intentId === '' ? 0 : 1,
        sessionId,
        change,
        tenantPrefix(tenant),
        endsAt,
        binds?.scheme ?? '',
        ...sessionArguments(session, event),
      ),
      named,
    ]);
    return learn(binds, outcome(reply));
  }

  function outcome([code, fields]: ScriptReply): WriteOutcome<CoordinatorRecord> {
    if (code === 'OK') return { kind: 'written' };
    if (code === 'FENCED') options.onFenced();
    if (code === 'KEY_BOUND') return { kind: 'conflict', code, current: readKey(fields?.[0] ?? null) };
    return { kind: 'conflict', code, current: sessionRecord(readSession(pairsOf(fields ?? []))) };
  }
}

/** An attempt whose answer was lost may have raised it: numbers that nobody has do no harm. */
async function raiseFence(redis: Redis, counter: string): Promise<number> {
  for (;;) {
    try {
      return await redis.incr(counter);
    } catch {
      // The watch says why.
      await new Promise((resolve) => setTimeout(resolve, fenceRetryMs));
    }
  }
}

/** Written as it stands; the script compares the scheme. */
function bindingArguments(binds: KeyRecord | undefined): [string, string] {
  return binds ? [JSON.stringify(binds), binds.scheme] : ['', ''];
}

function pairsOf(flat: readonly string[]): Record<string, string> {
  const fields: Record<string, string> = {};
  for (let index = 0; index + 1 < flat.length; index += 2) fields[flat[index]!] = flat[index + 1]!;
  return fields;
}
