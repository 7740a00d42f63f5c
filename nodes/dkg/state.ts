/**
 * The node side of one DKG session: its states and the table of its transitions.
 *
 *   unopened ─open→ dealing ─verify (all n shares)→ provisional ─confirm (all n results equal)→ final
 *
 * A complaint about a sealed share reveals the sealing key and so ends the attempt (`broken`); `discarded` marks an attempt
 * that must not be dealt again. A later attempt starts over from anything but `final`.
 *
 * A refresh makes new shares of a key that exists (DkgTerms.refresh). A node that has signed its result keeps it next to the present
 * share until it is shown that all have signed (`final`, which replaces that share), or that one node has not: an opening of a later
 * attempt by another node, which has not signed or was shown one that has not. So no coordinator makes nodes drop both.
 *
 * Invariants
 * - For one attempt this node deals one polynomial, one sealing key and one opening, ever.
 * - `provisional` and `final` hold no share of another dealer; `final` and `broken` hold no polynomial.
 * - `dealers` are sorted by dealer and hold each at most once.
 *
 * Pedersen 1991, Feldman 1987; Komlo and Goldberg 2020 ("FROST"), figure 1.
 */
import type { DealerOpening, DkgTerms, FinishedDkg } from '../../core/crypto/dkg-transcripts.ts';
import type { KeyPackage } from '../../core/crypto/key-package.ts';
import type { Polynomial } from '../../core/crypto/polynomial.ts';

/** This node's dealing in an attempt. Everything but the opening is secret. */
export interface Dealing {
  readonly polynomial: Polynomial;
  /** 32 bytes: the X25519 secret key that boxes for this node are sealed to. */
  readonly sealingSeed: Uint8Array;
  /** 32 bytes: the boxes' ephemeral keys are derived from it, so that sealing again gives the same boxes. */
  readonly boxSeed: Uint8Array;
  readonly opening: DealerOpening;
}

/** The data of a dealer whose share this node has verified, to answer repeated requests. */
export interface DealerMark {
  readonly dealer: number;
  readonly clientSupplied: boolean;
  /** 32 bytes: `openingTranscript`. */
  readonly openingDigest: Uint8Array;
}

/** A dealer whose share this node holds. */
export interface VerifiedDealer extends DealerMark {
  readonly opening: DealerOpening;
  /** f_dealer(this node). Secret. Where every node has a key of its own: this node's, and none of another dealer. */
  readonly share: bigint | undefined;
}

/** A verdict of this node about one dealer; has the fields of the wire's DkgVerdict. */
export interface DealerVerdict {
  readonly dealer: number;
  readonly verified: boolean;
  readonly code: string;
  readonly message: string;
  /** 32 bytes, or empty. */
  readonly revealedSealingKey: Uint8Array;
}

export interface Unopened {
  readonly phase: 'unopened';
}

export interface DealingState {
  readonly phase: 'dealing';
  readonly terms: DkgTerms;
  readonly dealing: Dealing;
  readonly dealers: readonly VerifiedDealer[];
}

export interface Provisional {
  readonly phase: 'provisional';
  readonly terms: DkgTerms;
  /** Kept: other nodes may still need their sealed shares. */
  readonly dealing: Dealing;
  readonly dealers: readonly DealerMark[];
  readonly keyPackage: KeyPackage;
  readonly finished: FinishedDkg;
}

export interface Final {
  readonly phase: 'final';
  readonly terms: DkgTerms;
  readonly opening: DealerOpening;
  readonly dealers: readonly DealerMark[];
  readonly finished: FinishedDkg;
  /** Every node's signature of this result, ascending by node: the proof that this key could be made final. */
  readonly proof: readonly Pick<FinishedDkg, 'nodeId' | 'signature'>[];
}

export interface Broken {
  readonly phase: 'broken';
  readonly terms: DkgTerms;
  /** The complaint; repeated for every DkgVerify of this attempt. */
  readonly verdicts: readonly DealerVerdict[];
}

export interface Discarded {
  readonly phase: 'discarded';
  readonly attempt: number;
  /** Of a ready-made key that was dealt: what later attempts must equal. */
  readonly terms?: DkgTerms | undefined;
}

export type DkgState = Unopened | DealingState | Provisional | Final | Broken | Discarded;
export type DkgPhase = DkgState['phase'];
export type DkgRequestCase = 'dkgOpen' | 'dkgSeal' | 'dkgVerify' | 'dkgConfirm' | 'dkgDiscard';

/**
 * The states that may follow a request; an unlisted request is refused. A refusal never changes the state.
 */
export const dkgTransitions: Readonly<
  Record<DkgPhase, Readonly<Partial<Record<DkgRequestCase, readonly DkgPhase[]>>>>
> = {
  unopened: { dkgOpen: ['dealing'], dkgDiscard: ['discarded'] },
  dealing: {
    dkgOpen: ['dealing'],
    dkgSeal: ['dealing'],
    dkgVerify: ['dealing', 'provisional', 'broken'],
    dkgDiscard: ['discarded'],
  },
  provisional: {
    dkgOpen: ['provisional', 'dealing'],
    dkgSeal: ['provisional'],
    dkgVerify: ['provisional'],
    dkgConfirm: ['final'],
    dkgDiscard: ['discarded'],
  },
  final: { dkgOpen: ['final'], dkgVerify: ['final'], dkgConfirm: ['final'] },
  broken: { dkgOpen: ['dealing'], dkgVerify: ['broken'], dkgDiscard: ['discarded'] },
  discarded: { dkgOpen: ['dealing'], dkgDiscard: ['discarded'] },
};

/** The attempt of a state; 0 before the first. */
export function attemptOf(state: DkgState): number {
  switch (state.phase) {
    case 'unopened':
      return 0;
    case 'discarded':
      return state.attempt;
    default:
      return state.terms.attempt;
  }
}

/** Marks without the shares and openings that they may carry. */
export function marksOf(dealers: readonly DealerMark[]): DealerMark[] {
  return dealers.map(({ dealer, clientSupplied, openingDigest }) => ({ dealer, clientSupplied, openingDigest }));
}
