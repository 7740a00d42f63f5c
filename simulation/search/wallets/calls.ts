/**
 * The possible answers of each call: by the model, some state within its span must give this answer. With the event log as the
 * order of all changes, that is the linearizability of wallets, intents and votes. It does not check a repeated answer for a key
 * again.
 */

import { found } from '../../service/invariants/finding.ts';
import { issuesOf } from './answer-invariants.ts';
import type { IntentState, Model, WalletState } from './model.ts';
import type { AnsweredRequest } from './operator.ts';
import type { Tenancy } from './tenancy.ts';

/** "Requests that meet over the same resource … a 409 version_conflict": the store was too busy. */
const busy = 'version_conflict';
const walletPath = /^\/v1\/wallets\/(wal_[^/?]+)(?:\/(freeze|unfreeze|archive|transaction-intents))?$/;
const intentPath = /^\/v1\/wallets\/wal_[^/]+\/transaction-intents\/(txi_[^/?]+)(?:\/(approve|cancel))?$/;
const voterIssues = ['initiator_may_not_approve', 'not_an_approver'];
const open = ['created', 'screening', 'pending_approval', 'approved', 'signing', 'broadcasting', 'confirming'];

export function checkCalls(tenancy: Tenancy, model: Model): void {
  for (const call of tenancy.calls) {
    if (call.isReplay) continue;
    const ofWallet = walletPath.exec(call.target);
    const ofIntent = intentPath.exec(call.target);
    if (ofWallet !== null) checkOfWallet(model, call, ofWallet[1]!, ofWallet[2]);
    else if (ofIntent !== null) checkOfIntent(model, call, ofIntent[1]!, ofIntent[2], tenancy.clocksOffMs);
    else if (call.target === '/v1/signing/initiate') checkOfSession(model, call);
  }
}

function checkOfWallet(model: Model, call: AnsweredRequest, id: string, what: string | undefined): void {
  const { method, status, body, span, asked } = call;
  const states = model.wallets.get(id)?.during(span) ?? [];
  // Another tenant's.
  if (states.length === 0) return;
  const needs = (holds: boolean, why: string) => judge(call, holds, `${why}; it was ${texts(states)}`);
  const was = (test: (state: WalletState) => boolean) => states.some(test);
  const isBusy = issuesOf(call).includes(busy);
  if (what === 'transaction-intents') {
    if (method === 'GET') return;
    if (status === 201) {
      const intent = model.intents.get(body.id as string);
      needs(intent?.began(span, ({ version }) => version === 1) === true, `it did not begin ${body.id} meanwhile`);
    } else if (status === 409 && issuesOf(call).some((issue) => ['frozen', 'archived'].includes(issue))) {
      needs(
        was((state) => issuesOf(call).includes(state.status)),
        'the wallet was not so',
      );
    } else if (status === 409 && issuesOf(call).includes('disconnected')) {
      const connection = model.connections.during(id, span);
      needs(
        connection.some((state) => state.status === 'disconnected'),
        'its connection was not',
      );
    }
    return;
  }
  if (what === undefined) {
    if (status !== 200) {
      const { expected_version: expected } = (asked ?? {}) as { readonly expected_version?: number };
      if (status === 409) {
        const isOther = was(({ version, status: standing }) => version !== expected || standing === 'archived');
        needs(isOther || (isBusy && expected === undefined), 'nothing speaks against it');
      }
      return;
    }
    const { version, status: standing } = body as WalletState;
    needs(
      was((state) => state.version === version && state.status === standing),
      `it shows ${standing} ${version}`,
    );
    return;
  }
  const after = { freeze: 'frozen', unfreeze: 'active', archive: 'archived' }[
    what as 'freeze' | 'unfreeze' | 'archive'
  ];
  if (status === 200)
    needs(
      was((state) => state.status === after),
      `it was never ${after}`,
    );
  if (status !== 409 || isBusy) return;
  if (what !== 'archive')
    needs(
      was((state) => state.status === 'archived'),
      'nothing speaks against it',
    );
  else {
    const isOpen = [...model.intents.values()].some((intent) =>
      intent.during(span).some((one) => one.walletId === id && open.includes(one.status)),
    );
    needs(isOpen, 'no intent of it was open');
  }
}

