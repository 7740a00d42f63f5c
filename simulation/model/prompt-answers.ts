/**
 * In calm each request to a node gets its answer at once, and so does a node's report of its vendor's decision: no side leaves
 * the other to its timeout.
 *
 * A token or a vendor may take its time. A request for nonces that was served already gets no answer.
 */
import type {
  DealNonces,
  NoncesDealt,
  PartialReply,
  PartialRequest,
} from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { WireEnvelope } from '../../proto/wire.ts';
import type { Checker, Observation } from '../cluster/observation.ts';
import { Troubles } from './troubles.ts';

/** Two ways, and writes of the store. */
const answerMs = 40;
const outsideMs = 1_000;
/** Work from before the calm may continue in it: a write whose answer is lost fails after 5 s. */
const settleMs = 6_500;
const shared: ReadonlySet<Scheme> = new Set([
  Scheme.MOCK_ECDSA,
  Scheme.FROST_ED25519,
  Scheme.FROST_BIP340,
  Scheme.OWNER_ECDSA,
]);

export function promptAnswers(nodesTotal: number): Checker {
  const troubles = new Troubles(nodesTotal);
  /** By the name of the request: its latest time for an answer. */
  const owed = new Map<string, number>();
  let soonestMs = Number.POSITIVE_INFINITY;
  /** "node/1 scheme" to the highest number of a request for nonces. */
  const deals = new Map<string, bigint>();

  function owe(name: string, untilMs: number): void {
    owed.set(name, untilMs);
    if (untilMs < soonestMs) soonestMs = untilMs;
  }

  function asked({ from, to, message: { session, body } }: WireEnvelope, atMs: number): void {
    switch (body.case) {
      case 'partialRequest': {
        const { attemptTag, scheme } = body.value as PartialRequest;
        owe(`${to} partial ${attemptTag}`, atMs + (shared.has(scheme) ? answerMs : outsideMs));
        return;
      }
      case 'dealNonces': {
        const { scheme, request } = body.value as DealNonces;
        const name = `${to} ${scheme}`;
        if (request <= (deals.get(name) ?? 0n)) return;
        deals.set(name, request);
        owe(`${to} nonces ${scheme}`, atMs + answerMs);
        return;
      }
      case 'dkgOpen':
      case 'dkgSeal':
      case 'dkgVerify':
      case 'dkgConfirm': {
        const { request, scheme } = body.value as { readonly request: number; readonly scheme?: Scheme };
        const isShared = scheme === undefined || scheme === Scheme.UNSPECIFIED || shared.has(scheme);
        owe(`${nodeOf(to)} dkg ${request}`, atMs + (isShared ? answerMs : outsideMs));
        return;
      }
      case 'deleteKey':
        owe(`${to} deletion`, atMs + answerMs);
        return;
      case 'vendorSettled':
        owe(`${from} settled ${session}`, atMs + outsideMs);
        return;
      default:
        return;
    }
  }

  function answered({ from, to, message: { session, body } }: WireEnvelope): void {
    const node = nodeOf(from);
    switch (body.case) {
      case 'partialReply':
        owed.delete(`${node} partial ${(body.value as PartialReply).attemptTag}`);
        return;
      case 'noncesDealt':
        owed.delete(`${node} nonces ${(body.value as NoncesDealt).scheme}`);
        return;
      case 'keyDeleted':
        owed.delete(`${node} deletion`);
        return;
      case 'vendorNoted':
        owed.delete(`${to} settled ${session}`);
        return;
      default:
        if (body.value && 'request' in body.value) owed.delete(`${node} dkg ${body.value.request}`);
    }
  }

  return {
    invariant: 'answered-at-once',
    observe(observation: Observation) {
      const { atMs } = observation;
      if (troubles.take(observation)) {
        owed.clear();
        soonestMs = Number.POSITIVE_INFINITY;
        if (observation.kind === 'process' && observation.what === 'up') deals.clear();
        return undefined;
      }
      if (atMs > soonestMs) {
        soonestMs = Math.min(Number.POSITIVE_INFINITY, ...owed.values());
        const late = [...owed].find(([, untilMs]) => atMs > untilMs);
        if (late) return `no answer: ${late[0]}`;
      }
      if (observation.kind !== 'frame') return undefined;
      const { envelope } = observation;
      if (envelope.from.startsWith('node/') || envelope.message.body.case === 'vendorNoted') answered(envelope);
      const isSettled = troubles.isUntouched || atMs >= troubles.sinceMs + settleMs;
      if (troubles.isCalm && isSettled && !observation.touched) asked(envelope, atMs);
      return undefined;
    },
  };
}

function nodeOf(address: string): string {
  return address.split('/').slice(0, 2).join('/');
}
