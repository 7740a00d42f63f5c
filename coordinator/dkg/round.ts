/**
 * The round: open → seal → verify → finish → confirm, as far as the waiting calls need it.
 *
 * The session asks each node for the next message that another node or a call waits for, as soon as its inputs exist. Requests may be
 * repeated, so a lost frame or an unreachable node costs one repetition.
 */
import { sameResult } from '../../core/crypto/dkg-transcripts.ts';
import { areFirstNodes } from '../../core/crypto/participants.ts';
import { macFor } from '../../proto/call-orders.ts';
import type { DkgFinished } from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { bindingAtMaking, isSharedKey, wireScheme } from '../../proto/key-schemes.ts';
import { answer } from '../contract/call-answer.ts';
import { clusterAddress } from '../contract/messages.ts';
import {
  advance,
  clientSuppliedDealers,
  type KeyConfirmationRecord,
  type KeyRecord,
  progress,
  versionOf,
} from '../contract/record.ts';
import { isOpen } from '../contract/transitions.ts';
import { addressText } from '../keystores/public.ts';
import { sharesEvent } from '../session/events.ts';
import { nodeList } from '../session/message-text.ts';
import { commit, type Persisted, reply } from '../session/turn.ts';
import { failAttempt, falseResults } from './blame.ts';
import { expireDkg, finalizeDkg } from './finalize.ts';
import { isComplete, ownShare, pairsText, storeSupplied } from './own-shares.ts';
import { ask } from './requests.ts';
import {
  type DkgSessionStep,
  type DkgWork,
  type Job,
  leaveDkgRound,
  nodeIds,
  pair,
  sortedPairs,
  suppliedOpening,
} from './state.ts';

/** Advances the waiting calls as far as possible now. */
export function advanceDkg(turn: DkgSessionStep): Persisted | undefined {
  const { record, work } = turn.state;
  if (!isOpen(record.state)) return undefined;
  if (work.jobs.length > 0) return expireDkg(turn) ?? advanceJobs(turn);
  leaveDkgRound(turn);
  return undefined;
}

function advanceJobs(turn: DkgSessionStep): Persisted | undefined {
  const { record, work } = turn.state;
  if (!work.watching) {
    work.watching = true;
    turn.effects.push(
      { kind: 'send', to: clusterAddress, message: { kind: 'watch' } },
      { kind: 'startTimer', name: 'nodes', afterMs: turn.config.nodesWaitMs },
      { kind: 'startTimer', name: 'repeat', afterMs: turn.config.partialTimeoutMs },
    );
  }
  if (isComplete(record, work)) return finishRound(turn);
  const done = work.jobs.filter((job) => isDone(job, work));
  if (done.length > 0) return settleJobs(turn, done) ?? advanceDkg(turn);
  for (const job of work.jobs) advanceJob(turn, job);
  return undefined;
}

export function isDone(job: Job, work: DkgWork): boolean {
  return (
    job.offer === undefined && job.pairs.every(([dealer, recipient]) => work.verified.has(pair(dealer, recipient)))
  );
}

