/**
 * Votes on intents and on token orders, event by event: who may vote, until when, and the effect of a vote. The last vote of a
 * quorum, and a rejection, end the wait in the same commit, so the next event of the record shows it.
 */
import type { ToldEvent } from './documented-ledger.ts';
import { Finding, found } from './finding.ts';

/** A record that waits for votes. */
export interface AwaitedVotes {
  readonly initiator: string;
  readonly required: number;
  readonly approvers: readonly string[];
  /** RFC 3339. */
  readonly expiresAt: string;
  readonly votes: readonly CountedVote[];
}

export interface CountedVote {
  readonly by: string;
  readonly decision: 'approve' | 'reject';
}

export class Ballots {
  readonly #ballots = new Map<string, AwaitedVotes>();
  /** The required next event of a record, of the same version. */
  readonly #due = new Map<string, { readonly happening: string; readonly version: number }>();
  readonly #clocksOffMs: number;

  /** `clocksOffMs`: the largest difference of two gateways' clocks. */
  constructor(clocksOffMs: number) {
    this.#clocksOffMs = clocksOffMs;
  }

  of(id: string): AwaitedVotes | undefined {
    return this.#ballots.get(id);
  }

  /** Every event of a record that may have votes. `approved`: its status when a quorum has approved it. */
  take({ type, sequence, timestamp, resource, data }: ToldEvent, approved: string): void {
    const { id, version } = resource;
    const happening = type.slice(type.lastIndexOf('.') + 1);
    const told = data.object;
    const due = this.#due.get(id);
    if (due !== undefined && (happening !== due.happening || version !== due.version)) {
      found('votes-as-required', `event ${sequence} ${type} of ${id} follows the vote that makes it ${due.happening}`);
    }
    this.#due.delete(id);
    const ballot = this.#ballots.get(id);
    if (happening === 'pending_approval') {
      const { initiator, approvals_required: required, approvers, expires_at: expiresAt } = told;
      this.#ballots.set(id, { initiator, required, approvers, expiresAt, votes: [] });
      return;
    }
    if (ballot === undefined) return;
    const { votes, required } = ballot;
    if (happening === 'approval_recorded')
      this.#vote(ballot, told.approvals, { id, version, sequence, timestamp }, approved);
    else if (told.approvals.length !== votes.length) {
      found(
        'votes-as-required',
        `event ${sequence} ${type} of ${id} shows ${told.approvals.length} votes, not ${votes.length}`,
      );
    }
    if (happening === approved && due === undefined) {
      found('votes-as-required', `event ${sequence}: ${id} was approved by ${yes(votes)} of ${required}`);
    }
    if (happening === 'rejected' && due === undefined && told.sub_status === 'REJECTED_BY_APPROVER') {
      found('votes-as-required', `event ${sequence}: ${id} was rejected, and no one did`);
    }
    if (happening === 'expired' && Date.parse(timestamp) < Date.parse(ballot.expiresAt) - this.#clocksOffMs) {
      found('votes-as-required', `event ${sequence}: ${id} expired at ${timestamp}, before ${ballot.expiresAt}`);
    }
    if (happening !== 'approval_recorded' && happening !== 'updated') this.#ballots.delete(id);
  }

  /** The log has ended. */
  end(): void {
    for (const [id, { happening }] of this.#due)
      found('votes-as-required', `${id} has the votes to be ${happening}, and is not`);
  }

  #vote(
    ballot: AwaitedVotes,
    told: readonly CountedVote[],
    { id, version, sequence, timestamp }: { id: string; version: number; sequence: number; timestamp: string },
    approved: string,
  ): void {
    const { initiator, required, approvers, expiresAt, votes } = ballot;
    const about = `event ${sequence} of ${id}`;
    const vote = told.at(-1);
    if (vote === undefined || told.length !== votes.length + 1) {
      throw new Finding('votes-as-required', `${about} shows ${told.length} votes after ${votes.length}`);
    }
    const { by, decision } = vote;
    if (by === initiator) found('votes-as-required', `${about} counts the vote of its initiator`);
    if (approvers.length > 0 && !approvers.includes(by)) {
      found('votes-as-required', `${about} counts the vote of ${by}, who is no approver`);
    }
    if (votes.some((one) => one.by === by && one.decision === decision)) {
      found('votes-as-required', `${about} counts a vote of ${by} twice`);
    }
    if (Date.parse(timestamp) >= Date.parse(expiresAt) + this.#clocksOffMs) {
      found('votes-as-required', `${about} counts a vote at ${timestamp}, after ${expiresAt}`);
    }
    const after = [...votes, { by, decision }];
    this.#ballots.set(id, { ...ballot, votes: after });
    if (decision === 'reject') this.#due.set(id, { happening: 'rejected', version });
    else if (yes(after) >= required) this.#due.set(id, { happening: approved, version });
  }
}

/** Different actors who approve. */
function yes(votes: readonly CountedVote[]): number {
  return new Set(votes.filter(({ decision }) => decision === 'approve').map(({ by }) => by)).size;
}
