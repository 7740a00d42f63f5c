/**
 * Faults in a key generation that a trial tries in forks of the coordinator's actor: nodes that are gone, results and answers that
 * contradict each other, and a store that refuses a resume. Written from docs/signing-api.md ("Making a key") and docs/protocol.md.
 */
import { participantsOf } from '../../core/crypto/participants.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { WriteFate } from '../../simulation/cluster/memory-stores.ts';
import { changed, must } from '../support/trial.ts';
import { blames } from './false-key-answers.ts';
import { type KeyMaking, type Side, type Told, waits } from './key-making.ts';
import { answered, failed, isOpenSession, unavailable } from './key-making-rules.ts';

/** A node is gone, and no node answers any more. `calls` wait for the whole round. */
export function absence(making: KeyMaking, calls: readonly bigint[]): void {
  const { draw } = making.trial;
  const fork = making.side.fork();
  const { ceremony } = making.record;
  const gone = draw.pick(making.ids);
  const out = [...making.ids, ...(ceremony.leftOut ?? [])];
  const spare = making.rosterIds.filter((id) => !out.includes(id));
  const linked = draw.chance(0.6) ? spare : [];
  fork.take(fork.actor.link([...making.others(gone), ...linked].sort((a, b) => a - b)));
  fork.pass(waits.partialMs + 1);
  if (linked.length > 0 && !ceremony.mayBeFinal) {
    replaced(making, fork, gone, linked);
    return;
  }
  must(
    fork.record!.ceremony.attempt === ceremony.attempt,
    () => `node ${gone} is gone, and no other can replace it: attempt ${fork.record!.ceremony.attempt}`,
  );
  stops(making, fork, gone, calls);
  goesOn(making, fork, gone);
}

/** The next attempt is of another node in place of the one that is gone. */
function replaced(making: KeyMaking, side: Side, gone: number, free: readonly number[]): void {
  const { attempt } = side.record!.ceremony;
  const participants = participantsOf(side.record!.ceremony);
  const expected = [...making.others(gone), free[0]!].sort((a, b) => a - b);
  must(
    attempt === making.attempt + 1 && participants.join() === expected.join(),
    () => `node ${gone} is gone, ${free} are free: attempt ${attempt} of ${participants}, and must be of ${expected}`,
  );
}

/** The time for nodes ends: the session fails, and names the node that is gone. */
function stops(making: KeyMaking, side: Side, gone: number, calls: readonly bigint[]): void {
  side.pass(waits.nodesMs);
  const { record } = side;
  must(
    record?.state === ReceiptState.BACKEND_FAILED && record.reasonCode === 'NODES_UNAVAILABLE',
    () => `node ${gone} is gone, and the session is ${record?.reasonCode} after ${waits.nodesMs} ms`,
  );
  answered(side, calls, 'NODES_UNAVAILABLE', `node ${gone} is gone`);
  must(
    record.ceremony.attempt === making.attempt && (record.ceremony.stalledBy ?? []).includes(gone),
    () => `node ${gone} is gone, and the session is stopped by ${record.ceremony.stalledBy}`,
  );
}

/**
 * A session that stopped for a node continues, and the node stays away: a free node replaces it, but not in an attempt whose key may be
 * final, or a dealer of which a client supplies.
 */
function goesOn(making: KeyMaking, side: Side, gone: number): void {
  const { ceremony } = making.record;
  const out = [...making.ids, ...(ceremony.leftOut ?? [])];
  const free = making.rosterIds.filter((id) => !out.includes(id));
  side.take(side.actor.link(making.rosterIds.filter((id) => id !== gone)));
  const call = making.again(side);
  side.pass(waits.partialMs + 1);
  const isFixed = ceremony.mayBeFinal === true || Object.keys(ceremony.played).length > 0;
  if (free.length > 0 && !isFixed) {
    replaced(making, side, gone, free);
    return;
  }
  must(
    side.record!.ceremony.attempt === ceremony.attempt,
    () => `node ${gone} is gone, and its attempt must stay: attempt ${side.record!.ceremony.attempt}`,
  );
  stops(making, side, gone, [call]);
}

/** The whole round as one call after steps, and a node is gone: pairs that were acknowledged stay, and so does their attempt. */
export function absentAfterSteps(making: KeyMaking): void {
  const fork = making.side.fork();
  const gone = making.trial.draw.pick(making.ids);
  fork.take(fork.actor.link(making.rosterIds.filter((id) => id !== gone)));
  const call = making.exchange({}, fork);
  fork.pass(waits.partialMs + 1);
  const { attempt } = fork.record!.ceremony;
  must(
    attempt === making.attempt,
    () => `node ${gone} is gone after pairs were acknowledged, and attempt ${attempt} forgets them`,
  );
  stops(making, fork, gone, [call]);
  goesOn(making, fork, gone);
}

