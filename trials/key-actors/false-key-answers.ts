/**
 * What a byzantine node may say in a key generation instead of its right answer, and what must follow. Written from
 * docs/protocol.md (sections 3, 4) and docs/signing-api.md ("Making a key").
 */

import type { Said } from '../support/key-parties.ts';
import type { Result } from '../support/key-transcripts.ts';
import { changed } from '../support/trial.ts';
import type { KeyMaking, Told } from './key-making.ts';

/**
 * `ignored`: nothing changes, and the right answer still counts. `right`: it counts as the right answer. `asked again`: it says nothing
 * new, so the request comes again. Otherwise the attempt fails.
 */
export type Effect = 'ignored' | 'right' | 'asked again' | Failure;

export interface Failure {
  readonly reason: string;
  readonly culprits: readonly number[];
  /** Stopped it, without evidence against them. */
  readonly stalled: readonly number[];
}

export interface FalseAnswer {
  readonly what: string;
  readonly body: Said;
  readonly effect: Effect;
  /** Of the frame; that of the right answer by default. */
  readonly attempt?: number;
}

export function blames(...culprits: readonly number[]): Failure {
  return { reason: 'DEALER_MISBEHAVED', culprits, stalled: [] };
}

export function stalls(...stalled: readonly number[]): Failure {
  return { reason: 'NODE_REFUSED', culprits: [], stalled: [...new Set(stalled)].sort((a, b) => a - b) };
}

/** What the session gives as the reason when the token, or the vendor, of a key's one node fails: docs/reason-codes.md. */
const tokenReasons = {
  HSM_UNCONFIGURED: 'KEYSTORE_UNAVAILABLE',
  HSM_SESSION_LOST: 'HSM_SESSION_LOST',
  HSM_PIN_REFUSED: 'HSM_PIN_REFUSED',
  HSM_TIMEOUT: 'HSM_TIMEOUT',
  HSM_TOKEN_ABSENT: 'HSM_TOKEN_ABSENT',
  HSM_FAILED: 'HSM_FAILED',
  VENDOR_UNCONFIGURED: 'KEYSTORE_UNAVAILABLE',
  VENDOR_UNAVAILABLE: 'VENDOR_UNAVAILABLE',
} as const;

/** In place of `told`, which is right and is not heard yet. `sawAll`: this process of the coordinator made every request of the attempt. */
export function falseAnswers(making: KeyMaking, told: Told, sawAll: boolean): FalseAnswer[] {
  const { body } = told;
  const found: FalseAnswer[] = [...misnumbered(making, told), ...refusals(making, told)];
  if (body.case === 'dkgVerified') found.push(...finalClaims(making, told));
  if (body.case === 'dkgOpened') found.push(...falseOpenings(making, told));
  else if (body.case === 'dkgSealed') found.push(...falseBoxes(told));
  else if (body.case === 'dkgVerified') found.push(...falseVerdicts(making, told, sawAll), ...falseResults(told));
  return found;
}

/** Answers to no request of this coordinator's. */
function misnumbered(making: KeyMaking, { id, attempt, body }: Told): FalseAnswer[] {
  const { value } = body;
  const numbered = (request: number): Said => ({ case: body.case, value: { ...value, request } });
  const other = making.answers.find((answer) => answer.id !== id);
  const kinds: readonly Said[] = [
    { case: 'dkgConfirmed', value: { nodeId: id, request: value.request } },
    { case: 'dkgSealed', value: { shares: [], request: value.request } },
    { case: 'dkgVerified', value: { recipient: id, verdicts: [], request: value.request } },
  ];
  const kind = making.trial.draw.pick(kinds.filter((one) => one.case !== body.case));
  const refusal = { nodeId: id, code: 'NOT_OPEN', message: '', culprits: [], results: [] };
  const found: FalseAnswer[] = [
    { what: 'with a number that no request had', body: numbered(value.request + 77_777), effect: 'ignored' },
    { what: 'with the number 0', body: numbered(0), effect: 'ignored' },
    { what: `${kind.case} in answer to another request`, body: kind, effect: 'ignored' },
    { what: 'of a later attempt', body, attempt: attempt + 1, effect: 'ignored' },
    {
      what: 'a refusal of a request that was not made',
      body: { case: 'dkgRefused', value: { ...refusal, request: value.request + 55_555 } },
      effect: 'ignored',
    },
  ];
  if (other) {
    const { request } = other.body.value;
    found.push({ what: 'with the number of another node’s request', body: numbered(request), effect: 'ignored' });
  }
  return found;
}

