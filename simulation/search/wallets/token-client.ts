/** A client of a random run that issues tokens, and mints, redeems, freezes, approves and cancels. docs/tokens.md. */

import { found } from '../../service/invariants/finding.ts';
import type { Operator } from './operator.ts';
import { RunClient } from './run-client.ts';
import type { FamilyStep } from './steps.ts';
import { type ModuleFacts, networks } from './tenancy.ts';

const tokensMax = 2;
/** The time that a client waits for the contract of a token. */
const deployedWithinMs = 20_000;

interface Order {
  readonly id: string;
  readonly token_id: string;
  readonly status: string;
  readonly initiator: string;
  readonly approvers: readonly string[];
}

export class TokenClient extends RunClient {
  async step(step: FamilyStep<'tokens'>): Promise<void> {
    const { modules } = this.tenancy;
    if (modules === undefined || this.#wallets().length === 0) return;
    if (step === 'issue' || modules.tokens.length === 0) return this.#issue();
    const token = this.draw.pick(modules.tokens);
    switch (step) {
      case 'mint':
        return this.#mint(token);
      case 'redeem':
        return this.#redeem(token);
      case 'token_freeze':
        return this.#freeze(token.id);
      default: {
        const orders = await this.operator.list<Order>(`/v1/tokens/${token.id}/orders`, 'orders', this.draw.int(1, 4));
        const open = orders.filter(({ status }) => status === 'pending_approval' || status === 'reserve_check');
        const order = this.draw.pick([...open, undefined]);
        if (order === undefined) return;
        if (step === 'order_cancel') await this.#cancel(order);
        else await this.#drawnVote(order);
      }
    }
  }

  /** Wallets that may issue, hold and redeem. */
  #wallets() {
    return this.tenancy.wallets.filter(
      ({ provider, network }) => provider === 'self_hosted' && network === networks.evm,
    );
  }

  async #issue(): Promise<void> {
    const { modules } = this.tenancy;
    if (modules === undefined || modules.tokens.length >= tokensMax) return;
    const draw = this.draw;
    const symbol = `T${this.tenancy.key('token').replaceAll(/[^0-9]/g, '')}`.slice(0, 12);
    const cap = draw.pick(['50', '200', '1000']);
    const decimals = draw.pick([0, 6, 18]);
    const body = {
      ...{ symbol, name: symbol, network: networks.evm, decimals, supply_cap: cap },
      issuer_wallet_id: draw.pick(this.#wallets()).id,
    };
    const answer = await this.#post('/v1/tokens', body, 'issue');
    if (answer === undefined) return;
    modules.tokens.push({ id: answer.id, symbol, cap, decimals });
    for (let waitedMs = 0; waitedMs < deployedWithinMs; waitedMs += 1_000) {
      await this.operator.client.pause(1_000);
      const { body: token } = await this.operator.call('GET', `/v1/tokens/${answer.id}`);
      if (token.status !== 'deploying') return;
    }
  }

  async #mint({ id, cap, decimals }: ModuleFacts['tokens'][number]): Promise<void> {
    const address = this.draw.pick(this.#wallets()).address;
    // The last two are refused by the cluster, and fail on the chain.
    const amount = this.draw.pick(['1', '10', '30', cap, ...(decimals >= 6 ? ['0.004421', '0.00441'] : [])]);
    const body = { destination: { address }, amount, reserve_reference: this.#reserve(), metadata: {} };
    await this.#post(`/v1/tokens/${id}/mint`, body, 'mint');
  }

  async #redeem({ id }: { readonly id: string }): Promise<void> {
    const source = { wallet_id: this.draw.pick(this.#wallets()).id };
    const body = { source, amount: this.draw.pick(['1', '5', '10', '40']), reserve_reference: this.#reserve() };
    await this.#post(`/v1/tokens/${id}/redeem`, body, 'redeem');
  }

  #reserve(): object {
    const draw = this.draw;
    if (draw.chance(0.5)) {
      return { type: 'wallet', asset: draw.pick(['USDC', 'USDC', 'ETH']), wallet_id: draw.pick(this.#wallets()).id };
    }
    const expiresAt = new Date(this.operator.nowMs + draw.pick([120_000, 600_000, 86_400_000])).toISOString();
    const amount = draw.pick(['25', '60', '5000']);
    return { type: 'attestation', asset: 'USDC', reference: draw.pick(['one', 'two']), amount, expires_at: expiresAt };
  }

  async #freeze(id: string): Promise<void> {
    const what = this.draw.chance(0.5) ? 'freeze' : 'unfreeze';
    const token = await this.#post(`/v1/tokens/${id}/${what}`, {}, what);
    const after = what === 'freeze' ? 'frozen' : 'active';
    if (token !== undefined && token.status !== after)
      found('changes-take-effect', `${what} of ${id} leaves ${token.status}`);
  }

  async #cancel({ id, token_id: tokenId }: Order): Promise<void> {
    const order = await this.#post(`/v1/tokens/${tokenId}/orders/${id}/cancel`, {}, 'order-cancel');
    if (order !== undefined && order.status !== 'rejected')
      found('changes-take-effect', `cancel of ${id} leaves ${order.status}`);
  }

  /** Often of an actor who has no vote. */
  async #drawnVote(order: Order): Promise<void> {
    const { operators } = this.tenancy;
    const [stranger] = strangersTo(order, operators);
    const voter = stranger !== undefined && this.draw.chance(0.5) ? stranger : this.operator;
    const client = new TokenClient(this.tenancy, voter, this.draw);
    await client.vote(order, this.draw.chance(0.8) ? 'approve' : 'reject');
  }

  /** The initiator of an order has no vote, nor has an actor that the policy does not name. Returns the status of the answer. */
  async vote(order: Order, decision: 'approve' | 'reject'): Promise<number> {
    const { id, token_id: tokenId } = order;
    const { actor } = this.operator;
    const target = `/v1/tokens/${tokenId}/orders/${id}/approve`;
    const body = { decision, ...(decision === 'reject' && { reason: 'drawn' }) };
    const { status } = await this.operator.call('POST', target, body, this.tenancy.key('order-vote'));
    // 422: its wallet's balance is too low by now.
    const isRight = mayVote(order, actor) ? [200, 409, 422].includes(status) : status === 403 || status === 409;
    if (!isRight) found('votes-as-required', `the vote of ${actor} on ${id}: ${status}`);
    return status;
  }

  /** undefined: it was refused, as is allowed. */
  async #post(target: string, body: object, label: string) {
    const key = this.tenancy.key(label);
    const { status, body: made } = await this.operator.post(target, body, key);
    if (status === 200 || status === 201) return made;
    if (status !== 409 && status !== 422) {
      found('changes-take-effect', `POST ${target} ${JSON.stringify(body)}: ${status} ${JSON.stringify(made)}`);
    }
    return undefined;
  }
}

/** Actors without a vote on it: first those whom its policy does not name, then its initiator. */
export function strangersTo(order: Voted, operators: readonly Operator[]): Operator[] {
  const strangers = operators.filter(({ actor }) => !mayVote(order, actor));
  return strangers.sort(
    (one, other) => Number(one.actor === order.initiator) - Number(other.actor === order.initiator),
  );
}

function mayVote({ initiator, approvers }: Voted, actor: string): boolean {
  return actor !== initiator && (approvers.length === 0 || approvers.includes(actor));
}

type Voted = Pick<Order, 'initiator' | 'approvers'>;
