/** The orders of a trigger, and the orders that end a spell or window. */
import type { Order, ProcessName } from '../vocabulary/engine-contract.ts';
import type { FaultEngineOptions } from '../vocabulary/options.ts';
import { peersOf, processesOf } from '../vocabulary/targets.ts';
import type { ArmedFault } from './armed-fault.ts';
import type { Conditions } from './conditions.ts';

type Members = Pick<FaultEngineOptions, 'nodesTotal' | 'gateways'>;

/** After how long a crashed process restarts, by default. */
export const restartAfterMsDefault = 100;

/** Orders of one trigger for these processes. */
export function triggerOrders(
  armed: ArmedFault,
  victims: readonly ProcessName[],
  conditions: Conditions,
  members: Members,
): readonly Order[] {
  const { fault, id } = armed;
  switch (fault.fault) {
    case 'crash': {
      const { restart_after_ms: restartAfterMs = restartAfterMsDefault, lose_state: loseState = false } = fault;
      return victims.map((victim): Order => ({ kind: 'crash', process: victim, loseState, restartAfterMs }));
    }
    case 'rollback': {
      const { restart_after_ms: restartAfterMs = restartAfterMsDefault } = fault;
      return victims.map((victim): Order => ({ kind: 'rollBack', process: victim, copy: id, restartAfterMs }));
    }
    case 'pause':
      return victims.flatMap((victim) => conditions.begin({ kind: 'pause', process: victim }, id));
    case 'partition':
    case 'half_open':
      return peersOf(victims, members).flatMap((victim) => conditions.begin({ kind: 'silence', process: victim }, id));
    case 'second_process':
    case 'second_coordinator':
      return victims.flatMap((victim) => conditions.begin({ kind: 'second', process: victim }, id));
    case 'clock_jump':
      return victims.flatMap((victim) => conditions.jump(victim, fault.by_ms));
    case 'clock_skew':
      return victims.flatMap((victim) => conditions.skew(victim, id, fault.by_ms));
    case 'redis_gone':
      return conditions.begin({ kind: 'redis' }, id);
    case 'worker_stalled':
      return conditions.begin({ kind: 'worker' }, id);
    case 'double_delivery':
    case 'poison_job':
      return [{ kind: 'queue', what: fault.fault }];
    case 'receiver_status':
    case 'receiver_slow':
    case 'receiver_reset':
      return conditions.receiver(id, fault);
    case 'vendor_fails':
      return conditions.vendor(id, fault);
    default:
      return [];
  }
}

/** Orders at arming time: a rollback needs a copy of the store from then. */
export function copyOrders({ fault, id, targets }: ArmedFault, nodesTotal: number): readonly Order[] {
  if (fault.fault !== 'rollback') return [];
  return processesOf(targets, nodesTotal).map((one): Order => ({ kind: 'copyStore', process: one, copy: id }));
}

/** Orders that end the fault's effects, except for held frames (FaultLifecycle releases those). */
export function healingOrders(
  { fault, id, on, targets }: ArmedFault,
  conditions: Conditions,
  members: Members,
): readonly Order[] {
  switch (fault.fault) {
    case 'rollback':
      return processesOf(targets, members.nodesTotal).map(
        (one): Order => ({ kind: 'dropCopy', process: one, copy: id }),
      );
    case 'pause':
      return on.flatMap((victim) => conditions.end({ kind: 'pause', process: victim }, id));
    case 'partition':
    case 'half_open':
      return peersOf(on, members).flatMap((victim) => conditions.end({ kind: 'silence', process: victim }, id));
    case 'second_process':
    case 'second_coordinator':
      return on.flatMap((victim) => conditions.end({ kind: 'second', process: victim }, id));
    case 'clock_skew':
      return on.flatMap((victim) => conditions.unskew(victim, id));
    case 'redis_gone':
      return conditions.end({ kind: 'redis' }, id);
    case 'worker_stalled':
      return conditions.end({ kind: 'worker' }, id);
    case 'receiver_status':
    case 'receiver_slow':
    case 'receiver_reset':
      return conditions.receiverWell(id);
    case 'vendor_fails':
      return conditions.vendorWell(id);
    default:
      return [];
  }
}
