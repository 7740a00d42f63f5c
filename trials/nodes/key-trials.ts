/**
 * A trial of a key generation among copies of nodes: an honest coordinator makes a key, and before and after each of its requests
 * come wrong ones. Written from docs/protocol.md and the table of nodes/dkg/codes.ts.
 */
import type { WriteFate } from '../../simulation/cluster/memory-stores.ts';
import { isSameAnswer, KeyParties, type Said, said } from '../support/key-parties.ts';
import type { KeyKind } from '../support/key-transcripts.ts';
import { changed, must, type Trial, textOf } from '../support/trial.ts';
import { changedOpens, wrongConfirms, wrongOpens, wrongSeals, wrongVerifies } from './wrong-key-requests.ts';

type Request = { readonly case: string; readonly value: object };

/** Makes a key, and returns its parties; undefined: the trial ended the attempt. */
export function keyTrial(trial: Trial, kind: KeyKind): KeyParties | undefined {
  const { draw } = trial;
  const session = `${draw.chance(0.3) ? 'wal_' : ''}${trial.name}`;
  const parties = new KeyParties(trial, kind, session);
  for (const id of parties.ids) openTrial(trial, parties, id);
  if (draw.chance(0.15)) return discardTrial(trial, parties);
  if (parties.isShared) for (const id of parties.ids) sealTrial(trial, parties, id);
  if (draw.chance(0.12) && parties.isShared) return complaintTrial(trial, parties);
  for (const id of parties.ids) verifyTrial(trial, parties, id);
  for (const id of parties.ids) confirmTrial(trial, parties, id);
  finalTrial(trial, parties, draw.pick(parties.ids));
  return parties;
}

/** Its store may lose the write, or its answer; then the node says nothing, and follows the repeated request. */
function followed(trial: Trial, parties: KeyParties, id: number, request: Request, kind: string, phase: string): Said {
  const { draw } = trial;
  const copy = parties.copy(id);
  if (draw.chance(0.15)) {
    const fate = draw.pick<WriteFate>(['lost', 'unanswered']);
    copy.fates.push(fate);
    const early = parties.ask(id, request);
    if (copy.fates.length === 0)
      must(
        early === undefined,
        () => `node ${id} answers ${request.case} with ${said(early)}, and its write was ${fate}`,
      );
    copy.fates.length = 0;
  }
  const answer = parties.answered(id, request, kind, 'right');
  must(parties.phase(id) === phase, () => `node ${id} answers ${request.case}, and its record is ${parties.phase(id)}`);
  if (draw.chance(0.2)) copy.restart();
  if (draw.chance(0.5)) repeated(parties, id, request, answer);
  return answer;
}

/** The same request again: the same answer, from the record. */
function repeated(parties: KeyParties, id: number, request: Request, answer: Said): void {
  const again = parties.answered(id, request, answer.case, 'repeated');
  must(isSameAnswer(again, answer), () => `node ${id} answers the repeated ${request.case} otherwise`);
  parties.unchanged(id, `the repeated ${request.case}`);
}

function openTrial(trial: Trial, parties: KeyParties, id: number): void {
  const { draw } = trial;
  for (let left = draw.int(0, 2); left > 0; left -= 1) {
    const [what, request, framing] = draw.pick(wrongOpens(trial, parties, id));
    parties.refused(id, request, ['REQUEST_INVALID'], what, framing);
  }
  if (draw.chance(0.2)) parties.refused(id, parties.verify(id, []), ['NOT_OPEN'], 'of an attempt that is not open');
  if (parties.kind.holder === 'hsm' || parties.kind.holder === 'vendor') tokenFails(trial, parties, id);
  const answer = followed(trial, parties, id, parties.open(), 'dkgOpened', 'dealing');
  parties.openings.set(id, answer.value.opening);
  if (draw.chance(0.3))
    parties.refused(id, draw.pick(changedOpens(trial, parties, id)), ['PARAMETERS_CHANGED'], 'with other terms');
  if (draw.chance(0.2))
    parties.refused(id, parties.verify(id, []), ['NOT_OPEN'], 'of a later attempt', { attempt: parties.attempt + 1 });
  if (draw.chance(0.2) && parties.attempt > 1) {
    const late = draw.pick<Request>([
      parties.open(),
      parties.verify(id, []),
      { case: 'dkgConfirm', value: { results: [] } },
    ]);
    parties.refused(id, late, ['STALE_ATTEMPT'], 'of an earlier attempt', { attempt: parties.attempt - 1 });
  }
  if (draw.chance(0.2))
    parties.refused(id, { case: 'dkgConfirm', value: { results: [] } }, ['NOT_FINISHED'], 'before the shares');
}

