/** A caller with a tenant, wallets of the cluster, and tokens that it issues. */
import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import type { JsonAnswer } from '../../../../support/gateway.ts';
import { until } from '../../../../support/until.ts';
import type { WalletService } from '../../../../support/wallet-service.ts';

export const sepolia = 'eip155:11155111';

// biome-ignore lint/suspicious/noExplicitAny: the service's own JSON
export type Json = Record<string, any>;

export class Issuer {
  readonly token = `svc_sk_test_${randomBytes(12).toString('hex')}`;
  readonly tenant: string;
  readonly service: WalletService;
  wallet: Json = {};

  constructor(service: WalletService, tenant = `tn_${randomBytes(6).toString('hex')}`) {
    this.service = service;
    this.tenant = tenant;
    service.tokens.put(this.token, { tenant, id: `tok_${randomBytes(4).toString('hex')}` });
  }

  call(method: string, url: string, body?: object, service = this.service): Promise<JsonAnswer> {
    return service.call(method, url, { token: this.token, ...(body && { body }) });
  }

  async get(url: string): Promise<Json> {
    return (await this.call('GET', url)).body;
  }

  async post(url: string, body: object = {}): Promise<Json> {
    const answer = await this.call('POST', url, body);
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
    return answer.body;
  }

  async refused(url: string, body: object = {}): Promise<Json> {
    const answer = await this.call('POST', url, body);
    return { status: answer.status, issue: answer.body.error?.details?.[0]?.issue };
  }

  async addWallet(provider = 'self_hosted', over: object = {}): Promise<Json> {
    const { id } = await this.post('/v1/providers/connect', { type: provider, name: provider, credentials: {} });
    return this.post('/v1/wallets', { name: 'issuer', provider_connection_id: id, network: sepolia, ...over });
  }

  body(over: object = {}): Json {
    const terms = { symbol: 'GOLD', name: 'Vaulted gold', network: sepolia, decimals: 6, supply_cap: '10000' };
    return { ...terms, issuer_wallet_id: this.wallet.id, ...over };
  }

  /** With an issuer's wallet, which begins with 10,000 USDC. */
  async open(): Promise<this> {
    await this.post('/v1/modules/tokens/access-requests');
    this.wallet = await this.addWallet();
    return this;
  }

  /** A token that is deployed. */
  async issue(over: object = {}): Promise<Json> {
    const { id } = await this.post('/v1/tokens', this.body(over));
    return this.tokenAs(id, 'active');
  }

  tokenAs(id: string, status: string): Promise<Json> {
    return this.#reached(`/v1/tokens/${id}`, status);
  }

  orderAs({ token_id: token, id }: Json, status: string): Promise<Json> {
    return this.#reached(`/v1/tokens/${token}/orders/${id}`, status);
  }

  async #reached(url: string, status: string): Promise<Json> {
    let found: Json = {};
    const over = ['completed', 'rejected', 'failed', status];
    await until(
      async () => {
        found = await this.get(url);
        return over.includes(found.status);
      },
      () => `${url} to be ${status}, not ${found.status}`,
    );
    expect(found, JSON.stringify(found)).toMatchObject({ status });
    return found;
  }

  reserve(over: object = {}): Json {
    return { type: 'wallet', asset: 'USDC', wallet_id: this.wallet.id, ...over };
  }

  get address(): string {
    return this.wallet.addresses[0].address;
  }

  mint(token: Json, amount: string, over: object = {}): Promise<Json> {
    const body = { amount, destination: { address: this.address }, reserve_reference: this.reserve(), ...over };
    return this.post(`/v1/tokens/${token.id}/mint`, body);
  }

  redeem(token: Json, amount: string, over: object = {}): Promise<Json> {
    const body = { amount, source: { wallet_id: this.wallet.id }, reserve_reference: this.reserve(), ...over };
    return this.post(`/v1/tokens/${token.id}/redeem`, body);
  }

  async held(symbol: string): Promise<string | undefined> {
    const { assets } = await this.get(`/v1/wallets/${this.wallet.id}`);
    return assets.find((asset: Json) => asset.symbol === symbol)?.available;
  }

  /** Types of all events of a resource, in their order. */
  async eventsOf(id: string): Promise<string[]> {
    const { events } = await this.get(`/v1/events?resource_id=${id}&limit=100`);
    return events.map(({ type }: Json) => type);
  }

  async policy(effect: 'require_approval' | 'deny', when: string): Promise<string> {
    const rules = [
      { id: 'gate', effect, when, ...(effect === 'require_approval' && { approvals: { quorum: 1, timeout_s: 60 } }) },
      { id: 'rest', effect: 'allow', when: 'true' },
    ];
    const { name } = await this.post('/v1/policies', { name: `p-${randomBytes(4).toString('hex')}`, rules });
    return name;
  }
}
