/**
 * The reference model of an honest node, as the coordinator sees it: it makes a batch of nonces once, and numbers rise; its
 * messages in one attempt of a DKG stay the same, also after a crash; it refuses a partial signature only for a true reason.
 */

import type {
  DealNonces,
  NoncesDealt,
  PartialReply,
  PartialRequest,
} from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { PartialRefusalCode } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { keyBinding } from '../../proto/key-schemes.ts';
import type { WireBody, WireEnvelope } from '../../proto/wire.ts';
import { keyRecordsIn } from '../cluster/invariants/node-records.ts';
import { hexOf } from '../cluster/invariants/sessions.ts';
import type { Checker, Observation } from '../cluster/observation.ts';

const { KEY_UNKNOWN, NONCE_UNKNOWN, KEYSTORE_MISMATCH, INTENT_MESSAGE_CHANGED, ORDER_EXPIRED } = PartialRefusalCode;

/** The capacity of any pool of nonces. */
const poolMin = 4_096;

/** A node as its messages show it. */
class ModelNode {
  boot = '';
  /** Nonces that it made since it started. */
  pool = 0;
  /** The highest nonce number since it started. */
  highest = 0n;
  coordinatorBoot = '';
  /** "scheme number" of its unused nonces for the present start of the coordinator. */
  readonly nonces = new Set<string>();
  /** Those of requests of which it is unknown whether they were answered. */
  readonly doubtful = new Set<string>();
  /** By scheme: requests for nonces that reached it since it started, by their numbers, and its answers to them. */
  readonly deals = new Map<number, { readonly requests: Set<string>; answers: number }>();
  /** The number of requests with a nonce since it started. */
  readonly named = new Map<string, number>();
  /** Final keys, "tenant/session" to their scheme, and the version of its share. */
  readonly keys = new Map<string, { readonly scheme: string; readonly version: number }>();
  /** By key: when it deleted it, or replaced its share, among the requests to nodes. */
  readonly changedAt = new Map<string, number>();
  /** Its messages in attempts of DKGs. */
  readonly said = new Map<string, string>();
  /** "tenant intent" that it signed a message for. */
  readonly intents = new Set<string>();
  /** By tag: the requests that reached it. */
  readonly asked = new Map<bigint, readonly Asked[]>();

  started(boot: string): void {
    this.boot = boot;
    this.highest = 0n;
    this.deals.clear();
    this.#pooledFor('');
    this.pool = 0;
  }

  /** Its pool for an earlier start of the coordinator is void. */
  #pooledFor(coordinatorBoot: string): void {
    this.coordinatorBoot = coordinatorBoot;
    this.nonces.clear();
    this.doubtful.clear();
  }

  askedForNonces({ scheme, coordinatorBoot, request }: DealNonces): void {
    const known = this.deals.get(scheme) ?? { requests: new Set(), answers: 0 };
    // Each request numbered 0 is one of its own.
    known.requests.add(`${coordinatorBoot} ${request === 0n ? `0/${known.requests.size}` : request}`);
    this.deals.set(scheme, known);
  }

  /** Returns what is wrong with it. */
  dealt({ scheme, nodeBoot, coordinatorBoot, nonces }: NoncesDealt): string | undefined {
    if (nodeBoot !== this.boot) return 'deals nonces in the name of another start';
    // A request that it cannot serve changes nothing.
    if (coordinatorBoot !== this.coordinatorBoot && nonces.length > 0) this.#pooledFor(coordinatorBoot);
    const deals = this.deals.get(scheme);
    // An unknown scheme, which only a lie names, gets an answer without nonces each time.
    if (deals && nonces.length > 0) deals.answers += 1;
    if (deals && deals.answers > deals.requests.size) return 'serves a request for nonces twice';
    for (const { number } of nonces) {
      if (number <= this.highest) return 'gives a nonce a number that it gave before';
      this.highest = number;
      this.nonces.add(`${scheme} ${number}`);
      this.pool += 1;
    }
    return undefined;
  }

  deleted(key: string, at: number): void {
    if (key.startsWith('key/')) {
      this.keys.delete(nameIn(key));
      this.changedAt.set(nameIn(key), at);
    }
    // It has forgotten the attempts too.
    for (const said of this.said.keys()) if (said.startsWith(`${nameIn(key)} `)) this.said.delete(said);
  }

  askedForPartial(asked: Asked): void {
    const nonce = nonceOf(asked.request);
    this.named.set(nonce, (this.named.get(nonce) ?? 0) + 1);
    const { attemptTag } = asked.request;
    this.asked.set(attemptTag, [...(this.asked.get(attemptTag) ?? []), asked]);
  }
}

/** A request for a partial that reached a node. */
interface Asked {
  readonly request: PartialRequest;
  readonly tenant: string;
  readonly touched: boolean;
  /** Among the requests to nodes. */
  readonly at: number;
}

