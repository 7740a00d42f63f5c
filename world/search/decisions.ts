/**
 * Decisions: each intent is decided as the policies say that were in force at that moment, is approved by as many other
 * persons as they require, and says so in its receipt. A version was in force at some moment between the call and its
 * answer, so a decision by an older one is found too.
 */

import type { BookedIntent } from '../invariants/books.ts';
import { found } from './finding.ts';
import { expected, strictest } from './policies.ts';
import type { Submitted, Tenancy } from './tenancy.ts';

export interface DecidedIntent extends BookedIntent {
  readonly initiator: string;
  readonly policy_receipt: string | null;
  readonly policy: { readonly id: string; readonly version: number; readonly name: string };
  readonly destination: { readonly address: string };
  readonly approvals: readonly { readonly by: string; readonly decision: string }[];
  readonly approvals_required: number;
  readonly approvers: readonly string[];
  readonly status_history: readonly { readonly status: string }[];
  readonly sub_status: string | null;
}

interface Claims {
  readonly sub: string;
  readonly tenant: string;
  readonly purpose: string;
  readonly decision: string;
  readonly policy: { readonly id: string; readonly version: number };
  readonly also_policies?: readonly { readonly id: string; readonly version: number }[];
  readonly transaction: {
    readonly wallet_id: string;
    readonly amount: string;
    readonly asset: string;
    readonly to: string;
  };
}

const sanctioned = /^0x0+dead$/i;
const watched = /^0x0+beef$/i;

/** Throws a Finding. */
export function checkDecisions(tenancy: Tenancy, intents: readonly DecidedIntent[]): void {
  const asked = new Map(tenancy.submitted.map((one) => [one.intentId, one]));
  for (const intent of intents) {
    const submitted = asked.get(intent.id);
    if (submitted !== undefined) checkDecision(tenancy, submitted, intent);
  }
}

function checkDecision(tenancy: Tenancy, submitted: Submitted, intent: DecidedIntent): void {
  const { id, policy_receipt: receipt } = intent;
  const passed = intent.status_history.map(({ status }) => status);
  const wasSigned = passed.some((status) => ['signing', 'broadcasting', 'confirming', 'completed'].includes(status));
  if (wasSigned && !passed.includes('approved')) found('decided-as-written', `${id} was signed and never approved`);
  if (receipt === null) {
    if (wasSigned) found('decided-as-written', `${id} was signed without a receipt`);
    return;
  }
  const claims = JSON.parse(Buffer.from(receipt.split('.')[1]!, 'base64url').toString()) as Claims;
  checkClaims(tenancy, intent, claims);
  const used = [claims.policy, ...(claims.also_policies ?? [])];
  const versions = used.map((one) => {
    const version = tenancy.policies.find((each) => each.id === one.id && each.version === one.version);
    if (version === undefined)
      return found('decided-as-written', `${id} was decided by ${one.id} ${one.version}, which was never made`);
    return version;
  });
  for (const version of versions) {
    const next = tenancy.policies.find((each) => each.id === version.id && each.version === version.version + 1);
    if (version.askedMs > submitted.answeredMs)
      found('decided-as-written', `${id} was decided by a version that came after it`);
    if (next !== undefined && next.madeMs < submitted.askedMs) {
      found(
        'decided-as-written',
        `${id} was decided by version ${version.version} of ${version.name}, after ${next.version} was there`,
      );
    }
  }
  if (!versions.some(({ name }) => name === 'default'))
    found('decided-as-written', `${id} was decided without the tenant's default`);
  const candidates = listings(tenancy, submitted).map((listed) =>
    strictest(versions.map(({ content }) => expected(content, intent, listed))),
  );
  const mayBeStrict = tenancy.strictWallets.has(intent.wallet_id);
  const isAsExpected = candidates.some(({ effect, quorum, approvers }) => {
    if (mayBeStrict && effect === 'allow' && claims.decision !== 'deny') return intent.approvals_required <= 1;
    if (claims.decision !== effect) return isImpossible(intent, claims.decision, quorum, approvers);
    if (effect === 'deny') return passed.includes('denied') && !wasSigned;
    if (effect === 'allow') return intent.approvals_required === 0 && !passed.includes('denied');
    return intent.approvals_required === quorum && sameMembers(intent.approvers, approvers);
  });
  if (!isAsExpected) {
    found(
      'decided-as-written',
      `${id} (${intent.amount}) was decided ${claims.decision} by ${intent.approvals_required} of [${intent.approvers}] and is ${intent.status}, not ${JSON.stringify(candidates)}`,
    );
  }
  checkVotes(tenancy, intent, passed);
}

