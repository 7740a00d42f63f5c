/**
 * The reference model of the transcripts of a key generation: a node's result covers the opening of every dealer as that node got
 * it, and the node signs it; a key is final only where every participant's signature of one result was shown. Written from
 * docs/protocol.md: it builds every transcript by itself, and shares only hashes, points and signatures with the product.
 *
 * Where a node got two openings of one dealer, or two sets of terms, under one attempt, the model checks its result no further.
 */
import type { DkgRecord, SessionRecord } from '../../coordinator/contract/record.ts';
import { type Curve, groupOf } from '../../core/crypto/group.ts';
import { sha256 } from '../../core/crypto/hashing.ts';
import { verify } from '../../core/crypto/identity.ts';
import type {
  DkgConfirm,
  DkgFinished,
  DkgOpen,
  DkgOpening,
  DkgVerified,
  DkgVerify,
} from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { type Roster, rosterDigest } from '../../proto/roster.ts';
import type { WireEnvelope } from '../../proto/wire.ts';
import { keyRecordsIn } from '../cluster/invariants/node-records.ts';
import { hexOf } from '../cluster/invariants/sessions.ts';
import type { Checker, Observation } from '../cluster/observation.ts';
import { holdersOf } from './history.ts';

/** The terms of an attempt, as one of its transcripts names them. */
interface Terms {
  readonly context: Uint8Array;
  readonly curve: Curve;
  readonly threshold: number;
  readonly holders: readonly number[];
  readonly scheme: string;
  /** Of new shares: the key, and their version. */
  readonly refresh?: { readonly keySession: string; readonly version: number } | undefined;
}

/** What a node got in one attempt. By their content: usually one of each. */
interface Shown {
  readonly terms: Map<string, Terms>;
  /** By dealer. */
  readonly openings: Map<number, readonly DkgOpening[]>;
}

type TermsAsked = Omit<Terms, 'context' | 'curve'> & { readonly curve: string };
type Result = Omit<DkgFinished, '$typeName' | '$unknown'>;