/** Sends the next requests that this job needs. */
function advanceJob(turn: DkgSessionStep, job: Job): void {
  const { work } = turn.state;
  if (job.offer) {
    const { dealer, recipient } = job.offer;
    if (!openNodes(turn, [recipient])) return;
    work.offered.add(dealer);
    offerShare(turn, job, dealer, recipient);
    return;
  }
  const missing = job.pairs.filter(([dealer, recipient]) => !work.verified.has(pair(dealer, recipient)));
  // Grouped once: 100 nodes have 10,000 pairs, and each of their answers comes here.
  const recipientsOf = new Map<number, number[]>();
  const dealersFor = new Map<number, number[]>();
  for (const [dealer, recipient] of missing) {
    addTo(recipientsOf, dealer, recipient);
    addTo(dealersFor, recipient, dealer);
  }
  if (!openNodes(turn, [...new Set([...recipientsOf.keys(), ...dealersFor.keys()])])) return;
  const shares = isSharedKey(turn.state.record.ceremony.scheme ?? '');
  for (const [dealer, recipients] of shares ? recipientsOf : []) {
    if (work.flights.has(`${dealer}/dkgSeal`)) continue;
    const boxesOf = work.boxes.get(dealer);
    const unsealed = recipients.filter((to) => to !== dealer && !boxesOf?.has(to)).map((to) => work.openings.get(to)!);
    if (unsealed.length > 0) ask(turn, dealer, { case: 'dkgSeal', value: { recipients: unsealed } });
  }
  for (const [recipient, from] of dealersFor) {
    if (work.flights.has(`${recipient}/dkgVerify`) && from.every((dealer) => work.dealt.has(dealer))) continue;
    const boxes = from
      .filter((dealer) => shares && dealer !== recipient)
      .map((dealer) => work.boxes.get(dealer)?.get(recipient));
    if (boxes.some((box) => box === undefined)) continue;
    for (const dealer of from) work.dealt.add(dealer);
    const value = {
      dealers: from.map((dealer) => work.openings.get(dealer)!),
      sealed: boxes.map((box) => box!),
      clientSupplied: [],
    };
    ask(turn, recipient, { case: 'dkgVerify', value });
  }
}

function addTo(groups: Map<number, number[]>, id: number, member: number): void {
  const group = groups.get(id);
  if (group === undefined) groups.set(id, [member]);
  else group.push(member);
}

/** Whether all of these are open; asks those that are not. */
function openNodes(turn: DkgSessionStep, ids: readonly number[]): boolean {
  const { record, work } = turn.state;
  const { curve, threshold, totalNodes, scheme: binding = '' } = record.ceremony;
  const participants = [...nodeIds(record)];
  const closed = ids.filter((id) => !work.openings.has(id));
  const value = { curve, threshold, totalNodes, participants, scheme: wireScheme(binding) };
  for (const id of closed) ask(turn, id, { case: 'dkgOpen', value: { ...value, ...refreshFor(turn, id) } });
  return closed.length === 0;
}

/** To a node of a refresh: the gateway's order, and an opening for a node that has signed a result of an earlier attempt. */
function refreshFor({ state: { record, work } }: DkgSessionStep, nodeId: number) {
  const { refreshes } = record.ceremony;
  if (refreshes === undefined) return {};
  const { key, order } = refreshes;
  const [renounced] = work.openings.values();
  return {
    refresh: {
      keySession: key.keyId,
      version: versionOf(key) + 1,
      expiresEpochMs: BigInt(order.expiresMs),
      mac: macFor(nodeId, Buffer.from(order.macs, 'base64')),
    },
    ...(renounced && { renounced }),
  };
}

function offerShare(turn: DkgSessionStep, job: Job, dealer: number, recipient: number): void {
  const { commitments, encryptedShare: share } = job.call.request;
  const value = { dealers: [suppliedOpening(dealer, commitments)], sealed: [], clientSupplied: [{ dealer, share }] };
  ask(turn, recipient, { case: 'dkgVerify', value }, job);
}

/** Every other pair has verified: nodes that lack their own share get the data to compute it. */
function askForOwnShares(turn: DkgSessionStep, ids: readonly number[]): undefined {
  const { record, work } = turn.state;
  for (const id of ids) {
    const commitments = record.ceremony.played[id]?.map((point) => Buffer.from(point, 'hex'));
    if (commitments) {
      const share = ownShare(record, work, id)!;
      const value = {
        dealers: [suppliedOpening(id, commitments)],
        sealed: [],
        clientSupplied: [{ dealer: id, share }],
      };
      ask(turn, id, { case: 'dkgVerify', value });
    } else if (openNodes(turn, [id])) {
      work.dealt.add(id);
      ask(turn, id, {
        case: 'dkgVerify',
        value: { dealers: [work.openings.get(id)!], sealed: [], clientSupplied: [] },
      });
    }
  }
}

/** Asks nodes for their result only. */
function askForResults(turn: DkgSessionStep, ids: readonly number[]): undefined {
  for (const id of ids) ask(turn, id, { case: 'dkgVerify', value: { dealers: [], sealed: [], clientSupplied: [] } });
}

