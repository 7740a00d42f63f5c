/** The policies and lists in force, by the event log, and their decisions about a transfer. */
import type { ToldEvent } from '../../service/invariants/documented-ledger.ts';
import { Finding } from '../../service/invariants/finding.ts';
import {
  type DecisionFacts,
  decisionOf,
  type Expected,
  type Listing,
  type PolicyTerms,
  startingTerms,
} from './policies.ts';
import { type RiskFacts, RiskRules } from './risk.ts';
import type { ListTerms, MadeVersion, Tenancy } from './tenancy.ts';

/** Lists that every sandbox tenant starts with. */
const sanctioned = /^0x0+dead$/i;
const watched = /^0x0+beef$/i;

interface PolicyInForce {
  readonly id: string;
  /** undefined: all of its versions are dry runs. */
  enforced: MadeVersion<PolicyTerms> | undefined;
}

export interface Decided {
  readonly expected: Expected;
  /** `id version` of each policy that decides. */
  readonly by: readonly string[];
  readonly riskScore: number;
  readonly listing: Listing;
}

type Facts = Omit<DecisionFacts, 'listing' | 'riskScore' | 'ruleAction'> & Omit<RiskFacts, 'listing'>;

/** Lists have addresses of EVM networks alone, which mean the same in any case. */
const lowered = (address: string): string => address.toLowerCase();

export class Controls {
  readonly #policies = new Map<string, PolicyInForce>();
  readonly #lists = new Map<string, { readonly kind: ListTerms['kind']; readonly addresses: Set<string> }>();
  readonly #policyFacts: readonly MadeVersion<PolicyTerms>[];
  readonly #listFacts: readonly MadeVersion<ListTerms>[];
  readonly #risks: RiskRules;

  constructor({ policies, lists, riskRules }: Pick<Tenancy, 'policies' | 'lists' | 'riskRules'>) {
    this.#policyFacts = policies;
    this.#listFacts = lists;
    this.#risks = new RiskRules(riskRules);
    const first = policies.find(({ content }) => content === startingTerms);
    if (first !== undefined) this.#policies.set(first.name, { id: first.id, enforced: first });
  }

  take(event: ToldEvent): void {
    this.#risks.take(event);
    const { type, sequence, data } = event;
    const { id, version, name } = data.object ?? {};
    if (type.startsWith('policy.')) {
      const made = this.#policyFacts.find((one) => one.id === id && one.version === version);
      if (made === undefined)
        throw new Finding('events-complete', `event ${sequence} tells of a policy that no call made`);
      const policy = this.#policies.get(name as string) ?? { id: made.id, enforced: undefined };
      if (!made.content.isDryRun) policy.enforced = made;
      this.#policies.set(name as string, policy);
    } else if (type.startsWith('compliance.list.')) {
      const made = this.#listFacts.find((one) => one.id === id && one.version === version);
      if (made === undefined)
        throw new Finding('events-complete', `event ${sequence} tells of a list that no call made`);
      const { kind, addresses, append } = made.content;
      const before = append ? (this.#lists.get(name as string)?.addresses ?? []) : [];
      this.#lists.set(name as string, { kind, addresses: new Set([...before, ...addresses.map(lowered)]) });
    }
  }

  /** `named`: the policies that the wallet and the intent name, if any. */
  decide(named: readonly string[], address: string, facts: Facts): Decided {
    const names = [...new Set([...named, 'default'])];
    return this.decideBy(
      names.flatMap((name) => this.#policies.get(name)?.enforced ?? []),
      address,
      facts,
    );
  }

  /** By these versions alone. */
  decideBy(enforced: readonly MadeVersion<PolicyTerms>[], address: string, facts: Facts): Decided {
    const listing = this.listing(address);
    const riskScore = this.#risks.score({ ...facts, listing });
    const ruleAction = this.#risks.action({ ...facts, listing });
    return {
      ...{ riskScore, listing },
      expected: decisionOf(
        enforced.map(({ content }) => content),
        { ...facts, listing, riskScore, ruleAction },
      ),
      by: enforced.map(({ id, version }) => `${id} ${version}`),
    };
  }

  /** "A match on a sanctions or deny list is blocked, on a watch list review unless an allow list has it too." */
  listing(address: string): Listing {
    const on = (...kinds: readonly ListTerms['kind'][]) =>
      [...this.#lists.values()].some(
        ({ kind, addresses }) => kinds.includes(kind) && addresses.has(address.toLowerCase()),
      );
    if (sanctioned.test(address) || on('deny', 'sanctions')) return 'blocked';
    return (watched.test(address) || on('watch')) && !on('allow') ? 'review' : 'clear';
  }
}
