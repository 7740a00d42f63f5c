/**
 * Idempotent requests: one key has one effect, and every answer reports that effect. A key belongs to a tenant, a method and a
 * path; another caller of the tenant is refused, so that no caller gets the answer to another's request. The request claims the
 * key in the store before the handler runs, and commits the answer in one step with the effect; so after a crash at any point a
 * repeat either finds the answer or runs the request for the first time.
 *
 * A duplicate that arrives while the first request runs waits for it: in this process on its promise, across gateways by
 * polling the store. A poll also takes over the key once the lease of a dead gateway has ended.
 */
import { createHmac } from 'node:crypto';
import type { MachineMs, ServiceMs } from '../../core/actors/contract.ts';
import { ShortLivedMap } from '../../core/actors/short-lived-map.ts';
import { type IdempotencyMark, shownRecord, type TenantStore } from '../../wallets/store/contract.ts';
import type { RequestAttempt } from './context.ts';
import { ServiceError } from './errors/service-error.ts';
import type { Executed } from './execute.ts';
import { actorOf, type Principal } from './principal.ts';
import { isStored, type RouteOutcome, readOutcome, type SealPort, showing, writeOutcome } from './stored-answers.ts';

/** How long a duplicate waits for the first request, and how often it polls. */
export const duplicateWaitMs = 10_000;
export const duplicatePollMs = 50;

const keyPattern = /^[\x21-\x7e]{1,255}$/;

/**
 * The key of a request, from its header or a field of its body; undefined: none. `fieldName` names that field. Throws
 * ServiceError.
 */
export function readIdempotencyKey(
  header: string | undefined,
  fieldName: string | undefined,
  body: unknown,
): string | undefined {
  if (header !== undefined && !keyPattern.test(header)) throw malformedKey('idempotency_key');
  const field = fieldName === undefined ? undefined : (body as Record<string, unknown> | undefined)?.[fieldName];
  if (typeof field !== 'string') return header;
  if (!keyPattern.test(field)) throw malformedKey(fieldName ?? '');
  if (header !== undefined && header !== field) {
    throw new ServiceError('invalidRequest', 'the Idempotency-Key header and the body name different keys', {
      details: [
        { field: fieldName ?? '', issue: 'duplicate_field', message: 'must equal the key of the header, or be absent' },
      ],
    });
  }
  return field;
}

function malformedKey(field: string): ServiceError {
  const message = 'takes 1 to 255 visible ASCII characters';
  return new ServiceError('invalidRequest', 'the idempotency key is malformed', {
    details: [{ field, issue: 'invalid_format', message }],
  });
}

/** The identity of a request for its key: two requests are the same when both hashes are equal. */
export interface RequestHashes {
  readonly keyHash: string;
  readonly bodyHash: string;
}

export interface HashedRequest {
  readonly tenant: string;
  /**
   * Compared like the body. The actor survives rotations of its token, and `connectionIds` limit the data that its token sees.
   * `tokenId`: of a token that another one issued. Others of its line have the same actor, but other rights, or another end.
   */
  readonly caller: {
    readonly actor: string;
    readonly connectionIds: readonly string[] | undefined;
    readonly tokenId?: string;
  };
  readonly method: string;
  /** The route's path and its parameters: one resource, however its path was escaped. */
  readonly path: string;
  readonly params: unknown;
  readonly key: string;
  readonly query: unknown;
  readonly body: unknown;
  /** The body's field that holds the key: it is no part of the comparison. */
  readonly keyField: string | undefined;
}

/** Who may get a stored answer again: another caller may not be allowed to see it. */
export function callerOf(principal: Principal): HashedRequest['caller'] {
  const { providerConnectionIds: connectionIds, token, tokenId } = principal;
  const isIssuedByToken = token !== undefined && token.issuers.length > 0;
  return { actor: actorOf(principal), connectionIds, ...(isIssuedByToken && { tokenId }) };
}

/** @param hashKey secret: bodies may hold credentials, which must not be guessable from the stored hash. */
export function hashRequest(request: HashedRequest, hashKey: Uint8Array): RequestHashes {
  const { tenant, caller, method, path, params, key, query, keyField } = request;
  const who: unknown[] = [caller.actor, caller.connectionIds === undefined ? null : [...caller.connectionIds].sort()];
  if (caller.tokenId !== undefined) who.push(caller.tokenId);
  const { [keyField ?? '']: _key, ...body } = (request.body ?? {}) as Record<string, unknown>;
  return {
    keyHash: keyedHash(hashKey, canonicalJson([tenant, method, path, params, key])),
    bodyHash: keyedHash(hashKey, canonicalJson([body, query, who])),
  };
}

function keyedHash(hashKey: Uint8Array, text: string): string {
  return createHmac('sha256', hashKey).update(text).digest('hex');
}

/** JSON with the fields of every object in order, so that equal values have equal texts. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_name, part: unknown) => {
    if (part === null || typeof part !== 'object' || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)));
  });
}

export interface IdempotencyDeps {
  readonly store: TenantStore;
  readonly seal: SealPort;
  readonly nowMs: () => ServiceMs;
  readonly machineMs: () => MachineMs;
  readonly pause: (ms: number) => Promise<void>;
}

/** Runs the request once; commits its answer with its effect, or settles it afterwards. Never rejects. */
export type RunOnce = (
  attempt: RequestAttempt,
  markOf: (outcome: RouteOutcome) => IdempotencyMark,
) => Promise<Executed>;

