/**
 * A route's requests to the process supervisor: one request, one answer, and every refusal as an API error. It logs each change
 * of the sandbox with its caller.
 */
import type { Timers } from '../../core/actors/contract.ts';
import { withinLimit } from '../../core/actors/waiting.ts';
import {
  ControlError,
  type ControlGives,
  type ControlMethod,
  type ControlTakes,
  type SandboxControl,
} from '../../scenarios/faults/control.ts';
import { ServiceError } from '../api/errors/service-error.ts';
import { actorOf } from '../api/principal.ts';
import type { RequestContext } from '../api/route.ts';

/** Longer than a process takes to start. */
const answerMaxMs = 60_000;

const absent =
  'the process supervisor of this sandbox is not connected: start the cluster with `signmesh up`, ' +
  'without SIGNMESH_FAULTS=off';

/** The supervisor, with a limit on the time of its answers: beyond that it throws ServiceError. */
export function answersInTime(control: SandboxControl, timers: Timers): SandboxControl {
  const text = 'the process supervisor of this sandbox does not answer; the outcome of the request is unknown';
  return {
    ask: (method, takes) =>
      withinLimit(timers, answerMaxMs, control.ask(method, takes), () => {
        throw new ServiceError('unavailable', text);
      }),
  };
}

/** Only reads. Throws ServiceError. */
export async function ask<M extends ControlMethod>(
  control: SandboxControl | undefined,
  method: M,
  takes: ControlTakes<M>,
): Promise<ControlGives<M>> {
  if (control === undefined) throw new ServiceError('unavailable', absent);
  try {
    return await control.ask(method, takes);
  } catch (error) {
    throw error instanceof ControlError ? refusal(error) : error;
  }
}

/** Changes the sandbox; logs the caller and the result. Throws ServiceError. */
export async function act<M extends ControlMethod>(
  context: RequestContext,
  control: SandboxControl | undefined,
  method: M,
  takes: ControlTakes<M>,
): Promise<ControlGives<M>> {
  const { log } = context;
  const facts = whoDid(context, method, takes);
  try {
    const gives = await ask(control, method, takes);
    log.info(facts, 'the sandbox was changed by its API');
    return gives;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    log.warn({ ...facts, reason }, 'a change of the sandbox was refused');
    throw error;
  }
}

/** Who asks for what: nothing that a caller sends to these routes is secret. */
export function whoDid(context: RequestContext, action: string, takes: unknown): Record<string, unknown> {
  const { tenant, principal, requestId } = context;
  return {
    event: 'sandbox.admin',
    action,
    actor: actorOf(principal),
    token: principal.tokenId,
    tenant,
    request_id: requestId,
    takes,
  };
}

/** What this sandbox cannot do at any time: a 422, since no repeat helps. */
export function notSupported(message: string, field = ''): ServiceError {
  return new ServiceError('providerRejected', message, { details: [{ field, issue: 'not_supported', message }] });
}

function refusal({ fault }: ControlError): ServiceError {
  const { code, message, field = '' } = fault;
  switch (code) {
    case 'invalid':
      return new ServiceError('invalidRequest', message, { details: [{ field, issue: 'invalid_value', message }] });
    case 'not_found':
      return new ServiceError('notFound', message);
    case 'conflict':
      return new ServiceError('conflict', message, { details: [{ field, issue: 'state_conflict', message }] });
    case 'unsupported':
      return notSupported(message, field);
    case 'unavailable':
      return new ServiceError('unavailable', message);
  }
}
