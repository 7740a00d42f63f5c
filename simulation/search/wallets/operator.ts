/** One caller of a random run: it calls the gateways in turn, repeats each call until it has an answer, and checks the answer. */

import type { ProcessName } from '../../../scenarios/faults/vocabulary/engine-contract.ts';
import { type Client, type ClientAnswer, isPassing } from '../../service/client.ts';
import { found } from '../../service/invariants/finding.ts';
import { type Answers, isStored, issuesOf, type SentRequest } from './answer-invariants.ts';
import { checkDated, checkInbox, checkShown } from './as-asked.ts';
import type { Landmarks } from './landmarks.ts';
import type { routeFinder } from './outcomes.ts';
import type { SequenceSpan } from './timeline.ts';

/** The limit of virtual time until each of its calls has an answer, faults included. */
const answeredWithinMs = 600_000;
/** The limit without faults. A duplicate waits up to ten seconds for the first request. */
const calmlyWithinMs = 11_000;

/** A call with an answer. */
export interface AnsweredRequest extends Pick<ClientAnswer, 'status' | 'body'> {
  readonly actor: string;
  readonly method: string;
  readonly target: string;
  /** The sent request. */
  readonly asked: unknown;
  readonly isReplay: boolean;
  readonly span: SequenceSpan;
  readonly answeredMs: number;
}

/** The state that its tenant shares with it. */
export interface OperatorHost {
  readonly name: string;
  readonly answers: Answers;
  readonly landmarks: Landmarks;
  readonly routeOf: ReturnType<typeof routeFinder>;
  readonly isCalm: boolean;
  /** Of the last event of the tenant. */
  readonly sequence: number;
  /** Calls about wallets and intents, and signatures with a wallet's key. */
  readonly calls: AnsweredRequest[];
  /** Ids in answers to requests that create something. */
  readonly told: Set<string>;
  readonly posts: Posted[];
  /** Hears of each call that begins, and of its answer. */
  readonly recorded?: ((call: SentRequest, actor: Operator) => (answer: ClientAnswer) => void) | undefined;
}

/** A POST whose key has stored the answer: it is repeated at the end. */
export interface Posted {
  readonly operator: Operator;
  readonly target: string;
  readonly body: unknown;
  readonly key: string;
  readonly status: number;
}

export interface OperatorDeps {
  readonly tenancy: OperatorHost;
  /** The id of its token. */
  readonly actor: string;
  readonly client: Client;
  readonly nowMs: () => number;
}

export class Operator {
  readonly tenant: string;
  readonly actor: string;
  readonly #deps: OperatorDeps;
  #client: Client;
  /** The actor's first one, until it was rotated. */
  #tokenId: string;
  #underWay = 0;
  #taking: Promise<unknown> | undefined;

  constructor(deps: OperatorDeps) {
    this.#deps = deps;
    this.tenant = deps.tenancy.name;
    this.actor = deps.actor;
    this.#tokenId = deps.actor;
    this.#client = deps.client;
  }

  get client(): Client {
    return this.#client;
  }

