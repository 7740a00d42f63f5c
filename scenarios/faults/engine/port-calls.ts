/**
 * The faults that affect a call of a port, and their effects. A fault with `at.port` that is not a fault of stores or providers
 * begins before or after the call; faults of stores and providers decide the call's fate.
 */
import type { PortCallMade, PortVerdict } from '../vocabulary/engine-contract.ts';
import type { Fault, FaultOf } from '../vocabulary/fault.ts';
import { isStoreKind } from '../vocabulary/kinds.ts';
import { firstOf, isGateway, isWorker } from '../vocabulary/targets.ts';
import type { ArmedFault } from './armed-fault.ts';

const lateDefaultMs = 5_000;

/** Whether a fault that waits for a call of a port waits for this one. */
export function beginsAtCall({ fault, targets, phase }: ArmedFault, call: PortCallMade): boolean {
  if (phase !== 'watching' || !isNamed(fault, call)) return false;
  if (fault.at?.of !== undefined) return true;
  const makers = targets.filter((name) => isGateway(name) || isWorker(name));
  return makers.length === 0 || makers.includes(call.process);
}

/** Whether a fault that decides the fate of calls decides that of this one. */
export function decidesCall({ fault, phase, on }: ArmedFault, call: PortCallMade): boolean {
  if (phase !== 'holding') return false;
  if (fault.fault === 'provider_fails') {
    if (call.port !== 'provider' || (fault.provider !== undefined && fault.provider !== call.call)) return false;
    return fault.at?.port === undefined || isNamed(fault, call);
  }
  if (!isStoreKind(fault.fault) || !on.includes(call.process)) return false;
  return fault.at?.port === undefined ? call.port === 'redis' : isNamed(fault, call);
}

/** The effect of this fault on a call; `fate` undefined: only a delay. */
export function fateOf(fault: Fault): { readonly fate?: PortVerdict['fate']; readonly delayMs: number } {
  switch (fault.fault) {
    case 'store_lost':
      return { fate: 'lost', delayMs: 0 };
    case 'store_unanswered':
      return { fate: 'unanswered', delayMs: 0 };
    case 'store_failing':
      return { fate: 'refused', delayMs: 0 };
    case 'store_slow':
      return { delayMs: fault.by_ms };
    case 'provider_fails':
      return fault.by === 'late' ? { delayMs: fault.by_ms ?? lateDefaultMs } : { fate: fates[fault.by], delayMs: 0 };
    default:
      return { delayMs: 0 };
  }
}

const fates: Readonly<Record<Exclude<FaultOf<'provider_fails'>['by'], 'late'>, PortVerdict['fate']>> = {
  twice: 'twice',
  never: 'unanswered',
  lost: 'lost',
  refuses: 'refused',
};

/** Whether `at` names this call: its port, its name, the process that makes it. */
function isNamed({ at }: Fault, made: PortCallMade): boolean {
  if (at?.port !== made.port || (at.call !== undefined && at.call !== made.call)) return false;
  return at.of === undefined || firstOf(at.of) === made.process;
}
