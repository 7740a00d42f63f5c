/** A gateway with routes of a test's own, over a store that the test brings. */

import type { FastifyInstance } from 'fastify';
import { systemPorts } from '../../core/actors/live/ports.ts';
import type { Route } from '../../gateway/api/route.ts';
import type { LoadLimits } from '../../gateway/limits/load-control.ts';
import type { RateLimits } from '../../gateway/limits/rate-limits.ts';
import type { RestDeps } from '../../gateway/serve/rest.ts';
import type { SigningRoom } from '../../gateway/signing/connect.ts';
import type { CoordinatorLink } from '../../gateway/signing/coordinator-port.ts';
import type { ClusterEnvironment, Roster } from '../../proto/roster.ts';
import type { SandboxControl } from '../../scenarios/faults/control.ts';
import type { TenantStore } from '../../wallets/store/contract.ts';
import { type GatewayOptions, type GatewayParts, openGateway, type TestGateway } from './gateway.ts';

/** Reversible and bound to what it is about; the envelope has tests of its own. */
export const testSeal: RestDeps['seal'] = {
  seal: (plain, about) => Buffer.from(JSON.stringify([about, plain])).toString('base64'),
  open: (sealed, about) => {
    const [was, plain] = JSON.parse(Buffer.from(sealed, 'base64').toString()) as [string, string];
    if (was !== about) throw new Error(`sealed for ${was}, opened for ${about}`);
    return plain;
  },
};

export interface RestApp extends TestGateway {
  readonly app: FastifyInstance;
}

export interface RestAppOptions extends Partial<Omit<RestDeps, 'admission'>> {
  /** `room`: the gateway's way to sessions. */
  readonly routes:
    | readonly Route[]
    | ((room: SigningRoom, sandbox: Pick<GatewayParts, 'seen' | 'inboxes'>) => readonly Route[]);
  readonly control?: SandboxControl;
  readonly store: TenantStore;
  readonly environment?: ClusterEnvironment;
  readonly limits?: RateLimits;
  readonly load?: Partial<LoadLimits>;
  readonly requestTimeoutMs?: number;
  /** The way to a coordinator of the test's own. */
  readonly link?: CoordinatorLink;
  /** Of the cluster that it leads to. */
  readonly roster?: Roster;
  readonly consoleFiles?: GatewayOptions['consoleFiles'];
}

export async function restApp(options: RestAppOptions): Promise<RestApp> {
  const {
    routes,
    environment = 'sandbox',
    limits,
    load,
    requestTimeoutMs,
    link,
    roster,
    control,
    consoleFiles,
    ...deps
  } = options;
  const gateway = await openGateway({
    environment,
    ...(limits !== undefined && { limits }),
    ...(load !== undefined && { load }),
    ...(requestTimeoutMs !== undefined && { requestTimeoutMs }),
    ...(link !== undefined && { link, roster }),
    ...(control !== undefined && { control }),
    consoleFiles,
    rest: ({ room, admission, log, ...sandbox }) => ({
      routes: typeof routes === 'function' ? routes(room, sandbox) : routes,
      deps: {
        seal: testSeal,
        hashKey: new Uint8Array(32).fill(3),
        checkResponses: true,
        access: { isAutomatic: true, openTenant: undefined },
        log,
        ...systemPorts,
        ...deps,
        environment,
        admission,
      },
    }),
  });
  return { ...gateway, app: gateway.http };
}

/** A sandbox token's header; each name is a tenant of its own. */
export function tokenOf(name: string): { authorization: string } {
  return { authorization: `Bearer svc_sk_test_${name.padStart(16, 'x')}` };
}
