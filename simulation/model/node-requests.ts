/**
 * The reference model of an honest node's answers to requests: it refuses a request that contradicts itself, its key, its order
 * or an earlier one, with a code for that; it does not refuse a valid one. Written from docs/protocol.md and the proto files.
 *
 * A request has a number (DKG) or a tag (partials). Where two requests under one name differ, the model checks nothing.
 */
import type {
  DkgConfirm,
  DkgOpen,
  DkgOpened,
  DkgOpening,
  DkgRefused,
  DkgSeal,
  DkgVerified,
  DkgVerify,
} from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import {
  type DealNonces,
  type NoncesDealt,
  PartialRefusalCode,
  type PartialReply,
  type PartialRequest,
  Scheme,
} from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { WireBody, WireEnvelope } from '../../proto/wire.ts';
import { keyRecordsIn } from '../cluster/invariants/node-records.ts';
import { hexOf } from '../cluster/invariants/sessions.ts';
import type { Checker, Observation } from '../cluster/observation.ts';

/** Refusals for the progress of an attempt, for its token or for the node's configuration. */
const circumstances: ReadonlySet<string> = new Set([
  ...['STALE_ATTEMPT', 'NOT_OPEN', 'ATTEMPT_DISCARDED', 'ATTEMPT_BROKEN', 'ALREADY_FINAL', 'NOT_FINISHED'],
  ...['PARAMETERS_CHANGED', 'CLIENT_DEALERS_NOT_ALLOWED', 'FINISH_FAILED'],
]);
const tokenFault = /^(HSM|VENDOR)_/;
const requests = new Set(['dkgOpen', 'dkgSeal', 'dkgVerify', 'dkgConfirm']);
const answers = new Set(['dkgOpened', 'dkgSealed', 'dkgVerified', 'dkgConfirmed', 'dkgRefused']);
const { MOCK_ECDSA, FROST_ED25519, FROST_BIP340 } = Scheme;
const dealt: ReadonlySet<Scheme> = new Set([MOCK_ECDSA, FROST_ED25519, FROST_BIP340]);
const frost: ReadonlySet<Scheme> = new Set([FROST_ED25519, FROST_BIP340]);
/** Keys of a token or a vendor: one node has the key. */
const single: ReadonlySet<Scheme> = new Set([
  Scheme.HSM_ECDSA,
  Scheme.HSM_ED25519,
  Scheme.VENDOR_ECDSA,
  Scheme.VENDOR_ED25519,
]);
const onEd25519: ReadonlySet<Scheme> = new Set([FROST_ED25519, Scheme.HSM_ED25519, Scheme.VENDOR_ED25519]);

interface Asked {
  readonly envelope: WireEnvelope;
  readonly touched: boolean;
  /** Another frame arrived under its name. */
  readonly isTwice: boolean;
}

/** Of one attempt, by "tenant/session attempt". */
interface Attempt {
  /** As text, when they left their dealers: an honest dealer has one. */
  readonly openings: Set<string>;
  /** The same, for signed results. */
  readonly results: Set<string>;
  /** By node: the terms of its first answer. */
  readonly terms: Map<string, DkgOpen>;
}

interface Key {
  readonly curve: string;
  readonly threshold: number;
  readonly holders: readonly number[];
  readonly scheme: string;
}

