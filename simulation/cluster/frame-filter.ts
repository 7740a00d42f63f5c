/** Decides how a sent frame arrives: first a test's hook, then the fault engine. */
import type { Envelope } from '../../core/actors/contract.ts';
import type { WireEnvelope, WireMessage } from '../../proto/wire.ts';
import { pointOf } from '../../scenarios/faults/vocabulary/trigger-points.ts';
import type { FaultService } from './fault-service.ts';
import { throughCodec } from './frame-codec.ts';
import type { FrameOutcome, NetworkPorts } from './network.ts';
import type { FrameFate, SimOptions } from './options.ts';

type PartialArrival = FrameOutcome['arrivals'][number];

export function frameFilter(faultService: FaultService, onFrame: SimOptions['onFrame']): NetworkPorts['filter'] {
  return (peer, direction, envelope, received) => {
    // A hook gets no calls.
    const fate = onFrame === undefined || envelope.message.body.case === 'call' ? true : onFrame(envelope);
    if (faultService.isIdle)
      return fate === true ? undefined : { arrivals: arrivalsOf(fate), faults: [], afterwards: undefined };
    const point = pointOf(received.message.body.case);
    const parts = fate === true ? [{ envelope: received, afterMs: 0 }] : arrivalsOf(fate);
    const arrivals: PartialArrival[] = [];
    const faults: string[] = [];
    const orders: Parameters<FaultService['perform']>[0][number][] = [];
    for (const part of parts) {
      const whole: WireEnvelope = fate === true ? received : throughCodec(part.envelope, 'bytes').envelope;
      const verdict = faultService.frame({ peer, direction, point, envelope: whole });
      for (const arrival of verdict.arrivals) {
        const afterMs = arrival.afterMs + part.afterMs;
        arrivals.push(part.exactly ? { ...arrival, afterMs, exactly: true } : arrival);
      }
      faults.push(...verdict.faults);
      orders.push(...verdict.orders);
    }
    return { arrivals, faults, afterwards: () => faultService.perform(orders) };
  };
}

function arrivalsOf(fate: Exclude<FrameFate, true>): readonly PartialArrival[] {
  if (fate === false) return [];
  if (!Array.isArray(fate)) return [{ envelope: fate as Envelope<WireMessage>, afterMs: 0 }];
  return fate.map(({ envelope, afterMs }) => ({ envelope, afterMs, exactly: true }));
}
