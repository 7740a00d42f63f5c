/**
 * What a node may say in a key generation in place of its right answer, or after it: the coordinator ignores it, or ends the attempt
 * and names a node by evidence alone. Whatever was said, the calls get one answer, and honest nodes make the key afterwards.
 */
import { describe, expect, test } from 'vitest';
import type { DkgRecord } from '../../coordinator/contract/record.ts';
import {
  type DkgTerms,
  finishTranscript,
  openingTranscript,
  sessionContext,
} from '../../core/crypto/dkg-transcripts.ts';
import { identityFromSeed, sign } from '../../core/crypto/identity.ts';
import { participantsOf } from '../../core/crypto/participants.ts';
import type { DkgFinished, DkgOpening } from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import { rosterDigest } from '../../proto/roster.ts';
import { identitySeedOf } from '../nodes/harness.ts';
import { useModelCryptography } from '../support/model-cryptography.ts';
import { CoordinatorAlone, type Frame } from './support/alone.ts';
import { tenant } from './support/steered-store.ts';

useModelCryptography();

const liar = 2;
const sessionId = 'k';
const flip = (bytes: Uint8Array) => bytes.map((byte, index) => (index === 0 ? byte ^ 1 : byte));

/** A key of nodes 1 to 3 of 5 is being made, and a call waits for the whole round. */
class Making extends CoordinatorAlone {
  readonly round: bigint;
  /** What honest nodes answered, the liar too. */
  readonly openings = new Map<number, DkgOpening>();
  readonly results = new Map<number, DkgFinished>();

  /** `isRestarted`: another process of the coordinator makes the requests than the one that began the attempt. */
  constructor(isRestarted = false) {
    super();
    this.call('initiateDkg', { sessionId, threshold: 2, totalNodes: 3 });
    if (isRestarted) this.restart();
    this.round = this.call('exchangeDkgShares', { sessionId });
  }

  override deliver(mute?: readonly number[]): void {
    super.deliver(mute);
    for (const { node, body } of this.answers) {
      if (body.case === 'dkgOpened') this.openings.set(node, body.value.opening!);
      if (body.case === 'dkgVerified' && body.value.finished) this.results.set(node, body.value.finished);
    }
  }

  get ceremony(): DkgRecord {
    return this.store.session(sessionId).ceremony as DkgRecord;
  }

