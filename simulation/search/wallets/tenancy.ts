/** A tenant of a random run: its callers, its initial resources, and its later actions, for the checks. */

import { tenantPrefix } from '../../../core/redis/event-log.ts';
import { allScopes } from '../../../gateway/api/scopes.ts';
import { uuidV7 } from '../../../proto/ids.ts';
import type { Draw } from '../../cluster/draw.ts';
import type { Client } from '../../service/client.ts';
import type { CustodyWorld, WorldIssuedToken } from '../../service/custody-world.ts';
import type { DryRun } from '../../service/invariants/dry-runs.ts';
import type { HookFacts } from '../../service/invariants/hooks.ts';
import { Allowances } from './allowances.ts';
import type { Answers } from './answer-invariants.ts';
import type { Landmarks } from './landmarks.ts';
import { type AnsweredRequest, Operator, type OperatorHost, type Posted } from './operator.ts';
import { routeFinder } from './outcomes.ts';
import { calmTerms, drawTerms, type PolicyTerms, policyBody } from './policies.ts';
import type { RiskTerms } from './risk.ts';

export const networks = {
  evm: 'eip155:11155111',
  bitcoin: 'bip122:000000000933ea01ad0ee984209779ba',
  solana: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
} as const;

/** Policies that a wallet or a transfer may name beside `default`. */
export const namedPolicies = ['second', 'third'] as const;

export interface OwnWallet {
  readonly id: string;
  readonly connectionId: string;
  readonly network: string;
  readonly provider: string;
  readonly address: string;
  /** Further ones, filled during the run. */
  readonly receive: string[];
  /** Its coin first, each with its initial balance. */
  readonly assets: readonly { readonly symbol: string; readonly began: string }[];
}

/** A version of a policy, or of a list, created between these two times. */
export interface MadeVersion<T> {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly askedMs: number;
  readonly madeMs: number;
  readonly content: T;
}

/** The inputs of a list's version. */
export interface ListTerms {
  readonly kind: 'sanctions' | 'deny' | 'allow' | 'watch';
  readonly addresses: readonly string[];
  /** It includes the entries of the version before. */
  readonly append: boolean;
}

/** A requested transfer. */
export interface RequestedTransfer {
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

/** A stream of events that a client followed for a while. */
export interface FollowedStream {
  readonly after: number;
  /** Blocks with data, in the order of their arrival. */
  readonly messages: readonly { readonly id: number; readonly data: string }[];
  /** The last event that must have arrived; 0: none. */
  readonly due: number;
}

/** The tenant's resources of the modules; the rest is read back. */
export interface ModuleFacts {
  readonly vaults: { readonly id: string; readonly keyId: string; readonly needsHuman: boolean }[];
  readonly tokens: { readonly id: string; readonly symbol: string; readonly cap: string; readonly decimals: number }[];
  readonly strategies: StrategyFacts[];
  readonly jobs: string[];
  /** Plans that were executed by a call of their own, and the last event before that. */
  readonly executions: Map<string, number>;
  /** A provider reports false movements now. */
  isDrifting: boolean;
}

export interface StrategyFacts {
  readonly id: string;
  readonly autonomy: 'advisory' | 'human_approval' | 'within_policy';
  readonly maxTrades: number;
  /** US dollars. */
  readonly maxTradeUsd: number | undefined;
  readonly cooldownS: number;
  readonly walletIds: readonly string[];
}

/** A key of the signing API, and its signatures. */
export interface SigningKeyFacts {
  readonly keys: string[];
  /** Sessions that wait for a human. */
  readonly waiting: { readonly session: string; readonly token: string; readonly why: string }[];
  /** By intent of the signing API. */
  readonly asked: Map<
    string,
    { readonly key: string; readonly message: string; session: string | undefined; signature: string | undefined }
  >;
}

export interface TenancyDeps {
  readonly world: CustodyWorld;
  readonly answers: Answers;
  readonly landmarks: Landmarks;
  readonly isCalm: boolean;
  readonly recorded?: OperatorHost['recorded'];
}

/** A tenant's initial resources: wallets at each provider, and access to the modules. */
export interface InitialHoldings {
  readonly providers: readonly string[];
  readonly wallets: number;
  readonly hasModules: boolean;
}

/** Jumps of a minute and skews of a third of one, of two processes (profiles.ts). */
const clocksOffMs = 240_000;

export class Tenancy {
  readonly name: string;
  readonly world: CustodyWorld;
  readonly answers: Answers;
  /** The first submits, the others also approve. */
  readonly operators: Operator[] = [];
  readonly wallets: OwnWallet[] = [];
  readonly policies: MadeVersion<PolicyTerms>[] = [];
  readonly lists: MadeVersion<ListTerms>[] = [];
  /** The condition of each risk rule that was made, by name. */
  readonly riskRules = new Map<string, RiskTerms>();
  readonly dryRuns: DryRun[] = [];
  /** The policy that a transfer named itself, by its key. */
  readonly namedPolicies = new Map<string, string>();
  /** Every call about a wallet or intent that has an answer. */
  readonly calls: AnsweredRequest[] = [];
  readonly hooks: HookFacts[] = [];
  readonly streams: FollowedStream[] = [];
  readonly submitted: RequestedTransfer[] = [];
  /** Known only to this tenant's callers; none may appear in clear elsewhere. */
  readonly secrets: string[] = [];
  readonly posts: Posted[] = [];
  /** Ids in answers to requests that create something. */
  readonly told = new Set<string>();
  readonly landmarks: Landmarks;
  /** This run has no faults. */
  readonly isCalm: boolean;
  readonly recorded: OperatorHost['recorded'];
  /** Callers that see one connection, and several; none where there is only one. */
  readonly limited: { readonly operator: Operator; readonly connections: readonly string[] }[] = [];
  /** Of each connection, as it was made. */
  readonly credentials = new Map<string, object>();
  /** undefined: it uses none. */
  modules: ModuleFacts | undefined;
  readonly signing: SigningKeyFacts = { keys: [], waiting: [], asked: new Map() };
  /** The largest difference of two processes' clocks. */
  readonly clocksOffMs: number;
  readonly #allowances = new Allowances();
  #keys = 0;
  #routeOf: ReturnType<typeof routeFinder> | undefined;