function finishRound(turn: DkgSessionStep): Persisted | undefined {
  const { record, work } = turn.state;
  const ids = nodeIds(record);
  const ownMissing = ids.filter((id) => !work.verified.has(pair(id, id)));
  if (ownMissing.length > 0) return askForOwnShares(turn, ownMissing);
  const unfinished = ids.filter((id) => !work.finished.has(id));
  if (unfinished.length > 0) return askForResults(turn, unfinished);
  const results = ids.map((id) => work.finished.get(id)!);
  if (!results.every((result) => sameResult(result, results[0]!))) {
    return failAttempt(turn, falseResults(turn), 'the nodes do not report the same result');
  }
  if (!record.ceremony.mayBeFinal) {
    // Durable before the first request, since a node that confirms never discards its key for another attempt.
    const { publicKey, chainCode } = results[0]!;
    const result = { publicKey: hex(publicKey), chainCode: hex(chainCode) };
    const changes = {
      mayBeFinal: true,
      verified: sortedPairs(work.verified),
      result,
      confirmation: confirmedBy(results),
    };
    const next = progress(record, turn.context, changes);
    // Of a refresh this is the commit: from now on the key signs with its new shares.
    const key = refreshedRecord(turn, results[0]!);
    return commit(turn, next, { ...work }, { key, event: key && sharesEvent(next, key, turn.context) });
  }
  const unconfirmed = ids.filter((id) => !work.confirmed.has(id));
  for (const id of unconfirmed) ask(turn, id, { case: 'dkgConfirm', value: { results } });
  return unconfirmed.length === 0 ? completeDkg(turn, results) : undefined;
}

/**
 * Completes a key that enough nodes hold while the others do not confirm: every node has signed the result, so one that stalls
 * blocks no key. It is asked again when a session finds that it does not hold the key.
 *
 * @param isGivenUp whether to wait no longer for this node
 */