export class HonestNodes implements Checker {
  readonly invariant = 'node-as-modelled';
  readonly #nodes = new Map<string, ModelNode>();
  /** A fault changed its nonces: the model does not know which are valid. */
  readonly #liars = new Set<string>();
  /** Its store was lost or rolled back, or its clock set: the model no longer knows its state. */
  readonly #unknown = new Set<string>();
  /** "node/2 tenant/key": deletions that the coordinator ordered. */
  readonly #deleting = new Set<string>();
  readonly #clockSet = new Set<string>();
  /** "node/1 HSM_TIMEOUT": its token has failed so. */
  readonly #tokenFaults = new Set<string>();
  /** A request may reach a node twice. */
  #mayRepeat = false;
  /** Requests for partials, and deletions of keys, in their order. */
  #requests = 0;

  observe(observation: Observation): string | undefined {
    switch (observation.kind) {
      case 'process': {
        const { process, what, boot, storeLost } = observation;
        if (!process.startsWith('node/')) return undefined;
        if (storeLost) this.#unknown.add(process);
        if (what === 'up') this.#node(process).started(boot);
        return undefined;
      }
      case 'token':
        this.#tokenFaults.add(`${observation.process} ${observation.fault}`);
        return undefined;
      case 'clock':
        this.#clockSet.add(observation.process);
        return undefined;
      case 'fault': {
        const { fault, what, targets } = observation;
        if (fault === 'duplicate') this.#mayRepeat = true;
        if (what !== 'fired' || (fault !== 'rollback' && fault !== 'second_process')) return undefined;
        for (const target of targets) this.#unknown.add(target);
        return undefined;
      }
      case 'written':
        if (observation.process === 'coordinator' || observation.outcome !== 'written') return undefined;
        this.#wrote(observation.process, observation.write);
        return undefined;
      case 'frame': {
        const { envelope, touched } = observation;
        if (envelope.to.startsWith('node/')) this.#sentTo(envelope, touched);
        return envelope.from.startsWith('node/') ? this.#said(envelope, touched) : undefined;
      }
      default:
        return undefined;
    }
  }