/** The token, or the vendor, refuses, or answers something else. */
function tokenFails({ draw }: Trial, parties: KeyParties, id: number): void {
  if (!draw.chance(0.5)) return;
  const isVendor = parties.kind.holder === 'vendor';
  const copy = parties.copy(id);
  const message = {
    ...{ tenant: 'tn_trial', session: parties.session, attempt: parties.attempt },
    body: { case: 'dkgOpen' as const, value: { ...parties.open().value, request: 999 } },
  };
  copy.writes.length = 0;
  const sent = copy.tell(parties.addressOf(id), message);
  const asked = sent.find(({ to }) => to === (isVendor ? 'vendor' : 'hsm'));
  must(asked !== undefined, () => `node ${id} does not ask its ${isVendor ? 'vendor' : 'token'} for a key`);
  const fault = isVendor
    ? draw.pick(['VENDOR_UNCONFIGURED', 'VENDOR_UNAVAILABLE'] as const)
    : draw.pick(['HSM_TIMEOUT', 'HSM_FAILED', 'HSM_PIN_REFUSED'] as const);
  const isOdd = draw.chance(0.3);
  const outcome = isOdd
    ? ({ kind: 'destroyed' } as const)
    : ({ kind: 'failed', fault, message: 'as the trial says' } as const);
  const [answer] = copy.tokenAnswers(asked, outcome);
  const code = isOdd ? (isVendor ? 'VENDOR_UNAVAILABLE' : 'HSM_FAILED') : fault;
  const body = answer && !('kind' in answer.message) ? (answer.message.body as Said) : undefined;
  must(body?.value.code === code, () => `node ${id} says ${said(body)}, and its token says ${outcome.kind}`);
  parties.unchanged(id, 'a failure of its token');
}

function sealTrial(trial: Trial, parties: KeyParties, id: number): void {
  const { draw } = trial;
  for (let left = draw.int(0, 2); left > 0; left -= 1) {
    const [what, request, code] = draw.pick(wrongSeals(parties, id));
    parties.refused(id, request, [code], what);
  }
  const request = parties.seal(id);
  const answer = parties.answered(id, request, 'dkgSealed', 'right');
  parties.unchanged(id, 'dkgSeal');
  if (draw.chance(0.3)) parties.copy(id).restart();
  if (draw.chance(0.5)) repeated(parties, id, request, answer);
  for (const share of answer.value.shares) parties.boxes.set(`${id} ${share.recipient}`, share);
}

