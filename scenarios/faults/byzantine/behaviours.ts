/**
 * Byzantine behaviours: they replace frames that leave a faulty process. The process itself is honest.
 *
 * A byzantine node signs with its own identity, so that its signature proves its fault.
 *
 * | kind | false content | result |
 * |---|---|---|
 * | bad_partial | a random scalar for its partial | the node is named and excluded; the signature completes without it |
 * | bad_share | random shares, zero, boxes that do not open; signed | DEALER_MISBEHAVED, the dealer |
 * | bad_commitment | another last commitment, one too few or too many, an identity, no point; signed | DEALER_MISBEHAVED, the dealer |
 * | bad_proof | another response in its proof of possession, signed | DEALER_MISBEHAVED, the dealer |
 * | equivocate | another opening at the next request; the signed final transcript contains that one | DEALER_MISBEHAVED, the dealer |
 * | withhold | nothing | another node replaces it, or NODES_UNAVAILABLE; no node is blamed |
 * | stale_replay | an earlier frame of another attempt or session, unchanged, before the true one | nothing: receivers ignore it |
 * | false_report | a complaint about an honest dealer, or another key in its result, signed | DEALER_MISBEHAVED, the reporter |
 * | false_refusal | a refusal in place of its answer | another signer replaces it; a DKG stops, and can be resumed |
 * | early_confirm | that its key is final, before its answer | nothing: only a requested confirmation counts |
 * | bad_nonces | nonce commitments that are no points, the identity, or one of them many times | the coordinator discards the batch, and the node is named |
 * | altered_answer | one altered field in its answer, without a new signature | the answer is ignored or refused, or the node is named |
 *
 * A malicious coordinator (coordinator.ts) is never named: nodes refuse its requests, or its own process finds that the
 * answers do not fit, and may then blame the deceived node.
 *
 * A coordinator that restarts in the middle of an attempt does not know what it relayed before: it may then stop the
 * attempt with TRANSCRIPT_MISMATCH and blame no node.
 */
import { identityFromSeed } from '../../../core/crypto/identity.ts';
import { rosterDigest } from '../../../proto/roster.ts';
import type { WireBody, WireBodyInit, WireEnvelope } from '../../../proto/wire.ts';
import type { FrameInTransit } from '../vocabulary/engine-contract.ts';
import { type CoordinatorLie, isCoordinatorLie, type Lie } from '../vocabulary/kinds.ts';
import type { FaultEngineOptions } from '../vocabulary/options.ts';
import { nodeIdOf } from '../vocabulary/targets.ts';
import { alteredFrame } from './altered.ts';
import { coordinatorLie } from './coordinator.ts';
import { type Dealer, falseOpening, wrongShares } from './dealing.ts';
import { LiarMemory } from './memory.ts';
import { badNonces } from './nonces.ts';
import { wrongPartial } from './partials.ts';
import { confirmation, falseRefusal } from './refusals.ts';
import { type Said, saidBefore, saidInstead, withBody } from './replacement.ts';
import { equivocalResult, falseReport } from './reports.ts';

type NodeLie = Exclude<
  Lie,
  CoordinatorLie | { readonly fault: 'withhold' | 'stale_replay' | 'early_confirm' | 'altered_answer' }
>;
type SignedLie = Exclude<NodeLie, { readonly fault: 'bad_partial' | 'bad_nonces' | 'false_refusal' }>;

export class ByzantineBehaviours {
  readonly #options: FaultEngineOptions;
  readonly #secretKeys = new Map<number, Uint8Array>();
  #memory: LiarMemory | undefined;

  constructor(options: FaultEngineOptions) {
    this.#options = options;
  }

  /** `on`: a byzantine fault is armed. Without one, it records nothing. */
  remember(on: boolean): void {
    if (!on) this.#memory = undefined;
    else this.#memory ??= new LiarMemory(rosterDigest(this.#options.roster));
  }

  note(frame: FrameInTransit): void {
    this.#memory?.note(frame);
  }