  constructor(name: string, { world, answers, landmarks, isCalm, recorded }: TenancyDeps) {
    this.recorded = recorded;
    this.name = name;
    this.world = world;
    this.answers = answers;
    this.landmarks = landmarks;
    this.isCalm = isCalm;
    this.clocksOffMs = isCalm ? 0 : clocksOffMs;
  }

  /** The sequence of its last event, as in Redis now. */
  get sequence(): number {
    return Number(this.world.redis.space.find(`${tenantPrefix(this.name)}seq`, 'hash')?.fields.get('n') ?? 0);
  }

  get routeOf(): ReturnType<typeof routeFinder> {
    this.#routeOf ??= routeFinder(this.world.routes);
    return this.#routeOf;
  }

  get owner(): Operator {
    return this.operators[0]!;
  }

  key(label: string): string {
    this.#keys += 1;
    return `${label}-${this.#keys}`;
  }

  async open(draw: Draw, { providers, wallets: walletCount, hasModules }: InitialHoldings): Promise<void> {
    const { world, name: tenant } = this;
    for (const role of ['owner', 'first', 'second', 'third']) this.operators.push((await this.hire(role)).operator);
    const { owner } = this;
    const apiSecret = `wholly-secret-${uuidV7(0, world.random(`secret/${tenant}`))}`;
    this.secrets.push(apiSecret);
    const credentials: Readonly<Record<string, object>> = {
      self_hosted: {},
      fireblocks: { api_key: `${apiSecret}-a`, private_key: `${apiSecret}-b` },
      bitgo: { api_key: `${apiSecret}-c` },
      copper: { api_key: `${apiSecret}-d`, api_secret: `${apiSecret}-e` },
    };
    const actors = this.operators.map(({ actor }) => actor);
    const drawn = { ...drawTerms(draw, actors, hasModules), isDryRun: false };
    await this.setPolicy(owner, 'default', draw.chance(0.5) ? calmTerms : drawn);
    if (draw.chance(0.6)) {
      await this.setPolicy(owner, namedPolicies[0], { ...drawTerms(draw, actors, hasModules), isDryRun: false });
    }
    for (const provider of providers) {
      if (provider === 'sandbox') {
        await this.#connectSandbox(owner);
        continue;
      }
      const body = { provider, name: `${provider} of ${tenant}`, credentials: credentials[provider]! };
      const connection = await owner.made('/v1/provider-connections', body, this.key('connection'));
      this.credentials.set(connection.id, body.credentials);
      for (let count = 0; count < walletCount; count += 1) {
        const network = count < 2 ? networks.evm : draw.pick(Object.values(networks));
        await this.openWallet(owner, connection.id as string, network, count, this.#settings(draw));
      }
    }
    if (providers.length > 1) {
      const all = [...this.credentials.keys()];
      for (const connections of [all.slice(0, 1), all]) {
        this.limited.push({ connections, operator: (await this.hire('limited', connections)).operator });
      }
    }
    if (!hasModules) return;
    for (const module of ['vaults', 'tokens', 'treasury']) {
      await owner.made(`/v1/modules/${module}/access-requests`, { reason: 'drawn' }, this.key('access'));
    }
    this.modules = { vaults: [], tokens: [], strategies: [], jobs: [], executions: new Map(), isDrifting: false };
  }

  /** It comes with a funded test wallet on each network. */
  async #connectSandbox(owner: Operator): Promise<void> {
    const credentials = {};
    const body = { type: 'sandbox', name: `sandbox of ${this.name}`, credentials };
    const { id, test_wallets: wallets } = await owner.made('/v1/providers/connect', body, this.key('connection'));
    this.credentials.set(id, credentials);
    for (const wallet of wallets as readonly { readonly id: string }[]) {
      this.told.add(wallet.id);
      this.adopt((await owner.call('GET', `/v1/wallets/${wallet.id}`)).body);
    }
  }

