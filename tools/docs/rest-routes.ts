/**
 * The routes of the wallet API as data, for the pages. This calls no route: the services behind the routes are missing, and using
 * them is an error.
 */
import type { Route } from '../../api/route.ts';
import { complianceRoutes } from '../../controls/compliance/routes.ts';
import { policyRoutes } from '../../controls/policies/routes.ts';
import { receiptRoutes } from '../../controls/receipts/routes.ts';
import { riskRoutes } from '../../controls/risk/routes.ts';
import { connectionRoutes } from '../../custody/connections/routes.ts';
import { intentRoutes } from '../../custody/intents/routes.ts';
import { walletRoutes } from '../../custody/wallets/routes.ts';
import { deliveryRoutes } from '../../delivery/deliveries/routes.ts';
import { eventRoutes } from '../../delivery/events/routes.ts';
import { eventStreamRoutes } from '../../delivery/events/stream-routes.ts';
import { webhookRoutes } from '../../delivery/webhooks/routes.ts';
import { sandboxRoutes as allSandboxRoutes } from '../../gateway/sandbox/routes.ts';
import { sessionReadRoutes } from '../../gateway/signing/session-routes.ts';
import { accessRoutes } from '../../modules/access/routes.ts';
import { driftRoutes, reconRoutes } from '../../modules/recon/public.ts';
import { tokenRoutes } from '../../modules/tokens/public.ts';
import { treasuryRoutes } from '../../modules/treasury/public.ts';
import { vaultRoutes } from '../../modules/vaults/routes.ts';
import { providerAdapters } from '../../providers/adapters.ts';
import { openChains } from '../../providers/chains/chains.ts';
import type { ProviderInfo } from '../../providers/port/port.ts';
import { makeSelfHosted } from '../../providers/self-hosted/adapter.ts';

/** In the order of the pages. */
export function restRoutes(): readonly Route[] {
  return [
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
  ];
}

/** Routes that only a sandbox has; they have their own page. */
export function sandboxRoutes(): readonly Route[] {
  return allSandboxRoutes({ control: undefined, sessions: absent(), timers: absent() });
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