function verifyTrial(trial: Trial, parties: KeyParties, id: number): void {
  const { draw, allowsDealers } = trial;
  if (!parties.isShared && draw.chance(0.3))
    parties.refused(
      id,
      { case: 'dkgSeal', value: { recipients: [] } },
      ['REQUEST_INVALID'],
      'of keys that are not shared',
    );
  for (let left = draw.int(0, 3); left > 0; left -= 1) {
    const { what, request, code, verdict } = draw.pick(wrongVerifies(trial, parties, id, allowsDealers));
    if (code !== undefined) {
      parties.refused(id, request, [code], what);
      continue;
    }
    const answer = parties.answered(id, request, 'dkgVerified', what);
    const told = answer.value.verdicts[0];
    must(
      told?.verified === false && told.code === verdict && told.revealedSealingKey.length === 0,
      () => `node ${id} says of a dealer (${what}): ${told?.verified ? 'verified' : told?.code}`,
    );
    parties.unchanged(id, `dkgVerify (${what})`);
  }
  // Dealer by dealer, or all at once.
  const [first] = parties.ids;
  if (parties.ids.length > 1 && draw.chance(0.5)) {
    const answer = followed(trial, parties, id, parties.verify(id, [first!]), 'dkgVerified', 'dealing');
    verified(parties, id, answer, 1, false);
    if (draw.chance(0.5)) changedOpening(parties, id, first!);
  }
  const answer = followed(trial, parties, id, parties.verify(id), 'dkgVerified', 'provisional');
  verified(parties, id, answer, parties.ids.length, true);
  parties.results.set(id, answer.value.finished);
  if (draw.chance(0.3)) changedOpening(parties, id, first!);
}

function verified(parties: KeyParties, id: number, { value }: Said, dealers: number, isFinished: boolean): void {
  const good = value.verdicts.filter(
    (one: { verified: boolean; code: string }) => one.verified && one.code === '',
  ).length;
  must(good === dealers, () => `node ${id} verified ${good} of ${dealers} right dealers: ${textOf(value.verdicts)}`);
  must(
    (value.finished !== undefined) === isFinished,
    () => `node ${id} has ${isFinished ? 'no' : 'a'} result of ${dealers} of ${parties.ids.length} dealers`,
  );
}

/** A dealer that has been verified shows another opening, with its signature. */
function changedOpening(parties: KeyParties, id: number, dealer: number): void {
  if (!parties.isShared) return;
  const opening = parties.openings.get(dealer)!;
  const other = parties.signedOpening({ ...opening, sealingKey: opening.sealingKey.map((byte) => byte ^ 1) });
  const { value } = parties.verify(id, [dealer]);
  const answer = parties.answered(
    id,
    { case: 'dkgVerify', value: { ...value, dealers: [other] } },
    'dkgVerified',
    'with another opening',
  );
  const { verified: is, code } = answer.value.verdicts[0];
  must(
    !is && code === 'COMMITMENT_MISMATCH',
    () => `node ${id} takes another opening of dealer ${dealer}: ${is ? 'verified' : code}`,
  );
  parties.unchanged(id, 'another opening of a verified dealer');
}

function confirmTrial(trial: Trial, parties: KeyParties, id: number): void {
  const { draw } = trial;
  for (let left = draw.int(0, 2); left > 0; left -= 1) {
    const [what, request, code] = draw.pick(wrongConfirms(parties, id));
    parties.refused(id, request, [code], what);
  }
  followed(trial, parties, id, parties.confirm(), 'dkgConfirmed', 'final');
  const key = parties.copy(id).record(`key/tn_trial/${parties.session}`);
  must(key !== undefined, () => `node ${id} has confirmed a key that it does not hold`);
}

/** A final key answers as before, and begins nothing. */
function finalTrial({ draw }: Trial, parties: KeyParties, id: number): void {
  if (draw.chance(0.3)) parties.copy(id).restart();
  const { attempt } = parties;
  const isProven = (answer: Said | undefined) => answer?.value.results.length === parties.ids.length;
  const late: readonly [Request, number, string][] = [
    [parties.open(), attempt + 1, 'of another attempt'],
    [{ case: 'dkgDiscard', value: {} }, attempt, 'of a final key'],
    [parties.isShared ? parties.seal(id) : { case: 'dkgSeal', value: { recipients: [] } }, attempt, 'of a final key'],
  ];
  const [request, of, what] = draw.pick(late);
  const answer = parties.refused(id, request, ['ALREADY_FINAL'], what, { attempt: of });
  must(isProven(answer), () => `node ${id} says ALREADY_FINAL without the results of all nodes`);
  const opened = parties.answered(id, parties.open(), 'dkgOpened', 'of a final key');
  must(
    textOf(opened.value.opening) === textOf(parties.openings.get(id)),
    () => `node ${id} shows another opening of a final key`,
  );
  parties.unchanged(id, 'dkgOpen of a final key');
  const wrong = draw.pick(wrongConfirms(parties, id));
  if (draw.chance(0.5)) parties.refused(id, wrong[1], [wrong[2]], wrong[0]);
  const result = parties.answered(
    id,
    parties.verify(id, draw.chance(0.5) ? [] : parties.ids),
    'dkgVerified',
    'of a final key',
  );
  must(
    textOf(result.value.finished) === textOf(parties.results.get(id)),
    () => `node ${id} shows another result of a final key`,
  );
  parties.unchanged(id, 'dkgVerify of a final key');
}