  /** Takes another token, as the same actor: between its calls. False: some are under way, or there is no such token. */
  async take(issue: (tokenId: string) => Promise<{ readonly id: string; readonly client: Client } | undefined>) {
    if (this.#underWay > 0) return false;
    const issuing = issue(this.#tokenId);
    this.#taking = issuing;
    const taken = await issuing;
    this.#taking = undefined;
    if (taken === undefined) return false;
    this.#tokenId = taken.id;
    this.#client = taken.client;
    return true;
  }

  get nowMs(): number {
    return this.#deps.nowMs();
  }

  async call(method: string, target: string, body?: unknown, key?: string): Promise<ClientAnswer> {
    await this.#taking;
    const call = () =>
      this.#client.call(method, target, body, key).catch((error: unknown) => {
        if (error instanceof Error && error.message.includes('no answer after'))
          found('answered-in-time', error.message);
        throw error;
      });
    return (await this.#checked(method, target, body, key, call))!;
  }

  /** One try at one gateway, whose answer is checked if it stands; undefined: it was cut before an answer. */
  once(
    gateway: ProcessName,
    method: string,
    target: string,
    body?: unknown,
    key?: string,
  ): Promise<ClientAnswer | undefined> {
    return this.#checked(method, target, body, key, async () => {
      const answer = await this.#client.once(gateway, method, target, body, key);
      return answer && { ...answer, tries: 1 };
    });
  }

  async #checked(
    method: string,
    target: string,
    body: unknown,
    key: string | undefined,
    send: () => Promise<ClientAnswer | undefined>,
  ): Promise<ClientAnswer | undefined> {
    const { tenancy, actor, nowMs } = this.#deps;
    const { answers, landmarks, calls, isCalm } = tenancy;
    const asked: SentRequest = { tenant: tenancy.name, actor, method, target, body, key };
    const heard = tenancy.recorded?.(asked, this);
    const before = answers.asking(asked);
    const beganMs = nowMs();
    const from = tenancy.sequence;
    this.#underWay += 1;
    const answer = await send();
    this.#underWay -= 1;
    if (answer === undefined || isPassing(answer)) return answer;
    heard?.(answer);
    const answeredMs = nowMs();
    const tookMs = answeredMs - beganMs;
    if (tookMs > (isCalm ? calmlyWithinMs : answeredWithinMs)) {
      found('answered-in-time', `${method} ${target} took ${tookMs} ms`);
    }
    const { status } = answer;
    const route = tenancy.routeOf(method, target);
    if (route !== undefined) landmarks.reach(`pair ${route.operationId} ${status}`);
    if (status > 299) landmarks.refused(route?.operationId ?? `${method} ${target}`, answer);
    if (method === 'POST' && status < 300) {
      // A proposed change names what it makes.
      const { id, primary_key_id: keyId, resource } = answer.body ?? {};
      for (const each of [id, keyId, resource?.id]) if (typeof each === 'string') tenancy.told.add(each);
    }
    answers.answered(asked, answer, before);
    const isReplay = answer.headers['idempotent-replayed'] === 'true';
    checkShown(asked, answer);
    checkInbox(actor, target, answer);
    if (isCalm && !isReplay) checkDated(asked, answer, beganMs, answeredMs);
    const span = { from, to: tenancy.sequence };
    if (target.startsWith('/v1/wallets/') || target === '/v1/signing/initiate') {
      calls.push({ actor, method, target, asked: body, status, body: answer.body, isReplay, span, answeredMs });
    }
    return answer;
  }

  /** A call that is repeated at the end, with its key, if it has stored its answer: otherwise a repeat is a new request. */
  async post(target: string, body: unknown, key: string): Promise<ClientAnswer> {
    const answer = await this.call('POST', target, body, key);
    const { status } = answer;
    // A key that belongs to another request may be free later: then a repeat is a new request too.
    const isOther = issuesOf(answer).includes('idempotency_key_reused');
    if (isStored(answer) && !isOther) this.#deps.tenancy.posts.push({ operator: this, target, body, key, status });
    return answer;
  }

  /** Throws a Finding unless it succeeds; for valid requests. */
  async made(target: string, body: unknown, key?: string): Promise<ClientAnswer['body']> {
    const { status, body: made } = await this.call('POST', target, body, key);
    if (status === 200 || status === 201 || status === 202) return made;
    return found('changes-take-effect', `POST ${target} ${JSON.stringify(body)}: ${status} ${JSON.stringify(made)}`);
  }

  /** All pages of a list, of this size. */
  async list<T>(target: string, name: string, limit = 100): Promise<T[]> {
    const items: T[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const joint = target.includes('?') ? '&' : '?';
      const page = `${target}${joint}limit=${limit}${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`;
      const { status, body } = await this.call('GET', page);
      if (status !== 200) found('pages-complete', `GET ${page}: ${status} ${JSON.stringify(body)}`);
      const listed = body[name] as T[];
      if (listed.length > limit) found('pages-complete', `GET ${page} has ${listed.length} items`);
      items.push(...listed);
      cursor = body.next_cursor as string | null;
      if ((cursor !== null) !== body.has_more) found('pages-complete', `GET ${page}: has_more is ${body.has_more}`);
    }
    return items;
  }
}
