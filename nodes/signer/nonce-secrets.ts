/**
 * The nonces that a node made ahead and has not used: one pool per scheme, all bound to one boot of the coordinator.
 *
 * Invariants
 * - A nonce leaves its pool once. `take` removes it before its use, so that no later outcome (a refusal, an
 *   exception, a duplicate) can use it again.
 * - Numbers rise from 1 and never repeat within a boot of the node, over all schemes and also after a restart of the
 *   actor: the caller supplies the counter, which outlives the pools.
 * - Nonces are only in memory. A new boot of the coordinator voids the pools of the previous one.
 * - A request for nonces is served once: a repetition would waste nonces and evict others.
 * - A pool holds `poolNoncesMax` at most; further nonces evict the oldest, which are then void.
 *
 * RFC 9591 §5.1 allows nonces ahead of use; §4.1's hedge with the key share is impossible then, since the key is not
 * known yet: nonce-hedge.ts replaces it. The coordinator holds a mock nonce; this node only
 * records its number, so that it counts once.
 */
import { ShortLivedMap } from '../../core/actors/short-lived-map.ts';
import type { RandomSource } from '../../core/crypto/bytes.ts';
import { dealFrostNonce, type FrostNonces } from '../../core/crypto/frost/frost.ts';
import { groupOf } from '../../core/crypto/group.ts';
import { dealMockNonce } from '../../core/crypto/mock-ecdsa.ts';
import { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { NonceHedge } from './nonce-hedge.ts';
import { type DealtScheme, type FrostScheme, schemes } from './schemes.ts';

/** The most nonces in one answer. */
export const noncesDealtMax = 1_000;
/** The most unused nonces of one scheme. */
export const poolNoncesMax = 4_096;

/** A nonce for the coordinator; has the fields of the wire's DealtNonce. */
export interface DealtNonce {
  readonly number: bigint;
  /** FROST: compressed points; else empty. */
  readonly hiding: Uint8Array;
  readonly binding: Uint8Array;
  /** Mock ECDSA: 32 bytes, big-endian, secret from all but the coordinator; else empty. */
  readonly mockNonce: Uint8Array;
}

/** A nonce taken from its pool to sign once. FROST nonces are secret; their commitments follow from them. */
export type TakenNonce =
  | { readonly kind: 'mock' }
  | { readonly kind: 'frost'; readonly scheme: FrostScheme; readonly nonces: FrostNonces };

/** The part of the actor's context that dealing uses. */
interface DealContext {
  readonly random: RandomSource;
  readonly nowMs: number;
}

/** Gives 1, 2, 3, … for as long as the node's boot lasts. */
export class NonceNumbers {
  #last = 0n;

  next(): bigint {
    this.#last += 1n;
    return this.#last;
  }
}

const mockTaken: TakenNonce = { kind: 'mock' };
const none = new Uint8Array(0);

/** Mutable, and owned by one actor state: a batch of a thousand need not be copied for every nonce that leaves it. */
export class NoncePools {
  readonly #numbers: NonceNumbers;
  readonly #hedge: NonceHedge;
  readonly #pools = new Map<DealtScheme, ShortLivedMap<bigint, TakenNonce>>();
  /** The last served request of each scheme. */
  readonly #requests = new Map<DealtScheme, bigint>();
  #coordinatorBoot = '';

  constructor(numbers: NonceNumbers, hedge: NonceHedge) {
    this.#numbers = numbers;
    this.#hedge = hedge;
  }

  /**
   * Makes `count` nonces, at most `noncesDealtMax`, for a boot of the coordinator. Undefined: this request, or a later one,
   * was already served (0 never is).
   */
  deal(
    scheme: DealtScheme,
    coordinatorBoot: string,
    count: number,
    { random, nowMs }: DealContext,
    request = 0n,
  ): DealtNonce[] | undefined {
    if (coordinatorBoot !== this.#coordinatorBoot) {
      this.#pools.clear();
      this.#requests.clear();
      this.#coordinatorBoot = coordinatorBoot;
    }
    if (request !== 0n) {
      if (request <= (this.#requests.get(scheme) ?? 0n)) return undefined;
      this.#requests.set(scheme, request);
    }
    let pool = this.#pools.get(scheme);
    if (pool === undefined) {
      pool = new ShortLivedMap();
      this.#pools.set(scheme, pool);
    }
    const dealt: DealtNonce[] = [];
    for (let left = Math.min(count, noncesDealtMax); left > 0; left -= 1) {
      dealt.push(this.#dealOne(scheme, pool, random, nowMs));
      if (pool.size > poolNoncesMax) this.#dropOldest(pool);
    }
    return dealt;
  }

  /** Takes a nonce, irrevocably, or undefined if none with this name is left. */
  take(scheme: DealtScheme, coordinatorBoot: string, number: bigint): TakenNonce | undefined {
    if (coordinatorBoot !== this.#coordinatorBoot) return undefined;
    const pool = this.#pools.get(scheme);
    const nonce = pool?.get(number);
    pool?.delete(number);
    return nonce;
  }

  /** The number of unused nonces of a scheme. */
  waiting(scheme: DealtScheme): number {
    return this.#pools.get(scheme)?.size ?? 0;
  }

  #dealOne(
    scheme: DealtScheme,
    pool: ShortLivedMap<bigint, TakenNonce>,
    random: RandomSource,
    nowMs: number,
  ): DealtNonce {
    const number = this.#numbers.next();
    if (scheme === Scheme.MOCK_ECDSA) {
      pool.set(number, mockTaken);
      const mockNonce = groupOf('secp256k1').encodeScalar(dealMockNonce(random));
      return { number, hiding: none, binding: none, mockNonce };
    }
    const { suite } = schemes[scheme];
    const hedges = this.#hedge(scheme, number, nowMs);
    const { nonces, commitments } = dealFrostNonce({ suite, random, hedges });
    const { hiding, binding } = commitments;
    pool.set(number, { kind: 'frost', scheme, nonces });
    return { number, hiding, binding, mockNonce: none };
  }

  #dropOldest(pool: ShortLivedMap<bigint, TakenNonce>): void {
    const oldest = pool.keys().next();
    if (!oldest.done) pool.delete(oldest.value);
  }
}
