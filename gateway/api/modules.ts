/**
 * The registry of modules and their maturity. Scopes, access in production and in a sandbox, the tags and labels of the OpenAPI
 * document, the docs and GET /v1/modules are made from it. A route names its module by its tag.
 */

export type Maturity = 'LIVE' | 'PREVIEW' | 'PLANNED';

interface Entry {
  /** In scopes and paths, e.g. "vaults". */
  readonly name: string;
  /** As the documents group routes. */
  readonly tag: string;
  readonly maturity: Maturity;
  readonly description: string;
  /** It has the scopes `<name>:read` and `<name>:write`. */
  readonly hasScopes: boolean;
}

/** In the order of the document. */
const registry = [
  {
    name: 'providers',
    tag: 'Provider connections',
    maturity: 'LIVE',
    description: 'Custody providers and connections to them.',
    hasScopes: true,
  },
  {
    name: 'wallets',
    tag: 'Wallets',
    maturity: 'LIVE',
    description: 'Wallets of all providers, in one format.',
    hasScopes: true,
  },
  {
    name: 'intents',
    tag: 'Transaction intents',
    maturity: 'LIVE',
    description: 'Transfers under policies, and their approvals.',
    hasScopes: true,
  },
  { name: 'events', tag: 'Events', maturity: 'LIVE', description: 'What happened, in order.', hasScopes: true },
  {
    name: 'webhooks',
    tag: 'Webhooks',
    maturity: 'LIVE',
    description: 'Events delivered to URLs, signed.',
    hasScopes: true,
  },
  {
    name: 'signing',
    tag: 'Signing',
    maturity: 'LIVE',
    description: 'Keys and threshold signatures, in mode M0: a mock.',
    hasScopes: false,
  },
  {
    name: 'modules',
    tag: 'Modules',
    maturity: 'LIVE',
    description: 'These modules, their maturity, and access to them.',
    hasScopes: true,
  },
  {
    name: 'tenant',
    tag: 'Tenant',
    maturity: 'LIVE',
    description: 'Freezing a tenant: nothing of it is initiated, approved or signed.',
    hasScopes: false,
  },
  {
    name: 'changes',
    tag: 'Change control',
    maturity: 'LIVE',
    description: 'Changes of a tenant’s rules that others approve first.',
    hasScopes: true,
  },
  {
    name: 'access_tokens',
    tag: 'Access tokens',
    maturity: 'LIVE',
    description: 'Tokens that a token issues, with at most its own rights.',
    hasScopes: true,
  },
  {
    name: 'service',
    tag: 'Service',
    maturity: 'LIVE',
    description: 'Health, and this document.',
    hasScopes: false,
  },
  {
    name: 'sandbox',
    tag: 'Sandbox',
    maturity: 'LIVE',
    description: 'Faults, processes, time and snapshots of a sandbox.',
    hasScopes: false,
  },
  {
    name: 'compliance',
    tag: 'Compliance',
    maturity: 'PREVIEW',
    description: 'Screening against lists.',
    hasScopes: true,
  },
  { name: 'risk', tag: 'Risk', maturity: 'PREVIEW', description: 'Scores from rules.', hasScopes: true },
  {
    name: 'policies',
    tag: 'Policy',
    maturity: 'PREVIEW',
    description: 'Versioned rules that decide on intents; signed receipts.',
    hasScopes: true,
  },
  {
    name: 'recon',
    tag: 'Reconciliation',
    maturity: 'PREVIEW',
    description: 'Jobs that compare balances.',
    hasScopes: true,
  },
  {
    name: 'vaults',
    tag: 'Key management',
    maturity: 'PLANNED',
    description: 'Vaults and their keys.',
    hasScopes: true,
  },
  {
    name: 'treasury',
    tag: 'AI treasury',
    maturity: 'PLANNED',
    description: 'Strategies and rebalancing.',
    hasScopes: true,
  },
  {
    name: 'tokens',
    tag: 'Token operations',
    maturity: 'PLANNED',
    description: 'Tokens, minted and redeemed.',
    hasScopes: true,
  },
] as const satisfies readonly Entry[];

type Registered = (typeof registry)[number];

export type ModuleName = Registered['name'];
/** Production asks for `preview:<module>` besides the scope of the operation. */
export type PreviewModule = Extract<Registered, { maturity: 'PREVIEW' | 'PLANNED' }>['name'];
/** In a sandbox, access is by request. */
export type PlannedModule = Extract<Registered, { maturity: 'PLANNED' }>['name'];
/** Has the scopes `<name>:read` and `<name>:write`. */
export type ScopedModule = Extract<Registered, { hasScopes: true }>['name'];

export interface Module extends Entry {
  readonly name: ModuleName;
}

export const modules: readonly Module[] = registry;

export const scopedModules: readonly ScopedModule[] = registry.flatMap((each) => (each.hasScopes ? [each.name] : []));
export const previewModules: readonly PreviewModule[] = registry.flatMap((each) =>
  each.maturity === 'LIVE' ? [] : [each.name],
);
export const plannedModules: readonly PlannedModule[] = registry.flatMap((each) =>
  each.maturity === 'PLANNED' ? [each.name] : [],
);

/** undefined: the tag is no module (tests have such routes). */
export function moduleOfTag(tag: string): Module | undefined {
  return modules.find((each) => each.tag === tag);
}

/** The module of a tag whose `preview:` scope production asks for. */
export function previewOfTag(tag: string): PreviewModule | undefined {
  return previewModules.find((name) => name === moduleOfTag(tag)?.name);
}

/** The module of a tag whose use a sandbox grants by request. */
export function plannedOfTag(tag: string): PlannedModule | undefined {
  return plannedModules.find((name) => name === moduleOfTag(tag)?.name);
}
