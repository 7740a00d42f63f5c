/**
 * The reference model of an honest node, as the coordinator sees it: it makes a batch of nonces once, and numbers rise; its
 * messages in one attempt of a DKG stay the same, also after a crash; it refuses a partial signature only for a true reason.
 */

import type { DkgOpened, DkgRefused, DkgSealed, DkgVerified } from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import type {
  DealNonces,
  DeleteKey,
  NoncesDealt,
  PartialReply,
  PartialRequest,
} from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { PartialRefusalCode } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { keyBinding } from '../../proto/key-schemes.ts';
import type { WireEnvelope } from '../../proto/wire.ts';
import { keyRecordsIn } from '../cluster/invariants/node-records.ts';
import { hexOf } from '../cluster/invariants/sessions.ts';
import type { Checker, Observation } from '../cluster/observation.ts';

const { KEY_UNKNOWN, NONCE_UNKNOWN, KEYSTORE_MISMATCH, INTENT_MESSAGE_CHANGED, ORDER_EXPIRED } = PartialRefusalCode;

/** The capacity of any pool of nonces. */
const poolMin = 4_096;

interface Node {
  boot: string;
  /** Nonces that it made since it started. */
  pool: number;
  /** The highest nonce number since it started. */
  highest: bigint;
  /** "scheme number" of its unused nonces for the present start of the coordinator. */
  readonly nonces: Set<string>;
  /** Those of requests of which it is unknown whether they were answered. */
  readonly doubtful: Set<string>;
  /** By scheme: requests for nonces that reached it since it started, by their numbers, and its answers to them. */
  readonly deals: Map<number, { readonly requests: Set<string>; answers: number }>;
  /** The number of requests with a nonce since it started. */
  readonly named: Map<string, number>;
  coordinatorBoot: string;
  /** Final keys, "tenant/session" to their scheme. */
  readonly keys: Map<string, string>;
  /** By key: when it deleted it, among the requests to nodes. */
  readonly deletedAt: Map<string, number>;
  /** Its messages in attempts of DKGs. */
  readonly said: Map<string, string>;
  /** "tenant intent" that it signed a message for. */
  readonly intents: Set<string>;
  /** "tag": the requests that reached it. */
  readonly asked: Map<
    bigint,
    { readonly request: PartialRequest; readonly tenant: string; readonly touched: boolean; readonly at: number }[]
  >;
}

