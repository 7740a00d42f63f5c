/**
 * What a page shows of load beside the stream: POST /v1/sandbox/load, by which a generator reports what it intends, and
 * GET /v1/sandbox/queues, what waits in the service. Nothing of the latter is counted until it is asked for.
 */
import Type, { type Static } from 'typebox';
import type { Timers } from '../../core/actors/contract.ts';
import { type Route, route } from '../api/route.ts';
import { Closed, Line, Nullable, OneOf } from '../api/schema-kit.ts';
import type { SandboxDeps } from './deps.ts';
import { common } from './shared.ts';

/** A generator that reports nothing for this long has ended. */
const silentMs = 5_000;

export const IntendedLoad = Closed(
  {
    load: Line(128, 'its name'),
    stage: Line(128),
    rate: Nullable(
      Type.Number({ minimum: 0, maximum: 1_000_000, description: 'operations a second; null: its callers decide' }),
    ),
  },
  { title: 'SandboxIntendedLoad' },
);

/** What a generator reported last, to this gateway. */
export class IntendedLoads {
  readonly #timers: Pick<Timers, 'elapsedMs'>;
  #last: { readonly atMs: number; readonly load: Static<typeof IntendedLoad> } | undefined;

  constructor(timers: Pick<Timers, 'elapsedMs'>) {
    this.#timers = timers;
  }

  report(load: Static<typeof IntendedLoad>): void {
    this.#last = { atMs: this.#timers.elapsedMs(), load };
  }

  /** null: none runs. */
  get now(): Static<typeof IntendedLoad> | null {
    const isFresh = this.#last !== undefined && this.#timers.elapsedMs() - this.#last.atMs <= silentMs;
    return isFresh ? this.#last!.load : null;
  }
}

const count = (description: string) => Type.Integer({ minimum: 0, description });

const QueuesView = Closed(
  {
    calls: count('calls of this gateway that wait for a coordinator'),
    deliveries: Nullable(
      Closed({
        waiting: count('tries of deliveries that a worker may take'),
        active: count('that workers make now'),
        delayed: count('that are not due yet'),
      }),
      { description: 'null: the queue is not known here' },
    ),
    nonces: Type.Array(
      Closed({
        cluster: Type.Integer({ minimum: 1 }),
        node: Type.Integer({ minimum: 1 }),
        scheme: OneOf(['mock_ecdsa', 'frost_ed25519', 'frost_bip340']),
        waiting: count('made ahead, for a signature each'),
        awaited: count('that the node was asked for'),
      }),
      { description: 'of the nodes that are ready; a cluster that does not answer has none here' },
    ),
  },
  { title: 'SandboxQueues' },
);

export function loadRoutes(
  { queues, sessions }: Pick<SandboxDeps, 'queues' | 'sessions'>,
  loads: IntendedLoads,
): readonly Route[] {
  return [
    route({
      ...common,
      method: 'GET',
      path: '/v1/sandbox/queues',
      operationId: 'getSandboxQueues',
      clientName: 'sandbox.queues',
      summary: 'Read what waits: calls, deliveries, and nonces that nodes made ahead',
      responses: { 200: { description: 'At this moment', schema: QueuesView } },
      handle: async ({ tenant, traceparent, requestId }) => {
        const caller = { tenant, traceparent, requestId };
        const [deliveries, nonces] = await Promise.all([
          queues?.deliveries().catch(() => undefined),
          sessions.noncePools(caller),
        ]);
        const known = deliveries && { waiting: 0, active: 0, delayed: 0, ...deliveries };
        return { status: 200, body: { calls: queues?.calls() ?? 0, deliveries: known ?? null, nonces: [...nonces] } };
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: '/v1/sandbox/load',
      operationId: 'reportIntendedLoad',
      clientName: 'sandbox.reportLoad',
      example: { load: 'checkout', stage: 'climb', rate: 40 },
      summary: 'Report the load that a generator intends now',
      description:
        `The \`figures\` of the stream have it for ${silentMs / 1_000} s: report it every second. \`signmesh load\` does. Of one generator: ` +
        'the last one that reported.',
      body: IntendedLoad,
      responses: { 204: { description: 'Noted' } },
      handle: async (_, { body }) => {
        loads.report(body);
        return { status: 204 };
      },
    }),
  ];
}
