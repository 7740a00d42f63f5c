/** What must hold of a key generation in a trial of the coordinator: from docs/signing-api.md, "Making a key". */
import { sessionKey } from '../../coordinator/contract/messages.ts';
import { participantsOf } from '../../core/crypto/participants.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { must, textOf, trialTenant } from '../support/trial.ts';
import type { Failure } from './false-key-answers.ts';
import type { KeyMaking, KeySession, Side } from './key-making.ts';

const openStates: readonly number[] = [ReceiptState.ACCEPTED, ReceiptState.RESUMED];

export function isOpenSession({ state }: KeySession): boolean {
  return openStates.includes(state);
}

/** `perform` changes nothing that anyone sees. */
export function unchanged(side: Side, what: string, perform: () => void): void {
  const { actor, replies } = side;
  const known = replies.size;
  actor.writes.length = 0;
  perform();
  must(actor.writes.length === 0, () => `the coordinator changes its record at ${what}, which changes nothing`);
  must(replies.size === known, () => `the coordinator answers a call at ${what}, which changes nothing`);
}

/** The attempt has failed, as its calls were told. `before`: its record then. */
export function failed(
  making: KeyMaking,
  side: Side,
  before: KeySession,
  calls: readonly bigint[],
  { reason, culprits, stalled }: Failure,
  what: string,
): void {
  const { record } = side;
  const was = before.ceremony;
  must(
    record?.state === ReceiptState.BACKEND_FAILED && record.reasonCode === reason,
    () => `the session must fail with ${reason} at ${what}, and is ${record?.reasonCode}`,
  );
  const { ceremony } = record;
  const same = (one: readonly number[] = [], other: readonly number[] = []) => one.join() === other.join();
  must(
    same(ceremony.culprits, culprits) && same(ceremony.stalledBy, stalled),
    () =>
      `after ${what} the session blames ${ceremony.culprits} (must: ${culprits}), stopped by ${ceremony.stalledBy} (must: ${stalled})`,
  );
  answered(side, calls, reason, what);
  const next = was.mayBeFinal ? was.attempt : was.attempt + 1;
  must(ceremony.attempt === next, () => `after ${what} comes attempt ${ceremony.attempt}, and must be ${next}`);
  const told = side.discards.filter(({ attempt }) => attempt === was.attempt).map(({ id }) => id);
  must(
    same(told, was.mayBeFinal ? [] : participantsOf(was)),
    () => `after ${what} nodes ${told} are told to discard the attempt`,
  );
  partIn(making, was, ceremony, [...culprits, ...stalled], what);
}

/** A node that refused, or was blamed, is left out of the next attempt where there is another. */
function partIn(
  making: KeyMaking,
  was: KeySession['ceremony'],
  now: KeySession['ceremony'],
  stopped: readonly number[],
  what: string,
): void {
  const [before, participants] = [participantsOf(was), participantsOf(now)];
  const isFixed = was.mayBeFinal || Object.keys(was.played).length > 0;
  const out = new Set([...(was.leftOut ?? []), ...before]);
  const { ready = [] } = making.side.actor;
  const spare = isFixed ? [] : making.rosterIds.filter((id) => !out.has(id) && ready.includes(id));
  const gone = before.filter((id) => !participants.includes(id));
  const come = participants.filter((id) => !before.includes(id));
  const wanted = Math.min(spare.length, before.filter((id) => stopped.includes(id)).length);
  must(
    gone.length === wanted &&
      gone.every((id) => stopped.includes(id)) &&
      come.length === gone.length &&
      come.every((id) => spare.includes(id)),
    () => `after ${what} by ${stopped}, the next attempt of nodes ${before} is of ${participants}; free: ${spare}`,
  );
}

/** Each of these calls has its one answer, with this reason. */
export function answered(side: Side, calls: readonly bigint[], reason: string, what: string): void {
  for (const call of calls) {
    const reply = side.replies.get(call);
    const given = reply?.value.receipt?.reasonCode ?? reply?.value.code ?? 'none';
    must(given === reason, () => `a waiting call gets ${given} after ${what}, and must get ${reason}`);
  }
}