  #node(name: string): ModelNode {
    let node = this.#nodes.get(name);
    if (node === undefined) {
      node = new ModelNode();
      this.#nodes.set(name, node);
    }
    return node;
  }

  #wrote(process: string, write: Parameters<typeof keyRecordsIn>[0]): void {
    const node = this.#node(process);
    for (const { name, key } of keyRecordsIn(write)) {
      const { scheme = '', version = 1 } = key;
      if (version > (node.keys.get(name)?.version ?? version)) {
        this.#requests += 1;
        node.changedAt.set(name, this.#requests);
      }
      node.keys.set(name, { scheme, version });
    }
    for (const key of write.deletes) {
      if (key.startsWith('key/')) this.#requests += 1;
      node.deleted(key, this.#requests);
    }
  }

  #sentTo({ to, message }: WireEnvelope, touched: boolean): void {
    const { tenant } = message;
    const body = message.body as WireBody;
    if (body.case === 'partialRequest') {
      this.#requests += 1;
      this.#node(to).askedForPartial({ request: body.value, tenant, touched, at: this.#requests });
    } else if (body.case === 'deleteKey') this.#deleting.add(`${to} ${tenant}/${body.value.keySession}`);
    else if (body.case === 'dealNonces') this.#node(to).askedForNonces(body.value);
  }

  #said(envelope: WireEnvelope, touched: boolean): string | undefined {
    const name = envelope.from.split('/').slice(0, 2).join('/');
    const body = envelope.message.body as WireBody;
    if (touched) {
      if (body.case === 'noncesDealt') this.#liars.add(name);
      return undefined;
    }
    if (body.case === 'noncesDealt') return this.#dealt(name, body.value);
    if (body.case === 'partialReply') return this.#replied(name, envelope.message.tenant, body.value);
    const wrong = body.case === 'dkgRefused' ? this.#tokenBlamed(name, body.value.code) : this.#repeats(name, envelope);
    return wrong && `${name} ${wrong}`;
  }

  #dealt(name: string, said: NoncesDealt): string | undefined {
    const node = this.#node(name);
    const wrong = node.dealt(said);
    if (wrong) return `${name} ${wrong}`;
    // A full pool drops its oldest nonces.
    if (node.pool > poolMin) this.#liars.add(name);
    return undefined;
  }

  #replied(name: string, tenant: string, { attemptTag, outcome }: PartialReply): string | undefined {
    const node = this.#node(name);
    const [only, ...others] = node.asked.get(attemptTag) ?? [];
    if (only === undefined) return `${name} answers a request that it never got`;
    if (this.#liars.has(name)) return undefined;
    // Of several requests under one tag, the answered one is unknown.
    if (others.length > 0) return this.#repliedToOneOf(node, [only, ...others], outcome.case === 'partial');
    const { request } = only;
    const hadNonce = usesNoPool(request) || node.nonces.has(nonceOf(request));
    const isForgotten = outcome.case === 'refusal' && outcome.value.code === NONCE_UNKNOWN;
    // Its answers to several requests for one nonce may leave in another order than it handled them.
    if (!isForgotten && request.nodeBoot === node.boot) node.nonces.delete(nonceOf(request));
    const isValid = hadNonce && request.coordinatorBoot === node.coordinatorBoot;
    if (outcome.case === 'partial') return this.#signed(name, tenant, only, isValid);
    if (outcome.case !== 'refusal' || this.#unknown.has(name) || only.touched) return undefined;
    const wrong = this.#falseRefusal(name, only, outcome.value.code, isValid);
    return wrong && `${name} ${wrong}`;
  }

  #repliedToOneOf(node: ModelNode, asked: readonly Asked[], hasSigned: boolean): undefined {
    for (const { request, tenant } of asked) {
      const nonce = nonceOf(request);
      if (request.nodeBoot === node.boot && node.nonces.delete(nonce)) node.doubtful.add(nonce);
      if (hasSigned) node.intents.add(intentOf(tenant, request));
    }
  }

  /** `isValid`: the node has the request's nonce, for this start of the coordinator. */
  #signed(name: string, tenant: string, { request, at }: Asked, isValid: boolean): string | undefined {
    const node = this.#node(name);
    node.intents.add(intentOf(tenant, request));
    if (usesNoPool(request) || node.doubtful.delete(nonceOf(request))) return undefined;
    if (!isValid) return `${name} signs with a nonce that it used, or that is void`;
    const key = `${tenant}/${request.keySession}`;
    // It may have signed before it deleted the key, or replaced its share.
    const isBefore = at < (node.changedAt.get(key) ?? 0);
    if (isBefore || this.#unknown.has(name)) return undefined;
    if (node.keys.get(key)?.version === (request.keyVersion || 1)) return undefined;
    return `${name} signs with a share that it does not hold`;
  }

  /** What the node says of itself and is not so. */
  #falseRefusal(
    name: string,
    { request, tenant, at }: Asked,
    code: PartialRefusalCode,
    isValid: boolean,
  ): string | undefined {
    const node = this.#node(name);
    const key = `${tenant}/${request.keySession}`;
    const held = node.keys.get(key);
    const bound = held?.scheme;
    switch (code) {
      case KEY_UNKNOWN:
        // It stops using a key before the deletion is durable.
        return held?.version !== (request.keyVersion || 1) ||
          at < (node.changedAt.get(key) ?? 0) ||
          this.#deleting.has(`${name} ${key}`)
          ? undefined
          : 'says that it lacks a key that it holds';
      case NONCE_UNKNOWN: {
        const isOnce = !this.#mayRepeat && node.named.get(nonceOf(request)) === 1 && request.nodeBoot === node.boot;
        return isValid && isOnce && !usesNoPool(request)
          ? 'says that it does not know a nonce that it dealt'
          : undefined;
      }
      case KEYSTORE_MISMATCH:
        return bound !== undefined && keyBinding(request.scheme) === bound
          ? 'says that its key is bound to another scheme, which it is not'
          : undefined;
      case INTENT_MESSAGE_CHANGED:
        return node.intents.has(intentOf(tenant, request))
          ? undefined
          : 'says that it signed for an intent that is new to it';
      case ORDER_EXPIRED:
        return this.#clockSet.has(name) ? undefined : 'says that an order is over';
      default:
        return this.#tokenBlamed(name, PartialRefusalCode[code] ?? '');
    }
  }

  /** A node does not name a failure of its token that did not happen. */
  #tokenBlamed(name: string, code: string): string | undefined {
    if (!code.startsWith('HSM_') || this.#tokenFaults.has(`${name} ${code}`)) return undefined;
    return `says ${code}, and its token did not fail so`;
  }

  /** In one attempt a node's messages stay the same. */
  #repeats(name: string, { message: { tenant, session, attempt, body } }: WireEnvelope): string | undefined {
    const node = this.#node(name);
    for (const [what, bytes] of saidIn(body as WireBody)) {
      const key = `${tenant}/${session} ${attempt} ${what}`;
      const hex = hexOf(bytes);
      const before = node.said.get(key);
      if (before !== undefined && before !== hex && !this.#unknown.has(name))
        return `gives another ${what} in attempt ${attempt} of the key ${session}`;
      node.said.set(key, hex);
    }
    return undefined;
  }
}

function saidIn(body: WireBody): [what: string, bytes: Uint8Array][] {
  switch (body.case) {
    case 'dkgOpened':
      return body.value.opening ? [['opening', body.value.opening.signature]] : [];
    case 'dkgSealed':
      return body.value.shares.map(({ recipient, box }) => [`share for ${recipient}`, box]);
    case 'dkgVerified':
      return body.value.finished ? [['result', body.value.finished.signature]] : [];
    default:
      return [];
  }
}

/** Keys of other schemes use no nonces of the pools. */
function usesNoPool({ nonceNumber }: PartialRequest): boolean {
  return nonceNumber === 0n;
}

function nonceOf({ scheme, nonceNumber }: PartialRequest): string {
  return `${scheme} ${nonceNumber}`;
}

function intentOf(tenant: string, { order }: PartialRequest): string {
  return `${tenant} ${order?.transactionIntentId ?? ''}`;
}

/** "tenant/session" of a store key. */
function nameIn(key: string): string {
  return key.slice(key.indexOf('/') + 1);
}
