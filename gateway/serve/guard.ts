/**
 * Puts an endpoint behind admission: it checks token, scope and rate limit before it reads a byte of the body; after reading
 * it, the call waits for its place. Every endpoint but health and the public pages uses it.
 */
import type { GatePlace } from '../../core/actors/admission/gate-host.ts';
import { ServiceError } from '../api/errors/service-error.ts';
import type { Principal } from '../api/principal.ts';
import type { Admission, Requirement } from '../auth/admission.ts';
import { onlyAuthorization } from '../auth/bearer.ts';
import type { ServedCall, ServeRequest } from './contract.ts';

/** Rejects with ServiceError. */
export function admit(admission: Admission, requirement: Requirement, call: ServedCall): Promise<Principal> {
  return new Promise((resolve, reject) => {
    admission.admit(onlyAuthorization(call.request.rawHeaders), requirement, (result) => {
      const { rate, principal } = result;
      if (rate !== undefined) {
        call.headers['ratelimit-policy'] = rate.policy;
        if (rate.state !== undefined) call.headers.ratelimit = rate.state;
      }
      call.entry.principal = principal;
      if (result.admitted) resolve(result.principal);
      else reject(result.error);
    });
  });
}

/** Resolves when the call may be worked on; rejects with ServiceError when it is refused, or its client has gone. */
export function placeOf(
  admission: Admission,
  requirement: Requirement,
  tenant: string,
  request: ServeRequest,
): Promise<GatePlace> {
  return new Promise((resolve, reject) => {
    let settled = false;
    let ignoreGone = (): void => {};
    const settle = (): void => {
      settled = true;
      ignoreGone();
    };
    const place = admission.enter(
      requirement,
      tenant,
      (taken) => {
        settle();
        resolve(taken);
      },
      (error) => {
        settle();
        reject(error);
      },
    );
    if (settled) return;
    ignoreGone = request.onGone(() => {
      place.leave();
      reject(clientGone());
    });
  });
}

export function clientGone(): ServiceError {
  return new ServiceError('unavailable', 'the client has gone');
}
