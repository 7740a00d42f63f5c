/**
 * The coordinator's requests to nodes follow from the durable state: the message, key and path of the session, only its nodes,
 * with its gateway's order; nonces that the node made for this start of the coordinator, over its link during the session.
 */
import type { DkgVerify } from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import type { DealNonces, NoncesDealt, PartialRequest } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { PartialRefusalCode, Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { WireBody, WireEnvelope } from '../../proto/wire.ts';
import { hexOf, isSigning } from '../cluster/invariants/sessions.ts';
import type { Checker, Observation } from '../cluster/observation.ts';
import { type History, holdersOf } from './history.ts';
import type { WaitingCalls } from './waiting-calls.ts';

const open: ReadonlySet<ReceiptState> = new Set([ReceiptState.ACCEPTED, ReceiptState.RESUMED]);
const repeating: ReadonlySet<string> = new Set(['dkgOpen', 'dkgSeal', 'dkgVerify', 'dkgConfirm']);
const dealt: ReadonlySet<Scheme> = new Set([Scheme.MOCK_ECDSA, Scheme.FROST_ED25519, Scheme.FROST_BIP340]);

/** The limit of open requests for nonces of one scheme to one node. */
const dealsMax = 3;
/** The limit of equal requests to a node within its time to answer. */
const repeatsMax = 6;

export interface RequestSources {
  readonly history: History;
  readonly waiting: WaitingCalls;
  readonly partialTimeoutMs: number;
  readonly nodesWaitMs: number;
}

export function requestsAsRecorded({ history, waiting, partialTimeoutMs, nodesWaitMs }: RequestSources): Checker {
  const recheckMs = Math.min(1_000, nodesWaitMs / 2) - 1;
  let coordinatorBoot = '';
  /** By node: the boot behind its link, and since when. */
  const linked = new Map<number, { readonly boot: string; readonly sinceMs: number }>();
  /** "node boot scheme number" of nonces that a node made for this start of the coordinator. */
  let nonces = new Set<string>();
  /** By "node scheme": the number of the latest request. */
  let deals = new Map<string, bigint>();
  /** By "node scheme": the time of the request for nonces, until the node has made some. */
  const unanswered = new Map<string, number[]>();
  /** By request and node: its time, until an answer arrives. */
  const pending = new Map<string, number[]>();
  /** "node/1 tenant/session attempt" of nodes that have opened an attempt. */
  const opened = new Set<string>();
  /** By session: the version of the shares that it asked for last. */
  const shares = new Map<string, number>();
  /** By node: how often it said that it lacks a key, or a version of one; each time it may be shown results once more. */
  const keyless = new Map<string, number>();
  /** How often each node's link came up: an actor whose write waits learns of all of it at once, and repeats as often. */
  const links = new Map<string, number>();
  /** A call may reach the coordinator again after its answer. */
  let mayRepeat = false;

  function partialRequested({ to, message }: WireEnvelope): string | undefined {
    const { tenant, session, attempt } = message;
    const request = message.body.value as PartialRequest;
    const node = Number(to.split('/')[1]);
    const where = `node ${node} is asked for a partial of session ${session}`;
    const record = history.session(tenant, session);
    if (!record || !isSigning(record)) return `${where}, which does not exist`;
    const { facts, excluded, order, witnessMissing } = record.ceremony;
    if (!open.has(record.state)) return `${where}, which is not open`;
    if (witnessMissing) return `${where}, which lacks its witness`;
    if (attempt < record.ceremony.attempt) return `${where} in attempt ${attempt} after ${record.ceremony.attempt}`;
    const key = history.key(tenant, facts.keyId);
    if (!key) return `${where}, whose key does not exist`;
    if (request.keySession !== facts.keyId) return `${where} under another key`;
    const version = request.keyVersion || 1;
    if (version > (key.version ?? 1)) return `${where} with version ${version} of its key, which is not committed`;
    const before = shares.get(`${tenant}/${session}`) ?? 1;
    if (version < before) return `${where} with version ${version} of its key after version ${before}`;
    shares.set(`${tenant}/${session}`, version);
    if (request.derivationPath !== facts.derivationPath) return `${where} under another path`;
    if (hexOf(request.message) !== facts.messageHash) return `${where} of another message`;
    const holders = holdersOf(key);
    for (const id of [node, ...request.signers.map(({ nodeId }) => nodeId)]) {
      if (!holders.includes(id)) return `${where} with node ${id}, which holds no share`;
      if (excluded.includes(id)) return `${where} with node ${id}, which is excluded`;
    }
    const isFrost = request.scheme === Scheme.FROST_ED25519 || request.scheme === Scheme.FROST_BIP340;
    if (isFrost && request.signers.length !== key.threshold) return `${where} among ${request.signers.length} signers`;
    if ((request.order === undefined) !== (order === undefined)) return `${where} without the order that it has`;
    if (request.order && request.order.transactionIntentId !== facts.intentId) return `${where} for another intent`;
    if (!dealt.has(request.scheme) || request.nonceNumber === 0n) return undefined;
    if (request.coordinatorBoot !== coordinatorBoot) return `${where} with a nonce of another start`;
    const { nodeBoot, nonceNumber, scheme } = request;
    if (!nonces.has(`${node} ${nodeBoot} ${scheme} ${nonceNumber}`)) return `${where} with a nonce that it never dealt`;
    const link = linked.get(node);
    const created = history.versions(tenant, session)[0]!.fromMs;
    // Its nonces were drawn after it began: a boot that had ended by then has none.
    if (link && link.boot !== nodeBoot && created > link.sinceMs) return `${where} with a nonce of its earlier start`;
    return undefined;
  }

  /** Nodes work only for a call that waits, and share only in an attempt that they have opened. */
  function wanted({ to, message: { tenant, session, attempt, body } }: WireEnvelope, atMs: number): string | undefined {
    const node = nodeOf(to);
    const what = `${node} is asked (${body.case}) for session ${session}`;
    if (
      body.case !== 'partialRequest' &&
      body.case !== 'dkgOpen' &&
      !opened.has(`${node} ${tenant}/${session} ${attempt}`)
    )
      return `${what}, and has not opened attempt ${attempt}`;
    const record = history.session(tenant, session);
    const intent = record && isSigning(record) ? record.ceremony.facts.intentId : '';
    // A signature needs a node that did not confirm the key: it gets the results again, for the signature's call.
    const isOwed =
      record?.ceremony.kind === 'dkg' &&
      record.state === ReceiptState.BACKEND_COMPLETED &&
      record.ceremony.stalledBy?.some((id) => node === `node/${id}`);
    if (body.case === 'dkgConfirm' && isOwed) return undefined;
    if (mayRepeat || waiting.waitedMs(tenant, session, intent, atMs) !== undefined) return undefined;
    const times = body.case === 'dkgConfirm' ? (keyless.get(node) ?? 0) : 0;
    keyless.set(node, times - 1);
    return times > 0 ? undefined : `${what}, and no call waits for it`;
  }

  function asked({ to, message: { body } }: WireEnvelope): string | undefined {
    const { scheme, count, coordinatorBoot: boot, request } = body.value as DealNonces;
    const name = `${to} ${scheme}`;
    const before = deals.get(name) ?? 0n;
    deals.set(name, request);
    if (boot !== coordinatorBoot) return `${to} is asked for nonces in the name of another start`;
    if (!dealt.has(scheme) || count < 1 || count > 512) return `${to} is asked for ${count} nonces of scheme ${scheme}`;
    return request > before ? undefined : `${to} is asked for nonces by a number that was used`;
  }

  /** The coordinator repeats an open request for nonces at most as often as it may be lost. */
  function askedAgain({ to, message: { body } }: WireEnvelope, atMs: number): string | undefined {
    const name = `${to} ${(body.value as DealNonces).scheme}`;
    const recent = (unanswered.get(name) ?? []).filter((ms) => atMs - ms < recheckMs);
    recent.push(atMs);
    unanswered.set(name, recent);
    return recent.length > dealsMax ? `${to} is asked for nonces ${recent.length} times in ${recheckMs} ms` : undefined;
  }

  /** A request is repeated after its time to answer; a new link or a resume may repeat it at once. */
  function repeated({ to, message }: WireEnvelope, atMs: number): string | undefined {
    const { session, attempt, body } = message;
    const tag = body.case === 'partialRequest' ? (body.value as PartialRequest).attemptTag : '';
    // Two verifications may be about two dealers.
    const about = body.case === 'dkgVerify' ? verified(body.value as DkgVerify) : '';
    const name = `${to} ${session} ${attempt} ${body.case} ${tag} ${about}`;
    const recent = (pending.get(name) ?? []).filter((ms) => atMs - ms < partialTimeoutMs);
    recent.push(atMs);
    pending.set(name, recent);
    return recent.length > repeatsMax + (links.get(nodeOf(to)) ?? 0)
      ? `${to} is asked ${recent.length} times (${body.case}) for session ${session} in ${partialTimeoutMs} ms`
      : undefined;
  }

  return {
    invariant: 'request-as-recorded',
    observe(observation: Observation) {
      switch (observation.kind) {
        case 'process':
          if (observation.process !== 'coordinator' || observation.what !== 'up') return undefined;
          coordinatorBoot = observation.boot;
          nonces = new Set();
          deals = new Map();
          unanswered.clear();
          pending.clear();
          linked.clear();
          links.clear();
          return undefined;
        case 'fault':
          if (observation.fault === 'duplicate') mayRepeat = true;
          return undefined;
        case 'link':
          if (observation.what === 'linkUp' && observation.peer.startsWith('node/')) {
            for (const name of unanswered.keys()) if (name.startsWith(`${observation.peer} `)) unanswered.delete(name);
            links.set(observation.peer, (links.get(observation.peer) ?? 0) + 1);
            linked.set(Number(observation.peer.split('/')[1]), { boot: observation.boot, sinceMs: observation.atMs });
          }
          return undefined;
        case 'frame': {
          const { envelope, touched } = observation;
          const { body } = envelope.message;
          if (envelope.from.startsWith('node/')) {
            const from = nodeOf(envelope.from);
            const { tenant, session, attempt } = envelope.message;
            if (lacksKey(body as WireBody)) keyless.set(from, (keyless.get(from) ?? 0) + 1);
            if (body.case === 'dkgOpened') opened.add(`${from} ${tenant}/${session} ${attempt}`);
            for (const name of pending.keys()) if (name.startsWith(from)) pending.delete(name);
          }
          if (body.case === 'noncesDealt' && envelope.from.startsWith('node/')) {
            unanswered.delete(
              `${envelope.from.split('/').slice(0, 2).join('/')} ${(body.value as NoncesDealt).scheme}`,
            );
            const node = envelope.from.split('/')[1];
            const { scheme, nodeBoot, nonces: batch } = body.value as NoncesDealt;
            // A batch with one bad nonce is refused as a whole.
            if (isUsable(batch)) for (const { number } of batch) nonces.add(`${node} ${nodeBoot} ${scheme} ${number}`);
            return undefined;
          }
          if (touched || !envelope.to.startsWith('node/')) return undefined;
          const { atMs } = observation;
          if (body.case === 'partialRequest')
            return partialRequested(envelope) ?? repeated(envelope, atMs) ?? wanted(envelope, atMs);
          if (body.case === 'dealNonces') return asked(envelope) ?? askedAgain(envelope, atMs);
          if (
            body.case === 'dkgVerify' &&
            (body.value as DkgVerify).clientSupplied.some(({ share }) => share.length !== 32)
          )
            return `${envelope.to} is asked to verify a share that no client gave`;
          return repeating.has(body.case ?? '') ? (repeated(envelope, atMs) ?? wanted(envelope, atMs)) : undefined;
        }
        default:
          return undefined;
      }
    },
  };
}

/** A node that lacks a key, or a version of its shares, says so. */
function lacksKey(body: WireBody): boolean {
  if (body.case === 'dkgRefused') return body.value.code === 'KEY_UNKNOWN';
  if (body.case !== 'partialReply' || body.value.outcome.case !== 'refusal') return false;
  return body.value.outcome.value.code === PartialRefusalCode.KEY_UNKNOWN;
}

function nodeOf(address: string): string {
  return address.split('/').slice(0, 2).join('/');
}

/** Nothing in it is zero, and nothing stands twice. */
function isUsable(batch: NoncesDealt['nonces']): boolean {
  const texts = batch
    .flatMap(({ hiding, binding, mockNonce }) => [hiding, binding, mockNonce])
    .filter(({ length }) => length > 0)
    .map(hexOf);
  return new Set(texts).size === texts.length && !texts.some((text) => /^0*$/.test(text));
}

function verified({ dealers, clientSupplied }: DkgVerify): string {
  return [...dealers, ...clientSupplied].map(({ dealer }) => dealer).join();
}
