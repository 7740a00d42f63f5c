/**
 * The invariants of every answer, checked on arrival: no internal error, one answer for a key, no id of another tenant, reads
 * that never go back in time, and versions that never change. It knows no routes: a resource has an `id` and a `version`. With
 * the versions as witnesses, "never back in time" is the linearizability of each resource's history.
 */
import type { ClientAnswer } from '../../service/client.ts';
import { found } from '../../service/invariants/finding.ts';
import { checkEnvelope } from '../../service/invariants/headers.ts';

export interface SentRequest {
  readonly tenant: string;
  readonly actor: string;
  readonly method: string;
  readonly target: string;
  readonly body: unknown;
  readonly key: string | undefined;
}

interface KeyAnswer {
  readonly request: string;
  readonly status: number;
  readonly text: string;
  /** The first answer has come, not only repeats of it: another gateway may repeat it before it arrives. */
  hasFirst: boolean;
}

const idPattern =
  /\b(?:pcn|wal|txi|evt|whk|dlv|tkn|ord|pol|dec|scr|rep|lst|rul|rsk|vlt|vky|vsg|stg|pln|rcj|rcx)_[0-9a-f-]{36}\b/g;
/** Fields that change without a new version. */
const volatile = new Set([
  'assets',
  'queue',
  'failing_since',
  'secret',
  'supply',
  'minting',
  'available_to_mint',
  'stale',
  'positions',
  'trades',
  'progress',
  'last_checked_at',
  'deposit',
  'withdrawal',
  'keys',
  'previous_secret_expires_at',
  // Of a policy, also while an earlier version is read.
  'enforced_version',
]);
/** The product writes them while it reads the record, by its own id only. */
const versioned = /^(?:txi|wal|pol|lst|pcn|tkn|ord|vlt|rul)_/;
const again = new Set([400, 401, 403, 429, 500, 502, 503, 504]);

export class Answers {
  readonly #owner = new Map<string, string>();
  readonly #newest = new Map<string, number>();
  readonly #shown = new Map<string, string>();
  readonly #keys = new Map<string, KeyAnswer>();
  /** The requests that were sent under each key, answered or not. */
  readonly #sent = new Map<string, Set<string>>();

