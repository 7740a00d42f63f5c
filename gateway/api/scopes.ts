/** The registry of scopes: the permissions of tokens. docs/http-and-grpc.md quotes it. */
import { type PreviewModule, previewModules, type ScopedModule, scopedModules } from './modules.ts';

export type Scope =
  | `${ScopedModule}:read`
  | `${ScopedModule}:write`
  | `preview:${PreviewModule}`
  | 'intents:approve'
  | 'changes:approve'
  | 'tenant:freeze'
  | 'tenant:unfreeze'
  | 'signing:read'
  | 'signing:dkg'
  | 'signing:initiate'
  | 'signing:share'
  | 'signing:resume'
  | 'sandbox:admin';

/** Every scope there is, in the order that listings show. */
export const allScopes: readonly Scope[] = [
  ...scopedModules.flatMap((module): Scope[] => [`${module}:read`, `${module}:write`]),
  'intents:approve',
  'changes:approve',
  'tenant:freeze',
  'tenant:unfreeze',
  'signing:read',
  'signing:dkg',
  'signing:initiate',
  'signing:share',
  'signing:resume',
  ...previewModules.map((module): Scope => `preview:${module}`),
  'sandbox:admin',
];

/** The scopes of a sandbox token that was never issued: all but `sandbox:admin`, which acts on the whole cluster. */
export const sandboxScopes: readonly Scope[] = allScopes.filter((scope) => scope !== 'sandbox:admin');

/**
 * The scopes that a token limited to provider connections never has. Keys and sessions of the signing API, and vaults, belong
 * to no connection: with them such a token could sign for wallets that it may not see.
 */
const beyondProviders: ReadonlySet<Scope> = new Set<Scope>([
  'providers:write',
  'webhooks:write',
  'policies:write',
  'modules:write',
  'vaults:read',
  'vaults:write',
  'intents:approve',
  'changes:read',
  'changes:write',
  'changes:approve',
  'tenant:freeze',
  'tenant:unfreeze',
  'signing:read',
  'signing:dkg',
  'signing:initiate',
  'signing:share',
  'signing:resume',
  'sandbox:admin',
]);

/** `scopes` without those that a provider-scoped token never has. */
export function withinProviders(scopes: readonly Scope[]): Scope[] {
  return scopes.filter((scope) => !beyondProviders.has(scope));
}

export function isScope(text: string): text is Scope {
  return (allScopes as readonly string[]).includes(text);
}
