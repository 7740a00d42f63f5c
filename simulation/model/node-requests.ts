/**
 * The reference model of an honest node's answers to requests: it refuses a request that contradicts itself, its key, its order
 * or an earlier one, with a code for that (request-faults.ts); it does not refuse a valid one.
 *
 * A request has a number (DKG) or a tag (partials). Where two requests under one name differ, the model checks nothing.
 */
import type { DkgRefused } from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import {
  type DealNonces,
  type NoncesDealt,
  PartialRefusalCode,
  type PartialReply,
  type PartialRequest,
} from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { WireBody, WireEnvelope } from '../../proto/wire.ts';
import { keyRecordsIn } from '../cluster/invariants/node-records.ts';
import type { Checker, Observation } from '../cluster/observation.ts';
import {
  type AttemptKnown,
  dealtSchemes,
  faultsOfDkg,
  faultsOfPartial,
  idsTo,
  type KeyKnown,
  openingText,
  resultText,
} from './request-faults.ts';

/** Refusals for the progress of an attempt, for its token or for the node's configuration. */
const circumstances: ReadonlySet<string> = new Set([
  ...['STALE_ATTEMPT', 'NOT_OPEN', 'ATTEMPT_DISCARDED', 'ATTEMPT_BROKEN', 'ALREADY_FINAL', 'NOT_FINISHED'],
  ...['RESULT_SIGNED', 'PARAMETERS_CHANGED', 'CLIENT_DEALERS_NOT_ALLOWED', 'FINISH_FAILED'],
]);
const tokenFault = /^(HSM|VENDOR)_/;
const requests = new Set(['dkgOpen', 'dkgSeal', 'dkgVerify', 'dkgConfirm']);
const answers = new Set(['dkgOpened', 'dkgSealed', 'dkgVerified', 'dkgConfirmed', 'dkgRefused']);

interface Asked {
  readonly envelope: WireEnvelope;
  /** Another frame arrived under its name. */
  readonly isTwice: boolean;
}

export class RequestsFollowed implements Checker {
  readonly invariant = 'request-followed';
  readonly #nodesTotal: number;
  /** "node/1 tenant/session number", "node/1 tag". */
  readonly #asked = new Map<string, Asked>();
  /** By "tenant/session attempt". */
  readonly #attempts = new Map<string, AttemptKnown>();
  /** "node/1 tenant/session" to the highest attempt that it began. */
  readonly #highest = new Map<string, number>();
  /** "node/1 tenant/key" */
  readonly #keys = new Map<string, KeyKnown>();
  /** The model no longer knows the node's state: its store was lost or rolled back. */
  readonly #unknown = new Set<string>();
  /** Sessions with a frame that was changed in transit: a refusal may be its consequence. */
  readonly #disturbed = new Set<string>();
  /** "node/1 boot scheme": the requests for nonces that the node has not followed. */
  readonly #deals = new Map<string, { readonly count: number; readonly request: bigint }[]>();
  #mayRepeat = false;

  constructor(nodesTotal: number) {
    this.#nodesTotal = nodesTotal;
  }