export function completeWithout(turn: DkgSessionStep, isGivenUp: (nodeId: number) => boolean): Persisted | undefined {
  const { record, work } = turn.state;
  const { mayBeFinal, threshold } = record.ceremony;
  const ids = nodeIds(record);
  const unconfirmed = ids.filter((id) => !work.confirmed.has(id));
  if (!mayBeFinal || work.jobs.length === 0) return undefined;
  const expired = expireDkg(turn);
  if (expired) return expired;
  const results = ids.flatMap((id) => work.finished.get(id) ?? []);
  if (results.length < ids.length || work.confirmed.size < threshold) return undefined;
  return unconfirmed.every(isGivenUp) ? completeDkg(turn, results, unconfirmed) : undefined;
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

function confirmedBy(results: readonly DkgFinished[]): KeyConfirmationRecord {
  const { verificationShares, transcriptDigest } = results[0]!;
  return {
    verificationShares: verificationShares.map(hex),
    transcriptDigest: hex(transcriptDigest),
    signatures: results.map(({ signature }) => hex(signature)),
  };
}

/** The key with its new shares; undefined: the session makes a key. */
function refreshedRecord({ state: { record } }: DkgSessionStep, result: DkgFinished): KeyRecord | undefined {
  const { refreshes } = record.ceremony;
  if (refreshes === undefined) return undefined;
  const { key } = refreshes;
  return { ...key, version: versionOf(key) + 1, verificationShares: result.verificationShares.map(hex) };
}

/** Nodes hold the final key: all but the silent ones. `results`: equal, by participant. */
function completeDkg(turn: DkgSessionStep, results: readonly DkgFinished[], silent: readonly number[] = []): Persisted {
  const { record } = turn.state;
  const result = results[0]!;
  const publicKey = hex(result.publicKey);
  const holders = areFirstNodes(record.ceremony) ? '' : `, held by ${nodeList(nodeIds(record))}`;
  const ownerKeys = publicKey === '' ? result.verificationShares.map(hex) : [];
  const { refreshes } = record.ceremony;
  const version = refreshes ? `version ${versionOf(refreshes.key) + 1} of ${refreshes.key.keyId}, ` : '';
  const made =
    publicKey === ''
      ? ownersText(nodeIds(record), result.verificationShares)
      : `${version}group public key ${publicKey}${holders}`;
  const waiting = silent.length > 0 ? `; ${nodeList(silent)} did not confirm it yet` : '';
  const done = answer('DKG_COMPLETED', `${made}${waiting}`);
  const { curve, threshold, totalNodes, account, scheme = '' } = record.ceremony;
  const next = advance(record, { ...done, state: ReceiptState.BACKEND_COMPLETED }, turn.context, {
    publicKey,
    ...(ownerKeys.length > 0 && { ownerKeys }),
    chainCode: hex(result.chainCode),
    confirmation: confirmedBy(results),
    result: undefined,
    stalledBy: silent,
    verified: sortedPairs(turn.state.work.verified),
  });
  const key: KeyRecord = {
    tenant: record.tenant,
    keyId: record.sessionId,
    curve,
    threshold,
    totalNodes,
    participants: nodeIds(record),
    account,
    publicKey,
    chainCode: hex(result.chainCode),
    verificationShares: result.verificationShares.map(hex),
    clientSuppliedDealers: clientSuppliedDealers(record.ceremony),
    scheme: bindingAtMaking(curve, scheme) ?? '',
    exposed: false,
    createdMs: turn.context.nowMs,
  };
  return finalizeDkg(turn, next, refreshes ? {} : { key });
}

/** For keys with one key a node: the owners. */
function ownersText(ids: readonly number[], keys: readonly Uint8Array[]): string {
  return `owners: ${ids.map((id, index) => `node ${id} ${addressText(keys[index]!)}`).join(', ')}`;
}

/** Answers calls whose pairs have all verified, and records the acknowledged pairs. */
function settleJobs(turn: DkgSessionStep, done: readonly Job[]): Persisted | undefined {
  const { record, work } = turn.state;
  let written: Persisted | undefined;
  const verified = sortedPairs(work.verified);
  if (verified.length > record.ceremony.verified.length) {
    const jobs = work.jobs.filter((job) => !done.includes(job));
    written = commit(turn, progress(record, turn.context, { verified }), { ...work, jobs });
  } else {
    for (const job of done) work.jobs.splice(work.jobs.indexOf(job), 1);
  }
  for (const job of done) replyVerified(turn, job);
  if (turn.state.work.jobs.length === 0) leaveDkgRound(turn);
  return written;
}

function replyVerified(turn: DkgSessionStep, job: Job): void {
  const { record, work } = turn.state;
  const given = answer('SHARE_VERIFIED', pairsText(record, work));
  reply(turn, job.call, { ...given, state: record.state }, { verified: true });
}

/** A caller's share verified: from now on this dealer is client-supplied, with these commitments. */
export function takeOffer(turn: DkgSessionStep, job: Job): Persisted | undefined {
  const { record, work } = turn.state;
  const { dealer, recipient } = job.offer!;
  if (recipient !== dealer) storeSupplied(turn, dealer, recipient, job.call.request.encryptedShare);
  const jobs = work.jobs.filter((other) => other !== job);
  const settled: Job = { ...job, offer: undefined, pairs: [] };
  const verified = sortedPairs(work.verified);
  // The last pair: the job stays until the nodes have finished.
  const last = isComplete(record, work);
  if (last) jobs.push(settled);
  let written: Persisted | undefined;
  if (verified.length === record.ceremony.verified.length) {
    work.jobs.splice(0, work.jobs.length, ...jobs);
  } else {
    const commitments = job.call.request.commitments.map((point) => Buffer.from(point).toString('hex'));
    const played = { ...record.ceremony.played, [dealer]: commitments };
    written = commit(turn, progress(record, turn.context, { verified, played }), { ...work, jobs });
  }
  if (last) return written;
  replyVerified(turn, job);
  if (turn.state.work.jobs.length === 0) leaveDkgRound(turn);
  return written;
}