  /** A call begins. Returns the highest version of each resource shown so far; for `answered`. */
  asking(asked: SentRequest): ReadonlyMap<string, number> {
    if (asked.key !== undefined) {
      const name = nameOf(asked);
      const sent = this.#sent.get(name);
      if (sent === undefined) this.#sent.set(name, new Set([requestOf(asked)]));
      else sent.add(requestOf(asked));
    }
    return new Map(this.#newest);
  }

  /** Of what was shown and stored until now. The result makes what came later void: the service is as it was. */
  snapshot(): () => void {
    const keys = [...this.#keys].map(([name, key]) => [name, { ...key }] as const);
    const sent = [...this.#sent].map(([name, requests]) => [name, new Set(requests)] as const);
    const [newest, shown] = [[...this.#newest], [...this.#shown]];
    return () => {
      refilled(this.#keys, keys);
      refilled(this.#sent, sent);
      refilled(this.#newest, newest);
      refilled(this.#shown, shown);
    };
  }

  /** Every answer on arrival, also one that the client repeats after. */
  heard(tenant: string, target: string, answer: Omit<ClientAnswer, 'tries'>): void {
    const { status, body } = answer;
    if (status === 500) found('no-internal-error', `${target} answers 500 ${JSON.stringify(body)}`);
    checkEnvelope(target, answer);
    for (const id of JSON.stringify(body ?? null).match(idPattern) ?? []) {
      if (target.includes(id)) continue;
      const owner = this.#owner.get(id);
      if (owner === undefined) this.#owner.set(id, tenant);
      else if (owner !== tenant) found('tenants-apart', `${target} shows ${tenant} ${id}, which is of ${owner}`);
    }
  }

  /** A whole call has ended. `before`: the result of `asking` when it began. */
  answered(asked: SentRequest, { status, body, headers }: ClientAnswer, before: ReadonlyMap<string, number>): void {
    const { tenant, method, target, key } = asked;
    const isReplay = headers['idempotent-replayed'] === 'true';
    if (key !== undefined && isStored({ status, body })) this.#key(asked, status, storedText(body), isReplay);
    if (isReplay || status > 299) return;
    for (const [id, version, resource] of resources(body)) {
      // Clients also read a version of a policy or list by its number; a decision, a dry run and an estimate name the versions in force;
      // an event shows what was.
      const isNewest = !/version=|dry_run=|\/estimate$|\/decisions(?:\?|$)|^\/v1\/events/.test(target);
      const floor = before.get(id) ?? 0;
      if (isNewest && version < floor) {
        found(
          'reads-are-fresh',
          `${method} ${target} shows ${tenant} ${id} at ${version}, after it was shown at ${floor}`,
        );
      }
      if (version > (this.#newest.get(id) ?? 0)) this.#newest.set(id, version);
      if (!versioned.test(id)) continue;
      const text = textOf(resource);
      const name = `${id}@${version}#${Object.keys(resource).sort().join()}`;
      const shown = this.#shown.get(name);
      if (shown === undefined) this.#shown.set(name, text);
      else if (shown !== text)
        found('versions-never-change', `${method} ${target} shows ${id} at ${version} as ${text}, before ${shown}`);
    }
  }

  #key(asked: SentRequest, status: number, text: string, isReplay: boolean): void {
    const name = nameOf(asked);
    const request = requestOf(asked);
    const known = this.#keys.get(name);
    if (status === 409 && text.includes('idempotency_key_reused')) {
      const isOwn = known === undefined ? this.#sent.get(name)?.size === 1 : known.request === request;
      if (isOwn) found('one-answer-a-key', `${name} is refused to its own request`);
      return;
    }
    if (known === undefined) {
      this.#keys.set(name, { request, status, text, hasFirst: !isReplay });
      return;
    }
    if (known.request !== request) {
      found('one-answer-a-key', `${name} answers another request with ${status} ${text}`);
    }
    if (known.status !== status || known.text !== text) {
      found('one-answer-a-key', `${name} answers ${status} ${text}, before ${known.status} ${known.text}`);
    }
    if (isReplay) return;
    if (known.hasFirst && status < 300) {
      found('one-answer-a-key', `${name} answers again, and does not say that it replays`);
    }
    known.hasFirst = true;
  }
}

function refilled<K, V>(known: Map<K, V>, entries: Iterable<readonly [K, V]>): void {
  known.clear();
  for (const [name, value] of entries) known.set(name, value);
}

/** A key belongs to a method and a path. */
function nameOf({ tenant, method, target, key }: SentRequest): string {
  const [path] = target.split('?');
  return `${tenant} ${method} ${path} ${key}`;
}

/** Of a key: its caller and its body. */
function requestOf({ actor, body }: SentRequest): string {
  return `${actor} ${JSON.stringify(body ?? null)}`;
}

/** An error names its request; the rest is the same for each. */
export function storedText(body: unknown): string {
  return JSON.stringify(body ?? null, (name, value: unknown) => (name === 'request_id' ? undefined : value));
}

type Resource = Readonly<Record<string, unknown>>;

function* resources(body: unknown): Generator<readonly [string, number, Resource]> {
  if (typeof body !== 'object' || body === null) return;
  if (Array.isArray(body)) {
    for (const item of body) yield* resources(item);
    return;
  }
  const { id, version } = body as Resource;
  if (typeof id === 'string' && typeof version === 'number') {
    yield [id, version, body as Resource];
    return;
  }
  for (const [name, value] of Object.entries(body)) {
    // Past events, in their state at that time, and the sessions that they name.
    if (name !== 'events' && name !== 'data' && name !== 'resource') yield* resources(value);
  }
}

function textOf(resource: Resource): string {
  return JSON.stringify(Object.entries(resource).filter(([name]) => !volatile.has(name)));
}

/** Whether a key stores this answer. */
export function isStored(answer: Pick<ClientAnswer, 'status' | 'body'>): boolean {
  const { status } = answer;
  return !again.has(status) && !(status === 409 && issuesOf(answer).includes('version_conflict'));
}

/** What an error names. */
export function issuesOf({ body }: Pick<ClientAnswer, 'body'>): readonly string[] {
  const details: readonly { readonly issue: string }[] = body?.error?.details ?? [];
  return details.map(({ issue }) => issue);
}
