/** What a caller must not see or use: another tenant's records, other provider connections than its own, a revoked token. */
import type { Draw } from './draw.ts';
import { found } from './finding.ts';
import type { Operator } from './operator.ts';
import type { OwnWallet, Tenancy } from './tenancy.ts';

/** "Gateways follow a revocation within 5 s", and a second for the calls. */
const revokedWithinMs = 6_000;

type Call = readonly [method: string, target: string, body: unknown];

export class ProbeClient {
  readonly #tenancy: Tenancy;
  readonly #operator: Operator;
  readonly #draw: Draw;
  readonly #others: readonly Tenancy[];

  constructor(tenancy: Tenancy, operator: Operator, draw: Draw, others: readonly Tenancy[]) {
    this.#tenancy = tenancy;
    this.#operator = operator;
    this.#draw = draw;
    this.#others = others;
  }

  async step(): Promise<void> {
    const { limited, isCalm } = this.#tenancy;
    const what = this.#draw.weighted({ tenant: 4, connection: limited === undefined ? 0 : 4, token: isCalm ? 1 : 0 });
    if (what === 'token') return this.#revoke();
    if (what === 'connection') return this.#ofConnection(limited!.operator, limited!.connectionId);
    const theirs = this.#others.flatMap(({ wallets }) => wallets);
    if (theirs.length > 0) await this.#hidden(this.#operator, this.#draw.pick(theirs), 'another tenant');
  }

  async #ofConnection(limited: Operator, connectionId: string): Promise<void> {
    const { wallets } = this.#tenancy;
    const hidden = wallets.filter((wallet) => wallet.connectionId !== connectionId);
    if (hidden.length > 0 && this.#draw.chance(0.4)) {
      return this.#hidden(limited, this.#draw.pick(hidden), 'another connection');
    }
    const [target, name] = this.#draw.pick([
      ['/v1/wallets', 'wallets'],
      ['/v1/transaction-intents', 'transaction_intents'],
      ['/v1/transaction-intents?awaiting_my_vote=true', 'transaction_intents'],
    ] as const);
    const listed = await limited.list<{ id: string; provider_connection_id: string }>(target, name);
    const other = listed.find(({ provider_connection_id: id }) => id !== connectionId);
    if (other !== undefined) found('tenants-apart', `${target} shows a token of ${connectionId} ${other.id}`);
    const events = await limited.list<{ id: string; resource: { id: string } }>('/v1/events', 'events');
    const told = events.find(({ resource }) => hidden.some(({ id }) => id === resource.id));
    if (told !== undefined) found('tenants-apart', `/v1/events shows a token of ${connectionId} ${told.resource.id}`);
    const own = wallets.filter((wallet) => wallet.connectionId === connectionId && target === '/v1/wallets');
    const missing = own.find(({ id }) => !this.#isArchived(id) && !listed.some((one) => one.id === id));
    if (missing !== undefined) found('pages-complete', `${target} hides ${missing.id} from a token of its connection`);
  }

  #isArchived(id: string): boolean {
    return this.#tenancy.posts.some(({ target }) => target === `/v1/wallets/${id}/archive`);
  }

  async #hidden(operator: Operator, { id }: OwnWallet, whose: string): Promise<void> {
    const calls: readonly Call[] = [
      ['GET', `/v1/wallets/${id}`, undefined],
      ['PATCH', `/v1/wallets/${id}`, { name: 'stolen' }],
      ['POST', `/v1/wallets/${id}/freeze`, {}],
      ['GET', `/v1/wallets/${id}/transaction-intents`, undefined],
    ];
    const [method, target, body] = this.#draw.pick(calls);
    const key = method === 'POST' ? this.#tenancy.key('probe') : undefined;
    const { status } = await operator.call(method, target, body, key);
    if (status !== 404) found('tenants-apart', `${method} ${target} of ${whose} answers ${status}`);
  }

  /** Every gateway knows the token, and none takes it after its revocation. */
  async #revoke(): Promise<void> {
    const { world, name } = this.#tenancy;
    const { operator, tokenId } = await this.#tenancy.hire('guest');
    const gateways = world.processes.filter((process) => process.startsWith('gateway'));
    const statuses = () =>
      Promise.all(
        gateways.map(async (gateway) => (await operator.client.once(gateway, 'GET', '/v1/webhooks'))?.status),
      );
    const before = await statuses();
    if (before.some((status) => status !== 200)) found('changes-take-effect', `a new token gets ${before}`);
    await world.revoke(name, tokenId);
    await operator.client.pause(revokedWithinMs);
    const after = await statuses();
    if (after.some((status) => status !== 401)) found('tenants-apart', `a revoked token gets ${after}`);
  }
}