  /** A caller with a new token; `connections`: the only ones that it may see. */
  async hire(
    role: string,
    connections?: readonly string[],
    scopes: readonly string[] = allScopes,
  ): Promise<{ operator: Operator; tokenId: string }> {
    const { world, name: tenant } = this;
    const issued = await world.issue({
      ...{ tenant, environment: 'sandbox', scopes, name: role },
      ...(connections !== undefined && { providerConnectionIds: connections }),
    });
    return { operator: this.admit(issued), tokenId: issued.record.id };
  }

  /** The caller with this token. */
  admit({ token, record }: WorldIssuedToken): Operator {
    const { world } = this;
    return new Operator({ tenancy: this, actor: record.id, client: this.#client(token), nowMs: () => world.nowMs });
  }

  /** A caller without a valid token. */
  stranger(): Operator {
    const client = this.#client(`tsk_test_${'A'.repeat(43)}`);
    return new Operator({ tenancy: this, actor: 'stranger', client, nowMs: () => this.world.nowMs });
  }

  /** Gives the caller another token in place of its own. False: not now. */
  rotate(operator: Operator): Promise<boolean> {
    return operator.take(async (tokenId) => {
      const issued = await this.world.rotate(this.name, tokenId);
      return issued && { id: issued.record.id, client: this.#client(issued.token) };
    });
  }

  #client(token: string): Client {
    const { world, name: tenant, answers } = this;
    const classOf = (method: string, target: string) => this.routeOf(method, target)?.limitClass ?? 'signing';
    this.secrets.push(token);
    return world.client(token, {
      triesMax: 300,
      sent: (method, target) => {
        const counted = this.#allowances.sent(target, classOf(method, target), world.nowMs);
        return (answer) => {
          answers.heard(tenant, target, answer);
          if (this.isCalm) counted(answer, world.nowMs);
        };
      },
    });
  }

  /** Of a new wallet: half of them have a setting that makes decisions stricter. */
  #settings(draw: Draw): object {
    const hasNamed = this.policies.some(({ name }) => name === namedPolicies[0]);
    return {
      ...(draw.chance(0.2) && { approval_mode: 'human_required' }),
      ...(draw.chance(0.2) && { signing_api: 'intents_only' }),
      ...(hasNamed && draw.chance(0.3) && { policy: namedPolicies[0] }),
    };
  }

  async openWallet(
    operator: Operator,
    connectionId: string,
    network: string,
    count: number,
    settings: object = {},
  ): Promise<OwnWallet> {
    const body = { name: `wallet ${count}`, provider_connection_id: connectionId, network, ...settings };
    return this.adopt(await operator.made('/v1/wallets', body, this.key('wallet')));
  }

  /** A new wallet, as its creation showed it. */
  // biome-ignore lint/suspicious/noExplicitAny: read by its documented fields.
  adopt(wallet: any): OwnWallet {
    const own: OwnWallet = {
      id: wallet.id,
      connectionId: wallet.provider_connection_id,
      network: wallet.network,
      provider: wallet.provider,
      address: wallet.addresses[0].address,
      receive: [],
      assets: (wallet.assets as { symbol: string; balance: string }[]).map(({ symbol, balance }) => ({
        symbol,
        began: balance,
      })),
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