export function requestsFollowed(nodesTotal: number): Checker {
  /** "node/1 tenant/session number", "node/1 tag". */
  const asked = new Map<string, Asked>();
  const attempts = new Map<string, Attempt>();
  /** "node/1 tenant/session" to the highest attempt that it began. */
  const highest = new Map<string, number>();
  /** "node/1 tenant/key" */
  const keys = new Map<string, Key>();
  /** The model no longer knows the node's state: its store was lost or rolled back. */
  const unknown = new Set<string>();
  /** Sessions with a frame that was changed in transit: a refusal may be its consequence. */
  const disturbed = new Set<string>();
  /** "node/1 boot scheme": the highest number of a request for nonces that the node followed. */
  const deals = new Map<string, { readonly count: number; readonly request: bigint }[]>();
  let mayRepeat = false;

  const attemptAt = (name: string): Attempt => {
    let attempt = attempts.get(name);
    if (attempt === undefined) {
      attempt = { openings: new Set(), results: new Set(), terms: new Map() };
      attempts.set(name, attempt);
    }
    return attempt;
  };

  // --- what is wrong with a request --------------------------------------------------------------------------------

  function faultOfDkg(node: number, { to, message }: WireEnvelope): readonly string[] {
    const { tenant, session, attempt } = message;
    const [, , , namedTenant, namedSession] = to.split('/');
    if (tenant !== namedTenant || session !== namedSession || attempt < 1) return ['REQUEST_INVALID'];
    const about = `${tenant}/${session}`;
    const body = message.body as WireBody;
    const known = attemptAt(`${about} ${attempt}`);
    const terms = known.terms.get(`node/${node}`);
    if (attempt < (highest.get(`node/${node} ${about}`) ?? 0)) return ['STALE_ATTEMPT'];
    if (body.case === 'dkgOpen') {
      const fault = openFault(node, body.value);
      if (fault) return ['REQUEST_INVALID'];
      return terms && !isSameOpen(terms, body.value) ? ['PARAMETERS_CHANGED'] : [];
    }
    // Its answer to the opening is still in transit, or was lost.
    if (terms === undefined) return [];
    const ids = participantsOf(terms);
    const isOf = (list: readonly number[]) =>
      new Set(list).size === list.length && list.every((id) => ids.includes(id));
    const isOwn = terms.scheme === Scheme.OWNER_ECDSA || single.has(terms.scheme);
    switch (body.case) {
      case 'dkgSeal': {
        const { recipients } = body.value as DkgSeal;
        if (isOwn || !isOf(recipients.map(({ dealer }) => dealer))) return ['REQUEST_INVALID'];
        if (recipients.some(({ clientSupplied }) => clientSupplied)) return ['REQUEST_INVALID'];
        return recipients.some((opening) => !known.openings.has(openingText(opening))) ? ['OPENING_INVALID'] : [];
      }
      case 'dkgVerify':
        return verifyFault(node, body.value as DkgVerify, isOf, isOwn);
      case 'dkgConfirm': {
        const { results } = body.value as DkgConfirm;
        const named = results.map(({ nodeId }) => nodeId);
        if (!isOf(named) || named.length !== ids.length) return ['REQUEST_INVALID'];
        const isChanged = results.some((result) => !known.results.has(resultText(result)));
        return isChanged ? ['SIGNATURE_INVALID', 'TRANSCRIPT_MISMATCH'] : [];
      }
      default:
        return [];
    }
  }

  function openFault(node: number, { curve, threshold, totalNodes, scheme, participants }: DkgOpen): boolean {
    if (curve !== 'secp256k1' && curve !== 'ed25519') return true;
    if (Scheme[scheme] === undefined) return true;
    if (scheme !== Scheme.UNSPECIFIED && onEd25519.has(scheme) !== (curve === 'ed25519')) return true;
    if (single.has(scheme) ? threshold !== 1 || totalNodes !== 1 : threshold < 2) return true;
    if (threshold > totalNodes || totalNodes > nodesTotal) return true;
    const ids = participants.length > 0 ? participants : idsTo(totalNodes);
    if (ids.length !== totalNodes || !ids.includes(node)) return true;
    return ids.some((id, index) => id < 1 || id > nodesTotal || (index > 0 && id <= ids[index - 1]!));
  }

  function verifyFault(
    node: number,
    { dealers, sealed, clientSupplied }: DkgVerify,
    isOf: (ids: readonly number[]) => boolean,
    isOwn: boolean,
  ): readonly string[] {
    const ids = dealers.map(({ dealer }) => dealer);
    const boxes = sealed.map(({ dealer }) => dealer);
    const given = clientSupplied.map(({ dealer }) => dealer);
    const bad = ['REQUEST_INVALID'];
    if (isOwn && (given.length > 0 || dealers.some((one) => one.clientSupplied))) return ['CLIENT_DEALERS_NOT_ALLOWED'];
    if (![ids, boxes, given].every(isOf) || sealed.some(({ recipient }) => recipient !== node)) return bad;
    if ([...boxes, ...given].some((dealer) => !ids.includes(dealer))) return bad;
    const isComplete = dealers.every(({ dealer, clientSupplied: is }) => {
      if (is) return given.includes(dealer) && !boxes.includes(dealer);
      if (given.includes(dealer)) return false;
      return isOwn ? !boxes.includes(dealer) : boxes.includes(dealer) || dealer === node;
    });
    return isComplete ? [] : bad;
  }

  /** `first`: a code for the order comes before one for the key, and one for the request before both. */
  function faultOfPartial(node: string, { message }: WireEnvelope): readonly string[] {
    const request = message.body.value as PartialRequest;
    const { scheme, message: bytes, nonceNumber, signers, order, derivationPath, keySession } = request;
    const bad = ['REQUEST_INVALID'];
    const id = Number(node.split('/')[1]);
    if (Scheme[scheme] === undefined || scheme === Scheme.UNSPECIFIED) return bad;
    if (!/^[A-Za-z0-9._:-]{1,128}$/.test(keySession)) return bad;
    const isMessage = onEd25519.has(scheme) ? bytes.length >= 1 && bytes.length <= 65_536 : bytes.length === 32;
    if (!isMessage || derivationPath.length > 1024) return bad;
    if (!dealt.has(scheme) && nonceNumber !== 0n) return bad;
    if (frost.has(scheme)) {
      const ids = signers.map(({ nodeId }) => nodeId);
      if (nonceNumber === 0n || !ids.includes(id)) return bad;
      if (ids.some((one, index) => one < 1 || one > 100 || (index > 0 && one <= ids[index - 1]!))) return bad;
    }
    if (order === undefined) return ['ORDER_MISSING'];
    const key = keys.get(`${node} ${message.tenant}/${keySession}`);
    if (!key) return [];
    if (onEd25519.has(scheme) !== (key.curve === 'ed25519')) return ['REQUEST_INVALID', 'ORDER_INVALID'];
    if (frost.has(scheme)) {
      if (signers.length < key.threshold || signers.some(({ nodeId }) => !key.holders.includes(nodeId)))
        return ['REQUEST_INVALID', 'ORDER_INVALID'];
    }
    return [];
  }

  // --- what a node said --------------------------------------------------------------------------------------------

  function saidOfDkg(node: string, { message }: WireEnvelope): string | undefined {
    const { tenant, session, attempt } = message;
    const body = message.body as WireBody;
    const { request } = body.value as { readonly request: number };
    const found = asked.get(`${node} ${tenant}/${session} ${request}`);
    const code = body.case === 'dkgRefused' ? (body.value as DkgRefused).code : undefined;
    if (found && !found.isTwice && !unknown.has(node)) {
      const faults = faultOfDkg(Number(node.split('/')[1]), found.envelope);
      const what = `${node} was asked (${found.envelope.message.body.case}) what it must refuse (${faults.join(', ')})`;
      if (faults.length > 0 && code === undefined) return `${what}, and follows it`;
      const isOfCircumstances = code !== undefined && (circumstances.has(code) || tokenFault.test(code));
      if (code !== undefined && !isOfCircumstances && faults.length > 0 && !faults.includes(code))
        return `${what}, and says ${code}`;
      if (code !== undefined && !isOfCircumstances && faults.length === 0 && !disturbed.has(`${tenant}/${session}`))
        return `${node} refuses (${code}) a request that is right`;
    }
    if (code !== undefined) return undefined;
    const name = `${node} ${tenant}/${session}`;
    highest.set(name, Math.max(attempt, highest.get(name) ?? 0));
    const known = attemptAt(`${tenant}/${session} ${attempt}`);
    if (body.case === 'dkgOpened') {
      const open = found?.envelope.message.body;
      if (open?.case === 'dkgOpen' && !known.terms.has(node)) known.terms.set(node, open.value as DkgOpen);
    }
    return undefined;
  }

  /** The messages of a dealer and of a result, as the coordinator gets them; a byzantine node may sign anything. */
  function noteSaid({ message: { tenant, session, attempt, body } }: WireEnvelope): void {
    const known = attemptAt(`${tenant}/${session} ${attempt}`);
    if (body.case === 'dkgOpened') {
      const { opening } = body.value as DkgOpened;
      if (opening) known.openings.add(openingText(opening));
    } else if (body.case === 'dkgVerified') {
      const { finished } = body.value as DkgVerified;
      if (finished) known.results.add(resultText(finished));
    } else if (body.case === 'dkgRefused') {
      for (const result of (body.value as Partial<DkgRefused>).results ?? []) known.results.add(resultText(result));
    }
  }

  function saidOfPartial(node: string, { message }: WireEnvelope): string | undefined {
    const { attemptTag, outcome } = message.body.value as PartialReply;
    const found = asked.get(`${node} ${attemptTag}`);
    if (!found || found.isTwice || outcome.case === undefined) return undefined;
    const faults = faultOfPartial(node, found.envelope);
    if (faults.length === 0) return undefined;
    const what = `${node} was asked for a partial that it must refuse (${faults.join(', ')})`;
    if (outcome.case !== 'refusal') return `${what}, and gives it`;
    const code = PartialRefusalCode[outcome.value.code] ?? '';
    if (faults.includes(code) || unknown.has(node) || tokenFault.test(code)) return undefined;
    return ['KEY_UNKNOWN', 'ORDER_EXPIRED'].includes(code) ? undefined : `${what}, and says ${code}`;
  }

  /** A node makes one batch for each request, and its nonces count up. */
  function saidOfNonces(node: string, said: NoncesDealt): string | undefined {
    const { scheme, coordinatorBoot, nonces, nodeBoot } = said;
    const waiting = deals.get(`${node} ${coordinatorBoot} ${scheme}`) ?? [];
    if (!dealt.has(scheme) || coordinatorBoot === '')
      return nonces.length > 0 ? `${node} deals nonces of scheme ${scheme} to "${coordinatorBoot}"` : undefined;
    const at = waiting.findIndex(({ count }) => count === nonces.length);
    if (at === -1 && !mayRepeat) return `${node} (${nodeBoot}) deals ${nonces.length} nonces that it was not asked for`;
    if (at !== -1) waiting.splice(at, 1);
    return undefined;
  }

  function ask(name: string, envelope: WireEnvelope, touched: boolean): void {
    const before = asked.get(name);
    asked.set(name, { envelope, touched, isTwice: before !== undefined });
  }

  function framed(envelope: WireEnvelope, touched: boolean): string | undefined {
    const { from, to, message } = envelope;
    const body = message.body as WireBody;
    const kind = body.case;
    if (to.startsWith('node/')) {
      const node = to.split('/').slice(0, 2).join('/');
      const [, , , tenant, session] = to.split('/');
      if (touched && tenant !== undefined) disturbed.add(`${tenant}/${session}`);
      if (kind === 'partialRequest') ask(`${node} ${(body.value as PartialRequest).attemptTag}`, envelope, touched);
      else if (requests.has(kind)) {
        const { request } = body.value as { readonly request: number };
        ask(`${node} ${message.tenant}/${message.session} ${request}`, envelope, touched);
      } else if (kind === 'dealNonces') {
        const { scheme, coordinatorBoot, count, request } = body.value as DealNonces;
        const name = `${node} ${coordinatorBoot} ${scheme}`;
        const waiting = deals.get(name) ?? [];
        // It does not follow a repeated request again, except one without a number.
        if (request === 0n || !waiting.some((one) => one.request === request)) waiting.push({ count, request });
        deals.set(name, waiting);
      }
      return undefined;
    }
    if (!from.startsWith('node/')) return undefined;
    noteSaid(envelope);
    if (touched) {
      disturbed.add(`${message.tenant}/${message.session}`);
      return undefined;
    }
    const node = from.split('/').slice(0, 2).join('/');
    if (answers.has(kind)) return saidOfDkg(node, envelope);
    if (kind === 'noncesDealt') return saidOfNonces(node, body.value as NoncesDealt);
    return kind === 'partialReply' ? saidOfPartial(node, envelope) : undefined;
  }

  return {
    invariant: 'request-followed',
    observe(observation: Observation) {
      switch (observation.kind) {
        case 'frame':
          return framed(observation.envelope, observation.touched);
        case 'written': {
          if (observation.process === 'coordinator' || observation.outcome !== 'written') return undefined;
          for (const { name, key } of keyRecordsIn(observation.write)) {
            const holders = key.participants ?? idsTo(key.total_nodes);
            const { curve, threshold, scheme = '' } = key;
            keys.set(`${observation.process} ${name}`, { curve, threshold, holders, scheme });
          }
          return undefined;
        }
        case 'process':
          if (observation.storeLost) unknown.add(observation.process);
          return undefined;
        case 'fault':
          if (observation.fault === 'duplicate' || observation.fault === 'stale_replay') mayRepeat = true;
          if (observation.fault === 'rollback' || observation.fault === 'second_process')
            for (const target of observation.targets) unknown.add(target);
          return undefined;
        default:
          return undefined;
      }
    },
  };
}

function participantsOf({ participants, totalNodes }: DkgOpen): readonly number[] {
  return participants.length > 0 ? participants : idsTo(totalNodes);
}

function idsTo(count: number): number[] {
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

function openingText({ dealer, commitments, possession, sealingKey, signature, clientSupplied }: DkgOpening): string {
  return [
    dealer,
    ...commitments.map(hexOf),
    hexOf(possession),
    hexOf(sealingKey),
    hexOf(signature),
    clientSupplied,
  ].join(' ');
}

function resultText(result: NonNullable<DkgVerified['finished']>): string {
  const { nodeId, publicKey, verificationShares, chainCode, transcriptDigest, signature } = result;
  const parts = [publicKey, ...verificationShares, chainCode, transcriptDigest, signature];
  return [nodeId, ...parts.map(hexOf)].join(' ');
}
