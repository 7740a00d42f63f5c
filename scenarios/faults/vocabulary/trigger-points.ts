/**
 * The points of the protocol at which a fault can trigger: the kinds of frames, by their names in scenarios, in the API and in
 * reports; and the ports of gateways and workers. Every frame passes between the coordinator and one other process, since the
 * cluster is a star.
 */
import type { WireCase } from '../../../proto/wire.ts';

export const points = [
  'call',
  'call_reply',
  'cluster_status',
  'deal_nonces',
  'nonces_dealt',
  'partial_request',
  'partial_reply',
  'vendor_settled',
  'vendor_noted',
  'dkg_open',
  'dkg_opened',
  'dkg_seal',
  'dkg_sealed',
  'dkg_verify',
  'dkg_verified',
  'dkg_confirm',
  'dkg_confirmed',
  'dkg_discard',
  'dkg_refused',
] as const;
export type Point = (typeof points)[number];

/** The ports of gateways and workers, for faults at their calls. A provider is a simulated custodian or venue. */
export const portNames = ['redis', 'queue', 'egress', 'provider'] as const;
export type PortName = (typeof portNames)[number];

/** The point of a frame, by the case of its body. */
export function pointOf(wireCase: WireCase): Point {
  return byCase.get(wireCase)!;
}

const byCase: ReadonlyMap<string, Point> = new Map(
  points.map((point) => [point.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()), point]),
);
