/**
 * The risk scores that intents show. "What the built-in risk factors read of balance and history counts where it could turn the
 * decision; otherwise the score shows it as it was read": so a score is checked where nothing that it is made of has changed since
 * the call began.
 */
import type { ToldEvent } from '../../service/invariants/documented-ledger.ts';
import { found } from '../../service/invariants/finding.ts';
import type { AnsweredRequest } from './operator.ts';

const createPath = /^\/v1\/wallets\/wal_[^/]+\/transaction-intents$/;
/** Events after which any score may be another one. A plan's exchange changes the balances of several wallets. */
const general = /^(?:compliance\.list|risk\.rule|treasury\.plan)\./;

export class Scores {
  /** The last event before the call that made an intent. */
  readonly #from = new Map<string, number>();
  /** The last event that touched a wallet. */
  readonly #touched = new Map<string, number>();
  #touchedAll = 0;

  constructor(calls: readonly AnsweredRequest[]) {
    for (const { method, target, status, isReplay, body, span } of calls) {
      if (method === 'POST' && status === 201 && !isReplay && createPath.test(target))
        this.#from.set(body.id, span.from);
    }
  }

  /** Every event, in order; of the creation of an intent with the score by the model. */
  take({ type, sequence, resource, data }: ToldEvent, score: number | undefined): void {
    const told = data.object ?? {};
    const from = this.#from.get(resource.id);
    if (type === 'transaction_intent.created' && from !== undefined && score !== undefined) {
      const isQuiet = this.#touchedAll <= from && (this.#touched.get(told.wallet_id) ?? 0) <= from;
      if (isQuiet && told.risk_score !== score) {
        found(
          'decided-as-written',
          `event ${sequence}: ${resource.id} has the risk score ${told.risk_score}, not ${score}`,
        );
      }
    }
    if (general.test(type)) this.#touchedAll = sequence;
    for (const id of [resource.id, told.wallet_id, told.reserve_reference?.wallet_id]) {
      if (typeof id === 'string' && id.startsWith('wal_')) this.#touched.set(id, sequence);
    }
  }
}