/** Every pair has verified, and a node is gone before all have confirmed: the session fails, and names it. */
export function absentAtEnd(making: KeyMaking): void {
  const fork = making.side.fork();
  const gone = making.trial.draw.pick(making.ids);
  fork.take(fork.actor.link(making.rosterIds.filter((id) => id !== gone)));
  stops(making, fork, gone, []);
}

/** What the present process of the coordinator knows, or will know soon. */
export interface Knowledge {
  /** Nodes whose result it has. */
  readonly results: ReadonlySet<number>;
  /** Answers that it has not heard. */
  readonly pending: readonly Told[];
  /** It made every request of the attempt. */
  readonly sawAll: boolean;
}

/** In place of the right result `told`, one that its node has signed and that no honest node has. */
export function falseResult(
  making: KeyMaking,
  told: Told,
  { results, pending, sawAll }: Knowledge,
  calls: readonly bigint[],
): void {
  const { value } = told.body;
  if (told.body.case !== 'dkgVerified' || !value.finished || making.totalNodes < 2) return;
  const others = pending.filter(({ body }) => body.case === 'dkgVerified' && body.value.finished);
  const known = new Set([...results, ...others.map(({ id }) => id), told.id]);
  if (known.size < making.totalNodes || making.record.ceremony.mayBeFinal) return;
  const finished = making.signedResult({ ...value.finished, chainCode: changed(value.finished.chainCode) });
  const fork = making.side.fork();
  const before = making.record;
  fork.hear({ ...told, body: { case: 'dkgVerified', value: { ...value, finished } } });
  for (const one of others) fork.hear(one);
  const effect = sawAll ? blames(told.id) : { reason: 'TRANSCRIPT_MISMATCH', culprits: [], stalled: [] };
  failed(making, fork, before, calls, effect, `a false result of node ${told.id}`);
}

/** A node answers a request and its repetition, each time with something else that it has signed. `told`: its right answer. */
export function answersTwice(making: KeyMaking, told: Told, calls: readonly bigint[]): void {
  const { value } = told.body;
  const isOpening = told.body.case === 'dkgOpened';
  if (!isOpening && !(told.body.case === 'dkgVerified' && value.finished)) return;
  const fork = making.side.fork();
  fork.requests = [];
  fork.pass(waits.partialMs + 1);
  const kind = isOpening ? 'dkgOpen' : 'dkgVerify';
  const repeated = fork.requests.find(({ id, body }) => id === told.id && body.case === kind);
  if (repeated === undefined) return;
  fork.hear(told);
  const before = fork.record!;
  if (!isOpenSession(before) || before.ceremony.attempt !== told.attempt) return;
  const { request } = repeated.body.value;
  const body = isOpening
    ? {
        case: told.body.case,
        value: {
          opening: making.signedOpening({ ...value.opening, sealingKey: changed(value.opening.sealingKey) }),
          request,
        },
      }
    : {
        case: told.body.case,
        value: {
          ...value,
          finished: making.signedResult({ ...value.finished, chainCode: changed(value.finished.chainCode) }),
          request,
        },
      };
  fork.hear({ ...told, body });
  failed(making, fork, before, calls, blames(told.id), `two answers of node ${told.id} that differ`);
}

/** The store refuses the resume of a failed session, or another process of the coordinator was first: the call has its answer. */
export function refusedResume(making: KeyMaking, side: Side): void {
  const { draw } = making.trial;
  const token = making.isWallet ? '' : making.tokenOf(side);
  const fork = side.fork();
  if (draw.chance(0.5)) {
    const fate = draw.pick<WriteFate>(['lost', 'unanswered']);
    fork.actor.fates.push(fate);
    unavailable(fork, [making.resume(fork, token)], `the write of its resume was ${fate}`);
    return;
  }
  const twin = fork.twin();
  making.resume(twin, token);
  const call = making.resume(fork, token);
  if (making.isWallet) {
    must(!fork.replies.has(call), () => 'a call does not wait for the round that another process has resumed');
    fork.pass(waits.nodesMs + 1);
    answered(fork, [call], 'NODES_UNAVAILABLE', 'no node answers');
  } else answered(fork, [call], 'RESUME_TOKEN_REUSED', 'another process resumed the session with the same token');
}
