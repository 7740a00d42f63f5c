/** /v1/sandbox/nodes: lists the processes of the cluster, and crashes, restarts, pauses and resumes one. */
import Type from 'typebox';
import type { Timers } from '../../core/actors/contract.ts';
import { pause } from '../../core/actors/waiting.ts';
import { timestampOrNull } from '../../proto/timestamps.ts';
import { processName } from '../../scenarios/faults/cluster-names.ts';
import type { ControlTakes, NodeStatus } from '../../scenarios/faults/control.ts';
import { ServiceError } from '../api/errors/service-error.ts';
import { type Answer, type RequestContext, type Route, route } from '../api/route.ts';
import { Closed, ListOf, Nullable, OneOf, Timestamp } from '../api/schema-kit.ts';
import { noSuch } from '../api/visibility.ts';
import { act, ask } from './control.ts';
import type { SandboxDeps } from './deps.ts';
import { common, wholeList } from './shared.ts';

/** The delay of an action on this gateway itself, so that its answer can leave. */
const farewellMs = 100;

export const NodeView = Closed(
  {
    id: Type.String({
      description:
        'as in paths: a node’s number, or `coordinator`, `gateway`, `worker`, `redis`; of cluster 2 `cluster-2-node-1`, `cluster-2-coordinator`',
    }),
    process: Type.String({ description: 'as faults name it: `node/1`, `coordinator`, `cluster/2/node/1`, …' }),
    cluster: Nullable(Type.Integer({ minimum: 1, description: 'null: it belongs to no cluster' })),
    state: OneOf(['running', 'paused', 'down', 'starting']),
    pid: Nullable(Type.Integer()),
    restarts: Type.Integer({ minimum: 0, description: 'since the cluster was started' }),
    started_at: Nullable(Timestamp),
    uptime_ms: Nullable(Type.Integer({ minimum: 0, description: 'since it was started last; null: it is down' })),
    linked: Nullable(Type.Boolean({ description: 'whether its link to the coordinator is up; null: it is no node' })),
    clock_offset_ms: Type.Integer({ description: 'offset of its clock from the machine’s' }),
    resident_bytes: Nullable(
      Type.Integer({ description: 'memory of the whole process; null: it is down, or the system does not say' }),
    ),
    together: Type.Array(Type.String(), {
      description: 'all nodes of this process, itself included: an action on one affects all',
    }),
  },
  { title: 'SandboxNode' },
);

const params = Closed({
  node: Type.String({
    pattern: '^(gateway|worker|redis|(cluster[/-]([1-9][0-9]?|100)[/-])?(coordinator|(node[/-])?([1-9][0-9]?|100)))$',
    description:
      'a node’s number (or `node-2`), or `coordinator`, `gateway`, `worker`, `redis`; of cluster 2 `cluster-2-node-1`, `cluster-2-coordinator`; as faults name it too, with each `/` as `%2F`',
    examples: ['2'],
  }),
});

const CrashBody = Closed({
  lose_state: Type.Optional(Type.Boolean({ description: 'its store is lost too; false by default' })),
  restart_after_ms: Type.Optional(
    Nullable(
      Type.Integer({
        minimum: 0,
        maximum: 86_400_000,
        description: 'time until it restarts; 100 by default; null: it stays down',
      }),
    ),
  ),
});

type Action = ControlTakes<'processes.act'>['action'];

const texts: Readonly<Record<Action, { readonly summary: string; readonly done: string }>> = {
  crash: { summary: 'End a process at once, as by SIGKILL', done: 'the process is down; by default it restarts' },
  restart: { summary: 'Restart or start a process', done: 'It is up, and ready' },
  pause: { summary: 'Pause a process, as by SIGSTOP', done: 'It is paused' },
  resume: { summary: 'Resume a process', done: 'It runs again' },
};

