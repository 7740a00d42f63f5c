/**
 * Admission of every HTTP and gRPC call: it checks token, scope, load and rate limit, in this order. An admitted call gets a
 * principal, any other a ServiceError. The body is not read before. Then the call takes a place (`enter`), and leaves it when
 * its work is done.
 */
import type { GatePlace } from '../../core/actors/admission/gate-host.ts';
import type { Timers } from '../../core/actors/contract.ts';
import { ServiceError } from '../api/errors/service-error.ts';
import type { Principal } from '../api/principal.ts';
import type { LoadClass } from '../api/route.ts';
import type { Scope } from '../api/scopes.ts';
import type { LoadControl } from '../limits/load-control.ts';
import type { LimitClass, RateLimits, RateVerdict } from '../limits/rate-limits.ts';
import type { Authenticator } from './authenticator.ts';

/** The requirements of a route or RPC. */
export interface Requirement {
  readonly scope: Scope | 'any';
  /** Needed besides `scope`, e.g. `preview:policies`. */
  readonly alsoScope?: Scope | undefined;
  /** `none`: it is not counted. */
  readonly limitClass: LimitClass | 'none';
  /** Its class in load control; `limitClass` by default. */
  readonly loadClass?: LoadClass | undefined;
}

export type Admitted =
  | { readonly admitted: true; readonly principal: Principal; readonly rate: RateVerdict | undefined }
  | {
      readonly admitted: false;
      readonly error: ServiceError;
      readonly rate: RateVerdict | undefined;
      /** Whose valid token it was, if any: for the access log. */
      readonly principal: Principal | undefined;
    };

export interface RefusedForLoad {
  readonly error: ServiceError;
  readonly principal: Principal;
}

/**
 * The time from a request to its 401: longer than any lookup and equal for all causes, so that timing reveals nothing.
 * Otherwise two differences would show: a malformed token is refused without a lookup, and an existing record takes longer to
 * read than a missing one.
 */
export const refusalAfterMs = 10;

export class Admission {
  readonly #authenticator: Authenticator;
  readonly #limits: RateLimits | undefined;
  readonly #timers: Timers;
  readonly #load: LoadControl | undefined;

  /** Without `limits`, calls are not counted; without `load`, all have a place. */
  constructor(authenticator: Authenticator, limits: RateLimits | undefined, timers: Timers, load?: LoadControl) {
    this.#authenticator = authenticator;
    this.#limits = limits;
    this.#timers = timers;
    this.#load = load;
  }

  /** Whose a token is; it is not counted as a call. Never rejects. */
  async ownerOf(token: string): Promise<Principal | ServiceError> {
    return this.#authenticator.authenticate(`Bearer ${token}`);
  }

  /**
   * A place for a call that was admitted and read. Calls one of the two, once, possibly before it returns; neither after
   * `leave`, which ends a wait as well.
   */
  enter(
    requirement: Requirement,
    tenant: string,
    onStart: (place: GatePlace) => void,
    onRefused: (error: ServiceError) => void,
  ): GatePlace {
    const loadClass = loadClassOf(requirement);
    if (this.#load !== undefined && loadClass !== 'none') {
      return this.#load.enter(loadClass, tenant, onStart, onRefused);
    }
    onStart(unlimited);
    return unlimited;
  }

  /** Whether load control is refusing calls: quick to ask for every call. */
  get mayRefuse(): boolean {
    return this.#load?.mayRefuse === true;
  }

