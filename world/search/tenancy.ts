/** A tenant of a random run: who calls, what it was given at the beginning, and what it has done since, for the checks. */
import { allScopes } from '../../api/scopes.ts';
import { uuidV7 } from '../../proto/ids.ts';
import type { CustodyWorld } from '../custody-world.ts';
import type { Answers } from './answers.ts';
import type { Draw } from './draw.ts';
import type { HookFacts } from './hooks.ts';
import { Operator } from './operator.ts';
import { calmTerms, type PolicyTerms, policyBody } from './policies.ts';

export const networks = {
  evm: 'eip155:11155111',
  bitcoin: 'bip122:000000000933ea01ad0ee984209779ba',
  solana: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
} as const;

export interface OwnWallet {
  readonly id: string;
  readonly network: string;
  readonly provider: string;
  readonly address: string;
  readonly asset: string;
  readonly policy: string | null;
}

/** A version of a policy, or of a list, and when it came to be: between these two moments. */
export interface Versioned<T> {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly askedMs: number;
  readonly madeMs: number;
  readonly content: T;
}

/** A transfer that was asked for. */
export interface Submitted {
  readonly key: string;
  readonly walletId: string;
  readonly initiator: string;
  readonly askedMs: number;
  readonly answeredMs: number;
  readonly body: {
    readonly asset: string;
    readonly amount: string;
    readonly destination: { readonly address: string };
  };
  /** null: refused. */
  readonly intentId: string | null;
}

export interface Vote {
  readonly intentId: string;
  readonly by: string;
  readonly decision: 'approve' | 'reject';
}

/** What a tenant has of the modules. */
export interface ModuleFacts {
  readonly vaults: { readonly id: string; readonly keyId: string }[];
  readonly tokens: { readonly id: string; readonly cap: string; readonly issuer: string }[];
  readonly orders: { readonly tokenId: string; readonly id: string }[];
  readonly jobs: string[];
  readonly plans: string[];
}

export class Tenancy {
  readonly name: string;
  readonly world: CustodyWorld;
  readonly answers: Answers;
  /** The first submits, the others approve too. */
  readonly operators: Operator[] = [];
  readonly wallets: OwnWallet[] = [];
  readonly policies: Versioned<PolicyTerms>[] = [];
  /** Addresses on the deny list. */
  readonly lists: Versioned<readonly string[]>[] = [];
  readonly hooks: HookFacts[] = [];
  readonly submitted: Submitted[] = [];
  readonly votes: Vote[] = [];
  /** Wallets whose intents may have needed a person, whatever the policies say. */
  readonly strictWallets = new Set<string>();
  /** Known to this tenant's callers alone; none may be seen in clear elsewhere. */
  readonly secrets: string[] = [];
  /** POSTs that were answered, to be repeated at the end. */
  readonly posts: {
    readonly operator: Operator;
    readonly target: string;
    readonly body: unknown;
    readonly key: string;
  }[] = [];
  /** undefined: it uses none. */
  modules: ModuleFacts | undefined;
  #keys = 0;

  constructor(name: string, world: CustodyWorld, answers: Answers) {
    this.name = name;
    this.world = world;
    this.answers = answers;
  }

  get owner(): Operator {
    return this.operators[0]!;
  }

  key(label: string): string {
    this.#keys += 1;
    return `${label}-${this.#keys}`;
  }

  async open(draw: Draw, providers: readonly string[], walletCount: number): Promise<void> {
    const { world, name: tenant, answers } = this;
    for (const role of ['owner', 'first', 'second', 'third']) {
      const { token, record } = await world.issue({ tenant, environment: 'sandbox', scopes: allScopes, name: role });
      const heard = (target: string, answer: Parameters<Answers['heard']>[2]) => answers.heard(tenant, target, answer);
      const client = world.client(token, { triesMax: 300, heard });
      this.secrets.push(token);
      this.operators.push(new Operator({ tenant, actor: record.id, client, answers, nowMs: () => world.nowMs }));
    }
    const { owner } = this;
    const apiSecret = `wholly-secret-${uuidV7(0, world.random(`secret/${tenant}`))}`;
    this.secrets.push(apiSecret);
    const credentials: Readonly<Record<string, object>> = {
      self_hosted: {},
      fireblocks: { api_key: `${apiSecret}-a`, private_key: `${apiSecret}-b` },
      bitgo: { api_key: `${apiSecret}-c` },
      copper: { api_key: `${apiSecret}-d`, api_secret: `${apiSecret}-e` },
      sandbox: {},
    };
    await this.setPolicy(owner, 'default', calmTerms);
    for (const provider of providers) {
      const body = { provider, name: `${provider} of ${tenant}`, credentials: credentials[provider]! };
      const connection = await owner.made('/v1/provider-connections', body, this.key('connection'));
      for (let count = 0; count < walletCount; count += 1) {
        const network = count < 2 ? networks.evm : draw.pick(Object.values(networks));
        await this.openWallet(owner, connection.id as string, network, count);
      }
    }
  }

  async openWallet(operator: Operator, connectionId: string, network: string, count: number): Promise<OwnWallet> {
    const body = { name: `wallet ${count}`, provider_connection_id: connectionId, network };
    const wallet = await operator.made('/v1/wallets', body, this.key('wallet'));
    const own: OwnWallet = {
      id: wallet.id,
      network,
      provider: wallet.provider,
      address: wallet.addresses[0].address,
      asset: wallet.assets[0].symbol,
      policy: wallet.policy,
    };
    this.wallets.push(own);
    return own;
  }

  async setPolicy(operator: Operator, name: string, terms: PolicyTerms): Promise<void> {
    const askedMs = operator.nowMs;
    const { id, version } = await operator.made('/v1/policies', policyBody(name, terms), this.key('policy'));
    this.policies.push({ id, name, version, askedMs, madeMs: operator.nowMs, content: terms });
  }
}
