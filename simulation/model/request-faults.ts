/**
 * What is wrong with a request to a node, as the codes with which an honest node may refuse it; none: it is right. Written from
 * docs/protocol.md and the proto files.
 */
import type {
  DkgConfirm,
  DkgFinished,
  DkgOpen,
  DkgOpening,
  DkgSeal,
  DkgVerify,
} from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import { type PartialRequest, Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { WireBody } from '../../proto/wire.ts';
import { hexOf } from '../cluster/invariants/sessions.ts';

const { MOCK_ECDSA, FROST_ED25519, FROST_BIP340, HSM_ECDSA, HSM_ED25519, VENDOR_ECDSA, VENDOR_ED25519 } = Scheme;
/** Keys whose nodes deal nonces. */
export const dealtSchemes: ReadonlySet<Scheme> = new Set([MOCK_ECDSA, FROST_ED25519, FROST_BIP340]);
const frost: ReadonlySet<Scheme> = new Set([FROST_ED25519, FROST_BIP340]);
/** Keys of a token or a vendor: one node has the key. */
const single: ReadonlySet<Scheme> = new Set([HSM_ECDSA, HSM_ED25519, VENDOR_ECDSA, VENDOR_ED25519]);
const onEd25519: ReadonlySet<Scheme> = new Set([FROST_ED25519, HSM_ED25519, VENDOR_ED25519]);

const invalid = ['REQUEST_INVALID'];
const right: readonly string[] = [];

/** What is known of one attempt of a DKG. */
export interface AttemptKnown {
  /** As text, when they left their dealers: an honest dealer has one. */
  readonly openings: Set<string>;
  /** The same, for signed results. */
  readonly results: Set<string>;
  /** By node: the terms of its first answer. */
  readonly terms: Map<string, DkgOpen>;
}

export interface KeyKnown {
  readonly curve: string;
  readonly threshold: number;
  readonly holders: readonly number[];
  /** Of the node's share. */
  readonly version: number;
}

/** Of a request in an attempt that the node has not left. */
export function faultsOfDkg(
  node: number,
  body: WireBody,
  known: AttemptKnown,
  nodesTotal: number,
  keyAt: (keySession: string) => KeyKnown | undefined,
): readonly string[] {
  const terms = known.terms.get(`node/${node}`);
  if (body.case === 'dkgOpen') {
    if (!isOpen(node, body.value, nodesTotal)) return invalid;
    const { refresh } = body.value;
    if (!terms && refresh && keyAt(refresh.keySession)?.version !== refresh.version - 1) return ['KEY_UNKNOWN'];
    return terms && !isSameOpen(terms, body.value) ? ['PARAMETERS_CHANGED'] : right;
  }
  // Its answer to the opening is still in transit, or was lost.
  if (terms === undefined) return right;
  if (body.case === 'dkgSeal') return faultsOfSeal(body.value, terms, known);
  if (body.case === 'dkgVerify') return faultsOfVerify(node, body.value, terms);
  return body.case === 'dkgConfirm' ? faultsOfConfirm(body.value, terms, known) : right;
}

function isOpen(
  node: number,
  { curve, threshold, totalNodes, scheme, participants }: DkgOpen,
  nodesTotal: number,
): boolean {
  if (curve !== 'secp256k1' && curve !== 'ed25519') return false;
  if (Scheme[scheme] === undefined) return false;
  if (scheme !== Scheme.UNSPECIFIED && onEd25519.has(scheme) !== (curve === 'ed25519')) return false;
  if (single.has(scheme) ? threshold !== 1 || totalNodes !== 1 : threshold < 2) return false;
  if (threshold > totalNodes || totalNodes > nodesTotal) return false;
  const ids = participants.length > 0 ? participants : idsTo(totalNodes);
  return ids.length === totalNodes && ids.includes(node) && areAscending(ids, nodesTotal);
}

function faultsOfSeal({ recipients }: DkgSeal, terms: DkgOpen, { openings }: AttemptKnown): readonly string[] {
  const dealers = recipients.map(({ dealer }) => dealer);
  if (hasOwnKeys(terms) || !areOf(terms, dealers) || recipients.some((one) => one.clientSupplied)) return invalid;
  return recipients.some((opening) => !openings.has(openingText(opening))) ? ['OPENING_INVALID'] : right;
}

function faultsOfVerify(
  node: number,
  { dealers, sealed, clientSupplied }: DkgVerify,
  terms: DkgOpen,
): readonly string[] {
  const isOwn = hasOwnKeys(terms);
  const ids = dealers.map(({ dealer }) => dealer);
  const boxes = sealed.map(({ dealer }) => dealer);
  const given = clientSupplied.map(({ dealer }) => dealer);
  if (isOwn && (given.length > 0 || dealers.some((one) => one.clientSupplied))) return ['CLIENT_DEALERS_NOT_ALLOWED'];
  if (![ids, boxes, given].every((list) => areOf(terms, list))) return invalid;
  if (sealed.some(({ recipient }) => recipient !== node)) return invalid;
  if ([...boxes, ...given].some((dealer) => !ids.includes(dealer))) return invalid;
  const isComplete = dealers.every(({ dealer, clientSupplied: is }) => {
    if (is) return given.includes(dealer) && !boxes.includes(dealer);
    if (given.includes(dealer)) return false;
    return isOwn ? !boxes.includes(dealer) : boxes.includes(dealer) || dealer === node;
  });
  return isComplete ? right : invalid;
}

function faultsOfConfirm(confirm: DkgConfirm, terms: DkgOpen, known: AttemptKnown): readonly string[] {
  const named = confirm.results.map(({ nodeId }) => nodeId);
  if (!areOf(terms, named) || named.length !== participantsOf(terms).length) return invalid;
  const isChanged = confirm.results.some((result) => !known.results.has(resultText(result)));
  return isChanged ? ['SIGNATURE_INVALID', 'TRANSCRIPT_MISMATCH'] : right;
}

/** A code for the order comes before one for the key, and one for the request before both. */
export function faultsOfPartial(
  node: number,
  request: PartialRequest,
  keyAt: (keySession: string) => KeyKnown | undefined,
): readonly string[] {
  const { scheme, signers, order, keySession } = request;
  if (!isPartialRequest(node, request)) return invalid;
  if (order === undefined) return ['ORDER_MISSING'];
  const key = keyAt(keySession);
  if (!key) return right;
  const isOther = onEd25519.has(scheme) !== (key.curve === 'ed25519');
  const lacksSigners =
    frost.has(scheme) &&
    (signers.length < key.threshold || signers.some(({ nodeId }) => !key.holders.includes(nodeId)));
  return isOther || lacksSigners ? ['REQUEST_INVALID', 'ORDER_INVALID'] : right;
}

function isPartialRequest(node: number, request: PartialRequest): boolean {
  const { scheme, message, nonceNumber, signers, derivationPath, keySession } = request;
  if (Scheme[scheme] === undefined || scheme === Scheme.UNSPECIFIED) return false;
  if (!/^[A-Za-z0-9._:-]{1,128}$/.test(keySession)) return false;
  const isMessage = onEd25519.has(scheme) ? message.length >= 1 && message.length <= 65_536 : message.length === 32;
  if (!isMessage || derivationPath.length > 1024) return false;
  if (!dealtSchemes.has(scheme) && nonceNumber !== 0n) return false;
  if (!frost.has(scheme)) return true;
  const ids = signers.map(({ nodeId }) => nodeId);
  return nonceNumber !== 0n && ids.includes(node) && areAscending(ids, 100);
}

function hasOwnKeys({ scheme }: DkgOpen): boolean {
  return scheme === Scheme.OWNER_ECDSA || single.has(scheme);
}

/** Whether these are different participants. */
function areOf(terms: DkgOpen, ids: readonly number[]): boolean {
  const own = participantsOf(terms);
  return new Set(ids).size === ids.length && ids.every((id) => own.includes(id));
}

function areAscending(ids: readonly number[], max: number): boolean {
  return ids.every((id, index) => id >= 1 && id <= max && (index === 0 || id > ids[index - 1]!));
}

function participantsOf({ participants, totalNodes }: DkgOpen): readonly number[] {
  return participants.length > 0 ? participants : idsTo(totalNodes);
}

export function idsTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

function isSameOpen(one: DkgOpen, other: DkgOpen): boolean {
  const isSameScheme =
    one.scheme === other.scheme || (one.curve === 'ed25519' && (one.scheme || 2) === (other.scheme || 2));
  return (
    one.curve === other.curve &&
    one.threshold === other.threshold &&
    participantsOf(one).join() === participantsOf(other).join() &&
    isSameScheme
  );
}

export function openingText({
  dealer,
  commitments,
  possession,
  sealingKey,
  signature,
  clientSupplied,
}: DkgOpening): string {
  return [
    dealer,
    ...commitments.map(hexOf),
    hexOf(possession),
    hexOf(sealingKey),
    hexOf(signature),
    clientSupplied,
  ].join(' ');
}

export function resultText(result: DkgFinished): string {
  const { nodeId, publicKey, verificationShares, chainCode, transcriptDigest, signature } = result;
  const parts = [publicKey, ...verificationShares, chainCode, transcriptDigest, signature];
  return [nodeId, ...parts.map(hexOf)].join(' ');
}
