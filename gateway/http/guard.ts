/**
 * Puts a route behind admission: token, scope and allowance are settled before a byte of the body is read. Every route
 * but health uses it, whichever module the route belongs to.
 */
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import type { Principal } from '../../api/principal.ts';
import type { Admission, Requirement } from '../auth/admission.ts';
import { onlyAuthorization } from '../auth/bearer.ts';
import type { RateVerdict } from '../limits/rate-limits.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by `guard`, before the body is read. Read it with `principalOf`. */
    principal: Principal | undefined;
  }
}

export function guard(admission: Admission, requirement: Requirement): onRequestHookHandler {
  return (request, reply, done) => {
    admission.admit(onlyAuthorization(request.raw.rawHeaders), requirement, (result) => {
      if (result.rate !== undefined) setRateHeaders(reply, result.rate);
      if (request.access !== undefined) request.access.principal = result.principal;
      if (result.admitted) {
        request.principal = result.principal;
        done();
      } else done(result.error);
    });
  };
}

/** The caller of a guarded route. */
export function principalOf(request: FastifyRequest): Principal {
  if (request.principal === undefined) throw new Error(`${request.routeOptions.url} is not guarded`);
  return request.principal;
}

function setRateHeaders(reply: FastifyReply, rate: RateVerdict): void {
  reply.header('ratelimit-policy', rate.policy);
  if (rate.state !== undefined) reply.header('ratelimit', rate.state);
}
