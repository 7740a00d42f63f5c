/**
 * Trials of a signer under a key that a trial made: wrong requests, nonces that are used, void or unknown, promises that must
 * outlive a crash and a refused write, and the deletion of the key. Written from docs/protocol.md and the proto files.
 */
import { deletionDigest } from '../../core/crypto/order-macs.ts';
import { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { WireBodyInit } from '../../proto/wire.ts';
import type { WriteFate } from '../../simulation/cluster/memory-stores.ts';
import { tokenRequestsOf, vendorRequestsOf, wireMessagesOf } from '../../simulation/cluster/node-copy.ts';
import type { KeyParties } from '../support/key-parties.ts';
import { changed, must, type Trial, trialTenant } from '../support/trial.ts';
import { type Outcome, orderLasts, Signer, trialBoot, type Wanted } from './signer.ts';
import { vendorTrial } from './vendor-trials.ts';
import { wrongPartials } from './wrong-partial-requests.ts';

export function signTrial(trial: Trial, parties: KeyParties): void {
  const { draw } = trial;
  const { scheme } = parties.kind;
  const own = scheme === Scheme.UNSPECIFIED ? draw.pick([Scheme.MOCK_ECDSA, Scheme.FROST_BIP340]) : scheme;
  const signer = new Signer(trial, parties, draw.pick(parties.ids), own);
  const isVendor = parties.kind.holder === 'vendor';
  for (let left = draw.int(1, 4); left > 0; left -= 1) {
    if (isVendor && draw.chance(0.7)) vendorTrial(signer);
    else draw.pick(trials)(signer);
  }
  if (draw.chance(0.03)) draw.pick(rareTrials)(signer);
  if (draw.chance(0.25)) deletion(signer);
}

/** Requests that wait for records of one node. */
const waitingMax = 1_024;

type SignerTrial = (signer: Signer) => void;
const trials: readonly SignerTrial[] = [
  wrongRequest,
  wrongRequest,
  wrongRequest,
  usedNonce,
  voidNonce,
  deals,
  intentKept,
  refusedWrite,
  unreadableStore,
  together,
  tokenAnswers,
];
const rareTrials: readonly SignerTrial[] = [fullPool, tooManyWaiting];

/** It signs: a node, its token or its vendor is asked to. Its promise for the intent is in the store by then. */
function signs(signer: Signer, wanted: Wanted, what: string): Outcome {
  const { copy } = signer;
  copy.writes.length = 0;
  const outcome = signer.ask(wanted);
  must(
    isSigning(signer, outcome),
    () => `node ${signer.id} is asked for a partial (${what}), and gives ${outcome.code || outcome.kind}`,
  );
  promised(signer, what);
  const bound = signer.boundTo;
  must(
    bound === signer.scheme,
    () => `node ${signer.id} signs with scheme ${signer.scheme}, and its key is bound to ${bound}`,
  );
  signer.isBound = true;
  return outcome;
}

function isSigning(signer: Signer, { kind, sent }: Outcome): boolean {
  const { holder } = signer.parties.kind;
  if (holder === 'hsm') return kind === 'silence' && tokenRequestsOf(sent).length === 1;
  return holder === 'vendor' ? kind === 'silence' && vendorRequestsOf(sent).length === 1 : kind === 'partial';
}

function promised({ copy, id }: Signer, what: string): void {
  const isPromised = copy.writes.some(({ puts }) => puts.some(({ key }) => key.startsWith('intent/')));
  must(isPromised, () => `node ${id} signs for a new intent (${what}), and did not store that it does`);
}

/** A refused request burns its nonce, and changes nothing else: a first signature alone binds a key. */
function wrongRequest(signer: Signer): void {
  const { draw } = signer.trial;
  if (draw.chance(0.5)) signs(signer, signer.wanted(), 'right');
  if (draw.chance(0.2)) signer.copy.restart();
  for (let left = draw.int(1, 4); left > 0; left -= 1) {
    const right = signer.wanted();
    const [what, wrong, code] = draw.pick(draw.pick(wrongPartials(signer, right)));
    signer.refused(wrong, code, what);
    const namesNonce = wrong.nonceNumber === right.nonceNumber && wrong.scheme === right.scheme;
    if (signer.isDealt && namesNonce)
      signer.refused(right, 'NONCE_UNKNOWN', `with the nonce of a refused request: ${what}`);
    else if (draw.chance(0.3)) signs(signer, right, `after a wrong one: ${what}`);
  }
}

function usedNonce(signer: Signer): void {
  const right = signer.wanted();
  signs(signer, right, 'right');
  if (!signer.isDealt) return;
  signer.refused(right, 'NONCE_UNKNOWN', 'with a used nonce');
  signer.refused({ ...right, order: signer.order() }, 'NONCE_UNKNOWN', 'with a used nonce, for another intent');
  const next = signer.wanted();
  const others: readonly [string, Partial<Wanted>][] = [
    ['unknown', { nonceNumber: next.nonceNumber + 1_000n }],
    ['of another start of the node', { nodeBoot: 'node/1#x' }],
    ['of another coordinator', { coordinatorBoot: 'coordinator#x' }],
  ];
  for (const [what, changes] of others)
    signer.refused({ ...next, ...changes }, 'NONCE_UNKNOWN', `with a nonce that is ${what}`);
  signs(signer, next, 'right, after a request with a nonce of another name');
}

/** A new start of the coordinator, or of the node, voids all nonces. */
function voidNonce(signer: Signer): void {
  if (!signer.isDealt) return;
  const right = signer.wanted();
  if (signer.trial.draw.chance(0.5)) signer.copy.restart();
  else {
    must(
      signer.deal(signer.id, 'coordinator#later', 1, 1n)?.length === 1,
      () => `node ${signer.id} deals nothing to a new coordinator`,
    );
  }
  signer.refused(right, 'NONCE_UNKNOWN', 'with a nonce of an earlier start');
  // For the trials that follow: the pools of the first coordinator are void.
  must(
    signer.deal(signer.id, trialBoot) !== undefined,
    () => `node ${signer.id} deals nothing to a coordinator that started anew`,
  );
  signer.refused(right, 'NONCE_UNKNOWN', 'with a nonce of an earlier start');
}

/** A request for nonces is followed once. */
function deals(signer: Signer): void {
  if (!signer.isDealt) return;
  const { id, trial } = signer;
  const first = signer.deal(id, trialBoot, 2);
  must(
    first?.length === 2 && first[1]!.number > first[0]!.number,
    () => `node ${id} deals other nonces than two with rising numbers`,
  );
  const late = trial.draw.pick([signer.deals, signer.deals - 1n]);
  if (late > 0n)
    must(
      signer.deal(id, trialBoot, 2, late) === undefined,
      () => `node ${id} deals twice for one request, or for an older one`,
    );
  const uncounted = signer.deal(id, trialBoot, 1, 0n);
  must(
    uncounted?.[0] !== undefined && uncounted[0].number > first[1]!.number,
    () => `node ${id} deals no new nonce for a request without a number`,
  );
  must(signer.deal(id, '', 1)?.length === 0, () => `node ${id} deals nonces to no coordinator`);
}

/** Another message for an intent: never, also after a restart, until its order is over. */
function intentKept(signer: Signer): void {
  const { draw } = signer.trial;
  const right = signer.wanted();
  signs(signer, right, 'right');
  if (draw.chance(0.5)) signer.copy.restart();
  const other = { ...signer.again(right), message: changed(right.message) };
  signer.refused(other, 'INTENT_MESSAGE_CHANGED', 'another message for its intent');
  if (signer.isDealt)
    signer.refused({ ...other, message: right.message }, 'NONCE_UNKNOWN', 'with the nonce of a refused request');
  const same = signer.again(right);
  if (signer.parties.kind.holder !== 'vendor') {
    const outcome = signer.ask(same);
    must(
      isSigning(signer, outcome),
      () => `node ${signer.id} refuses (${outcome.code}) the message of an intent again`,
    );
  }
  if (draw.chance(0.4)) {
    // A shorter order of the same intent does not shorten its memory.
    const shorter = {
      ...signer.again(right),
      order: { ...right.order!, expiresMs: right.order!.expiresMs - orderLasts / 2 },
    };
    if (signer.parties.kind.holder !== 'vendor') signer.ask(shorter);
    signer.copy.pass(orderLasts / 2);
    const late = { ...signer.again(other), order: { ...right.order!, expiresMs: signer.copy.nowMs + 2 * orderLasts } };
    signer.refused(late, 'INTENT_MESSAGE_CHANGED', 'another message while the first order of its intent lasts');
  }
  // The wallet service's intents are others.
  if (draw.chance(0.3))
    signs(
      signer,
      { ...other, ...signer.again(other), message: other.message, order: { ...right.order!, walletService: true } },
      'of the other service',
    );
  if (draw.chance(0.7)) return;
  signer.copy.pass(orderLasts);
  const later = { ...signer.again(other), order: { ...right.order!, expiresMs: signer.copy.nowMs + orderLasts } };
  if (signer.parties.kind.holder !== 'vendor')
    signs(signer, later, 'another message when the order of the first is over');
}

/** No partial leaves before its promise is durable. */
function refusedWrite(signer: Signer): void {
  const { draw } = signer.trial;
  const { copy, id } = signer;
  const right = signer.wanted();
  const fate = draw.pick<WriteFate>(['lost', 'unanswered']);
  copy.fates.push(fate);
  const { sent } = signer.ask(right);
  must(sent.length === 0, () => `node ${id} answers, and the write of its promise was ${fate}`);
  must(copy.fates.length === 0, () => `node ${id} signs for a new intent without a write`);
  if (draw.chance(0.3)) copy.restart();
  if (signer.isDealt) signer.refused(right, 'NONCE_UNKNOWN', 'with the nonce of a request whose write was refused');
  const other = { ...signer.again(right), message: changed(right.message) };
  if (fate === 'unanswered')
    signer.refused(other, 'INTENT_MESSAGE_CHANGED', 'another message after a write without an answer');
  else signs(signer, draw.chance(0.5) ? other : signer.again(right), 'after a lost write');
}

/** A record that cannot be read: silence, and the next request reads it again. */
function unreadableStore(signer: Signer): void {
  const { copy, id } = signer;
  copy.restart();
  const right = signer.wanted();
  copy.readsFail = true;
  const { sent } = signer.ask(right);
  copy.readsFail = false;
  must(sent.length === 0, () => `node ${id} answers, and its store cannot be read`);
  signs(signer, signer.again(right), 'when its store can be read again');
}

/** Requests that wait for the same records: each gets its answer. */
function together(signer: Signer): void {
  const { copy, id } = signer;
  copy.restart();
  const both = [signer.wanted(), signer.wanted()];
  copy.holdsReads = true;
  for (const wanted of both)
    must(signer.ask(wanted).sent.length === 0, () => `node ${id} signs before it has read the key`);
  copy.holdsReads = false;
  const sent = copy.answerHeld();
  const { holder } = signer.parties.kind;
  const answers =
    holder === 'hsm' ? tokenRequestsOf(sent) : holder === 'vendor' ? vendorRequestsOf(sent) : wireMessagesOf(sent);
  must(
    answers.length === both.length,
    () => `node ${id} answers ${answers.length} of ${both.length} requests that waited`,
  );
  must(copy.bugs.length === 0, () => `node ${id} threw: ${copy.bugs.join('; ')}`);
}

/** A full pool drops its oldest nonces. */
function fullPool(signer: Signer): void {
  if (signer.scheme !== Scheme.MOCK_ECDSA) return;
  const first = signer.wanted();
  const last = () => signer.deal(signer.id, trialBoot, 1_000)?.at(-1)?.number ?? 0n;
  const [one] = [last(), last(), last(), last()];
  signs(signer, { ...signer.wanted(), nonceNumber: one }, 'with a nonce that waits in a full pool');
  last();
  signer.refused(first, 'NONCE_UNKNOWN', 'with a nonce that a full pool has dropped');
}

/** More requests than may wait for a record: the last gets no answer. */
function tooManyWaiting(signer: Signer): void {
  const { copy, id } = signer;
  if (!signer.isDealt) return;
  const wanted = { ...signer.wanted(), nonceNumber: 1_000_000n };
  copy.restart();
  copy.holdsReads = true;
  const frame = signer.frameOf(wanted);
  for (let count = 0; count <= waitingMax; count += 1) copy.tell(`node/${id}`, frame);
  copy.holdsReads = false;
  let answers = 0;
  // First the key, then the intent.
  for (let reads = 0; reads < 3; reads += 1) answers += wireMessagesOf(copy.answerHeld()).length;
  must(answers === waitingMax, () => `node ${id} answers ${answers} requests that waited, and ${waitingMax} may wait`);
}

/** Only a signature that verifies leaves; a failure of the token has its code. */
function tokenAnswers(signer: Signer): void {
  if (signer.parties.kind.holder !== 'hsm') return;
  const { draw } = signer.trial;
  const { copy, id } = signer;
  const { sent } = signs(signer, signer.wanted(), 'right');
  const [asked] = tokenRequestsOf(sent);
  const fault = draw.pick(['HSM_SESSION_LOST', 'HSM_TIMEOUT', 'HSM_TOKEN_ABSENT', 'HSM_UNCONFIGURED'] as const);
  const [what, outcome, code] = draw.pick([
    ['a signature', undefined, ''],
    ['another signature', { kind: 'signed', signature: new Uint8Array(64).fill(9) }, 'HSM_FAILED'],
    ['no signature', { kind: 'destroyed' }, 'HSM_FAILED'],
    [fault, { kind: 'failed', fault, message: 'as the trial says' }, fault],
  ] as const);
  const given = signer.outcome(copy.tokenAnswers(asked!, outcome));
  const isRight = code === '' ? given.kind === 'partial' : given.code === code;
  must(isRight, () => `node ${id} gives ${given.code || given.kind} when its token gives ${what}`);
}

/** A gateway's order deletes the key for good, and nothing else does. */
function deletion(signer: Signer): void {
  const { draw } = signer.trial;
  const { copy, id, parties } = signer;
  const keySession = parties.session;
  const digest = deletionDigest({ tenant: trialTenant, keyId: keySession });
  const ask = (mac: Uint8Array, name = keySession) => {
    copy.writes.length = 0;
    const body = { case: 'deleteKey', value: { keySession: name, mac } } as WireBodyInit;
    return copy.tell(`node/${id}`, { tenant: trialTenant, session: '', attempt: 0, body });
  };
  const right = signer.mac(digest);
  const other = signer.mac(deletionDigest({ tenant: trialTenant, keyId: 'another' }));
  const [what, mac, name] = draw.pick([
    ['without an order', new Uint8Array(0), keySession],
    ['with another order', other, keySession],
    ['with a changed order', changed(right), keySession],
    ['of a malformed key', signer.mac(deletionDigest({ tenant: trialTenant, keyId: 'a/b' })), 'a/b'],
  ] as const);
  must(ask(mac, name).length === 0 && copy.writes.length === 0, () => `node ${id} deletes a key ${what}`);
  // A request that reads the key meanwhile must not sign with what it read.
  const isReading = draw.chance(0.4);
  let wanted: Wanted | undefined;
  if (isReading) {
    copy.restart();
    wanted = signer.wanted();
    copy.holdsReads = true;
    signer.ask(wanted);
  } else if (draw.chance(0.4)) {
    copy.fates.push(draw.pick<WriteFate>(['lost', 'unanswered']));
    must(ask(right).length === 0, () => `node ${id} says that it deleted a key, and its write was refused`);
  }
  const sent = ask(right);
  const told = wireMessagesOf(sent).map(({ body }) => body.case);
  must(told.join() === 'keyDeleted', () => `node ${id} is told to delete a key, and says ${told.join() || 'nothing'}`);
  must(
    tokenRequestsOf(sent).length === 2,
    () => `node ${id} deletes a key, and does not tell its token and its vendor`,
  );
  copy.holdsReads = false;
  const late = copy.answerHeld();
  if (wanted) {
    const { code, kind } = signer.outcome(late);
    must(
      code === 'KEY_UNKNOWN',
      () => `node ${id} gives ${code || kind} under a key that was deleted while it was read`,
    );
  }
  for (const request of tokenRequestsOf(sent))
    must(copy.tokenAnswers(request).length === 0, () => `node ${id} says more of a deleted key`);
  if (draw.chance(0.5)) copy.restart();
  signer.refused(signer.wanted(), 'KEY_UNKNOWN', 'under a deleted key');
  const names = [`key/${trialTenant}/${keySession}`, `dkg/${trialTenant}/${keySession}`];
  for (const key of names)
    must(copy.record(key) === undefined, () => `node ${id} has deleted a key, and its store still holds ${key}`);
  must(wireMessagesOf(ask(right)).length === 1, () => `node ${id} does not answer a repeated deletion`);
}
