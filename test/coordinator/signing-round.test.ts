/** The machine of a signing round: what the table allows happens, what it does not list throws, and nothing changes in place. */
import { describe, expect, test } from 'vitest';
import type { Attempt } from '../../coordinator/signing/attempt.ts';
import {
  askedOf,
  attemptAbandoned,
  attemptOf,
  awaitsDraw,
  drawRequested,
  newRound,
  nodesAsked,
  nodesReleased,
  noncesDrawn,
  noncesRejected,
  partialsDropped,
  partialsOf,
  partialTaken,
  type Round,
  type RoundEvent,
  type RoundPhase,
  roundEnded,
  roundLeft,
  roundResumed,
  roundTransitions,
} from '../../coordinator/signing/round.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { imageOf } from '../simulation/cluster/support/image.ts';
import { signing } from '../simulation/cluster/support/observations.ts';

const record = (submitted: readonly number[] = [], given: readonly number[] = []) => {
  const { ceremony } = signing({ ceremony: { attempt: 3, submitted, given } });
  if (ceremony.kind !== 'signing') throw new Error('a signing record');
  return ceremony;
};

/** Only what the round reads of an attempt. */
const attempt = (number: number) =>
  ({ number, tag: 1n, partials: new Map(), nonceless: new Set() }) as unknown as Attempt;
const ofNode = { value: Uint8Array.of(7), origin: 'node', verified: true } as const;
const ofCaller = { ...ofNode, origin: 'caller' } as const;

const idle = newRound(ReceiptState.ACCEPTED, record());
const drawing = drawRequested(idle);
const asking = noncesDrawn(drawing, attempt(4));
const collecting = nodesAsked(asking, [2, 1], 0);
const done = roundEnded(idle);
const rounds: Readonly<Record<RoundPhase, Round>> = { idle, drawing, asking, collecting, done };

const events: Readonly<Record<RoundEvent, (round: Round) => Round>> = {
  draw: drawRequested,
  drawn: (round) => noncesDrawn(round, attempt(5)),
  reject: noncesRejected,
  ask: (round) => nodesAsked(round, [3], 0),
  release: (round) => nodesReleased(round, () => true),
  take: (round) => partialTaken(round, 1, ofNode, 0),
  drop: (round) => partialsDropped(round, [1]),
  abandon: attemptAbandoned,
  leave: roundLeft,
  end: roundEnded,
  resume: roundResumed,
};

/** Events that say nothing where they have nothing to end. */
const ignored: ReadonlySet<RoundEvent> = new Set(['release', 'abandon', 'leave']);

const pairs = (Object.keys(rounds) as RoundPhase[]).flatMap((phase) =>
  (Object.keys(events) as RoundEvent[]).map((event) => [phase, event] as const),
);

describe('a signing round', () => {
  test.each(pairs)('in %s follows the table at %s, and stays as it was itself', (phase, event) => {
    const round = rounds[phase];
    const before = imageOf(round);
    const followers = roundTransitions[phase][event];
    if (followers) expect(followers).toContain(events[event](round).phase);
    else if (ignored.has(event)) expect(events[event](round)).toBe(round);
    else expect(() => events[event](round)).toThrow(/a signing round has no (transition|attempt)/);
    expect(imageOf(round)).toBe(before);
  });

  test('is collecting as long as a node owes an answer', () => {
    const one = nodesReleased(collecting, (id) => id === 2);
    expect([one.phase, [...askedOf(one)]]).toEqual(['collecting', [1]]);
    expect(nodesReleased(one, (id) => id === 1).phase).toBe('asking');
    expect(nodesReleased(one, (id) => id === 9)).toBe(one);
    // A client gave the partial of a node that was asked.
    expect(partialTaken(one, 1, ofCaller, 0).phase).toBe('asking');
  });

  test('takes nonces of its latest draw alone', () => {
    const again = drawRequested(noncesRejected(drawing));
    expect([awaitsDraw(drawing, 1), awaitsDraw(again, 1), awaitsDraw(again, 2)]).toEqual([true, false, true]);
    expect(awaitsDraw(roundLeft(again), 2)).toBe(false);
    expect(noncesDrawn(again, attempt(4)).history.attempts).toBe(4);
  });

  test('asks nodes again for partials of an abandoned attempt, and voids those that clients gave', () => {
    const full = partialTaken(partialTaken(collecting, 2, ofNode, 0), 1, ofCaller, 0);
    expect(partialsOf(full)).toEqual({ submitted: [1, 2], given: [1] });
    const { history, phase } = attemptAbandoned(full);
    expect(phase).toBe('idle');
    expect([[...history.askAgain], [...history.voided]]).toEqual([[2], [1]]);
    const next = partialTaken(noncesDrawn(drawRequested(attemptAbandoned(full)), attempt(5)), 2, ofNode, 0);
    expect([[...next.history.askAgain], [...next.history.voided]]).toEqual([[], [1]]);
    expect([...attemptOf(next)!.partials.keys()]).toEqual([2]);
  });

  test('does the same for what a record says was in when the process died', () => {
    const { history } = newRound(ReceiptState.RESUMED, record([1, 2, 4], [4]));
    expect([[...history.askAgain], [...history.voided], history.attempts]).toEqual([[1, 2], [4], 3]);
    const over = newRound(ReceiptState.BACKEND_COMPLETED, record([1, 2], []));
    expect([over.phase, over.history.askAgain.size]).toEqual(['done', 0]);
  });

  test('a void partial stays void until a client gives that node’s again, whatever the node itself answers', () => {
    const again = noncesDrawn(drawRequested(newRound(ReceiptState.RESUMED, record([1, 2], [1, 2]))), attempt(4));
    const asked = nodesAsked(again, [1, 2, 3], 0);
    expect([...partialTaken(asked, 1, ofNode, 0).history.voided]).toEqual([1, 2]);
    expect([...partialTaken(asked, 1, ofCaller, 0).history.voided]).toEqual([2]);
  });

  test('reports partials ascending by node, in whatever order they came or are asked for again', () => {
    for (const order of [
      [1, 2, 3],
      [3, 2, 1],
      [2, 3, 1],
    ]) {
      let round = nodesAsked(asking, order, 0);
      for (const id of order) round = partialTaken(round, id, ofCaller, 0);
      expect(partialsOf(round)).toEqual({ submitted: [1, 2, 3], given: [1, 2, 3] });
      const lost = newRound(ReceiptState.ACCEPTED, record(order, []));
      expect(partialsOf(lost)).toEqual({ submitted: [1, 2, 3], given: [] });
    }
  });
});
