/**
 * The durable form of a DKG session at a node: JSON, `v` 1, bytes as hex, scalars as the curve encodes them.
 *
 * All of it is secret (polynomial, sealing seed, shares, provisional signing share); the store encrypts it. The codec is exact:
 * decoding what was encoded gives an equal state, so that an actor rebuilt after a crash answers as the one before it.
 */
import { fromHex, toHex, utf8 } from '../../core/crypto/bytes.ts';
import type { DealerOpening, DkgTerms, FinishedDkg } from '../../core/crypto/dkg-transcripts.ts';
import { type Curve, groupOf } from '../../core/crypto/group.ts';
import { participantsOf } from '../../core/crypto/participants.ts';
import { type KeyBinding, ownKeysOf } from '../../proto/key-schemes.ts';
import { type KeyPackageJson, keyPackageFromJson, keyPackageToJson, parseRecord } from '../records/key-record.ts';
import type { NodeRecord } from '../records/records.ts';
import type { DealerMark, DealerVerdict, Dealing, DkgPhase, DkgState, VerifiedDealer } from './state.ts';

/** The states that have a record. */
export type RecordedDkgState = Exclude<DkgState, { phase: 'unopened' }>;

interface TermsJson {
  readonly tenant: string;
  readonly session: string;
  readonly attempt: number;
  readonly roster: string;
  readonly curve: Curve;
  readonly threshold: number;
  readonly total_nodes: number;
  /** Absent: none was given. */
  readonly scheme?: string;
  /** Records of an earlier version have none. */
  readonly participants?: readonly number[];
  readonly refresh?: {
    readonly key: string;
    readonly version: number;
    readonly chain_code: string;
    readonly verification_shares: readonly string[];
  };
}

interface OpeningJson {
  readonly dealer: number;
  readonly commitments: readonly string[];
  readonly possession: string;
  readonly sealing_key: string;
  readonly signature: string;
  /** Client-supplied. */
  readonly played: boolean;
}

interface DealingJson {
  readonly polynomial: readonly string[];
  readonly sealing_seed: string;
  readonly box_seed: string;
  readonly opening: OpeningJson;
}

interface DealerJson {
  readonly dealer: number;
  readonly played: boolean;
  readonly digest: string;
  readonly opening?: OpeningJson;
  readonly share?: string;
}

interface FinishedJson {
  readonly node_id: number;
  readonly public_key: string;
  readonly verification_shares: readonly string[];
  readonly chain_code: string;
  readonly digest: string;
  readonly signature: string;
}

interface VerdictJson {
  readonly dealer: number;
  readonly verified: boolean;
  readonly code: string;
  readonly message: string;
  readonly revealed: string;
}

/** A record's text, field by field; which fields are there depends on `phase`. */
interface DkgJson {
  readonly phase: DkgPhase;
  readonly terms: TermsJson;
  readonly dealing: DealingJson;
  readonly dealers: readonly DealerJson[];
  readonly key_package: KeyPackageJson;
  readonly finished: FinishedJson;
  /** Records of an earlier version have none. */
  readonly proof?: readonly { readonly node_id: number; readonly signature: string }[];
  readonly opening: OpeningJson;
  readonly verdicts: readonly VerdictJson[];
  readonly attempt: number;
}

export function encodeDkgRecord(state: RecordedDkgState): NodeRecord {
  return utf8(JSON.stringify({ v: 1, ...dkgToJson(state) }));
}

function dkgToJson(state: RecordedDkgState): Partial<DkgJson> {
  const { phase } = state;
  switch (phase) {
    case 'dealing':
      return {
        phase,
        terms: termsToJson(state.terms),
        dealing: dealingToJson(state.terms.curve, state.dealing),
        dealers: state.dealers.map((dealer) => ({
          ...markToJson(dealer),
          opening: openingToJson(dealer.opening),
          ...(dealer.share !== undefined && { share: scalarToJson(state.terms.curve, dealer.share) }),
        })),
      };
    case 'provisional':
      return {
        phase,
        terms: termsToJson(state.terms),
        dealing: dealingToJson(state.terms.curve, state.dealing),
        dealers: state.dealers.map(markToJson),
        key_package: keyPackageToJson(state.keyPackage),
        finished: finishedToJson(state.finished),
      };
    case 'final':
      return {
        phase,
        terms: termsToJson(state.terms),
        opening: openingToJson(state.opening),
        dealers: state.dealers.map(markToJson),
        finished: finishedToJson(state.finished),
        proof: state.proof.map(({ nodeId, signature }) => ({ node_id: nodeId, signature: toHex(signature) })),
      };
    case 'broken':
      return { phase, terms: termsToJson(state.terms), verdicts: state.verdicts.map(verdictToJson) };
    case 'discarded':
      return { phase, attempt: state.attempt, ...(state.terms && { terms: termsToJson(state.terms) }) };
  }
}

