/**
 * What nodes may send to the coordinator's actors, in front of them, in both worlds: one node must not cost the others their
 * turns, whatever valid frames it sends.
 *
 * A frame is asked for when its actor has sent this node a request that the frame may answer. It reaches its actor while that
 * is in memory; a later one is dropped. A vendor's decision is asked for by the order that its node reported. Other frames are
 * unasked: dropped and counted, without an actor or a read of the store.
 *
 * Two unasked kinds have a use: a message of a DKG may prove its node's fault, and a vendor's decision is repeated until the
 * session notes it, also after a restart of this process. `usefulPerSecond` of each node pass; one of a DKG starts the actor of
 * its session once.
 *
 * The link server counts what this refuses as `unasked` (actors/live/unasked-share.ts).
 */
import { peerOf } from '../core/actors/address.ts';
import type { Address, Envelope, UndeliveredReason } from '../core/actors/contract.ts';
import { ShortLivedMap } from '../core/actors/short-lived-map.ts';
import type { WireMessage } from '../proto/wire.ts';
import { type CoordinatorMessage, isLocal } from './contract/messages.ts';

export interface NodeFramesOptions {
  /** Milliseconds that never go back. */
  readonly elapsedMs: () => number;
  readonly deliver: (envelope: Envelope<WireMessage>) => UndeliveredReason | undefined;
  readonly isInMemory: (address: Address) => boolean;
}

type BodyCase = NonNullable<WireMessage['body']['case']>;

/** Requests to nodes, and the kind of their answers. */
const answersTo: Readonly<Partial<Record<BodyCase, 'partial' | 'nonces' | 'deletion' | 'dkg'>>> = {
  partialRequest: 'partial',
  dealNonces: 'nonces',
  deleteKey: 'deletion',
  dkgOpen: 'dkg',
  dkgSeal: 'dkg',
  dkgVerify: 'dkg',
  dkgConfirm: 'dkg',
  // A node whose key is final refuses it.
  dkgDiscard: 'dkg',
};
const kinds: Readonly<Partial<Record<BodyCase, 'partial' | 'nonces' | 'deletion' | 'dkg' | 'vendor'>>> = {
  partialReply: 'partial',
  noncesDealt: 'nonces',
  keyDeleted: 'deletion',
  dkgOpened: 'dkg',
  dkgSealed: 'dkg',
  dkgVerified: 'dkg',
  dkgConfirmed: 'dkg',
  dkgRefused: 'dkg',
  vendorSettled: 'vendor',
};
/** The actor that such an answer is for. */
const receivers = {
  partial: 'signing/',
  nonces: 'cluster',
  deletion: 'closing/',
  dkg: 'dkg/',
  vendor: 'signing/',
} as const;

/** How long an answer counts as asked for, and how many requests without an answer one node may have. */
const askedForMs = 60_000;
const askedMax = 32_768;
/**
 * Frames that one request asks for: networks repeat frames, and the repeated answer to an earlier request must not take the place
 * of the next one. At most so many for one actor: requests that a node need not answer would add up.
 */
const framesPerRequest = 4;
const framesMax = 256;
const usefulPerSecond = { dkg: 10, vendor: 100 } as const;
/** Sessions that are noted of one node. */
const sessionsMax = 10_000;

interface Asked {
  readonly count: number;
  readonly atMs: number;
}

/** Unasked frames that may still pass, as of then. */
interface Allowance {
  left: number;
  atMs: number;
}

/** One node, whatever its links. */
interface NodeShare {
  /** By kind of answer and actor, the latest request last. */
  readonly asked: ShortLivedMap<string, Asked>;
  /** Sessions whose order at the vendor this node has reported, the first one first. */
  readonly orders: Set<Address>;
  readonly dkg: Allowance;
  readonly vendor: Allowance;
  /** Sessions of key generations that an unasked frame has started. */
  readonly loaded: Set<Address>;
}

export class NodeFrames {
  readonly #options: NodeFramesOptions;
  /** By the node's address; the roster bounds it. */
  readonly #shares = new Map<Address, NodeShare>();

  constructor(options: NodeFramesOptions) {
    this.#options = options;
  }

  /** Notes a request that leaves. */
  sent({ from, to, message }: Envelope<CoordinatorMessage>): void {
    if (isLocal(message)) return;
    const kind = message.body.case && answersTo[message.body.case];
    if (kind === undefined) return;
    const nowMs = this.#options.elapsedMs();
    const { asked } = this.#shareOf(peerOf(to));
    const name = nameOf(kind, from);
    const count = Math.min(framesMax, (asked.get(name)?.count ?? 0) + framesPerRequest);
    asked.delete(name);
    asked.set(name, { count, atMs: nowMs });
    for (const [oldest, { atMs }] of asked) {
      if (asked.size <= askedMax && nowMs - atMs < askedForMs) return;
      asked.delete(oldest);
    }
  }

  /** Where the links deliver. Frames of others than nodes pass. */
  deliver(envelope: Envelope<WireMessage>): UndeliveredReason | undefined {
    const { from, to, message } = envelope;
    if (!from.startsWith('node/')) return this.#options.deliver(envelope);
    const kind = message.body.case && kinds[message.body.case];
    if (kind === undefined || !to.startsWith(receivers[kind])) return 'unasked';
    const share = this.#shareOf(peerOf(from));
    if (kind === 'vendor' ? share.orders.delete(to) : takeAsked(share, nameOf(kind, to))) {
      const { body } = message;
      if (body.case === 'partialReply' && body.value.outcome?.case === 'vendorOrder') noteBounded(share.orders, to);
      return kind === 'vendor' || this.#options.isInMemory(to) ? this.#options.deliver(envelope) : undefined;
    }
    if (kind !== 'dkg' && kind !== 'vendor') return 'unasked';
    if (!this.#takeUseful(share, kind)) return 'unasked';
    if (kind === 'dkg' && !this.#options.isInMemory(to) && !noteBounded(share.loaded, to)) return 'unasked';
    return this.#options.deliver(envelope);
  }

  #takeUseful(share: NodeShare, kind: 'dkg' | 'vendor'): boolean {
    const allowance = share[kind];
    const nowMs = this.#options.elapsedMs();
    const perSecond = usefulPerSecond[kind];
    allowance.left = Math.min(perSecond, allowance.left + ((nowMs - allowance.atMs) / 1000) * perSecond);
    allowance.atMs = nowMs;
    if (allowance.left < 1) return false;
    allowance.left -= 1;
    return true;
  }

  #shareOf(node: Address): NodeShare {
    let share = this.#shares.get(node);
    if (share === undefined) {
      const atMs = this.#options.elapsedMs();
      share = {
        asked: new ShortLivedMap(),
        orders: new Set(),
        dkg: { left: usefulPerSecond.dkg, atMs },
        vendor: { left: usefulPerSecond.vendor, atMs },
        loaded: new Set(),
      };
      this.#shares.set(node, share);
    }
    return share;
  }
}

function nameOf(kind: string, actor: Address): string {
  return `${kind} ${actor}`;
}

function takeAsked({ asked }: NodeShare, name: string): boolean {
  const found = asked.get(name);
  if (found === undefined) return false;
  if (found.count > 1) asked.set(name, { ...found, count: found.count - 1 });
  else asked.delete(name);
  return true;
}

/** Whether it is new. The oldest make room. */
function noteBounded(sessions: Set<Address>, session: Address): boolean {
  if (sessions.has(session)) return false;
  sessions.add(session);
  if (sessions.size > sessionsMax) sessions.delete(sessions.values().next().value!);
  return true;
}
