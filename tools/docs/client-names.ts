/**
 * The method of `signmesh/client` for each operation, `group.method`: a route says its own. An operation without a name, or a
 * name without an operation, fails the page.
 */
import type { Route } from '../../gateway/api/route.ts';

/** Operations that are no routes. */
const others: Readonly<Record<string, string>> = {
  initiateDkg: 'signing.initiateDkg',
  exchangeDkgShares: 'signing.exchangeDkgShares',
  initiateSigning: 'signing.initiateSigning',
  submitSignatureShare: 'signing.submitSignatureShare',
  resumeSession: 'signing.resumeSession',
  getHealth: 'service.health',
};

export function clientNames(routes: readonly Route[]): Readonly<Record<string, string>> {
  const own = routes.flatMap(({ operationId, clientName }) =>
    clientName === undefined ? [] : [[operationId, clientName] as const],
  );
  return { ...Object.fromEntries(own), ...others };
}

/** Operations without a generated method: streams have iterators of their own, the rest are duplicates. */
export const withoutMethod: ReadonlySet<string> = new Set([
  'streamEvents',
  'streamSandbox',
  'getOpenapi',
  'getWellKnownKeys',
]);

/** Operations with a dry run: its method, the query that requests it, and the title of its answer. */
export const dryRuns: Readonly<
  Record<string, { readonly name: string; readonly query: string; readonly answer: string }>
> = {
  createTransactionIntent: { name: 'intents.dryRun', query: 'dry_run=true', answer: 'IntentDryRun' },
  createContractCallIntent: { name: 'intents.dryRunContractCall', query: 'dry_run=true', answer: 'IntentDryRun' },
  createMessageIntent: { name: 'intents.dryRunMessage', query: 'dry_run=true', answer: 'IntentDryRun' },
  signVaultMessage: { name: 'vaults.dryRun', query: 'dry_run=true', answer: 'VaultSignatureDryRun' },
};
