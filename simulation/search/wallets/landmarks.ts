/**
 * Landmarks of the control plane: events that a search must reach sometimes. A run reports everything that it reached by name:
 * events, changes of state, answers, refusals by their issue, fates of port calls, webhooks' answers, steps. A search counts the
 * runs that reach each name; required landmarks without a run are gaps of the generator, and the search draws the steps that lead
 * there more often.
 */
import type { ClientAnswer } from '../../service/client.ts';
import type { ToldEvent } from '../../service/invariants/documented-ledger.ts';
import type { PortCall, PortFate } from '../../service/process-life.ts';
import type { DeliveredRequest } from '../../service/receivers.ts';
import { issuesOf } from './answer-invariants.ts';

export class Landmarks {
  readonly #reached = new Set<string>();

  reach(name: string): void {
    this.#reached.add(name);
  }

  refused(operation: string, answer: Pick<ClientAnswer, 'status' | 'body'>): void {
    for (const issue of issuesOf(answer)) {
      this.reach(`answer ${operation} ${answer.status} ${issue}`);
      this.reach(`refused ${issue}`);
    }
  }

  /** All events of a tenant, and the transitions between states. */
  told(events: readonly ToldEvent[]): void {
    const states = new Map<string, string>();
    for (const { type, resource, data } of events) {
      this.reach(`event ${type}`);
      const {
        status,
        sub_status: subStatus,
        trades = [],
      } = (data.object ?? {}) as Record<string, string> & {
        readonly trades?: readonly { readonly status: string; readonly reason: string | null }[];
      };
      if (typeof subStatus === 'string') this.reach(`${resource.type} ${subStatus}`);
      for (const { status: standing, reason } of trades) this.reach(`trade ${standing} ${reason ?? ''}`.trimEnd());
      if (typeof status !== 'string') continue;
      const before = states.get(resource.id);
      if (before !== undefined && before !== status) this.reach(`${resource.type} ${before}>${status}`);
      states.set(resource.id, status);
    }
  }

  /** A call of a port has a fate other than the normal one. */
  failpoint({ process, port, what }: PortCall, { dies, fate }: PortFate): void {
    const [role] = process.split('/');
    if (dies !== undefined) this.reach(`failpoint ${role} dies ${dies} ${port} ${place(what)}`);
    if (fate !== undefined) this.reach(`failpoint ${role} ${port} ${place(what)} ${fate}`);
  }

  delivered(received: readonly DeliveredRequest[]): void {
    for (const { status } of received) this.reach(`hook answers ${status}`);
  }

  /** Sorted: equal sets are equal lists. */
  get names(): readonly string[] {
    return [...this.#reached].sort();
  }
}

/** The called operation of a port, without addresses. */
function place(what: string): string {
  return what.startsWith('http') ? 'receiver' : what;
}

/** The required landmarks of a search with enough runs, and the steps that lead there. */
export const mustHappen: Readonly<Record<string, readonly string[]>> = {
  'event transaction_intent.completed': ['transfer'],
  'event transaction_intent.denied': ['transfer', 'policy', 'list'],
  'event transaction_intent.rejected': ['vote'],
  'event transaction_intent.expired': ['policy', 'transfer'],
  'event transaction_intent.cancelled': ['cancel'],
  'event transaction_intent.failed': ['transfer'],
  'event transaction_intent.updated': ['transfer'],
  'event wallet.frozen': ['freeze'],
  'event wallet.archived': ['archive'],
  'event wallet.deposit_received': ['transfer'],
  'event webhook.deleted': ['remove'],
  'event webhook.ping': ['ping'],
  'event signing.session.revoked': ['pending_sign', 'freeze', 'race'],
  'event signing.session.pending': ['pending_sign'],
  'event signing.session.completed': ['client_sign'],
  'event token.deployed': ['issue'],
  'event token.order.completed': ['mint', 'redeem'],
  'event token.order.rejected': ['mint', 'redeem', 'order_cancel'],
  'event token.order.pending_approval': ['mint', 'policy'],
  'event token.frozen': ['token_freeze'],
  'event treasury.plan.completed': ['rebalance', 'execute'],
  'event treasury.plan.failed': ['rebalance', 'execute', 'market'],
  'event treasury.plan.cancelled': ['plan_cancel'],
  'event vault.signature_completed': ['vault_sign'],
  'event vault.signature_pending': ['vault_sign'],
  'event vault.key_deleted': ['vault_archive'],
  'event recon.job.completed': ['recon'],
  'event recon.job.cancelled': ['recon_cancel'],
  'event recon.exception.opened': ['drift', 'recon'],
  'event policy.updated': ['policy'],
  'event compliance.list.updated': ['list'],
  'event risk.rule.created': ['risk_rule'],
  'event provider_connection.disconnected': ['disconnect'],
  'event provider_connection.tested': ['connection_test'],
  'token rotated': ['rotate_token'],
  'trade completed venue_filled_in_part': ['rebalance', 'execute', 'market'],
  'pair redeliverRange 202': ['redeliver'],
  'transaction_intent WALLET_NOT_ACTIVE': ['race', 'freeze'],
  'transaction_intent SCREENING_BLOCKED': ['list', 'transfer'],
  'transaction_intent POLICY_DENIED': ['policy', 'transfer'],
  'transaction_intent REJECTED_BY_PROVIDER': ['transfer'],
  'transaction_intent FAILED_ON_CHAIN': ['transfer'],
  'token_order CAP_EXCEEDED': ['mint'],
  'refused idempotency_key_reused': ['reuse'],
  'refused insufficient_funds': ['transfer', 'race'],
  'refused not_an_approver': ['vote', 'policy'],
  'refused disconnected': ['disconnect', 'race'],
  'refused open_intents': ['archive'],
  'refused version_conflict': ['patch', 'race'],
  'refused initiator_may_not_approve': ['vote'],
  'refused frozen': ['freeze', 'transfer'],
  'refused archived': ['archive', 'transfer'],
  'refused plan_executing': ['rebalance', 'execute'],
  'hook answers 410': ['gone'],
  'exercise retriedDelivery': [],
  'exercise pausedWebhook': [],
  'exercise oneDifference': [],
  'exercise silentProvider': [],
  // Of the exercise undoneTransfer.
  'event transaction_intent.reorged': [],
  'step follow': ['follow'],
  // Drawn for a share of all runs.
  'two clusters': [],
};
