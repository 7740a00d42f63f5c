/**
 * The simulated world of the whole product for the runner of scenarios: clients call the gateways' API servers in turn, webhooks
 * have receivers, and faults, steps and nodes are the signing cluster's.
 */
import { fromBinary, type MessageShape, toBinary, toJson } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { type SigningMethod, signingMethods } from '../../../gateway/api/signing-methods.ts';
import { readBase64 } from '../../../proto/base64.ts';
import type { ProcessName } from '../../../scenarios/faults/vocabulary/engine-contract.ts';
import { owner } from '../../../scenarios/runner/custody-format.ts';
import { failureOfCode, failureOfRefusal } from '../../../scenarios/runner/outcome.ts';
import { factsOf, type Seen, simulatedWorld } from '../../../scenarios/runner/simulated-world.ts';
import type { GrpcCode } from '../../../scenarios/runner/terms.ts';
import type { QuestionName, Questions, ReceivedDelivery, ScenarioWorld } from '../../../scenarios/runner/world.ts';
import type { ClientAnswer } from '../client.ts';
import type { CustodyWorld } from '../custody-world.ts';
import { readAnswer, readRefresh, refreshPath } from './signing-answer.ts';

/** A call without an answer times out after this time, as a live client's does. */
const callTimeoutMs = 35_000;

/** Of the header: the gateway gives whole seconds. */
function retryAfterOf(header: string | undefined): { readonly retryAfterS?: number } {
  return header === undefined ? {} : { retryAfterS: Number(header) };
}

/** The tenant of a principal: the signing cluster's default, or the named one. */
export function tenantOf(by: string): string {
  const [, other] = by.split('@');
  return other === undefined ? 'tn_sim' : `tn_sim_${other}`;
}

/** A principal. */
export interface PrincipalClient {
  /** One try at one gateway; undefined: it was cut before an answer. */
  once(
    gateway: ProcessName,
    method: string,
    target: string,
    body?: unknown,
    key?: string,
  ): Promise<Omit<ClientAnswer, 'tries'> | undefined>;
}