  get #context(): Uint8Array {
    const { ceremony } = this;
    const roster = rosterDigest(this.config.roster);
    return sessionContext({ ...ceremony, tenant, session: sessionId, rosterDigest: roster } as unknown as DkgTerms);
  }

  /** As the node itself would sign it. */
  signedOpening(opening: DkgOpening): DkgOpening {
    const signature = sign(secretKey(opening.dealer), openingTranscript(this.#context, opening));
    return { ...opening, signature: Uint8Array.from(signature) };
  }

  signedResult(result: DkgFinished, signer = result.nodeId): DkgFinished {
    return { ...result, signature: Uint8Array.from(sign(secretKey(signer), finishTranscript(this.#context, result))) };
  }

  /** The reason of the round's end, the nodes that are blamed, and those that stopped it without evidence. */
  get outcome(): string {
    const { culprits = [], stalledBy = [] } = this.ceremony;
    return `${this.code(this.round)} ${culprits.join()} ${stalledBy.join()}`.trim();
  }
}

function secretKey(id: number): Uint8Array {
  return identityFromSeed(identitySeedOf(id)).secretKey;
}

/** What the liar says where its right answer would come; `t` knows all that was said so far. */
type Lie = (value: never, t: Making) => readonly object[];

/** Every answer of the liar of this kind is changed; the others are heard before its answers to the same requests. */
function told(kind: Frame['body']['case'], lie: Lie, t = new Making()): Making {
  let done = false;
  for (let left = 40; left > 0 && t.code(t.round) === 'waits'; left -= 1) {
    t.deliver();
    const answers = t.answers.splice(0).sort((a, b) => Number(a.node === liar) - Number(b.node === liar));
    if (answers.length === 0) break;
    for (const answer of answers) {
      const isLie: boolean = answer.node === liar && answer.body.case === kind && !done;
      const bodies = isLie ? lie(answer.body.value as never, t) : [answer.body];
      done ||= isLie;
      for (const body of bodies) t.hear(answer, body);
    }
  }
  expect(done).toBe(true);
  return t;
}

const says = (kind: string, value: object) => ({ case: kind, value });
const opened = (opening: unknown, request = 0) => says('dkgOpened', { opening, request });
const verified = (value: object) => says('dkgVerified', value);
const refused = (request: number, code = 'NOT_OPEN', results: readonly object[] = []) =>
  says('dkgRefused', { nodeId: liar, code, message: 'as it says', culprits: [], results, request });

type OpenedValue = { readonly opening: DkgOpening; readonly request: number };
type VerifiedValue = {
  readonly verdicts: readonly { readonly dealer: number }[];
  readonly finished?: DkgFinished;
  readonly request: number;
};

/** The other results of this round, and the liar's. */
const allResults = (t: Making) => [1, 2, 3].map((id) => t.results.get(id)!);
const claim = (shown: (results: readonly DkgFinished[], t: Making) => readonly object[]) =>
  [
    'dkgVerified',
    ({ request }: VerifiedValue, t: Making) => [refused(request, 'ALREADY_FINAL', shown(allResults(t), t))],
  ] as const;
const complaint = (dealer: number, code: string, revealed = new Uint8Array()) =>
  [
    'dkgVerified',
    (value: VerifiedValue) => {
      const verdict = { dealer, verified: false, code, message: 'lies', revealedSealingKey: revealed };
      const verdicts = [...value.verdicts.filter((one) => one.dealer !== dealer), verdict];
      return [verified({ ...value, verdicts, finished: undefined })];
    },
  ] as const;

const made = 'DKG_COMPLETED';
const blamed = `DEALER_MISBEHAVED ${liar}`;
const stalled = `NODE_REFUSED  ${liar}`;

const lies: readonly (readonly [what: string, outcome: string, kind: Frame['body']['case'], lie: Lie])[] = [
  // Two signed messages that contradict each other are evidence, whether they were requested or not.
  [
    'a second opening, signed',
    blamed,
    'dkgOpened',
    (value: OpenedValue, t: Making) => [
      says('dkgOpened', value),
      opened(t.signedOpening({ ...value.opening, sealingKey: flip(value.opening.sealingKey) })),
    ],
  ],
  [
    'a second opening that it did not sign',
    made,
    'dkgOpened',
    (value: OpenedValue) => [
      says('dkgOpened', value),
      opened({ ...value.opening, sealingKey: flip(value.opening.sealingKey) }),
    ],
  ],
  [
    'a second opening, of another dealer',
    made,
    'dkgOpened',
    (value: OpenedValue, t: Making) => [says('dkgOpened', value), opened(flipped(t.openings.get(1)!))],
  ],
  [
    'a second result, signed',
    blamed,
    'dkgVerified',
    (value: VerifiedValue, t: Making) => [
      verified(value),
      verified({
        ...value,
        request: 0,
        finished: t.signedResult({ ...t.results.get(liar)!, chainCode: flip(t.results.get(liar)!.chainCode) }),
      }),
    ],
  ],
  [
    'a second result that it did not sign',
    made,
    'dkgVerified',
    (value: VerifiedValue, t: Making) => [
      verified(value),
      verified({ ...value, request: 0, finished: flipped(t.results.get(liar)!) }),
    ],
  ],
  [
    'its right answer twice',
    made,
    'dkgOpened',
    (value: OpenedValue) => [opened(value.opening, value.request), opened(value.opening, value.request)],
  ],
  ...(['dkgOpened', 'dkgSealed', 'dkgVerified', 'dkgConfirmed'] as const).map(
    (kind) =>
      [
        `a refusal after its right answer ${kind}`,
        made,
        kind,
        (value: { readonly request: number }) => [says(kind, value), refused(value.request)],
      ] as const,
  ),
  // In place of the right answer.
  ...(['dkgOpened', 'dkgSealed', 'dkgVerified', 'dkgConfirmed'] as const).flatMap((kind) => [
    [
      `a refusal in place of ${kind}`,
      stalled,
      kind,
      ({ request }: { readonly request: number }) => [refused(request)],
    ] as const,
    [
      `an answer of another kind in place of ${kind}, and then the right one`,
      made,
      kind,
      (value: { readonly request: number }) => [
        kind === 'dkgSealed' || kind === 'dkgOpened'
          ? says('dkgConfirmed', { nodeId: liar, request: value.request })
          : says('dkgSealed', { shares: [], request: value.request }),
        says(kind, value),
      ],
    ] as const,
  ]),
  [
    'a result in another node’s name',
    blamed,
    'dkgVerified',
    (value: VerifiedValue, t: Making) => [verified({ ...value, finished: t.results.get(3) })],
  ],
  [
    'a false result, well signed',
    blamed,
    'dkgVerified',
    (value: VerifiedValue, t: Making) => [
      verified({
        ...value,
        finished: t.signedResult({ ...t.results.get(liar)!, chainCode: flip(t.results.get(liar)!.chainCode) }),
      }),
    ],
  ],
  [
    'no result, and is asked for it',
    made,
    'dkgVerified',
    (value: VerifiedValue) => [verified({ ...value, finished: undefined })],
  ],
  ...['SHARE_UNSIGNED', 'BOX_BROKEN', 'SHARE_INVALID'].map(
    (code) => [`${code} of a box that it never got`, blamed, ...complaint(liar, code)] as const,
  ),
  ['that its key is final, with every result', made, ...claim((results) => results)],
  ['that its key is final, with too few results', stalled, ...claim((results) => results.slice(1))],
  ['that its key is final, with a result too many', stalled, ...claim((results) => [...results, results[0]!])],
  ['that its key is final, with one result twice', stalled, ...claim(([a, b]) => [a!, b!, a!])],
  [
    'that its key is final, with a result that its node did not sign',
    stalled,
    ...claim(([a, b, c]) => [a!, b!, { ...c!, signature: flip(c!.signature) }]),
  ],
  [
    'that its key is final, with a result of its own that differs',
    stalled,
    ...claim(([a, b, c], t) => [a!, t.signedResult({ ...b!, chainCode: flip(b!.chainCode) }), c!]),
  ],
].map(([what, outcome, kind, lie]) => [what, outcome, kind, lie] as never);

function flipped<T extends { readonly signature: Uint8Array }>(signed: T): T {
  return {
    ...signed,
    signature: flip(signed.signature),
    sealingKey: new Uint8Array(32),
    chainCode: new Uint8Array(32),
  };
}

describe('a node says', () => {
  test.each(lies)('%s: %s', (_, outcome, kind, lie) => {
    const t = told(kind, lie);
    expect(t.outcome).toBe(outcome);
    recovers(t);
  });
});

/** A failed attempt is discarded by its nodes unless a key may be final, and the next one makes the key. */
function recovers(t: Making): void {
  const { code, token } = { code: t.code(t.round), token: t.answer(t.round).checkpoint!.resumeToken };
  if (code === made) return;
  const told = t.asked.filter(({ body }) => body.case === 'dkgDiscard').map(({ node }) => node);
  const { attempt, mayBeFinal = false, participants } = t.ceremony;
  expect([attempt, told]).toEqual(mayBeFinal ? [1, []] : [2, [1, 2, 3]]);
  // Another node takes the place of the one that stopped it.
  expect(participantsOf({ totalNodes: 3, participants })).toEqual(mayBeFinal ? [1, 2, 3] : [1, 3, 4]);
  expect(t.code(t.call('resumeSession', { sessionId, resumeToken: token }))).toBe('SESSION_RESUMED');
  const again = t.call('exchangeDkgShares', { sessionId });
  t.serve();
  expect(t.code(again)).toBe(made);
}

/** A process that did not begin the attempt does not know what the first one relayed: without proof it blames no node. */
test.each([
  ['a box that it never got', 'NODE_REFUSED  2', ...complaint(liar, 'BOX_BROKEN')],
  ['an opening that differs', 'NODE_REFUSED  1,2', ...complaint(1, 'COMMITMENT_MISMATCH')],
  ['a right opening', blamed, ...complaint(1, 'OPENING_INVALID')],
  ['a false result', 'TRANSCRIPT_MISMATCH', 'dkgVerified', falseResult],
] as const)('after a restart of the coordinator a node tells of %s: %s', (_, outcome, kind, lie) => {
  const t = told(kind, lie as Lie, new Making(true));
  expect(t.outcome).toBe(outcome);
});

function falseResult(value: VerifiedValue, t: Making): readonly object[] {
  const result = t.results.get(liar)!;
  return [verified({ ...value, finished: t.signedResult({ ...result, chainCode: flip(result.chainCode) }) })];
}

describe.each(['dkgOpened', 'dkgSealed', 'dkgVerified', 'dkgConfirmed'] as const)('an answer %s', (kind) => {
  /** The round up to the first answers of this kind, which the coordinator has not heard. */
  function until(t: Making, happens = () => {}): Frame[] {
    for (let left = 20; left > 0; left -= 1) {
      if (t.asked.some(({ body }) => requestOf[kind] === body.case)) happens();
      t.deliver();
      if (t.answers.some(({ body }) => body.case === kind)) return t.answers.splice(0);
      for (const answer of t.answers.splice(0)) t.hear(answer);
    }
    throw new Error(`no answer ${kind}`);
  }

  test('of another attempt, of a node outside the attempt, or to another node’s request counts for nothing', () => {
    const t = new Making();
    const answers = until(t);
    t.unchanged(() => {
      for (const answer of answers) {
        const no = refused((answer.body.value as unknown as { request: number }).request);
        for (const body of [answer.body, no]) {
          t.hear({ ...answer, names: { ...answer.names, attempt: 2 } }, body);
          t.hear({ ...answer, from: `node/4/dkg/${tenant}/${sessionId}` }, body);
        }
        const other = answers.find(({ node }) => node !== answer.node)!;
        t.hear({ ...answer, from: other.from }, no);
      }
    });
    expect([t.code(t.round), t.asked]).toEqual(['waits', []]);
    for (const answer of answers) t.hear(answer);
    t.serve();
    expect(t.outcome).toBe(made);
  });

  test('that comes to each of two requests counts once', () => {
    const t = new Making();
    const answers = until(t, () => t.pass(t.config.partialTimeoutMs));
    for (const answer of answers) t.hear(answer);
    t.serve();
    expect(t.outcome).toBe(made);
  });

  test('to a process of the coordinator that has died counts for nothing in the next one', () => {
    const t = new Making();
    const answers = until(t);
    t.restart();
    const round = t.call('exchangeDkgShares', { sessionId });
    const asked = t.asked.length;
    t.unchanged(() => {
      for (const answer of answers) t.hear(answer);
    });
    expect([t.code(round), t.asked.length]).toEqual(['waits', asked]);
    t.serve();
    expect(t.code(round)).toBe(made);
  });

  test('past the lifetime of the session ends it, and its nodes discard the attempt', () => {
    const t = new Making();
    const answers = until(t);
    t.aheadMs = t.config.lifetimes.dkgMs;
    t.hear(answers[0]!);
    expect(t.code(t.round)).toBe('SESSION_EXPIRED');
    expect(t.asked.map(({ node, body }) => [node, body.case])).toEqual([1, 2, 3].map((id) => [id, 'dkgDiscard']));
    t.unchanged(() => {
      for (const answer of answers) t.hear(answer);
    });
  });
});

const requestOf = { dkgOpened: 'dkgOpen', dkgSealed: 'dkgSeal', dkgVerified: 'dkgVerify', dkgConfirmed: 'dkgConfirm' };

/** Also in a process that did not begin the attempt: the two messages alone are the evidence. */
test.each([
  ['openings', 'dkgOpened'],
  ['results', 'dkgVerified'],
] as const)('two different %s to two requests are evidence, both signed', (_, kind) => {
  const t = new Making(true);
  let first: Frame | undefined;
  t.serve((answer) => {
    const { node, body } = answer;
    if (node !== liar || body.case !== kind || (body.case === 'dkgVerified' && !body.value.finished)) return undefined;
    first ??= answer;
    return [];
  });
  t.pass(t.config.partialTimeoutMs);
  t.deliver();
  const second = t.answers.splice(0).find(({ node, body }) => node === liar && body.case === kind)!;
  const { value } = second.body as unknown as { value: OpenedValue & VerifiedValue };
  t.hear(first!);
  const other = () => t.signedOpening({ ...value.opening, sealingKey: flip(value.opening.sealingKey) });
  const [body] = kind === 'dkgOpened' ? [opened(other(), value.request)] : falseResult(value, t);
  t.hear(second, body);
  expect(t.outcome).toBe(blamed);
});
