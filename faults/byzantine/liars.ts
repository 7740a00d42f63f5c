/**
 * Byzantine nodes: what they say in place of what their process said. Only frames that leave the node are changed, and
 * what they sign, they sign with their own identity, so that every lie is theirs by evidence.
 *
 * | kind | the lie | what it leads to |
 * |---|---|---|
 * | bad_partial | a random scalar for its partial | the node is named and excluded; the signature is made without it |
 * | bad_share | random shares, properly sealed and signed | DEALER_MISBEHAVED, the dealer |
 * | bad_commitment | another last commitment, signed | DEALER_MISBEHAVED, the dealer: its shares do not verify |
 * | bad_proof | another response in its proof of possession, signed | DEALER_MISBEHAVED, the dealer |
 * | equivocate | another opening when asked again; that other one in the transcript that it signs at the end | DEALER_MISBEHAVED, the dealer |
 * | withhold | nothing | another node takes its place, or NODES_UNAVAILABLE; nobody is blamed |
 * | stale_replay | an earlier frame of another attempt or session, as it was, before the true one | nothing: it is ignored |
 * | false_report | a complaint about an honest dealer, or another key in its result, signed | DEALER_MISBEHAVED, the reporter |
 *
 * A coordinator that restarted in the middle of an attempt cannot know what the one before it relayed: it may then stop the
 * attempt with TRANSCRIPT_MISMATCH and blame nobody.
 */
import { identityFromSeed } from '../../crypto/identity.ts';
import { rosterDigest } from '../../proto/roster.ts';
import type { WireBody, WireEnvelope } from '../../proto/wire.ts';
import type { Lie } from '../engine/kinds.ts';
import type { FaultEngineOptions } from '../engine/options.ts';
import { nodeIdOf } from '../engine/targets.ts';
import type { FrameInTransit } from '../engine-contract.ts';
import { type Dealer, falseOpening, wrongShares } from './dealing.ts';
import { Memory } from './memory.ts';
import { wrongPartial } from './partials.ts';
import { equivocalResult, falseReport } from './reports.ts';
import { type Said, withBody } from './said.ts';

export class Liars {
  readonly #options: FaultEngineOptions;
  readonly #secretKeys = new Map<number, Uint8Array>();
  #memory: Memory | undefined;

  constructor(options: FaultEngineOptions) {
    this.#options = options;
  }

  /** Whether there are any: without liars nothing is remembered. */
  remember(on: boolean): void {
    if (!on) this.#memory = undefined;
    else this.#memory ??= new Memory(rosterDigest(this.#options.roster));
  }

  note(frame: FrameInTransit): void {
    this.#memory?.note(frame);
  }

  /** What is said in place of `envelope`, which left the node as `frame`. Undefined: there is nothing to lie about. */
  lie(fault: Lie, frame: FrameInTransit, envelope: WireEnvelope): Said | undefined {
    const memory = this.#memory;
    if (memory === undefined) return undefined;
    switch (fault.fault) {
      case 'withhold':
        return { before: [], instead: undefined };
      case 'stale_replay': {
        const stale = memory.earlier(frame);
        return stale && { before: [stale], instead: envelope };
      }
      default: {
        const body = this.#body(fault, frame, envelope, memory);
        return body && { before: [], instead: withBody(envelope, body) };
      }
    }
  }

  #body(fault: Lie, frame: FrameInTransit, envelope: WireEnvelope, memory: Memory): WireBody | undefined {
    const body = envelope.message.body as WireBody;
    const { random } = this.#options;
    if (fault.fault === 'bad_partial') {
      return body.case === 'partialReply' ? wrongPartial(body.value, frame.peer, memory, random) : undefined;
    }
    const nodeId = nodeIdOf(frame.peer);
    const attempt = memory.attempt(envelope);
    const secretKey = this.#secretKey(nodeId);
    if (attempt.terms === undefined || secretKey === undefined) return undefined;
    const dealer: Dealer = { nodeId, terms: attempt.terms, attempt, secretKey, random };
    switch (fault.fault) {
      case 'bad_share':
        return body.case === 'dkgSealed' ? wrongShares(dealer, body.value, fault.for) : undefined;
      case 'bad_commitment':
      case 'bad_proof':
        return body.case === 'dkgOpened' ? falseOpening(dealer, fault.fault, body.value) : undefined;
      case 'equivocate':
        if (body.case === 'dkgVerified') return equivocalResult(dealer, body.value);
        if (body.case !== 'dkgOpened') return undefined;
        if (attempt.shown.has(nodeId)) return falseOpening(dealer, 'bad_commitment', body.value);
        attempt.shown.add(nodeId);
        return undefined;
      case 'false_report':
        return body.case === 'dkgVerified' ? falseReport(dealer, body.value, fault.about) : undefined;
      default:
        return undefined;
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