/** `callers`: every principal, by its name. `token`: of the owner. */
export function custodyScenarioWorld(
  world: CustodyWorld,
  callers: ReadonlyMap<string, PrincipalClient>,
  token: string,
  seen: Seen,
): ScenarioWorld {
  const signing = simulatedWorld(world.clusters, seen);
  const gateways = world.processes.filter((name) => name.startsWith('gateway'));
  let next = 0;
  const once = async (asks: Questions['request']['asks']): Promise<Questions['request']['gets']> => {
    const { by, method, target, body, key } = asks;
    const gateway = gateways[next % gateways.length]!;
    next += 1;
    const answered = callerOf(callers, by).once(gateway, method, target, body, key);
    const answer = await Promise.race([answered, world.time.pause(callTimeoutMs, true).then(() => 'late' as const)]);
    if (answer === undefined) return { failure: 'UNAVAILABLE', message: 'the connection was lost before an answer' };
    if (answer === 'late') return { failure: 'LOST', message: `no answer within ${callTimeoutMs} ms` };
    return { status: answer.status, body: answer.body, ...retryAfterOf(answer.headers['retry-after']) };
  };
  /** POST of the signing API or the sandbox. */
  const post = async (target: string, body: object) => {
    const gets = await once({ by: owner, method: 'POST', target, body });
    if ('failure' in gets) return gets;
    if (gets.status < 300) return { answer: gets.body as Readonly<Record<string, unknown>> };
    const { error } = gets.body as { readonly error?: { readonly message?: string } };
    const { retryAfterS } = gets;
    return {
      ...{ failure: failureOfRefusal(gets.status), message: error?.message ?? String(gets.status) },
      ...(retryAfterS !== undefined && { retryAfterS }),
    };
  };
  const rpc = async (method: SigningMethod, request: object, deadlineMs: number | undefined) => {
    const gateway = gateways[next % gateways.length]!;
    next += 1;
    const metadata = { authorization: `Bearer ${token}` };
    const message = toBinary(method.request, request as MessageShape<typeof method.request>);
    const call = { method, message, metadata, deadlineMs: deadlineMs ?? callTimeoutMs };
    const answer = await world.callRpc(gateway, call);
    if ('message' in answer) return { response: fromBinary(method.response, answer.message) };
    const { code, details, reason, retryAfterS } = answer;
    const ended = { code: status[code] as GrpcCode, reason };
    return {
      ...{ failure: failureOfCode(ended.code), message: details, grpc: ended },
      ...(retryAfterS !== undefined && { retryAfterS }),
    };
  };
  const own: { readonly [Q in QuestionName]?: (asks: Questions[Q]['asks']) => Promise<Questions[Q]['gets']> } = {
    request: once,
    call: async ({ name, request, transport, deadlineMs }) => {
      if (name === 'refreshKey') {
        const made = await post(refreshPath(request.keyId), { version: request.version });
        return 'failure' in made ? made : { response: readRefresh(made.answer) };
      }
      const method = signingMethods.find((one) => one.method === name)!;
      if (transport === 'grpc') return (await rpc(method, request, deadlineMs)) as Questions['call']['gets'];
      const body = toJson(method.request, request, { useProtoFieldName: true }) as object;
      const made = await post(method.httpPath, body);
      if ('failure' in made) return made;
      return { response: readAnswer(method.response, made.answer) } as unknown as Questions['call']['gets'];
    },
    previewPartial: async ({ sessionId, nodeId }) => {
      const made = await post(`/v1/sandbox/sessions/${encodeURIComponent(sessionId)}/nodes/${nodeId}/partial`, {});
      if ('failure' in made) return { failure: made.message };
      return { partial: readBase64(made.answer.partial as string)! };
    },
    session: async ({ sessionId }) => factsOf(sessionId, await world.storedSession(tenantOf(owner), sessionId)),
    events: async () => {
      const page = await once({ by: owner, method: 'GET', target: '/v1/events?limit=100' });
      const events =
        'status' in page && page.status === 200 ? (page.body as { events: readonly EventView[] }).events : [];
      return events.map(({ id, type, timestamp, resource, correlation_id: correlationId, data }) => ({
        ...{ id, type, atMs: Date.parse(timestamp), resource, correlationId },
        ...{ provider: null, connectionId: null, object: data.object },
      }));
    },
    delivered: async () =>
      world.receivers.received
        .filter(({ status }) => status >= 200 && status < 300)
        .map(({ body }) => (JSON.parse(body) as { readonly type: string }).type),
    receiver: async ({ name, answers }) => {
      if (answers !== undefined) world.receivers.answer(receiverUrl(name), answers);
      return { url: receiverUrl(name) };
    },
    received: async ({ name }) => receivedAt(world, receiverUrl(name)),
  };
  return {
    ...{ kind: 'simulated', nowMs: signing.nowMs, idOf: signing.idOf },
    ...{ recording: signing.recording, violations: signing.violations },
    ask: (question, asks, gets, fails) => {
      const handler = own[question] as ((asks: unknown) => Promise<unknown>) | undefined;
      if (handler === undefined) return signing.ask(question, asks, gets, fails);
      handler(asks).then(
        (answer) => gets(answer as never),
        (error: unknown) => (fails ? fails(error as Error) : world.loop.failed(error)),
      );
      world.time.woken();
    },
  };
}

interface EventView {
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
  readonly resource: { readonly type: string; readonly id: string; readonly version: number };
  readonly correlation_id: string;
  readonly data: { readonly object: object };
}

function callerOf(callers: ReadonlyMap<string, PrincipalClient>, by: string): PrincipalClient {
  const caller = callers.get(by);
  if (caller === undefined) throw new Error(`the scenario has no principal ${by}`);
  return caller;
}

function receiverUrl(name: string): string {
  return `https://hooks.example.com/${name}`;
}

function receivedAt(world: CustodyWorld, url: string): readonly ReceivedDelivery[] {
  return world.receivers.received
    .filter((one) => one.url === url)
    .map(({ headers, body, status }) => {
      const { type, resource } = JSON.parse(body) as {
        readonly type: string;
        readonly resource: { readonly id: string };
      };
      return { type, resource: resource.id, headers, body, status };
    });
}