export function nodeRoutes({ control, timers }: Pick<SandboxDeps, 'control' | 'timers'>): readonly Route[] {
  const perform = async (
    context: RequestContext,
    node: string,
    more: Omit<ControlTakes<'processes.act'>, 'process'>,
  ) => {
    const takes = { process: processName(node), ...more };
    if (node === 'gateway') return toThisGateway(context, control, timers, takes);
    const { process } = await act(context, control, 'processes.act', takes);
    const { realMs } = await processes(context, control);
    return { status: 200, body: nodeView(process, realMs) };
  };
  const plain = (action: Exclude<Action, 'crash'>): Route =>
    route({
      ...common,
      ...shape(action),
      params,
      handle: (context, { params: { node } }) => perform(context, node, { action }),
    });
  return [
    route({
      ...common,
      method: 'GET',
      path: '/v1/sandbox/nodes',
      operationId: 'listSandboxNodes',
      clientName: 'sandbox.nodes',
      summary: 'List the nodes and the other processes, with their health',
      description: 'Lists all of them in one page.',
      responses: { 200: { description: 'Every process', schema: ListOf('nodes', NodeView) } },
      handle: async (context) => {
        const { list, realMs } = await processes(context, control);
        return {
          status: 200,
          body: wholeList(
            'nodes',
            list.map((process) => nodeView(process, realMs)),
          ),
        };
      },
    }),
    route({
      ...common,
      ...shape('crash'),
      params,
      body: CrashBody,
      bodyOptional: true,
      handle: (context, { params: { node }, body: { lose_state, restart_after_ms } }) =>
        perform(context, node, {
          action: 'crash',
          ...(lose_state !== undefined && { loseState: lose_state }),
          ...(restart_after_ms !== undefined && { restartAfterMs: restart_after_ms }),
        }),
    }),
    plain('restart'),
    plain('pause'),
    plain('resume'),
  ];
}

function shape(action: Action) {
  const { summary, done } = texts[action];
  return {
    method: 'POST',
    path: `/v1/sandbox/nodes/:node/${action}`,
    operationId: `${action}SandboxNode`,
    clientName: `sandbox.${action}Node`,
    ...(action === 'crash' && { example: { restart_after_ms: 100 } }),
    summary,
    ...(action === 'resume' ? {} : { description: ofGateway[action] }),
    responses: {
      200: { description: done, schema: NodeView },
      ...(action === 'crash' || action === 'restart'
        ? {
            202: { description: 'For `gateway`: its present state; the action follows this answer', schema: NodeView },
          }
        : {}),
    },
    errors: [422],
  } as const;
}

const later = 'The gateway itself answers 202 first, and the action follows.';
const ofGateway = {
  crash: later,
  restart: later,
  pause: 'Not of `gateway`, which could not be resumed through itself (422): use the fault `pause`.',
} as const;

/** A gateway that is down cannot answer. */
async function toThisGateway(
  context: RequestContext,
  control: SandboxDeps['control'],
  timers: Timers,
  takes: ControlTakes<'processes.act'>,
): Promise<Answer> {
  if (takes.action === 'pause') {
    throw notSupported(
      'node',
      'a paused gateway cannot be resumed through itself: use the fault `pause`, which ends by itself',
    );
  }
  if (takes.action === 'crash' && takes.restartAfterMs === null) {
    throw notSupported(
      'restart_after_ms',
      'a gateway that stays down cannot be restarted through itself: give restart_after_ms',
    );
  }
  const { list, realMs } = await processes(context, control);
  const now = list.find(({ process }) => process === takes.process);
  if (now === undefined) throw noSuch('process');
  // It runs: it answers.
  if (takes.action === 'resume') return { status: 200, body: nodeView(now, realMs) };
  // `act` has logged the error; no caller is left to answer.
  pause(timers, farewellMs)
    .then(() => act(context, control, 'processes.act', takes))
    .catch(() => {});
  return { status: 202, body: nodeView(now, realMs) };
}

function notSupported(field: string, message: string): ServiceError {
  return new ServiceError('providerRejected', message, { details: [{ field, issue: 'not_supported', message }] });
}

/** All processes, and the machine's time: this gateway's own clock may have been moved. */
async function processes({ nowMs }: RequestContext, control: SandboxDeps['control']) {
  const { processes: list } = await ask(control, 'processes.list', {});
  const own = list.find(({ process }) => process === 'gateway');
  return { list, realMs: nowMs - (own?.clockOffsetMs ?? 0) };
}

/** `realMs`: the machine's time. */
export function nodeView(status: NodeStatus, realMs: number) {
  const { process, state, pid, restarts, startedMs, linked, clockOffsetMs, residentBytes, together } = status;
  const [, cluster = '1'] = /^cluster\/(\d+)\//.exec(process) ?? [];
  const isUp = startedMs !== null && state !== 'down';
  return {
    id: process.replace(/^node\//, '').replaceAll('/', '-'),
    process,
    cluster: /^(gateway|worker|redis)$/.test(process) ? null : Number(cluster),
    state,
    pid,
    restarts,
    started_at: timestampOrNull(startedMs),
    uptime_ms: isUp ? Math.max(0, Math.round(realMs - startedMs)) : null,
    linked,
    clock_offset_ms: clockOffsetMs,
    resident_bytes: residentBytes,
    together: [...together],
  };
}