/** A discarded attempt is not dealt again; a later one is. */
function discardTrial(trial: Trial, parties: KeyParties): undefined {
  const { draw } = trial;
  const id = draw.pick(parties.ids);
  const copy = parties.copy(id);
  const discard = { case: 'dkgDiscard', value: {} };
  if (draw.chance(0.5) && parties.attempt > 1)
    parties.refused(id, discard, ['STALE_ATTEMPT'], 'of an earlier attempt', { attempt: parties.attempt - 1 });
  must(parties.ask(id, discard) === undefined, () => `node ${id} answers a discard`);
  must(
    parties.phase(id) === 'discarded',
    () => `node ${id} was told to discard, and its record is ${parties.phase(id)}`,
  );
  if (draw.chance(0.4)) copy.restart();
  must(parties.ask(id, discard) === undefined, () => `node ${id} answers a repeated discard`);
  parties.unchanged(id, 'a repeated discard');
  for (const request of [parties.open(), parties.verify(id, [])] as const)
    parties.refused(id, request, ['ATTEMPT_DISCARDED'], 'of a discarded attempt');
  parties.attempt += 1;
  const answer = parties.answered(id, parties.open(), 'dkgOpened', 'after a discard');
  const isNew = textOf(answer.value.opening.sealingKey) !== textOf(parties.openings.get(id)!.sealingKey);
  must(isNew, () => `node ${id} uses a sealing key in two attempts`);
  return undefined;
}

/** A dealer's box that does not open, or holds a wrong share, with its signature: the complaint ends the attempt, and stays the same. */
function complaintTrial(trial: Trial, parties: KeyParties): undefined {
  const { draw } = trial;
  const id = draw.pick(parties.ids);
  const [dealer] = parties.others(id);
  const request = parties.verify(id);
  const code = draw.pick(['BOX_BROKEN', 'SHARE_INVALID'] as const);
  const broken = request.value.sealed.map((one) => {
    if (one.dealer !== dealer) return one;
    const box = code === 'BOX_BROKEN' ? changed(one.box) : parties.sealed(dealer, id, new Uint8Array(32).fill(3));
    return parties.signedBox({ ...one, box });
  });
  const wrong = { ...request, value: { ...request.value, sealed: broken } };
  const answer = followed(trial, parties, id, wrong, 'dkgVerified', 'broken');
  const complaint = answer.value.verdicts.find((one: { dealer: number }) => one.dealer === dealer);
  must(
    complaint?.code === code && complaint.revealedSealingKey.length === 32,
    () => `node ${id} says ${complaint?.code} of a box with ${code}`,
  );
  const again = parties.answered(id, parties.verify(id), 'dkgVerified', 'after a complaint');
  must(textOf(again.value.verdicts) === textOf(answer.value.verdicts), () => `node ${id} changes its complaint`);
  parties.unchanged(id, 'a request after a complaint');
  const late = draw.pick<Request>([parties.open(), parties.seal(id), { case: 'dkgConfirm', value: { results: [] } }]);
  parties.refused(id, late, ['ATTEMPT_BROKEN'], 'of an attempt that ended with a complaint');
  parties.attempt += 1;
  parties.answered(id, parties.open(), 'dkgOpened', 'after a complaint');
  return undefined;
}
