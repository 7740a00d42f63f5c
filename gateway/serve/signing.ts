/** The five signing calls over HTTP, made from the table: a POST whose JSON body is the whole request message. */
import type { DescMessage, JsonObject } from '@bufbuild/protobuf';
import { requestFieldsMax } from '../../proto/limits.ts';
import type { CallResponse } from '../../proto/wire.ts';
import { receiptFacts } from '../access-log/receipt-facts.ts';
import { callTrace } from '../api/call-trace.ts';
import { type FieldIssue, ServiceError } from '../api/errors/service-error.ts';
import { readIdempotencyKey } from '../api/idempotency.ts';
import { decodeProtoJson, encodeProtoJson } from '../api/proto-json.ts';
import { callRequest, type SigningMethod, signingMethods } from '../api/signing-methods.ts';
import type { Admission } from '../auth/admission.ts';
import type { CallServerDeps } from '../signing/keyed-calls.ts';
import type { CallOutcome, SigningCall } from '../signing/signing-calls.ts';
import { startClientCall } from '../signing/wallet-terms.ts';
import { readNeededJsonBody } from './bodies.ts';
import {
  type Endpoint,
  headerOf,
  jsonContentType,
  type Reply,
  type ServedCall,
  type ServeRequest,
} from './contract.ts';
import { admit, clientGone } from './guard.ts';

export interface SigningDeps extends CallServerDeps {
  readonly admission: Admission;
}

export function signingEndpoints(deps: SigningDeps): readonly Endpoint[] {
  return signingMethods.map((method) => ({
    method: 'POST',
    path: method.httpPath,
    requirement: method.requirement,
    run: (call) => serveMethod(method, call, deps),
  }));
}

async function serveMethod(method: SigningMethod, call: ServedCall, deps: SigningDeps): Promise<Reply> {
  const { request, entry } = call;
  const principal = await admit(deps.admission, method.requirement, call);
  const { tenant } = principal;
  const key = readIdempotencyKey(headerOf(request, 'idempotency-key'), undefined, undefined);
  const { value, hasSurrogateEscapes } = await readNeededJsonBody(request);
  refuseLongLists(method.request, value);
  const { message, issues } = decodeProtoJson(method.request, value, hasSurrogateEscapes);
  if (issues !== undefined) throw undecodable(method.request, issues);
  entry.trace = callTrace(message, headerOf(request, 'traceparent'), entry.requestId);
  const about = { tenant, ...entry.trace };
  if (key !== undefined) {
    const { response, replayed } = await deps.keyed.answer(deps, { method, principal, key, message, about });
    if (replayed) call.headers['idempotent-replayed'] = 'true';
    return replyOf(method, call, response);
  }
  const outcome = await callCluster(method, { request: callRequest(method, message), ...about }, request, deps);
  if (outcome.failure !== undefined) throw outcome.failure;
  return replyOf(method, call, outcome.response);
}

function replyOf(method: SigningMethod, { entry }: ServedCall, response: CallResponse): Reply {
  entry.receipt = receiptFacts(response);
  const body = encodeProtoJson(method.response, response.value);
  return { status: 200, headers: { 'content-type': jsonContentType }, body };
}

function undecodable({ name }: DescMessage, issues: readonly FieldIssue[]): ServiceError {
  const [first] = issues;
  const why = first?.message === undefined ? '' : `: ${first.field} ${first.message}`;
  return new ServiceError('invalidRequest', `the body does not decode as ${name}${why}`, { details: issues });
}

/** Rejects with ServiceError when there is no place for the call, or its client has gone. */
function callCluster(
  { requirement }: SigningMethod,
  call: SigningCall,
  request: ServeRequest,
  deps: SigningDeps,
): Promise<CallOutcome> {
  return new Promise((resolve, reject) => {
    let isAnswered = false;
    let cancel = (): void => undefined;
    const place = deps.admission.enter(
      requirement,
      call.tenant,
      (taken) => {
        cancel = startClientCall(deps, call, (outcome) => {
          taken.leave();
          isAnswered = true;
          resolve(outcome);
        });
      },
      (error) => {
        isAnswered = true;
        reject(error);
      },
    );
    request.onGone(() => {
      // Every answered call comes here too: an error for it would cost more than the call.
      if (isAnswered) return;
      cancel();
      place.leave();
      reject(clientGone());
    });
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