export function transcriptsAsDealt(rosterOf: () => Roster): Checker {
  let known: Roster | undefined;
  /** "node/1 tenant/session attempt"; "tenant/session attempt": what the coordinator itself asked its nodes. */
  const shown = new Map<string, Shown>();
  /** By "tenant/key": its public key and chain code, by the records of its nodes. */
  const groupKeys = new Map<string, { readonly publicKey: string; readonly chainCode: string }>();
  /** "node/1 tenant/key version": it was shown every participant's signature of one result. */
  const proven = new Set<string>();
  /** By what they say: each node is shown the same results, and every node's request names the same terms. */
  const proofs = new Map<string, boolean>();
  const knownTerms = new Map<string, Terms>();

  const roster = (): Roster => {
    known ??= rosterOf();
    return known;
  };
  const termsOf = (about: string, attempt: number, asked: TermsAsked): Terms => {
    const { curve, threshold, holders, scheme, refresh } = asked;
    const of = refresh && [refresh.keySession, refresh.version];
    const name = JSON.stringify([about, attempt, curve, threshold, holders, scheme, of]);
    let found = knownTerms.get(name);
    if (found === undefined) {
      found = termsFor(roster(), about, attempt, asked);
      knownTerms.set(name, found);
    }
    return found;
  };
  const shownAt = (name: string): Shown => {
    let found = shown.get(name);
    if (found === undefined) {
      found = { terms: new Map(), openings: new Map() };
      shown.set(name, found);
    }
    return found;
  };

  function isSigned({ context }: Terms, result: Result): boolean {
    const { nodeId, publicKey, chainCode, transcriptDigest, verificationShares: shares, signature } = result;
    const identity = roster().nodes.find(({ id }) => id === nodeId)?.publicKey;
    const values = [transcriptDigest, publicKey, chainCode, number(shares.length), ...shares];
    return (
      identity !== undefined &&
      verify(identity, hashOf('signmesh/dkg/finished/v2', context, number(nodeId), ...values), signature)
    );
  }

  /** Whether every participant has signed one and the same result. */
  function isProof(terms: Terms, results: readonly Result[]): boolean {
    const contents = results.map(contentOf);
    const ids = results.map(({ nodeId }) => nodeId).sort((a, b) => a - b);
    if (new Set(contents).size !== 1 || ids.join() !== terms.holders.join()) return false;
    const signatures = results.map(({ nodeId, signature }) => `${nodeId} ${hexOf(signature)}`);
    const name = [hexOf(terms.context), contents[0], ...signatures].join('; ');
    let found = proofs.get(name);
    if (found === undefined) {
      found = results.every((result) => isSigned(terms, result));
      proofs.set(name, found);
    }
    return found;
  }

  function opens({ to, message: { tenant, session, attempt, body } }: WireEnvelope, touched: boolean): void {
    const { curve, threshold, scheme, participants, refresh } = body.value as DkgOpen;
    const totalNodes = Math.min((body.value as DkgOpen).totalNodes, roster().nodes.length);
    const holders = holdersOf({ totalNodes, participants: participants.length > 0 ? participants : undefined });
    const name = scheme === Scheme.UNSPECIFIED ? '' : (Scheme[scheme] ?? '').toLowerCase();
    const terms = termsOf(`${tenant}/${session}`, attempt, { curve, threshold, holders, scheme: name, refresh });
    const about = `${tenant}/${session} ${attempt}`;
    shownAt(`${nodeOf(to)} ${about}`).terms.set(hexOf(terms.context), terms);
    if (!touched) shownAt(about).terms.set(hexOf(terms.context), terms);
  }

  function shows({ to, message: { tenant, session, attempt, body } }: WireEnvelope): void {
    const { openings } = shownAt(`${nodeOf(to)} ${tenant}/${session} ${attempt}`);
    for (const opening of (body.value as DkgVerify).dealers) {
      const ofDealer = openings.get(opening.dealer) ?? [];
      if (!ofDealer.some((other) => isSameOpening(other, opening)))
        openings.set(opening.dealer, [...ofDealer, opening]);
    }
  }

  function confirms({ to, message }: WireEnvelope, touched: boolean): string | undefined {
    const { tenant, session, attempt, body } = message;
    const { results } = body.value as DkgConfirm;
    const about = `${tenant}/${session} ${attempt}`;
    const node = nodeOf(to);
    const shown = [...shownAt(`${node} ${about}`).terms.values()].find((terms) => isProof(terms, results));
    if (shown) proven.add(`${node} ${tenant}/${shown.refresh?.keySession ?? session} ${shown.refresh?.version ?? 1}`);
    const asked = only(shownAt(about).terms);
    if (touched || asked === undefined || isProof(asked, results)) return undefined;
    return `${node} is asked to confirm the key ${session}, and not every participant signed one result of attempt ${attempt}`;
  }

  function finishes({ from, message: { tenant, session, attempt, body } }: WireEnvelope): string | undefined {
    const { finished } = body.value as DkgVerified;
    const node = nodeOf(from);
    const { terms: allTerms, openings } = shownAt(`${node} ${tenant}/${session} ${attempt}`);
    const terms = only(allTerms);
    if (finished === undefined || terms === undefined) return undefined;
    const what = `the result of ${node} in attempt ${attempt} of the key ${session}`;
    if (node !== `node/${finished.nodeId}` || !isSigned(terms, finished)) return `${what} is not signed by it`;
    const unseen = terms.holders.find((dealer) => !openings.has(dealer));
    if (unseen !== undefined) return `${what} came without an opening of dealer ${unseen}`;
    const dealt = terms.holders.flatMap((dealer) => (openings.get(dealer)!.length === 1 ? openings.get(dealer)! : []));
    if (dealt.length < terms.holders.length) return undefined;
    const before = terms.refresh && groupKeys.get(`${tenant}/${terms.refresh.keySession}`);
    const wrong = resultFault(terms, dealt, finished, before);
    return wrong && `${what}: ${wrong}`;
  }

  /** The proof that the coordinator stores with a key. */
  function completed({ tenant, sessionId, ceremony }: SessionRecord): string | undefined {
    const { curve, threshold, attempt, scheme = '', confirmation, refreshes } = ceremony as DkgRecord;
    // New shares are committed before their session is complete.
    const { publicKey, chainCode = '' } = (ceremony as DkgRecord).result ?? (ceremony as DkgRecord);
    const holders = holdersOf(ceremony as DkgRecord);
    const refresh = refreshes && { keySession: refreshes.key.keyId, version: (refreshes.key.version ?? 1) + 1 };
    const terms = termsOf(`${tenant}/${sessionId}`, attempt, { curve, threshold, holders, scheme, refresh });
    const common = {
      publicKey: bytesOf(publicKey),
      chainCode: bytesOf(chainCode),
      transcriptDigest: bytesOf(confirmation?.transcriptDigest ?? ''),
      verificationShares: (confirmation?.verificationShares ?? []).map(bytesOf),
    };
    const signatures = confirmation?.signatures ?? [];
    const results = signatures.map((signature, at) => ({
      ...common,
      nodeId: holders[at] ?? 0,
      signature: bytesOf(signature),
    }));
    return isProof(terms, results)
      ? undefined
      : `the key ${sessionId} is complete without every participant's signature`;
  }

  function framed(envelope: WireEnvelope, touched: boolean): string | undefined {
    const { from, to, message } = envelope;
    switch (message.body.case) {
      case 'dkgOpen':
        opens(envelope, touched);
        return undefined;
      case 'dkgVerify':
        shows(envelope);
        return undefined;
      case 'dkgConfirm':
        return to.startsWith('node/') ? confirms(envelope, touched) : undefined;
      case 'dkgVerified':
        return touched || !from.startsWith('node/') ? undefined : finishes(envelope);
      default:
        return undefined;
    }
  }

  return {
    invariant: 'transcript-as-modelled',
    observe(observation: Observation) {
      if (observation.kind === 'frame') return framed(observation.envelope, observation.touched);
      if (observation.kind !== 'written' || observation.outcome !== 'written') return undefined;
      if (observation.process === 'coordinator') {
        const { write } = observation;
        return write.kind === 'update' && write.key ? completed(write.session) : undefined;
      }
      const { process, write } = observation;
      const keys = keyRecordsIn(write);
      for (const { name, key } of keys) groupKeys.set(name, { publicKey: key.public_key, chainCode: key.chain_code });
      const unproven = keys.find(({ name, key }) => !proven.has(`${process} ${name} ${key.version ?? 1}`));
      return (
        unproven && `${process} makes the key ${unproven.name} final, and was not shown every participant's signature`
      );
    },
  };
}