function checkOfIntent(
  model: Model,
  call: AnsweredRequest,
  id: string,
  what: string | undefined,
  clocksOffMs: number,
): void {
  const { status, body, span, actor, asked, method } = call;
  const timeline = model.intents.get(id);
  const states = timeline?.during(span) ?? [];
  if (timeline === undefined || states.length === 0) return;
  const needs = (holds: boolean, why: string) => judge(call, holds, `${why}; it was ${texts(states)}`);
  const was = (test: (state: IntentState) => boolean) => states.some(test);
  const isBusy = issuesOf(call).includes(busy);
  if (what === undefined) {
    if (method === 'GET' && status === 200) {
      const shown = body as IntentState;
      needs(
        was((state) => state.version === shown.version && state.status === shown.status),
        `it shows ${shown.status} ${shown.version}`,
      );
    }
    return;
  }
  const { decision = 'approve', expected_version: expected } = (asked ?? {}) as {
    readonly decision?: string;
    readonly expected_version?: number;
  };
  // A call that was too late by the gateway's clock.
  const isLate =
    issuesOf(call).includes('expired') && was((state) => Date.parse(state.expiresAt) - clocksOffMs <= call.answeredMs);
  if (what === 'approve') {
    const mayVote = ({ initiator, approvers }: IntentState) =>
      actor !== initiator && (approvers.length === 0 || approvers.includes(actor));
    const counts = (state: IntentState) => state.votes.some((vote) => vote.by === actor && vote.decision === decision);
    if (status === 200) needs(was(counts), `the vote of ${actor} is not counted`);
    // A repeated vote changes nothing, and needs no version.
    const isBefore = (state: IntentState) => state.version === expected && !counts(state);
    const isOnIt = expected === undefined || was(isBefore) || counts(states[0]!);
    if (status === 200) needs(isOnIt, `the vote is on version ${expected}`);
    // Otherwise its token lacks the scope.
    const isOfVoter = issuesOf(call).some((issue) => voterIssues.includes(issue));
    if (status === 403 && isOfVoter) needs(!was(mayVote), `${actor} has a vote`);
    if (status === 409 && !isBusy) {
      const isFrozen = (model.wallets.get(states[0]!.walletId)?.during(span) ?? []).some(
        (one) => one.status !== 'active',
      );
      const isOver = was((state) => state.status !== 'pending_approval');
      needs(isOver || isLate || (isFrozen && decision === 'approve'), 'nothing speaks against the vote');
    }
    return;
  }
  if (status === 200)
    needs(
      timeline.began(span, (state) => state.status === 'cancelled'),
      'it was not cancelled meanwhile',
    );
  if (status === 409 && !isBusy) {
    needs(
      isLate || was((state) => !['pending_approval', 'approved'].includes(state.status)),
      'nothing speaks against it',
    );
  }
}

/** "A wallet that is frozen, or for intents only, signs nothing that a client asks for." */
function checkOfSession(model: Model, call: AnsweredRequest): void {
  const { wallet_id: walletId } = call.asked as { readonly wallet_id: string };
  const states = model.wallets.get(walletId)?.during(call.span) ?? [];
  if (states.length === 0 || call.status !== 200 || call.body.receipt.reason_code !== 'SESSION_ACCEPTED') return;
  const signs = states.some(({ status, signingApi }) => status === 'active' && signingApi !== 'intents_only');
  judge(call, signs, `the wallet signs for intents only; it was ${texts(states)}`);
  const connection = model.connections.during(walletId, call.span);
  const isConnected = connection.length === 0 || connection.some(({ status }) => status !== 'disconnected');
  judge(call, isConnected, 'its connection is disconnected');
}

function judge(call: AnsweredRequest, holds: boolean, why: string): void {
  if (holds) return;
  const { method, target, status, body, actor } = call;
  const issues = status > 299 ? ` ${issuesOf(call)}` : ` ${body?.status}`;
  found('answers-as-modelled', `${method} ${target} of ${actor} answers ${status}${issues}: ${why}`);
}

function texts(states: readonly { readonly status: string; readonly version: number }[]): string {
  return states.map(({ status, version }) => `${status} ${version}`).join(', ');
}