/** CallErrorCode.UNAVAILABLE */
const unavailableCode = 2;

/** The store refused a write: every call gets an answer, which confirms no effect. */
export function unavailable(side: Side, calls: readonly bigint[], what: string): void {
  for (const call of calls) {
    const reply = side.replies.get(call);
    must(
      reply?.case === 'error' && reply.value.code === unavailableCode,
      () =>
        `a call gets ${reply?.case === 'error' ? reply.value.code : reply?.case} after ${what}, and must be repeated`,
    );
  }
}

/** The key is made: the record, the key's record and the answers say what its nodes hold. */
export function completed(making: KeyMaking, calls: readonly bigint[]): void {
  const { side, record, kind } = making;
  must(
    record.state === ReceiptState.BACKEND_COMPLETED && record.reasonCode === 'DKG_COMPLETED',
    () => `the round of honest nodes ends ${record.reasonCode}`,
  );
  answered(side, calls, 'DKG_COMPLETED', 'the last confirmation');
  const { ids } = making;
  const results = ids.map((id) => making.results.get(id)!);
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
  const [first] = results;
  for (const id of ids) {
    const phase = JSON.parse(Buffer.from(making.copy(id).record(side.address) ?? '{}').toString()).phase;
    must(phase === 'final', () => `the key is made, and node ${id} has it ${phase}`);
  }
  const name = sessionKey(trialTenant, making.session).replace('session/', 'key/');
  const key = side.actor.store.load(name);
  const expected = {
    ...{ publicKey: hex(first!.publicKey), chainCode: hex(first!.chainCode), participants: ids },
    ...{ curve: kind.curve, threshold: making.threshold, totalNodes: making.totalNodes },
    verificationShares: first!.verificationShares.map(hex),
    clientSuppliedDealers: Object.keys(record.ceremony.played).map(Number),
    exposed: false,
  };
  must(key?.kind === 'key', () => 'the key is made, and has no record');
  const found = Object.fromEntries(
    Object.keys(expected).map((field) => [field, key.key[field as keyof typeof expected]]),
  );
  must(
    textOf(found) === textOf(expected),
    () => `the key’s record is ${textOf(found)}, and its nodes say ${textOf(expected)}`,
  );
  const signatures = record.ceremony.confirmation?.signatures ?? [];
  must(
    signatures.join() === results.map(({ signature }) => hex(signature)).join(),
    () => 'the record does not have every node’s signature of the key',
  );
}

/** Changes one field of the session as Redis holds it. */
export function alter(making: KeyMaking, side: Side): void {
  const { draw } = making.trial;
  const name = `session/${trialTenant}/${making.session}`;
  const fields = { ...side.actor.store.stored(name)! };
  const field = draw.pick(Object.keys(fields).filter((one) => one !== 'cluster'));
  const text = fields[field]!;
  fields[field] = draw.chance(0.2) ? '' : `${text.slice(0, -1)}${text.endsWith('1') ? '2' : '1'}`;
  side.actor.store.alter(name, fields);
}

/** The key's record in Redis is altered, or gone, and its session names another cluster: none is read as what it was. */
export function alterKey(making: KeyMaking, side: Side): void {
  const { draw } = making.trial;
  const session = sessionKey(trialTenant, making.session);
  const name = session.replace('session/', 'key/');
  const store = side.actor.store.fork();
  const text = store.storedKey(name)!;
  const at = draw.int(0, text.length - 1);
  store.alter(name, `${text.slice(0, at)}${text[at] === '1' ? '2' : '1'}${text.slice(at + 1)}`);
  const altered = store.load(name)?.kind;
  // Without proof, its end may name another cluster.
  const isNamed = altered === 'elsewhere' && at > text.length - 5;
  must(altered === 'tampered' || isNamed, () => `a key that was altered is read as ${altered}`);
  const none = store.load(`${name}-none`);
  must(none === undefined, () => `a key that was never made is read as ${none?.kind}`);
  store.alter(session, { ...store.stored(session)!, cluster: '7' });
  const elsewhere = store.load(session)?.kind;
  must(elsewhere === 'elsewhere', () => `a session of another cluster is read as ${elsewhere}`);
}