export function honestNodes(): Checker {
  const nodes = new Map<string, Node>();
  /** A fault changed its nonces: the model does not know which are valid. */
  const liars = new Set<string>();
  /** Its store was lost or rolled back, or its clock set: the model no longer knows its state. */
  const unknown = new Set<string>();
  /** "node/2 tenant/key": deletions that the coordinator ordered. */
  const deleting = new Set<string>();
  const clockSet = new Set<string>();
  /** "node/1 HSM_TIMEOUT": its token has failed so. */
  const tokenFaults = new Set<string>();
  /** A request may reach a node twice. */
  let mayRepeat = false;
  /** Requests for partials, and deletions of keys, in their order. */
  let requests = 0;
  const find = (name: string): Node => {
    let node = nodes.get(name);
    if (node === undefined) {
      const none = { boot: '', pool: 0, highest: 0n, coordinatorBoot: '' };
      const sets = { nonces: new Set<string>(), doubtful: new Set<string>(), intents: new Set<string>() };
      node = {
        ...none,
        ...sets,
        named: new Map(),
        keys: new Map(),
        deletedAt: new Map(),
        said: new Map(),
        asked: new Map(),
        deals: new Map(),
      };
      nodes.set(name, node);
    }
    return node;
  };

  /** A node does not name a failure of its token that did not happen. */
  function tokenBlamed(name: string, code: string): string | undefined {
    if (!code.startsWith('HSM_') || tokenFaults.has(`${name} ${code}`)) return undefined;
    return `${name} says ${code}, and its token did not fail so`;
  }

  function dealt(name: string, { scheme, nodeBoot, coordinatorBoot, nonces }: NoncesDealt): string | undefined {
    const node = find(name);
    if (nodeBoot !== node.boot) return `${name} deals nonces in the name of another start`;
    // A request that it cannot serve changes nothing.
    if (coordinatorBoot !== node.coordinatorBoot && nonces.length > 0) {
      node.coordinatorBoot = coordinatorBoot;
      node.nonces.clear();
      node.doubtful.clear();
    }
    const deals = node.deals.get(scheme);
    // An unknown scheme, which only a lie names, gets an answer without nonces each time.
    if (deals && nonces.length > 0) deals.answers += 1;
    if (deals && deals.answers > deals.requests.size) return `${name} serves a request for nonces twice`;
    for (const { number } of nonces) {
      if (number <= node.highest) return `${name} gives a nonce a number that it gave before`;
      node.highest = number;
      node.nonces.add(`${scheme} ${number}`);
      node.pool += 1;
    }
    // A full pool drops its oldest nonces.
    if (node.pool > poolMin) liars.add(name);
    return undefined;
  }

  function replied(name: string, { tenant, message }: { tenant: string; message: PartialReply }): string | undefined {
    const node = find(name);
    const asked = node.asked.get(message.attemptTag) ?? [];
    if (asked.length === 0) return `${name} answers a request that it never got`;
    // Of several requests under one tag, the answered one is unknown.
    const [only] = asked;
    const { outcome } = message;
    if (liars.has(name)) return undefined;
    const { request } = only!;
    const nonce = `${request.scheme} ${request.nonceNumber}`;
    const hadNonce = request.nonceNumber === 0n || node.nonces.has(nonce);
    if (asked.length > 1) {
      for (const { request: one } of asked) {
        const named = `${one.scheme} ${one.nonceNumber}`;
        if (one.nodeBoot === node.boot && node.nonces.delete(named)) node.doubtful.add(named);
      }
      if (outcome.case === 'partial') {
        for (const one of asked) node.intents.add(`${one.tenant} ${one.request.order?.transactionIntentId ?? ''}`);
      }
      return undefined;
    }
    const isForgotten = outcome.case === 'refusal' && outcome.value.code === NONCE_UNKNOWN;
    // Its answers to several requests for one nonce may leave in another order than it handled them.
    if (!isForgotten && request.nodeBoot === node.boot) node.nonces.delete(nonce);
    const isCurrent = request.coordinatorBoot === node.coordinatorBoot;
    const intent = `${tenant} ${request.order?.transactionIntentId ?? ''}`;
    if (outcome.case === 'partial') {
      node.intents.add(intent);
      if (!isKnown(request)) return undefined;
      if (node.doubtful.delete(nonce)) return undefined;
      if (!hadNonce || !isCurrent) return `${name} signs with a nonce that it used, or that is void`;
      const key = `${tenant}/${request.keySession}`;
      // It may have signed before it deleted the key; then both become durable in one write.
      const isBefore = only!.at < (node.deletedAt.get(key) ?? 0);
      if (!node.keys.has(key) && !isBefore && !unknown.has(name))
        return `${name} signs under a key that it does not hold`;
      return undefined;
    }
    if (outcome.case !== 'refusal' || unknown.has(name) || only!.touched) return undefined;
    const bound = node.keys.get(`${tenant}/${request.keySession}`);
    switch (outcome.value.code) {
      case KEY_UNKNOWN:
        // It stops using a key before the deletion is durable.
        return bound === undefined || deleting.has(`${name} ${tenant}/${request.keySession}`)
          ? undefined
          : `${name} says that it lacks a key that it holds`;
      case NONCE_UNKNOWN:
        return hadNonce &&
          isCurrent &&
          !mayRepeat &&
          node.named.get(nonce) === 1 &&
          request.nodeBoot === node.boot &&
          request.nonceNumber !== 0n
          ? `${name} says that it does not know a nonce that it dealt`
          : undefined;
      case KEYSTORE_MISMATCH:
        return bound !== undefined && keyBinding(request.scheme) === bound
          ? `${name} says that its key is bound to another scheme, which it is not`
          : undefined;
      case INTENT_MESSAGE_CHANGED:
        return node.intents.has(intent) ? undefined : `${name} says that it signed for an intent that is new to it`;
      case ORDER_EXPIRED:
        return clockSet.has(name) ? undefined : `${name} says that an order is over`;
      default:
        return tokenBlamed(name, PartialRefusalCode[outcome.value.code] ?? '');
    }
  }

  /** Keys of other schemes use no nonces of the pools. */
  function isKnown({ nonceNumber }: PartialRequest): boolean {
    return nonceNumber !== 0n;
  }

  /** In one attempt a node's messages stay the same. */
  function repeats(name: string, { message: { tenant, session, attempt, body } }: WireEnvelope): string | undefined {
    const said: [string, Uint8Array][] = [];
    if (body.case === 'dkgOpened') {
      const { opening } = body.value as DkgOpened;
      if (opening) said.push(['opening', opening.signature]);
    } else if (body.case === 'dkgSealed') {
      for (const { recipient, box } of (body.value as DkgSealed).shares) said.push([`share for ${recipient}`, box]);
    } else if (body.case === 'dkgVerified') {
      const { finished } = body.value as DkgVerified;
      if (finished) said.push(['result', finished.signature]);
    }
    const node = find(name);
    for (const [what, bytes] of said) {
      const key = `${tenant}/${session} ${attempt} ${what}`;
      const hex = hexOf(bytes);
      const before = node.said.get(key);
      if (before !== undefined && before !== hex && !unknown.has(name))
        return `${name} gives another ${what} in attempt ${attempt} of the key ${session}`;
      node.said.set(key, hex);
    }
    return undefined;
  }

  return {
    invariant: 'node-as-modelled',
    observe(observation: Observation) {
      switch (observation.kind) {
        case 'process': {
          const { process, what, boot, storeLost } = observation;
          if (!process.startsWith('node/')) return undefined;
          if (storeLost) unknown.add(process);
          if (what !== 'up') return undefined;
          const node = find(process);
          node.boot = boot;
          node.highest = 0n;
          node.pool = 0;
          node.deals.clear();
          node.nonces.clear();
          node.doubtful.clear();
          node.coordinatorBoot = '';
          return undefined;
        }
        case 'token':
          tokenFaults.add(`${observation.process} ${observation.fault}`);
          return undefined;
        case 'clock':
          clockSet.add(observation.process);
          return undefined;
        case 'fault':
          if (observation.fault === 'duplicate') mayRepeat = true;
          if (
            observation.what === 'fired' &&
            (observation.fault === 'rollback' || observation.fault === 'second_process')
          )
            for (const target of observation.targets) unknown.add(target);
          return undefined;
        case 'written': {
          if (observation.process === 'coordinator' || observation.outcome !== 'written') return undefined;
          const node = find(observation.process);
          for (const { name, key } of keyRecordsIn(observation.write)) node.keys.set(name, key.scheme ?? '');
          for (const key of observation.write.deletes) {
            const name = key.slice(key.indexOf('/') + 1);
            if (key.startsWith('key/')) {
              node.keys.delete(name);
              requests += 1;
              node.deletedAt.set(name, requests);
            }
            // It has forgotten the attempts too.
            for (const said of node.said.keys()) if (said.startsWith(`${name} `)) node.said.delete(said);
          }
          return undefined;
        }
        case 'frame': {
          const { envelope, touched } = observation;
          const { from, to, message } = envelope;
          if (to.startsWith('node/') && message.body.case === 'partialRequest') {
            const request = message.body.value as PartialRequest;
            const { asked, named } = find(to);
            const nonce = `${request.scheme} ${request.nonceNumber}`;
            named.set(nonce, (named.get(nonce) ?? 0) + 1);
            const known = asked.get(request.attemptTag) ?? [];
            requests += 1;
            asked.set(request.attemptTag, [...known, { request, tenant: message.tenant, touched, at: requests }]);
            return undefined;
          }
          if (to.startsWith('node/') && message.body.case === 'deleteKey') {
            deleting.add(`${to} ${message.tenant}/${(message.body.value as DeleteKey).keySession}`);
            return undefined;
          }
          if (to.startsWith('node/') && message.body.case === 'dealNonces') {
            const { scheme, coordinatorBoot, request } = message.body.value as DealNonces;
            const { deals } = find(to);
            const known = deals.get(scheme) ?? { requests: new Set(), answers: 0 };
            // Each request numbered 0 is one of its own.
            known.requests.add(`${coordinatorBoot} ${request === 0n ? `0/${known.requests.size}` : request}`);
            deals.set(scheme, known);
            return undefined;
          }
          if (!from.startsWith('node/')) return undefined;
          const name = from.split('/').slice(0, 2).join('/');
          if (touched && message.body.case === 'noncesDealt') liars.add(name);
          if (touched) return undefined;
          if (message.body.case === 'noncesDealt') return dealt(name, message.body.value as NoncesDealt);
          if (message.body.case === 'partialReply') {
            return replied(name, { tenant: message.tenant, message: message.body.value as PartialReply });
          }
          if (message.body.case === 'dkgRefused') return tokenBlamed(name, (message.body.value as DkgRefused).code);
          return repeats(name, envelope);
        }
        default:
          return undefined;
      }
    },
  };
}