  observe(observation: Observation): string | undefined {
    switch (observation.kind) {
      case 'frame': {
        const { envelope, touched } = observation;
        if (envelope.to.startsWith('node/')) this.#sentTo(nodeOf(envelope.to), envelope, touched);
        else if (envelope.from.startsWith('node/')) return this.#said(nodeOf(envelope.from), envelope, touched);
        return undefined;
      }
      case 'written':
        if (observation.process === 'coordinator' || observation.outcome !== 'written') return undefined;
        for (const { name, key } of keyRecordsIn(observation.write)) {
          const holders = key.participants ?? idsTo(key.total_nodes);
          this.#keys.set(`${observation.process} ${name}`, {
            ...{ curve: key.curve, threshold: key.threshold, holders },
            version: key.version ?? 1,
          });
        }
        return undefined;
      case 'process':
        if (observation.storeLost) this.#unknown.add(observation.process);
        return undefined;
      case 'fault':
        if (observation.fault === 'duplicate' || observation.fault === 'stale_replay') this.#mayRepeat = true;
        if (observation.fault === 'rollback' || observation.fault === 'second_process')
          for (const target of observation.targets) this.#unknown.add(target);
        return undefined;
      default:
        return undefined;
    }
  }

  // --- what a node is asked ----------------------------------------------------------------------------------------

  #sentTo(node: string, envelope: WireEnvelope, touched: boolean): void {
    const { to, message } = envelope;
    const [, , , tenant, session] = to.split('/');
    if (touched && tenant !== undefined) this.#disturbed.add(`${tenant}/${session}`);
    const body = message.body as WireBody;
    if (body.case === 'partialRequest') this.#ask(`${node} ${body.value.attemptTag}`, envelope);
    else if (body.case === 'dealNonces') this.#askForNonces(node, body.value);
    else if (requests.has(body.case)) this.#ask(requestName(node, envelope), envelope);
  }

  #ask(name: string, envelope: WireEnvelope): void {
    this.#asked.set(name, { envelope, isTwice: this.#asked.has(name) });
  }

  #askForNonces(node: string, { scheme, coordinatorBoot, count, request }: DealNonces): void {
    const name = `${node} ${coordinatorBoot} ${scheme}`;
    const waiting = this.#deals.get(name) ?? [];
    // It does not follow a repeated request again, except one without a number.
    if (request === 0n || !waiting.some((one) => one.request === request)) waiting.push({ count, request });
    this.#deals.set(name, waiting);
  }

  // --- what a node said --------------------------------------------------------------------------------------------

  #said(node: string, envelope: WireEnvelope, touched: boolean): string | undefined {
    const { message } = envelope;
    const body = message.body as WireBody;
    this.#noteSaid(envelope);
    if (touched) {
      this.#disturbed.add(`${message.tenant}/${message.session}`);
      return undefined;
    }
    if (answers.has(body.case)) return this.#saidOfDkg(node, envelope);
    if (body.case === 'noncesDealt') return this.#saidOfNonces(node, body.value);
    return body.case === 'partialReply' ? this.#saidOfPartial(node, body.value) : undefined;
  }

  /** The messages of a dealer and of a result, as the coordinator gets them; a byzantine node may sign anything. */
  #noteSaid({ message: { tenant, session, attempt, body } }: WireEnvelope): void {
    const { openings, results } = this.#attempt(`${tenant}/${session} ${attempt}`);
    const said = body as WireBody;
    if (said.case === 'dkgOpened' && said.value.opening) openings.add(openingText(said.value.opening));
    if (said.case === 'dkgVerified' && said.value.finished) results.add(resultText(said.value.finished));
    if (said.case !== 'dkgRefused') return;
    for (const result of (said.value as Partial<DkgRefused>).results ?? []) results.add(resultText(result));
  }

  #saidOfDkg(node: string, answer: WireEnvelope): string | undefined {
    const { tenant, session, attempt, body } = answer.message;
    const found = this.#asked.get(requestName(node, answer));
    const code = body.case === 'dkgRefused' ? (body.value as DkgRefused).code : undefined;
    const wrong = found && !found.isTwice && this.#wrongOfDkg(node, found.envelope, code);
    if (wrong || code !== undefined) return wrong || undefined;
    const name = `${node} ${tenant}/${session}`;
    this.#highest.set(name, Math.max(attempt, this.#highest.get(name) ?? 0));
    const { terms } = this.#attempt(`${tenant}/${session} ${attempt}`);
    const open = found?.envelope.message.body as WireBody | undefined;
    if (body.case === 'dkgOpened' && open?.case === 'dkgOpen' && !terms.has(node)) terms.set(node, open.value);
    return undefined;
  }

  /** `code`: of its refusal; undefined: it followed the request. */
  #wrongOfDkg(node: string, request: WireEnvelope, code: string | undefined): string | undefined {
    if (this.#unknown.has(node)) return undefined;
    const { tenant, session, body } = request.message;
    const faults = this.#faultsOfDkg(node, request);
    const what = `${node} was asked (${body.case}) what it must refuse (${faults.join(', ')})`;
    if (code === undefined) return faults.length > 0 ? `${what}, and follows it` : undefined;
    if (circumstances.has(code) || tokenFault.test(code)) return undefined;
    if (faults.length > 0) return faults.includes(code) ? undefined : `${what}, and says ${code}`;
    return this.#disturbed.has(`${tenant}/${session}`)
      ? undefined
      : `${node} refuses (${code}) a request that is right`;
  }

  #faultsOfDkg(node: string, { to, message }: WireEnvelope): readonly string[] {
    const { tenant, session, attempt } = message;
    const [, , , namedTenant, namedSession] = to.split('/');
    if (tenant !== namedTenant || session !== namedSession || attempt < 1) return ['REQUEST_INVALID'];
    const about = `${tenant}/${session}`;
    if (attempt < (this.#highest.get(`${node} ${about}`) ?? 0)) return ['STALE_ATTEMPT'];
    const known = this.#attempt(`${about} ${attempt}`);
    const keyAt = (keySession: string) => this.#keys.get(`${node} ${tenant}/${keySession}`);
    return faultsOfDkg(idOf(node), message.body as WireBody, known, this.#nodesTotal, keyAt);
  }

  #saidOfPartial(node: string, { attemptTag, outcome }: PartialReply): string | undefined {
    const found = this.#asked.get(`${node} ${attemptTag}`);
    if (!found || found.isTwice || outcome.case === undefined) return undefined;
    const { tenant, body } = found.envelope.message;
    const keyAt = (keySession: string) => this.#keys.get(`${node} ${tenant}/${keySession}`);
    const faults = faultsOfPartial(idOf(node), body.value as PartialRequest, keyAt);
    if (faults.length === 0) return undefined;
    const what = `${node} was asked for a partial that it must refuse (${faults.join(', ')})`;
    if (outcome.case !== 'refusal') return `${what}, and gives it`;
    const code = PartialRefusalCode[outcome.value.code] ?? '';
    if (faults.includes(code) || this.#unknown.has(node) || tokenFault.test(code)) return undefined;
    return ['KEY_UNKNOWN', 'ORDER_EXPIRED'].includes(code) ? undefined : `${what}, and says ${code}`;
  }

  /** A node makes one batch for each request. */
  #saidOfNonces(node: string, { scheme, coordinatorBoot, nonces, nodeBoot }: NoncesDealt): string | undefined {
    if (!dealtSchemes.has(scheme) || coordinatorBoot === '')
      return nonces.length > 0 ? `${node} deals nonces of scheme ${scheme} to "${coordinatorBoot}"` : undefined;
    const waiting = this.#deals.get(`${node} ${coordinatorBoot} ${scheme}`) ?? [];
    const at = waiting.findIndex(({ count }) => count === nonces.length);
    if (at !== -1) waiting.splice(at, 1);
    else if (!this.#mayRepeat) return `${node} (${nodeBoot}) deals ${nonces.length} nonces that it was not asked for`;
    return undefined;
  }

  #attempt(name: string): AttemptKnown {
    let attempt = this.#attempts.get(name);
    if (attempt === undefined) {
      attempt = { openings: new Set(), results: new Set(), terms: new Map() };
      this.#attempts.set(name, attempt);
    }
    return attempt;
  }
}

function nodeOf(address: string): string {
  return address.split('/').slice(0, 2).join('/');
}

function idOf(node: string): number {
  return Number(node.split('/')[1]);
}

/** Of a request of a DKG, and of the answer to it. */
function requestName(node: string, { message }: WireEnvelope): string {
  const { request } = message.body.value as { readonly request: number };
  return `${node} ${message.tenant}/${message.session} ${request}`;
}