/** Quorums that cannot come about without the initiator's vote deny. */
function isImpossible(
  { initiator }: DecidedIntent,
  decision: string,
  quorum: number,
  approvers: readonly string[],
): boolean {
  if (decision !== 'deny' || quorum === 0 || approvers.length === 0) return false;
  return approvers.filter((one) => one !== initiator).length < quorum;
}

function checkClaims(tenancy: Tenancy, intent: DecidedIntent, { sub, tenant, purpose, transaction }: Claims): void {
  const { id, wallet_id: walletId, amount, asset, destination } = intent;
  const told = [sub, tenant, purpose, transaction.wallet_id, transaction.amount, transaction.asset, transaction.to];
  const wanted = [id, tenancy.name, 'transaction_intent', walletId, amount, asset, destination.address];
  if (told.join() !== wanted.join()) found('decided-as-written', `the receipt of ${id} says ${told}, not ${wanted}`);
}

function checkVotes(tenancy: Tenancy, intent: DecidedIntent, passed: readonly string[]): void {
  const { id, initiator, approvals, approvals_required: required, approvers } = intent;
  const voters = approvals.map(({ by }) => by);
  // Who approved may still reject.
  const votes = new Set(approvals.map(({ by, decision }) => `${by} ${decision}`));
  if (votes.size !== voters.length) found('votes-as-required', `${id} counts a vote twice: ${voters}`);
  if (voters.includes(initiator)) found('votes-as-required', `${id} counts the vote of its initiator`);
  const stranger = voters.find((by) => approvers.length > 0 && !approvers.includes(by));
  if (stranger !== undefined) found('votes-as-required', `${id} counts the vote of ${stranger}, who is no approver`);
  const yes = approvals.filter(({ decision }) => decision === 'approve').length;
  const isRejected = approvals.some(({ decision }) => decision === 'reject');
  if (passed.includes('pending_approval') && passed.includes('approved') && yes < required) {
    found('votes-as-required', `${id} was approved by ${yes} of ${required}`);
  }
  if (isRejected && (passed.includes('approved') || !passed.includes('rejected'))) {
    found('votes-as-required', `${id} has a rejection and is ${intent.status}`);
  }
  if (!isRejected && passed.includes('rejected')) found('votes-as-required', `${id} is rejected, and no one did`);
  if (required > 0 && yes >= required && !passed.includes('approved')) {
    found('votes-as-required', `${id} has ${yes} of ${required} votes and is ${intent.status}`);
  }
  for (const vote of tenancy.votes) {
    if (vote.intentId !== id) continue;
    const counted = approvals.find(({ by }) => by === vote.by);
    if (counted?.decision !== vote.decision && !isRejected && yes < required) {
      found('votes-as-required', `${id} lost the vote of ${vote.by}`);
    }
  }
}

/** What compliance may have said of the destination: a list may have changed while the intent was made. */
function listings(
  tenancy: Tenancy,
  { body, askedMs, answeredMs }: Submitted,
): readonly ('blocked' | 'review' | 'clear')[] {
  const { address } = body.destination;
  if (sanctioned.test(address)) return ['blocked'];
  const plain = watched.test(address) ? 'review' : 'clear';
  const listed = tenancy.lists.filter(({ content }) => content.includes(address));
  if (listed.some(({ madeMs }) => madeMs < askedMs)) return ['blocked'];
  return listed.some(({ askedMs: beganMs }) => beganMs <= answeredMs) ? ['blocked', plain] : [plain];
}

function sameMembers(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((one) => b.includes(one));
}
