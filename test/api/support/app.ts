/** A gateway's HTTP door with routes of a test's own, over a store that the test brings. */
import type { FastifyInstance } from 'fastify';
import type { Route } from '../../../api/route.ts';
import { Admission } from '../../../gateway/auth/admission.ts';
import { Authenticator } from '../../../gateway/auth/authenticator.ts';
import { buildHttp } from '../../../gateway/http/app.ts';
import type { RestDeps } from '../../../gateway/http/mount.ts';
import type { RateLimits } from '../../../gateway/limits/rate-limits.ts';
import { connectSigning } from '../../../gateway/signing/connect.ts';
import type { ClusterEnvironment } from '../../../proto/roster.ts';
import type { TenantStore } from '../../../store/contract.ts';
import { FakeCoordinator, healthyCluster } from '../../gateway/support/fake-coordinator.ts';
import { collectLog, type LogLine, MemoryTokens, tokenKey } from '../../gateway/support/gateway.ts';
import { unheededOrders } from '../../support/orders.ts';

/** Reversible and bound to what it is about; the envelope has tests of its own. */
export const testSeal: RestDeps['seal'] = {
  seal: (plain, about) => Buffer.from(JSON.stringify([about, plain])).toString('base64'),
  open: (sealed, about) => {
    const [was, plain] = JSON.parse(Buffer.from(sealed, 'base64').toString()) as [string, string];
    if (was !== about) throw new Error(`sealed for ${was}, opened for ${about}`);
    return plain;
  },
};

export interface RestApp {
  readonly app: FastifyInstance;
  readonly tokens: MemoryTokens;
  readonly lines: LogLine[];
}

export interface RestAppOptions extends Partial<Omit<RestDeps, 'admission'>> {
  readonly routes: readonly Route[];
  readonly store: TenantStore;
  readonly environment?: ClusterEnvironment;
  readonly limits?: RateLimits;
  readonly requestTimeoutMs?: number;
}

export async function restApp(options: RestAppOptions): Promise<RestApp> {
  const { routes, environment = 'sandbox', limits, requestTimeoutMs, ...deps } = options;
  const coordinator = new FakeCoordinator();
  const tokens = new MemoryTokens();
  const { log, lines } = collectLog();
  const room = connectSigning({ link: coordinator, orders: unheededOrders(), log });
  coordinator.status(healthyCluster);
  const acceptAnyTestToken = environment === 'sandbox';
  const authenticator = new Authenticator({ environment, acceptAnyTestToken, tokenKey, store: tokens, log });
  const admission = new Admission(authenticator, limits);
  const app = await buildHttp({
    environment,
    version: '0.0.0-test',
    admission,
    log,
    ...(requestTimeoutMs === undefined ? {} : { requestTimeoutMs }),
    ...room,
    rest: {
      routes,
      deps: {
        seal: testSeal,
        hashKey: new Uint8Array(32).fill(3),
        checkResponses: true,
        log,
        ...deps,
        environment,
        admission,
      },
    },
  });
  return { app, tokens, lines };
}

/** A sandbox token's header; each name is a tenant of its own. */
export function tokenOf(name: string): { authorization: string } {
  return { authorization: `Bearer svc_sk_test_${name.padStart(16, 'x')}` };
}