  /** The frames that replace `envelope`, which left the faulty process as `frame`. Undefined: nothing changes. */
  lie(fault: Lie, frame: FrameInTransit, envelope: WireEnvelope): Said | undefined {
    const memory = this.#memory;
    if (memory === undefined) return undefined;
    if (isCoordinatorLie(fault)) return this.#coordinatorLie(fault, frame, envelope, memory);
    switch (fault.fault) {
      case 'withhold':
        return saidInstead(undefined);
      case 'stale_replay': {
        const stale = memory.earlier(frame);
        // A separate frame: a fault may still hold the repeated one.
        return stale && saidBefore({ ...stale }, envelope);
      }
      case 'altered_answer': {
        const changed = alteredFrame(envelope, fault);
        return changed && saidInstead(changed);
      }
      case 'early_confirm':
        return saidBefore(
          withBody(envelope, confirmation(nodeIdOf(frame.peer), envelope.message.body as WireBody)),
          envelope,
        );
      default: {
        const body = this.#body(fault, frame, envelope, memory);
        return body && saidInstead(withBody(envelope, body));
      }
    }
  }

  #coordinatorLie(fault: CoordinatorLie, frame: FrameInTransit, envelope: WireEnvelope, memory: LiarMemory) {
    const nodeId = nodeIdOf(frame.peer);
    if (fault.for?.includes(nodeId) === false) return undefined;
    const { random } = this.#options;
    const attempt = memory.attempt(envelope);
    return coordinatorLie(fault, envelope, { nodeId, attempt, earlier: memory.earlierRequest(frame), random });
  }

  #body(fault: NodeLie, frame: FrameInTransit, envelope: WireEnvelope, memory: LiarMemory): WireBodyInit | undefined {
    const body = envelope.message.body as WireBody;
    const { random } = this.#options;
    const nodeId = nodeIdOf(frame.peer);
    switch (fault.fault) {
      case 'bad_partial':
        return body.case === 'partialReply' ? wrongPartial(body.value, frame.peer, memory, random) : undefined;
      case 'bad_nonces':
        return body.case === 'noncesDealt' ? badNonces(fault.how, body.value, random) : undefined;
      case 'false_refusal':
        return falseRefusal(fault.code, nodeId, body);
      default: {
        const attempt = memory.attempt(envelope);
        const secretKey = this.#secretKey(nodeId);
        if (attempt.terms === undefined || secretKey === undefined) return undefined;
        return signedLie(fault, { nodeId, terms: attempt.terms, attempt, secretKey, random }, body);
      }
    }
  }

  #secretKey(nodeId: number): Uint8Array | undefined {
    const known = this.#secretKeys.get(nodeId);
    if (known !== undefined) return known;
    const seed = this.#options.identitySeed(nodeId);
    if (seed === undefined) return undefined;
    const { secretKey } = identityFromSeed(seed);
    this.#secretKeys.set(nodeId, secretKey);
    return secretKey;
  }
}

/** The false message, with the dealer's or recipient's own signature. */
function signedLie(fault: SignedLie, dealer: Dealer, body: WireBody): WireBody | undefined {
  const { attempt, nodeId } = dealer;
  switch (fault.fault) {
    case 'bad_share':
      return body.case === 'dkgSealed' ? wrongShares(dealer, body.value, fault) : undefined;
    case 'bad_commitment':
      return body.case === 'dkgOpened' ? falseOpening(dealer, fault.how ?? 'other', body.value) : undefined;
    case 'bad_proof':
      return body.case === 'dkgOpened' ? falseOpening(dealer, 'proof', body.value) : undefined;
    case 'equivocate':
      if (body.case === 'dkgVerified') return equivocalResult(dealer, body.value);
      if (body.case !== 'dkgOpened') return undefined;
      if (attempt.shown.has(nodeId)) return falseOpening(dealer, 'other', body.value);
      attempt.shown.add(nodeId);
      return undefined;
    case 'false_report':
      return body.case === 'dkgVerified' ? falseReport(dealer, body.value, fault.about) : undefined;
  }
}
