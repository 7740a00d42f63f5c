/**
 * Provider connections, event by event: while one is disconnected, no intent of its wallets begins; and it is disconnected, and a wallet
 * archived, only while none is open. docs/wallet-api.md.
 */
import type { ToldEvent } from '../../service/invariants/documented-ledger.ts';
import { found } from '../../service/invariants/finding.ts';
import { Timeline } from './timeline.ts';

export interface ConnectionState {
  readonly status: string;
  readonly version: number;
}

const ended = new Set(['completed', 'denied', 'rejected', 'expired', 'cancelled', 'failed']);

export class ConnectionTimelines {
  readonly states = new Map<string, Timeline<ConnectionState>>();
  /** By wallet. */
  readonly #ofWallet = new Map<string, string>();
  /** Open intents of each connection and wallet. */
  readonly #open = new Map<string, Set<string>>();

  take({ type, sequence, resource, data }: ToldEvent): void {
    const told = data.object;
    const { id } = resource;
    if (resource.type === 'wallet') this.#ofWallet.set(id, told.provider_connection_id);
    if (resource.type === 'provider_connection') {
      const timeline = this.states.get(id) ?? new Timeline<ConnectionState>();
      this.states.set(id, timeline);
      timeline.set(sequence, { status: told.status, version: resource.version });
    }
    const [first] = this.#open.get(id) ?? [];
    const isOver = type === 'provider_connection.disconnected' || type === 'wallet.archived';
    if (isOver && first !== undefined)
      found('decided-as-written', `event ${sequence} ${type} of ${id} while ${first} is open`);
    if (!type.startsWith('transaction_intent.')) return;
    const connection = told.provider_connection_id as string;
    if (type === 'transaction_intent.created' && this.states.get(connection)?.last?.status === 'disconnected') {
      found('decided-as-written', `event ${sequence} ${type} of ${id}, and ${connection} is disconnected`);
    }
    for (const owner of [connection, told.wallet_id as string]) {
      const open = this.#open.get(owner) ?? new Set();
      this.#open.set(owner, open);
      if (ended.has(told.status)) open.delete(id);
      else open.add(id);
    }
  }

  /** Of the connection of a wallet. */
  during(walletId: string, span: Parameters<Timeline<ConnectionState>['during']>[0]): readonly ConnectionState[] {
    return this.states.get(this.#ofWallet.get(walletId) ?? '')?.during(span) ?? [];
  }
}