function refusals({ kind, isShared, trial }: KeyMaking, { id, body }: Told): FalseAnswer[] {
  const { request } = body.value;
  const refused = (code: string, effect: Effect): FalseAnswer => ({
    what: `a refusal ${code}`,
    body: {
      case: 'dkgRefused',
      value: { nodeId: id, code, message: 'as it says', culprits: [], results: [], request },
    },
    effect,
  });
  const codes = [
    'REQUEST_INVALID',
    'NOT_OPEN',
    'ALREADY_FINAL',
    'CLIENT_DEALERS_NOT_ALLOWED',
    'FINISH_FAILED',
  ] as const;
  const found = [refused(trial.draw.pick(codes), stalls(id))];
  const isOutside = kind.holder === 'hsm' || kind.holder === 'vendor';
  const code = trial.draw.pick(Object.keys(tokenReasons) as (keyof typeof tokenReasons)[]);
  if (isShared || isOutside) {
    found.push(refused(code, { ...stalls(id), reason: isShared ? 'NODE_REFUSED' : tokenReasons[code] }));
  }
  return found;
}

/** A node says that its key is final: that counts with the results that every node has signed, and only with them. */
function finalClaims(making: KeyMaking, { id, body }: Told): FalseAnswer[] {
  const { ids, results } = making;
  if (ids.some((one) => !results.has(one))) return [];
  const all = ids.map((one) => results.get(one)!);
  const [first] = all;
  const last = all.at(-1)!;
  const other = { ...last, chainCode: changed(last.chainCode) };
  const { request } = body.value;
  const claim = (what: string, shown: readonly Result[], effect: Effect = stalls(id)): FalseAnswer => {
    const value = { nodeId: id, code: 'ALREADY_FINAL', message: '', culprits: [], results: shown, request };
    return { what: `ALREADY_FINAL ${what}`, body: { case: 'dkgRefused', value }, effect };
  };
  const found = [
    claim('with every result', all, 'right'),
    claim('with too few results', all.slice(1)),
    claim('with a result too many', [...all, first!]),
    claim('with a result without its signature', [
      ...all.slice(0, -1),
      { ...last, signature: changed(last.signature) },
    ]),
  ];
  if (all.length > 1) {
    found.push(
      claim('with one result twice', [...all.slice(0, -1), first!]),
      claim('with a result that differs', [...all.slice(0, -1), making.signedResult(other)]),
    );
  }
  return found;
}

function falseOpenings(making: KeyMaking, { id, body }: Told): FalseAnswer[] {
  const { opening, request } = body.value;
  const said = (what: string, given: object | undefined, effect: Effect = blames(id)): FalseAnswer => ({
    what: `an opening ${what}`,
    body: { case: 'dkgOpened', value: { opening: given, request } },
    effect,
  });
  const signed = (what: string, changes: object) => said(what, making.signedOpening({ ...opening, ...changes }));
  const found = [
    said('that is missing', undefined),
    said('in another dealer’s name', { ...opening, dealer: (id % making.trial.nodesTotal) + 1 }),
    said('as a client would supply it', { ...opening, clientSupplied: true }),
    said('that it did not sign', { ...opening, signature: changed(opening.signature) }),
    signed('without possession', { possession: changed(opening.possession) }),
    signed('with too many commitments', { commitments: [...opening.commitments, opening.commitments[0]] }),
  ];
  if (opening.commitments.length > 1) {
    found.push(signed('with other commitments', { commitments: [...opening.commitments].reverse() }));
  }
  return found;
}

/** Boxes that are wrong and signed end the attempt by a recipient's complaint: see `complainedBoxes`. */
function falseBoxes({ id, body }: Told): FalseAnswer[] {
  const { shares, request } = body.value;
  const said = (what: string, given: readonly object[]): FalseAnswer => ({
    what,
    body: { case: 'dkgSealed', value: { shares: given, request } },
    effect: 'asked again',
  });
  const dealt = shares as readonly { readonly dealer: number; readonly recipient: number }[];
  return [
    said('no boxes', []),
    said(
      'boxes in another dealer’s name',
      dealt.map((box) => ({ ...box, dealer: box.recipient, recipient: id })),
    ),
    said(
      'boxes for nodes that are none',
      dealt.map((box) => ({ ...box, recipient: 99 })),
    ),
  ];
}