export interface OnceResult {
  readonly outcome: RouteOutcome;
  /** The outcome of an earlier or concurrent request. */
  readonly replayed: boolean;
  readonly isStored: boolean;
}

interface Running {
  readonly bodyHash: string;
  /** Resolves to the stored outcome; undefined: none was stored. Never rejects. */
  readonly outcome: Promise<RouteOutcome | undefined>;
}

type Begun = OnceResult | 'running' | 'overtaken';

/** One for each process: it knows which keys are running here. */
export class Idempotency {
  readonly #deps: IdempotencyDeps;
  readonly #running = new ShortLivedMap<string, Running>();

  constructor(deps: IdempotencyDeps) {
    this.#deps = deps;
  }

  /** Rejects with ServiceError, StoreUnavailable. */
  async once(tenant: string, hashes: RequestHashes, run: RunOnce): Promise<OnceResult> {
    const { keyHash, bodyHash } = hashes;
    for (let waitedMs = 0; waitedMs < duplicateWaitMs; ) {
      const local = this.#running.get(keyHash);
      if (local?.bodyHash === bodyHash) {
        const shared = await Promise.race([
          local.outcome,
          this.#deps.pause(duplicatePollMs).then(() => 'waiting' as const),
        ]);
        if (shared === 'waiting') waitedMs += duplicatePollMs;
        else if (shared !== undefined) return { outcome: shared, replayed: true, isStored: true };
        continue;
      }
      const begun = await this.#lead(tenant, hashes, run);
      if (typeof begun === 'object') return begun;
      await this.#deps.pause(duplicatePollMs);
      waitedMs += duplicatePollMs;
    }
    throw new ServiceError('conflict', 'a request with this idempotency key is still running', {
      details: [{ field: 'idempotency_key', issue: 'request_in_progress' }],
      retryAfterS: 1,
    });
  }

  /** Polls the store once for all requests of this process that wait for the same answer. */
  async #lead(tenant: string, hashes: RequestHashes, run: RunOnce): Promise<Begun> {
    const { keyHash, bodyHash } = hashes;
    let announce: (outcome: RouteOutcome | undefined) => void = () => {};
    const running: Running = {
      bodyHash,
      outcome: new Promise((resolve) => {
        announce = resolve;
      }),
    };
    // A request with another body or of another caller may run under this key: it keeps its claim.
    const isLeader = !this.#running.has(keyHash);
    if (isLeader) this.#running.set(keyHash, running);
    let stored: RouteOutcome | undefined;
    try {
      const begun = await this.#begin(tenant, hashes, run);
      if (typeof begun === 'object' && begun.isStored) stored = begun.outcome;
      return begun;
    } finally {
      if (isLeader) this.#running.delete(keyHash);
      announce(stored);
    }
  }

  async #begin(tenant: string, { keyHash, bodyHash }: RequestHashes, run: RunOnce): Promise<Begun> {
    const { store, seal, nowMs, machineMs } = this.#deps;
    const about = `idempotency/${tenant}/${keyHash}`;
    const start = await store.beginIdempotent(tenant, keyHash, bodyHash, nowMs(), machineMs());
    if (start.kind === 'running') return 'running';
    if (start.kind === 'answered') {
      const { answer, balances } = start;
      const outcome = shownRecord('the answer of this idempotency key', () =>
        readOutcome(seal.open(answer, about), bodyHash),
      );
      return { outcome: showing(outcome, balances), replayed: true, isStored: true };
    }
    if (start.kind === 'otherBody') throw reused();
    const { owner, seed, startedMs } = start;
    const settle = (answer: string | undefined): Promise<boolean> =>
      store.settleIdempotent(tenant, keyHash, owner, answer);
    const markOf = (outcome: RouteOutcome): IdempotencyMark => ({
      keyHash,
      owner,
      answer: seal.seal(writeOutcome(outcome, bodyHash), about),
    });
    const executed = await run({ seed: () => seed, startedMs }, markOf);
    if (executed.kind === 'overtaken') return 'overtaken';
    const { outcome, settled } = executed;
    if (settled) return { outcome, replayed: false, isStored: true };
    if (!(executed.isStored ?? isStored(outcome))) {
      // Best effort: a key that stays claimed takes the same body again when its lease ends, and no other: the store cannot tell a lost
      // release from a crash, after which only the same body is safe. The outcome of a change may be unknown here:
      // if it was committed, its answer is stored and is not dropped; if not, a late commit is refused, since the claim no
      // longer exists.
      await settle(undefined).catch(() => false);
      return { outcome, replayed: false, isStored: false };
    }
    const isKept = await settle(markOf(outcome).answer);
    return isKept ? { outcome, replayed: false, isStored: true } : 'overtaken';
  }
}

function reused(): ServiceError {
  return new ServiceError('keyReused', 'the idempotency key was used by another caller or with other parameters', {
    details: [{ field: 'idempotency_key', issue: 'idempotency_key_reused' }],
  });
}
