/**
 * The routes of the wallet API as data, for the pages. Nothing is called here: what the routes would work with is not
 * there, and asking for it is an error.
 */
import type { Redis } from 'ioredis';
import { openChains } from '../../gateway/chain/chains.ts';
import { complianceRoutes } from '../../gateway/compliance/routes.ts';
import { connectionRoutes } from '../../gateway/connections/routes.ts';
import { deliveryRoutes } from '../../gateway/deliveries/routes.ts';
import { eventRoutes } from '../../gateway/events/routes.ts';
import { eventStreamRoutes } from '../../gateway/events/stream-routes.ts';
import { intentRoutes } from '../../gateway/intents/routes.ts';
import { policyRoutes } from '../../gateway/policies/routes.ts';
import type { ProviderInfo } from '../../gateway/providers/port.ts';
import { providerAdapters } from '../../gateway/providers/registry.ts';
import { makeSelfHosted } from '../../gateway/providers/self-hosted/adapter.ts';
import { receiptRoutes } from '../../gateway/receipts/routes.ts';
import type { Route } from '../../gateway/rest/route.ts';
import { riskRoutes } from '../../gateway/risk/routes.ts';
import { sandboxRoutes as allSandboxRoutes } from '../../gateway/sandbox/routes.ts';
import { walletRoutes } from '../../gateway/wallets/routes.ts';
import { webhookRoutes } from '../../gateway/webhooks/routes.ts';

/** In the order that the pages show. */
export function restRoutes(): readonly Route[] {
  return [
    ...connectionRoutes(absent()),
    ...walletRoutes(absent()),
    ...intentRoutes(absent(), absent()),
    ...eventRoutes(),
    ...eventStreamRoutes(absent()),
    ...webhookRoutes(absent()),
    ...deliveryRoutes(absent()),
    ...policyRoutes(absent()),
    ...riskRoutes(),
    ...complianceRoutes(),
    ...receiptRoutes(absent()),
  ];
}

/** Those of a sandbox alone, which have a page of their own. */
export function sandboxRoutes(): readonly Route[] {
  return allSandboxRoutes({ control: undefined, sessions: absent() });
}

export function providerInfos(): readonly ProviderInfo[] {
  // Scripts are named when an adapter is made; they are never run.
  const redis = { defineCommand: () => undefined } as unknown as Redis;
  const selfHosted = makeSelfHosted({ signer: absent(), chains: openChains({ redis }) });
  return [...providerAdapters({ selfHosted, redis }).values()].map(({ info }) => info);
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