/** Throws on anything that `encodeDkgRecord` did not write; the store has authenticated it, so that would be our bug. */
export function decodeDkgRecord(record: NodeRecord): RecordedDkgState {
  const json = parseRecord(record, 'dkg') as unknown as DkgJson;
  const { phase } = json;
  switch (phase) {
    case 'dealing': {
      const terms = termsFromJson(json.terms);
      const dealers = json.dealers.map((dealer) => verifiedFromJson(terms.curve, dealer));
      return { phase, terms, dealing: dealingFromJson(terms.curve, json.dealing), dealers };
    }
    case 'provisional': {
      const terms = termsFromJson(json.terms);
      return {
        phase,
        terms,
        dealing: dealingFromJson(terms.curve, json.dealing),
        dealers: json.dealers.map(markFromJson),
        keyPackage: keyPackageFromJson(json.key_package),
        finished: finishedFromJson(json.finished),
      };
    }
    case 'final':
      return {
        phase,
        terms: termsFromJson(json.terms),
        opening: openingFromJson(json.opening),
        dealers: json.dealers.map(markFromJson),
        finished: finishedFromJson(json.finished),
        proof: (json.proof ?? []).map((one) => ({ nodeId: one.node_id, signature: fromHex(one.signature) })),
      };
    case 'broken':
      return { phase, terms: termsFromJson(json.terms), verdicts: json.verdicts.map(verdictFromJson) };
    case 'discarded':
      // Records of an earlier version have no terms; `terms` is absent from most.
      return { phase, attempt: json.attempt, ...(json.terms && { terms: termsFromJson(json.terms) }) };
    default:
      throw new Error('a dkg record is in a phase that this version does not know');
  }
}

const scalarToJson = (curve: Curve, scalar: bigint): string => toHex(groupOf(curve).encodeScalar(scalar));
const scalarFromJson = (curve: Curve, hex: string): bigint => groupOf(curve).decodeNonZeroScalar(fromHex(hex));

function termsToJson({ rosterDigest, totalNodes, scheme, ownKeys: _, refresh, ...terms }: DkgTerms): TermsJson {
  const participants = participantsOf({ ...terms, totalNodes });
  return {
    ...terms,
    roster: toHex(rosterDigest),
    total_nodes: totalNodes,
    participants,
    ...(scheme && { scheme }),
    ...(refresh && {
      refresh: {
        key: refresh.keyId,
        version: refresh.version,
        chain_code: toHex(refresh.chainCode),
        verification_shares: refresh.verificationShares.map(toHex),
      },
    }),
  };
}

function termsFromJson({ roster, total_nodes: totalNodes, scheme = '', refresh, ...terms }: TermsJson): DkgTerms {
  const participants = participantsOf({ totalNodes, participants: terms.participants });
  const ownKeys = ownKeysOf(scheme as KeyBinding);
  return {
    ...terms,
    rosterDigest: fromHex(roster),
    totalNodes,
    participants,
    scheme,
    ownKeys,
    ...(refresh && {
      refresh: {
        keyId: refresh.key,
        version: refresh.version,
        chainCode: fromHex(refresh.chain_code),
        verificationShares: refresh.verification_shares.map(fromHex),
      },
    }),
  };
}

function openingToJson(opening: DealerOpening): OpeningJson {
  return {
    dealer: opening.dealer,
    commitments: opening.commitments.map(toHex),
    possession: toHex(opening.possession),
    sealing_key: toHex(opening.sealingKey),
    signature: toHex(opening.signature),
    played: opening.clientSupplied,
  };
}

function openingFromJson(json: OpeningJson): DealerOpening {
  return {
    dealer: json.dealer,
    commitments: json.commitments.map(fromHex),
    possession: fromHex(json.possession),
    sealingKey: fromHex(json.sealing_key),
    signature: fromHex(json.signature),
    clientSupplied: json.played,
  };
}

function dealingToJson(curve: Curve, dealing: Dealing): DealingJson {
  return {
    polynomial: dealing.polynomial.map((coefficient) => scalarToJson(curve, coefficient)),
    sealing_seed: toHex(dealing.sealingSeed),
    box_seed: toHex(dealing.boxSeed),
    opening: openingToJson(dealing.opening),
  };
}

function dealingFromJson(curve: Curve, json: DealingJson): Dealing {
  return {
    polynomial: json.polynomial.map((coefficient) => scalarFromJson(curve, coefficient)),
    sealingSeed: fromHex(json.sealing_seed),
    boxSeed: fromHex(json.box_seed),
    opening: openingFromJson(json.opening),
  };
}

function markToJson({ dealer, clientSupplied, openingDigest }: DealerMark): DealerJson {
  return { dealer, played: clientSupplied, digest: toHex(openingDigest) };
}

function markFromJson({ dealer, played, digest }: DealerJson): DealerMark {
  return { dealer, clientSupplied: played, openingDigest: fromHex(digest) };
}

function verifiedFromJson(curve: Curve, json: DealerJson): VerifiedDealer {
  if (json.opening === undefined) throw new Error('a dkg record lacks a dealer’s opening');
  const share = json.share === undefined ? undefined : scalarFromJson(curve, json.share);
  return { ...markFromJson(json), opening: openingFromJson(json.opening), share };
}

function finishedToJson(finished: FinishedDkg): FinishedJson {
  return {
    node_id: finished.nodeId,
    public_key: toHex(finished.publicKey),
    verification_shares: finished.verificationShares.map(toHex),
    chain_code: toHex(finished.chainCode),
    digest: toHex(finished.transcriptDigest),
    signature: toHex(finished.signature),
  };
}

function finishedFromJson(json: FinishedJson): FinishedDkg {
  return {
    nodeId: json.node_id,
    publicKey: fromHex(json.public_key),
    verificationShares: json.verification_shares.map(fromHex),
    chainCode: fromHex(json.chain_code),
    transcriptDigest: fromHex(json.digest),
    signature: fromHex(json.signature),
  };
}

function verdictToJson({ revealedSealingKey, ...verdict }: DealerVerdict): VerdictJson {
  return { ...verdict, revealed: toHex(revealedSealingKey) };
}

function verdictFromJson({ revealed, ...verdict }: VerdictJson): DealerVerdict {
  return { ...verdict, revealedSealingKey: fromHex(revealed) };
}
