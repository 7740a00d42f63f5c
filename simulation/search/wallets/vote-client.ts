/**
 * Votes of a random run: those that count, and those that must not: of initiators, of actors that the policy does not name, on
 * another version, and after the time is over.
 */

import { found } from '../../service/invariants/finding.ts';
import { RunClient } from './run-client.ts';

/** An intent that waits for votes. */
export interface Voted {
  readonly id: string;
  readonly wallet_id: string;
  readonly initiator: string;
  readonly approvers: readonly string[];
  readonly approvals: readonly { readonly by: string }[];
  readonly version: number;
}

export type VoteDecision = 'approve' | 'reject';

export class VoteClient extends RunClient {
  /** On an intent of its inbox; sometimes on any other that waits for votes. */
  async step(): Promise<void> {
    if (this.draw.chance(0.3)) return this.#anyVote();
    const inbox = await this.#waiting('awaiting_my_vote=true');
    if (inbox.length === 0) return this.#anyVote();
    await this.#drawnVote(this.draw.pick(inbox));
  }

  /** Unless it has no vote. */
  async tryVote(walletId: string, intentId: string, decision: VoteDecision): Promise<void> {
    const { body } = await this.operator.call('GET', `/v1/wallets/${walletId}/transaction-intents/${intentId}`);
    const intent = body as Voted;
    if (this.#mayVote(intent)) await this.vote(intent, decision);
  }

  /** It may vote: its vote counts, or the intent no longer waits. `expected`: only on this version; 0: on any. */
  async vote(
    { id, wallet_id: walletId }: Pick<Voted, 'id' | 'wallet_id'>,
    decision: VoteDecision,
    expected = 0,
  ): Promise<void> {
    const target = `/v1/wallets/${walletId}/transaction-intents/${id}/approve`;
    const body = {
      decision,
      ...(decision === 'reject' && { reason: 'drawn' }),
      ...(expected > 0 && { expected_version: expected }),
    };
    const { status, body: shown } = await this.operator.post(target, body, this.tenancy.key('vote'));
    if (status === 409) return;
    if (status !== 200) found('votes-as-required', `POST ${target}: ${status} ${JSON.stringify(shown)}`);
    const recorded = (shown.approvals as { by: string; decision: string }[]).some(
      ({ by }) => by === this.operator.actor,
    );
    if (!recorded) found('votes-as-required', `${id} does not show the vote of ${this.operator.actor}`);
  }

  /** On any intent that waits; if this actor has no vote on it, the vote is refused. */
  async #anyVote(): Promise<void> {
    const waiting = await this.#waiting('status=pending_approval');
    if (waiting.length === 0) return;
    const others = waiting.filter((intent) => !this.#mayVote(intent));
    const intent = this.draw.pick(others.length > 0 ? others : waiting);
    if (this.#mayVote(intent)) {
      await this.#drawnVote(intent);
      return;
    }
    const { id, wallet_id: walletId } = intent;
    const target = `/v1/wallets/${walletId}/transaction-intents/${id}/approve`;
    const { status } = await this.operator.call('POST', target, { decision: 'approve' }, this.tenancy.key('vote'));
    if (status !== 403 && status !== 409)
      found('votes-as-required', `${this.operator.actor}, who has no vote on ${id}, votes: ${status}`);
  }

  #waiting(filter: string): Promise<Voted[]> {
    return this.operator.list<Voted>(`/v1/transaction-intents?${filter}`, 'transaction_intents');
  }

  #mayVote({ initiator, approvers }: Pick<Voted, 'initiator' | 'approvers'>): boolean {
    const { actor } = this.operator;
    return initiator !== actor && (approvers.length === 0 || approvers.includes(actor));
  }

  /** Sometimes on one version only, which may be another one. */
  async #drawnVote(intent: Voted): Promise<void> {
    const decision = this.draw.chance(0.8) ? 'approve' : 'reject';
    const expected = this.draw.chance(0.2) ? intent.version + this.draw.int(0, 1) : 0;
    await this.vote(intent, decision, expected);
  }
}
