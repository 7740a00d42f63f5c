/** The five signing calls over HTTP, made from the table: a POST whose JSON body is the whole request message. */
import type { DescMessage, JsonObject } from '@bufbuild/protobuf';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../../actors/live/ports.ts';
import { callTrace } from '../../api/call-trace.ts';
import { internalError, ServiceError } from '../../api/errors/service-error.ts';
import type { JsonBody } from '../../api/json-body.ts';
import { requestFieldsMax } from '../../proto/limits.ts';
import { receiptFacts } from '../access-log/receipt-facts.ts';
import type { Admission } from '../auth/admission.ts';
import { callRequest, type SigningMethod, signingMethods } from '../signing/methods.ts';
import type { CallOutcome } from '../signing/signing-calls.ts';
import { type ClientCallDeps, startClientCall } from '../signing/wallet-terms.ts';
import { jsonContentType, sendError } from './errors.ts';
import { guard, principalOf } from './guard.ts';
import { decodeProtoJson, encodeProtoJson } from './proto-json.ts';

export interface SigningRouteDeps extends ClientCallDeps {
  readonly admission: Admission;
}

export function signingRoutes(app: FastifyInstance, deps: SigningRouteDeps): void {
  for (const method of signingMethods) {
    app.post(method.httpPath, { onRequest: guard(deps.admission, method.requirement) }, (request, reply) =>
      serve(method, request, reply, deps),
    );
  }
}

/** Not async: the reply is sent from the callback, and a promise less lies on the hot path. */
function serve(method: SigningMethod, request: FastifyRequest, reply: FastifyReply, deps: SigningRouteDeps): void {
  // Without a body and a content type no parser ran.
  const body = request.body as JsonBody | undefined;
  if (body === undefined) throw new ServiceError('invalidRequest', 'the body is empty: a JSON object is needed');
  refuseLongLists(method.request, body.value);
  const { message, issues } = decodeProtoJson(method.request, body.value, body.hasSurrogateEscapes);
  if (issues !== undefined) {
    throw new ServiceError('invalidRequest', `the body does not decode as ${method.request.name}`, { details: issues });
  }
  const trace = callTrace(message, headerOf(request, 'traceparent'), request.id);
  if (request.access !== undefined) request.access.trace = trace;
  const { tenant } = principalOf(request);
  const call = {
    request: callRequest(method, message),
    tenant,
    correlationId: trace.correlationId,
    traceparent: trace.traceparent,
  };
  let cancel = (): void => undefined;
  const place = deps.admission.enter(
    method.requirement,
    tenant,
    (taken) => {
      cancel = startClientCall(deps, call, (outcome) => {
        taken.leave();
        const { access } = request;
        if (access !== undefined && outcome.response !== undefined) access.receipt = receiptFacts(outcome.response);
        answer(method, outcome, request, reply, deps.log);
      });
    },
    (error) => sendError(reply, error, request.id, deps.log),
  );
  // The client went away: its call gives its place free. After an answer this does nothing.
  reply.raw.once('close', () => {
    cancel();
    place.leave();
  });
}

/** Before they are decoded: an entry is three bytes of a body, and an object of the decoder's. */
function refuseLongLists(schema: DescMessage, json: JsonObject): void {
  for (const field of schema.fields) {
    if (field.fieldKind !== 'list') continue;
    const list = json[field.name] ?? json[field.jsonName];
    if (!Array.isArray(list) || list.length <= requestFieldsMax) continue;
    throw new ServiceError('invalidRequest', `${field.name} has more than ${requestFieldsMax} entries`, {
      details: [{ field: field.name, issue: 'too_many' }],
    });
  }
}

function answer(
  method: SigningMethod,
  outcome: CallOutcome,
  request: FastifyRequest,
  reply: FastifyReply,
  log: Log,
): void {
  if (outcome.failure !== undefined) {
    sendError(reply, outcome.failure, request.id, log);
    return;
  }
  let body: string;
  try {
    body = encodeProtoJson(method.response, outcome.response.value);
  } catch (error) {
    sendError(reply, internalError(error), request.id, log);
    return;
  }
  reply.header('content-type', jsonContentType).send(body);
}

function headerOf(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' ? value : undefined;
}
