/**
 * /v1/sandbox/*: faults on demand. These routes are thin: the fault injector of `signmesh up` performs them (SandboxControl),
 * and the coordinator has the sessions.
 *
 * In production none of these routes is mounted. All of them ask for `sandbox:admin` and act on the whole cluster (reading a
 * session of the caller's tenant asks for `signing:read`), and are counted by no rate limit. None takes an Idempotency-Key:
 * answers would be stored in the same Redis that these routes stop, restore and empty.
 */
import type { Route } from '../api/route.ts';
import { chainRoutes } from './chain-routes.ts';
import { answersInTime } from './control.ts';
import type { SandboxDeps } from './deps.ts';
import { faultRoutes } from './fault-routes.ts';
import { inboxRoutes } from './inbox-routes.ts';
import { keyRoutes } from './key-routes.ts';
import { IntendedLoads, loadRoutes } from './load-routes.ts';
import { nodeRoutes } from './node-routes.ts';
import { recordingRoutes } from './recording-routes.ts';
import { requestRoutes } from './request-routes.ts';
import { sessionRoutes } from './session-routes.ts';
import { streamRoutes } from './stream-routes.ts';
import { timeRoutes } from './time-routes.ts';
import { tokenRoutes } from './token-routes.ts';

export function sandboxRoutes(options: SandboxDeps): readonly Route[] {
  const { control, timers } = options;
  const deps = { ...options, control: control && answersInTime(control, timers) };
  const loads = new IntendedLoads(timers);
  return [
    ...faultRoutes(deps),
    ...nodeRoutes(deps),
    ...sessionRoutes(deps),
    ...keyRoutes(deps),
    ...timeRoutes(deps),
    ...chainRoutes(deps),
    ...recordingRoutes(deps),
    ...streamRoutes(deps, loads),
    ...requestRoutes(deps),
    ...loadRoutes(deps, loads),
    ...inboxRoutes(deps),
    ...tokenRoutes(deps),
  ];
}
