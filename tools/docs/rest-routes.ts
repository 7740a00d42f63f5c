/**
 * The routes of the wallet API as data, for the pages. This calls no route: the services behind the routes are missing, and using
 * them is an error.
 */
import type { Route } from '../../gateway/api/route.ts';
import { accessTokenRoutes } from '../../gateway/auth/access-token-routes.ts';
import { meRoutes } from '../../gateway/auth/me-route.ts';
import { sandboxRoutes as allSandboxRoutes } from '../../gateway/sandbox/routes.ts';
import { sessionReadRoutes } from '../../gateway/signing/session-routes.ts';
import { accessRoutes } from '../../wallets/companions/access/routes.ts';
import { withChangeControl } from '../../wallets/companions/changes/public.ts';
import { driftRoutes, reconRoutes } from '../../wallets/companions/recon/public.ts';
import { tokenRoutes } from '../../wallets/companions/tokens/public.ts';
import { treasuryRoutes } from '../../wallets/companions/treasury/public.ts';
import { vaultRoutes } from '../../wallets/companions/vaults/routes.ts';
import { connectionRoutes } from '../../wallets/custody/connections/routes.ts';
import { intentRoutes } from '../../wallets/custody/intents/routes.ts';
import { tenantRoutes } from '../../wallets/custody/tenant/public.ts';
import { walletRoutes } from '../../wallets/custody/wallets/routes.ts';
import { deliveryRoutes } from '../../wallets/delivery/deliveries/routes.ts';
import { eventRoutes } from '../../wallets/delivery/events/routes.ts';
import { eventStreamRoutes } from '../../wallets/delivery/events/stream-routes.ts';
import { webhookRoutes } from '../../wallets/delivery/webhooks/routes.ts';
import { complianceRoutes } from '../../wallets/policy/compliance/routes.ts';
import { policyRoutes } from '../../wallets/policy/policies/routes.ts';
import { receiptRoutes } from '../../wallets/policy/receipts/routes.ts';
import { riskRoutes } from '../../wallets/policy/risk/routes.ts';
import { providerAdapters } from '../../wallets/providers/adapters.ts';
import { openChains } from '../../wallets/providers/chains/chains.ts';
import type { ProviderInfo } from '../../wallets/providers/port/port.ts';
import { makeSelfHosted } from '../../wallets/providers/self-hosted/adapter.ts';

/** In the order of the pages. */
export function restRoutes(): readonly Route[] {
  const direct = [
    ...connectionRoutes(absent()),
    ...walletRoutes(absent()),
    ...intentRoutes(absent(), absent()),
    ...sessionReadRoutes(absent()),
    ...eventRoutes(),
    ...eventStreamRoutes(absent()),
    ...webhookRoutes(absent()),
    ...deliveryRoutes(absent()),
    ...policyRoutes(absent()),
    ...riskRoutes(),
    ...complianceRoutes(),
    ...receiptRoutes(absent()),
    ...treasuryRoutes({
      ...{ market: absent(), venue: absent(), adapters: absent(), policyExists: absent(), wake: absent() },
      isSandbox: true,
    }),
    ...vaultRoutes(absent()),
    ...reconRoutes({ wake: absent() }),
    ...driftRoutes({ drifts: absent(), statements: absent(), timers: absent(), isSandbox: true }),
    ...tokenRoutes({ intents: absent(), driver: absent() }),
    ...accessRoutes(absent()),
    ...tenantRoutes(),
    ...accessTokenRoutes(absent()),
    ...meRoutes(undefined),
  ];
  return withChangeControl(direct, absent());
}

/** Routes that only a sandbox has; they have their own page. */
export function sandboxRoutes(): readonly Route[] {
  return allSandboxRoutes({
    ...{ version: '', control: undefined, sessions: absent(), timers: absent() },
    ...{ places: absent(), chains: absent(), webhooks: absent(), routes: absent(), ownerOf: absent },
  });
}

export function providerInfos(): readonly ProviderInfo[] {
  const ledgers = { evm: absent, bitcoin: absent, solana: absent };
  const selfHosted = makeSelfHosted({ signer: absent(), chains: openChains({ ledgers }) });
  return [...providerAdapters({ selfHosted, records: absent, books: absent, sleep: absent() }).values()].map(
    ({ info }) => info,
  );
}

function absent<T>(): T {
  return new Proxy(
    {},
    {
      get: (_, name) => {
        throw new Error(`a page has nothing to work with: ${String(name)}`);
      },
    },
  ) as T;
}
