/**
 * Finished sessions for the flat part, stored as the coordinator stores them: by its own session store, in its own cluster, under
 * its fence and its MACs, as copies of really signed sessions, each with its own name, intent and message. So lists, reads,
 * sweeps and retention find the data that signatures would have left, at a fraction of their cost.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { readRoster, readSecret, secretFiles } from '../../../cli/cluster-files/cluster-material.ts';
import { sandboxTenant } from '../../../cli/cluster-files/sandbox.ts';
import { type CoordinatorRecord, type CoordinatorWrite, sessionKey } from '../../../coordinator/contract/messages.ts';
import {
  advance,
  type Moment,
  openRecord,
  type SessionOf,
  type SigningRecord,
} from '../../../coordinator/contract/record.ts';
import { changeEvent } from '../../../coordinator/session/events.ts';
import { redisKeys } from '../../../coordinator/store/layout.ts';
import { SessionStore } from '../../../coordinator/store/session-store.ts';
import { systemClock, systemRandom } from '../../../core/actors/live/ports.ts';
import { ReceiptState } from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { newId } from '../../../proto/ids.ts';
import type { BenchCluster } from '../cluster/cluster.ts';

type Signed = SessionOf<SigningRecord>;

/** Sessions in one group for Redis, and the number of groups in progress. */
const groupSize = 512;
const groupsAtOnce = 3;
const templatesMax = 64;
const day = 86_400_000;

export class SessionFiller {
  readonly #redis: Redis;
  readonly #store: SessionStore;
  readonly #templates: readonly Signed[];
  #next = 0;

  private constructor(redis: Redis, store: SessionStore, templates: readonly Signed[]) {
    this.#redis = redis;
    this.#store = store;
    this.#templates = templates;
  }

  /** Call it after some signatures: it copies their sessions. */
  static async open({ redisUrl, dataDir }: BenchCluster): Promise<SessionFiller> {
    // No command has a timeout: a busy machine may take long for a group.
    const redis = new Redis(redisUrl, { maxRetriesPerRequest: null });
    const { clusterId } = readRoster(dataDir, 'sandbox');
    // The coordinator's own: a higher one would end it.
    const fence = Number(await redis.get(redisKeys.fenceCounter(clusterId)));
    const refused = (what: string) => () => {
      throw new Error(`the bench's sessions are ${what}`);
    };
    const store = new SessionStore(redis, fence, {
      ...{
        clusterId,
        clock: systemClock,
        resumeKey: readSecret(dataDir, secretFiles.coordinatorResume),
        soon: setImmediate,
      },
      ...{ onTampered: refused('not as the coordinator wrote them'), onFenced: refused('fenced off') },
    });
    const ids = await redis.zrevrange(redisKeys.list(sandboxTenant), 0, templatesMax - 1);
    const found = await Promise.all(ids.map((id) => store.load(sessionKey(sandboxTenant, id))));
    const templates = found.flatMap(signedIn);
    if (templates.length === 0) throw new Error('there is no signed session to copy');
    return new SessionFiller(redis, store, templates);
  }

  /** Ids of stored sessions. */
  async some(count: number): Promise<readonly string[]> {
    const key = redisKeys.list(sandboxTenant);
    const total = await this.#redis.zcard(key);
    const places = Array.from({ length: count }, (_, index) => Math.floor((index * total) / count));
    const found = await Promise.all(places.map((place) => this.#redis.zrange(key, String(place), String(place))));
    return found.flat().filter((id) => id.startsWith('sig_'));
  }

  /** Stores this many finished sessions. */
  async finished(count: number): Promise<void> {
    await this.#groups(count, async (size) => {
      const sessions = Array.from({ length: size }, () => this.#session(Date.now(), day));
      await this.#write(sessions.map(({ begun }) => begun));
      await this.#write(sessions.map(({ done }) => done));
    });
  }

  /** Stores this many open sessions, whose lifetime ends after this time. */
  async open(count: number, forMs: number): Promise<void> {
    await this.#groups(count, async (size) => {
      await this.#write(Array.from({ length: size }, () => this.#session(Date.now(), forMs).begun));
    });
  }

  /** Open sessions. */
  get openCount(): Promise<number> {
    return this.#redis.zcard(redisKeys.ending(sandboxTenant));
  }

  close(): void {
    this.#redis.disconnect();
  }

  async #groups(count: number, store: (size: number) => Promise<void>): Promise<void> {
    let left = count;
    const worker = async () => {
      while (left > 0) {
        const size = Math.min(left, groupSize);
        left -= size;
        await store(size);
      }
    };
    await Promise.all(Array.from({ length: groupsAtOnce }, worker));
  }

  async #write(writes: readonly CoordinatorWrite[]): Promise<void> {
    const outcomes = await Promise.all(writes.map((write) => this.#store.write(write)));
    const refused = outcomes.find(({ kind }) => kind !== 'written');
    if (refused !== undefined) throw new Error(`a session was not stored: ${JSON.stringify(refused)}`);
  }

  #session(nowMs: number, lifetimeMs: number): { readonly begun: CoordinatorWrite; readonly done: CoordinatorWrite } {
    const template = this.#templates[this.#next % this.#templates.length]!;
    this.#next += 1;
    const moment: Moment = { nowMs, random: systemRandom };
    const { attempt, submitted, signature, recoveryId, facts } = template.ceremony;
    const intentId = randomUUID();
    const ceremony: SigningRecord = {
      ...template.ceremony,
      facts: { ...facts, intentId, messageHash: randomBytes(32).toString('hex') },
      ...{ attempt: 0, submitted: [], signature: '', recoveryId: -1 },
    };
    const session = openRecord(
      {
        ...{ tenant: sandboxTenant, sessionId: newId('sig', nowMs, systemRandom), ceremony },
        ...{ state: ReceiptState.ACCEPTED, reasonCode: 'SESSION_ACCEPTED', message: 'The session is open.' },
        ...{ expiresMs: nowMs + lifetimeMs, correlationId: newId('cor', nowMs, systemRandom) },
        ...{ approvalMode: template.approvalMode, keystoreType: template.keystoreType },
      },
      moment,
    );
    const ended = advance(session, template, moment, { attempt, submitted, signature, recoveryId });
    return {
      begun: { kind: 'create', session, event: changeEvent(session, moment), guardIntent: intentId, nowMs },
      done: { kind: 'update', session: ended, event: changeEvent(ended, moment) },
    };
  }
}

function signedIn(record: CoordinatorRecord | undefined): Signed[] {
  if (record?.kind !== 'session') return [];
  const { session } = record;
  return session.state === ReceiptState.BACKEND_COMPLETED && session.ceremony.kind === 'signing'
    ? [session as Signed]
    : [];
}