function falseVerdicts(making: KeyMaking, { id, body }: Told, sawAll: boolean): FalseAnswer[] {
  const { value } = body;
  const none = new Uint8Array(0);
  const unproven = (dealer: number): Failure => (sawAll ? blames(id) : stalls(id, dealer));
  const said = (what: string, dealer: number, code: string, effect: Effect): FalseAnswer => {
    const verdict = { dealer, verified: false, code, message: 'as it says', revealedSealingKey: none };
    const verdicts = [...value.verdicts.filter((one: { dealer: number }) => one.dealer !== dealer), verdict];
    return { what: `${code} of ${what}`, body: { case: 'dkgVerified', value: { ...value, verdicts } }, effect };
  };
  const asked = (value.verdicts as readonly { readonly dealer: number }[]).map(({ dealer }) => dealer);
  const other = asked.find((dealer) => dealer !== id);
  const found: FalseAnswer[] = [];
  if (other !== undefined) {
    found.push(
      said('a right opening', other, 'OPENING_INVALID', blames(id)),
      said('a proven opening', other, 'POSSESSION_INVALID', blames(id)),
      said('an opening that it got once', other, 'COMMITMENT_MISMATCH', unproven(other)),
    );
    if (making.isShared) {
      found.push(
        said('a signed box', other, 'SHARE_UNSIGNED', blames(id)),
        said('a box, without its key', other, 'BOX_BROKEN', blames(id)),
      );
    }
  }
  if (asked.length > 0) {
    found.push(
      said('a box that it never got', id, 'SHARE_UNSIGNED', unproven(id)),
      said('a box that it never got', id, 'BOX_BROKEN', unproven(id)),
    );
    const outside = making.rosterIds.find((one) => !making.ids.includes(one)) ?? 99;
    // Who is no dealer cannot be blamed, and the rest of the answer is right.
    if (value.finished) found.push(said('a node that is none of the dealers', outside, 'SHARE_INVALID', 'right'));
  }
  if (asked.length > 0 && value.finished) {
    // It is asked for the result alone.
    const body = { case: 'dkgVerified', value: { ...value, finished: undefined } };
    found.push({ what: 'verdicts without the result', body, effect: 'right' });
  }
  if (asked.length === 0) {
    const silent = { ...value, finished: undefined };
    found.push({ what: 'no result', body: { case: 'dkgVerified', value: silent }, effect: stalls(id) });
  }
  return found;
}

function falseResults({ id, body }: Told): FalseAnswer[] {
  const { value } = body;
  const { finished } = value as { readonly finished: Result | undefined };
  if (!finished) return [];
  const said = (what: string, given: Result): FalseAnswer => ({
    what: `a result ${what}`,
    body: { case: 'dkgVerified', value: { ...value, finished: given } },
    effect: blames(id),
  });
  return [
    said('that it did not sign', { ...finished, signature: changed(finished.signature) }),
    said('of another node', { ...finished, nodeId: id + 1 }),
    said('that differs from what it signed', { ...finished, chainCode: changed(finished.chainCode) }),
  ];
}

/** What a node may say after its right answer was heard; `attempt` is open. */
export function lateAnswers(making: KeyMaking, { id, body }: Told): FalseAnswer[] {
  const { value } = body;
  const refusal = { nodeId: id, code: 'NOT_OPEN', message: '', culprits: [], results: [], request: value.request };
  const found: FalseAnswer[] = [
    { what: 'the answer again', body, effect: 'ignored' },
    { what: 'a refusal of what it did', body: { case: 'dkgRefused', value: refusal }, effect: 'ignored' },
  ];
  if (body.case === 'dkgOpened') {
    const { opening } = value;
    const other = { ...opening, sealingKey: changed(opening.sealingKey) };
    const said = (what: string, given: object, effect: Effect): FalseAnswer => ({
      what: `a second opening ${what}`,
      body: { case: 'dkgOpened', value: { opening: given, request: 0 } },
      effect,
    });
    const stranger = making.others(id)[0];
    found.push(
      said('that it signed', making.signedOpening(other), blames(id)),
      said('that it did not sign', { ...other, signature: changed(opening.signature) }, 'ignored'),
    );
    if (stranger !== undefined) found.push(said('of another dealer', { ...other, dealer: stranger }, 'ignored'));
  }
  if (body.case === 'dkgVerified' && value.finished) {
    const { finished } = value as { readonly finished: Result };
    const other = { ...finished, chainCode: changed(finished.chainCode) };
    const said = (what: string, given: Result, effect: Effect): FalseAnswer => ({
      what: `a second result ${what}`,
      body: { case: 'dkgVerified', value: { recipient: id, verdicts: [], finished: given, request: 0 } },
      effect,
    });
    found.push(
      said('that it signed', making.signedResult(other), blames(id)),
      said('that it did not sign', other, 'ignored'),
    );
  }
  return found;
}
