/**
 * The gateway of an embedded service for its API servers, whichever start of it runs now. An API server outlives the gateway:
 * while the gateway is down, the server refuses requests as a closed port would.
 */
import { ServiceError } from '../../gateway/api/errors/service-error.ts';
import type { Admission } from '../../gateway/auth/admission.ts';
import type { Serve, ServeRequest } from '../../gateway/serve/contract.ts';
import type { ClusterHealth } from '../../gateway/signing/cluster-view.ts';
import type { CallServerDeps } from '../../gateway/signing/keyed-calls.ts';
import { Calls, type Done, type SigningCall } from '../../gateway/signing/signing-calls.ts';
import type { WalletStore } from '../../gateway/signing/wallet-terms.ts';
import type { CustodyWorld } from '../service/custody-world.ts';
import type { ProcessLife } from '../service/process-life.ts';

const name = 'gateway';
const isDown = () => new ServiceError('unavailable', 'the gateway is down');

/** A request without an answer, because its gateway died, stays open: the API server cuts its connection. */
export function serveThrough(world: CustodyWorld): Serve {
  return (request) =>
    new Promise((resolve) => {
      const open = world.gatewayAt(name);
      if (open !== undefined) world.receive(name, entering(request, open.life), resolve, () => undefined);
    });
}

/** Later events of the connection enter the process, if it still runs. */
function entering(request: ServeRequest, life: ProcessLife): ServeRequest {
  const { method, target, httpVersion, headers, rawHeaders, entry } = request;
  return {
    ...{ method, target, httpVersion, headers, rawHeaders, entry },
    body: (bytesMax) =>
      new Promise((resolve, reject) => {
        request.body(bytesMax).then(
          (bytes) => life.enter(() => resolve(bytes)),
          (error: unknown) => life.enter(() => reject(error)),
        );
      }),
    onGone: (listener) => request.onGone(() => life.enter(listener)),
  };
}

export function admissionThrough(world: CustodyWorld): Pick<Admission, 'admit' | 'enter'> {
  return {
    admit: (authorization, requirement, done) => {
      const open = world.gatewayAt(name);
      if (open !== undefined) open.life.enter(() => open.gateway.admission.admit(authorization, requirement, done));
      else done({ admitted: false, error: isDown(), rate: undefined, principal: undefined });
    },
    enter: (requirement, tenant, onStart, onRefused) => {
      const open = world.gatewayAt(name);
      if (open !== undefined) return open.gateway.admission.enter(requirement, tenant, onStart, onRefused);
      onRefused(isDown());
      return { leave: () => undefined };
    },
  };
}

export class CallsThrough extends Calls {
  readonly #world: CustodyWorld;

  constructor(world: CustodyWorld) {
    super();
    this.#world = world;
  }

  get inFlight(): number {
    return this.#world.gatewayAt(name)?.gateway.calls.inFlight ?? 0;
  }

  start(call: SigningCall, done: Done): () => void {
    const open = this.#world.gatewayAt(name);
    if (open !== undefined) return open.gateway.calls.start(call, done);
    done({ failure: isDown() });
    return () => undefined;
  }
}

export function keyedThrough(world: CustodyWorld): CallServerDeps['keyed'] {
  return {
    answer: (...asked) => {
      const open = world.gatewayAt(name);
      return open === undefined ? Promise.reject(isDown()) : open.gateway.keyed.answer(...asked);
    },
  };
}

export function walletsThrough(world: CustodyWorld): WalletStore {
  return {
    read: (...asked) => {
      const open = world.gatewayAt(name);
      return open === undefined ? Promise.reject(isDown()) : open.gateway.store.read(...asked);
    },
  };
}

/** The health that the present gateway sees; `watch` after each of its starts. */
export class HealthThrough {
  readonly #listeners: ((health: ClusterHealth) => void)[] = [];
  #health: ClusterHealth = 'unavailable';
  #isConnected = (): boolean => false;

  get health(): ClusterHealth {
    return this.#health;
  }

  get coordinatorConnected(): boolean {
    return this.#isConnected();
  }

  onHealth(listener: (health: ClusterHealth) => void): void {
    this.#listeners.push(listener);
    listener(this.#health);
  }

  watch(world: CustodyWorld): void {
    const open = world.gatewayAt(name);
    this.#isConnected = () => open?.life.isAlive === true && open.gateway.cluster.coordinatorConnected;
    open?.gateway.cluster.onHealth((health) => {
      if (open.life.isAlive) this.#say(health);
    });
  }

  down(): void {
    this.#say('unavailable');
  }

  #say(health: ClusterHealth): void {
    this.#health = health;
    for (const listener of this.#listeners) listener(health);
  }
}
