/** What the recipes of `signmesh trigger` share: the client, and the resources that most of them begin with. */
import { randomBytes } from 'node:crypto';
import type { Intent, ProviderConnection, Wallet } from '../../clients/client/generated-api.ts';
import { type Client, createClient } from '../../clients/client/index.ts';
import { type TestOutcome, testAmounts } from '../../wallets/providers/port/test-triggers.ts';
import { Failure } from '../common/failure.ts';
import type { ServiceTarget } from './target.ts';

export const evmNetwork = 'eip155:11155111';
export const plain = '0.01';
/** The shortest time limit for approvers. */
export const shortestApprovalS = 60;

/** The amount that makes a simulated provider act so. */
export function amountFor(outcome: TestOutcome): string {
  return testAmounts.find((each) => each.outcome === outcome)!.amount;
}

/** A simulated provider, or the cluster’s own nodes. */
export type Provider = 'sandbox' | 'self_hosted';

export type Recipe = (api: RecipeApi) => Promise<unknown>;

export class RecipeApi {
  readonly client: Client;
  /** Part of every created name, so that runs do not collide. */
  readonly suffix = randomBytes(3).toString('hex');
  readonly #target: ServiceTarget;
  readonly #connections = new Map<Provider, Promise<ProviderConnection>>();

  constructor(target: ServiceTarget) {
    this.#target = target;
    this.client = createClient({ baseUrl: target.url, token: target.token });
  }

  /** The client of a second person: the initiator of an intent has no vote. */
  get approver(): Client {
    const { url, approverToken } = this.#target;
    if (approverToken === undefined) {
      throw new Failure('This needs a second person’s token: give the sandbox’s data directory instead of --token.');
    }
    return createClient({ baseUrl: url, token: approverToken });
  }

  /** A connection, one for each recipe. */
  connection(provider: Provider = 'sandbox'): Promise<ProviderConnection> {
    const known = this.#connections.get(provider);
    const order = { type: provider, name: `trigger ${this.suffix}`, credentials: {} };
    const connection = known ?? this.client.connections.connect(order);
    this.#connections.set(provider, connection);
    return connection;
  }

  /** A wallet with test money. */
  async wallet(name = 'one', provider: Provider = 'sandbox'): Promise<Wallet> {
    const { id } = await this.connection(provider);
    return this.client.wallets.create({
      name: `trigger ${name} ${this.suffix}`,
      provider_connection_id: id,
      network: evmNetwork,
    });
  }

  /** A transfer to another of the tenant's wallets, or to `address`. */
  async intent(
    amount: string,
    { address, provider = 'sandbox' }: { readonly address?: string; readonly provider?: Provider } = {},
  ): Promise<Intent> {
    const { id } = await this.wallet('one', provider);
    const to = address ?? addressOf(await this.wallet('two', provider));
    return this.client.intents.create(id, { asset: 'ETH', amount, destination: { address: to } });
  }

  /** With a policy of its own that has one rule. */
  async policy(rule: object): Promise<string> {
    const { name } = await this.client.policies.put({
      name: `trigger-${this.suffix}`,
      rules: [{ id: 'only', effect: 'allow', when: 'true', ...rule }],
    });
    return name;
  }
}

export function addressOf({ addresses }: Wallet): string {
  return addresses[0]!.address;
}
