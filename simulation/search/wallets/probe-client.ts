/** What a caller must not see or use: another tenant's records, other provider connections than its own, a revoked token. */

import { found } from '../../service/invariants/finding.ts';
import type { Operator } from './operator.ts';
import { RunClient } from './run-client.ts';
import type { OwnWallet, RequestedTransfer } from './tenancy.ts';

/** "Gateways follow a revocation within 5 s", and a second for the calls. */
const revokedWithinMs = 6_000;

type Call = readonly [method: string, target: string, body: unknown];

export class ProbeClient extends RunClient {
  async step(): Promise<void> {
    const { limited, isCalm } = this.tenancy;
    const what = this.draw.weighted({ tenant: 4, connection: limited.length === 0 ? 0 : 4, token: isCalm ? 1 : 0 });
    if (what === 'token') return this.#revoke();
    if (what === 'connection') {
      const { operator, connections } = this.draw.pick(limited);
      return this.#ofConnections(operator, connections);
    }
    const theirs = this.others.flatMap(({ wallets, submitted }) => wallets.map((wallet) => ({ wallet, submitted })));
    if (theirs.length === 0) return;
    const { wallet, submitted } = this.draw.pick(theirs);
    await this.#hidden(this.operator, wallet, submitted, 'another tenant');
  }

  async #ofConnections(limited: Operator, connections: readonly string[]): Promise<void> {
    const { wallets, submitted } = this.tenancy;
    const hidden = wallets.filter((wallet) => !connections.includes(wallet.connectionId));
    if (hidden.length > 0 && this.draw.chance(0.4)) {
      return this.#hidden(limited, this.draw.pick(hidden), submitted, 'another connection');
    }
    const [target, name] = this.draw.pick([
      ['/v1/wallets', 'wallets'],
      ['/v1/transaction-intents', 'transaction_intents'],
      ['/v1/transaction-intents?awaiting_my_vote=true', 'transaction_intents'],
    ] as const);
    const listed = await limited.list<{ id: string; provider_connection_id: string }>(target, name);
    const other = listed.find(({ provider_connection_id: id }) => !connections.includes(id));
    if (other !== undefined) found('tenants-apart', `${target} shows a token of ${connections} ${other.id}`);
    const events = await limited.list<{ id: string; resource: { id: string } }>('/v1/events', 'events');
    const told = events.find(({ resource }) => hidden.some(({ id }) => id === resource.id));
    if (told !== undefined) found('tenants-apart', `/v1/events shows a token of ${connections} ${told.resource.id}`);
    const own = wallets.filter((wallet) => connections.includes(wallet.connectionId) && target === '/v1/wallets');
    const missing = own.find(({ id }) => !this.#isArchived(id) && !listed.some((one) => one.id === id));
    if (missing !== undefined) found('pages-complete', `${target} hides ${missing.id} from a token of its connection`);
  }

  #isArchived(id: string): boolean {
    return this.tenancy.posts.some(({ target }) => target === `/v1/wallets/${id}/archive`);
  }

  async #hidden(
    operator: Operator,
    { id }: OwnWallet,
    submitted: readonly RequestedTransfer[],
    whose: string,
  ): Promise<void> {
    const intent = submitted.findLast(({ walletId, intentId }) => walletId === id && intentId !== null)?.intentId;
    const calls: readonly Call[] = [
      ['GET', `/v1/wallets/${id}`, undefined],
      ['PATCH', `/v1/wallets/${id}`, { name: 'stolen' }],
      ['POST', `/v1/wallets/${id}/freeze`, {}],
      ['GET', `/v1/wallets/${id}/transaction-intents`, undefined],
      ...(intent == null ? [] : ofIntent(id, intent)),
    ];
    const [method, target, body] = this.draw.pick(calls);
    const key = method === 'POST' ? this.tenancy.key('probe') : undefined;
    const { status } = await operator.call(method, target, body, key);
    if (status !== 404) found('tenants-apart', `${method} ${target} of ${whose} answers ${status}`);
  }

  /** Every gateway knows the token, and none takes it after its revocation. */
  async #revoke(): Promise<void> {
    const { world, name } = this.tenancy;
    const { operator, tokenId } = await this.tenancy.hire('guest');
    const gateways = world.processes.filter((process) => process.startsWith('gateway'));
    const statuses = () =>
      Promise.all(
        gateways.map(async (gateway) => (await operator.client.once(gateway, 'GET', '/v1/webhooks'))?.status),
      );
    const before = await statuses();
    // 429: the tenant has reached its limit.
    if (before.some((status) => status !== 200 && status !== 429))
      found('changes-take-effect', `a new token gets ${before}`);
    await world.revoke(name, tokenId);
    await operator.client.pause(revokedWithinMs);
    const after = await statuses();
    if (after.some((status) => status !== 401)) found('tenants-apart', `a revoked token gets ${after}`);
  }
}

function ofIntent(walletId: string, id: string): readonly Call[] {
  const target = `/v1/wallets/${walletId}/transaction-intents/${id}`;
  return [
    ['GET', target, undefined],
    ['POST', `${target}/cancel`, {}],
    ['GET', `/v1/risk/scores/${id}`, undefined],
    ['GET', `/v1/compliance/reports/rep_${id.slice('txi_'.length)}`, undefined],
    ['POST', '/v1/risk/evaluate', { intent_id: id }],
  ];
}