  /**
   * What `admit` would answer, if that is a refusal for load and needs no wait: a caller with a cached token and the scope.
   * undefined: ask `admit`. For the moments at which most calls are refused: what a refusal costs is taken from the others.
   */
  refusedForLoad(authorization: () => string | undefined, requirement: Requirement): RefusedForLoad | undefined {
    const loadClass = loadClassOf(requirement);
    if (this.#load === undefined || loadClass === 'none') return undefined;
    const principal = this.#authenticator.cached(authorization());
    if (principal === undefined || lackingScope(principal, requirement) !== undefined) return undefined;
    const error = this.#load.refusal(loadClass, principal.tenant);
    return error && { error, principal };
  }

  /**
   * `done` is called exactly once, possibly before `admit` returns: if the token is cached and calls are not counted.
   * A callback, not a promise, since this runs for every call of the hot path.
   */
  admit(authorization: string | undefined, requirement: Requirement, done: (result: Admitted) => void): void {
    const identified = this.#authenticator.authenticate(authorization);
    if (!(identified instanceof Promise)) {
      if (isRefusal(identified)) this.#timers.start(refusalAfterMs, () => this.#allow(identified, requirement, done));
      else this.#allow(identified, requirement, done);
      return;
    }
    // The time runs from the beginning, whatever the lookup finds and however long that takes within it.
    let release = (): void => {};
    const timeIsUp = new Promise<void>((resolve) => {
      release = resolve;
    });
    const cancel = this.#timers.start(refusalAfterMs, release);
    identified.then((result) => {
      if (isRefusal(result)) {
        timeIsUp.then(() => this.#allow(result, requirement, done));
        return;
      }
      cancel();
      this.#allow(result, requirement, done);
    });
  }

  /**
   * Whether an admitted caller would still be admitted: for long-running answers. It is not counted as a call. True while the
   * token store does not answer.
   */
  async stillAdmits(authorization: string | undefined, requirement: Requirement): Promise<boolean> {
    const identified = await this.#authenticator.authenticate(authorization);
    if (identified instanceof ServiceError) return identified.kind === 'unavailable';
    return lackingScope(identified, requirement) === undefined;
  }

  #allow(identified: Principal | ServiceError, requirement: Requirement, done: (result: Admitted) => void): void {
    if (identified instanceof ServiceError) {
      done({ admitted: false, error: identified, rate: undefined, principal: undefined });
      return;
    }
    const { limitClass } = requirement;
    const lacking = lackingScope(identified, requirement);
    if (lacking !== undefined) {
      done({ admitted: false, error: missingScope(lacking), rate: undefined, principal: identified });
      return;
    }
    const loadClass = loadClassOf(requirement);
    const refusal = loadClass === 'none' ? undefined : this.#load?.refusal(loadClass, identified.tenant);
    if (refusal !== undefined) {
      done({ admitted: false, error: refusal, rate: undefined, principal: identified });
      return;
    }
    if (this.#limits === undefined || limitClass === 'none') {
      done({ admitted: true, principal: identified, rate: undefined });
      return;
    }
    this.#limits.consume(identified.tenant, limitClass).then((rate) => {
      if (rate.allowed) done({ admitted: true, principal: identified, rate });
      else done({ admitted: false, error: overLimit(limitClass, rate, identified), rate, principal: identified });
    });
  }
}

function lackingScope({ scopes }: Principal, { scope, alsoScope }: Requirement): Scope | undefined {
  if (scope !== 'any' && !scopes.has(scope)) return scope;
  return alsoScope === undefined || scopes.has(alsoScope) ? undefined : alsoScope;
}

const unlimited: GatePlace = Object.freeze({ leave: () => undefined });

function loadClassOf({ loadClass, limitClass }: Requirement): LoadClass | 'none' {
  return loadClass ?? limitClass;
}

function isRefusal(identified: Principal | ServiceError): identified is ServiceError {
  return identified instanceof ServiceError && identified.kind === 'authenticationFailed';
}

function missingScope(scope: Scope): ServiceError {
  return new ServiceError('insufficientScope', `the access token lacks the scope ${scope}`, {
    headers: { 'www-authenticate': `Bearer realm="signmesh", error="insufficient_scope", scope="${scope}"` },
  });
}

function overLimit(limitClass: LimitClass, rate: RateVerdict, { environment }: Principal): ServiceError {
  const off = environment === 'sandbox' ? ' (SIGNMESH_RATE_LIMIT=off turns the limits of a sandbox off)' : '';
  return new ServiceError(
    'rateLimited',
    `too many calls of the class ${limitClass}: repeat in ${rate.resetS} s${off}`,
    {
      retryAfterS: rate.resetS,
    },
  );
}