/** What is wrong with a result that follows from these openings, in the order of the participants. */
function resultFault(
  { context, curve, threshold, holders, scheme }: Terms,
  dealt: readonly DkgOpening[],
  { publicKey, chainCode, transcriptDigest, verificationShares }: Result,
  before: { readonly publicKey: string; readonly chainCode: string } | undefined,
): string | undefined {
  const commitments = dealt.flatMap((opening) => opening.commitments);
  const sizes = [number(threshold), number(holders.length)];
  const code = hashOf('signmesh/chain-code/v1', utf8(curve), ...sizes, ...commitments);
  if (before === undefined ? hexOf(chainCode) !== hexOf(code) : hexOf(chainCode) !== before.chainCode)
    return 'its chain code does not follow from the openings';
  const group = groupOf(curve);
  if (!commitments.every((point) => group.isValidPoint(point))) return 'it rests on commitments that are no points';
  if (/^$|^mock_|^frost_/.test(scheme)) {
    const sum = group.sum(dealt.map((opening) => opening.commitments[0]!));
    if (hexOf(publicKey) !== hexOf(sum)) return 'its key is not the sum of what was dealt';
    if (before !== undefined && hexOf(publicKey) !== before.publicKey) return 'its key is another than before';
  }
  const openings = dealt.map((opening) => openingHash(context, opening));
  const values = [publicKey, chainCode, number(verificationShares.length), ...verificationShares];
  const digest = hashOf('signmesh/dkg/finish-digest/v1', context, number(openings.length), ...openings, ...values);
  return hexOf(transcriptDigest) === hexOf(digest) ? undefined : 'its transcript does not cover every opening';
}

function termsFor(
  roster: Roster,
  about: string,
  attempt: number,
  { curve, threshold, holders, scheme, refresh }: TermsAsked,
): Terms {
  const [tenant, session] = [about.slice(0, about.indexOf('/')), about.slice(about.indexOf('/') + 1)];
  const names = [utf8(tenant), utf8(session), number(attempt), rosterDigest(roster), utf8(curve)];
  const numbers = [threshold, holders.length, ...holders].map(number);
  const of = refresh ? [utf8(refresh.keySession), number(refresh.version)] : [];
  const context = hashOf('signmesh/dkg/context/v2', ...names, ...numbers, utf8(scheme), ...of);
  return { context, curve: curve as Curve, threshold, holders, scheme, refresh };
}

function openingHash(context: Uint8Array, opening: DkgOpening): Uint8Array {
  const { dealer, commitments, possession, sealingKey, clientSupplied } = opening;
  const none = new Uint8Array();
  return hashOf(
    'signmesh/dkg/opening/v1',
    ...[context, number(dealer), Uint8Array.of(clientSupplied ? 1 : 0)],
    ...(clientSupplied ? [none, none] : [possession, sealingKey]),
    ...[number(commitments.length), ...commitments],
  );
}

/** Whether the transcript covers both alike. */
function isSameOpening(one: DkgOpening, other: DkgOpening): boolean {
  if (one.clientSupplied !== other.clientSupplied || one.commitments.length !== other.commitments.length) return false;
  const isSame = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;
  const isOwnAlike =
    one.clientSupplied || (isSame(one.possession, other.possession) && isSame(one.sealingKey, other.sealingKey));
  return isOwnAlike && one.commitments.every((point, at) => isSame(point, other.commitments[at]!));
}

function contentOf({ publicKey, chainCode, transcriptDigest, verificationShares }: Result): string {
  return [publicKey, chainCode, transcriptDigest, ...verificationShares].map(hexOf).join();
}

/** The hash of a tag and its parts, each with its length in front. */
function hashOf(tag: string, ...parts: readonly Uint8Array[]): Uint8Array {
  const all = [utf8(tag), ...parts];
  return sha256(Buffer.concat(all.flatMap((part) => [number(part.length), part])));
}

/** Four bytes, big-endian. */
function number(value: number): Uint8Array {
  return Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value);
}

function utf8(text: string): Uint8Array {
  return Buffer.from(text);
}

function bytesOf(hex: string): Uint8Array {
  return Buffer.from(hex, 'hex');
}

function nodeOf(address: string): string {
  return address.split('/').slice(0, 2).join('/');
}

/** The value of a map with exactly one. */
function only<T>(values: ReadonlyMap<string, T>): T | undefined {
  return values.size === 1 ? [...values.values()][0] : undefined;
}
