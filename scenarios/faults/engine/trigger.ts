/** Whether a frame triggers an armed fault, or is one of the frames that an active fault applies to. */
import type { DescMessage } from '@bufbuild/protobuf';
import { CallReplySchema, CallSchema } from '../../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { encodeMessage } from '../../../proto/message-encoding.ts';
import type { FrameInTransit, ProcessName } from '../vocabulary/engine-contract.ts';
import { isLie, liePoints } from '../vocabulary/kinds.ts';
import { passesBy, senderOf } from '../vocabulary/targets.ts';
import type { Point } from '../vocabulary/trigger-points.ts';
import type { ArmedFault } from './armed-fault.ts';
import { isFrameless } from './checks.ts';

/** Whether a fault, in its present phase, applies to frames of this kind on this link. */
export function appliesTo(armed: ArmedFault, peer: ProcessName, direction: 'in' | 'out', point: Point): boolean {
  const { fault, phase } = armed;
  if (phase === 'watching') return isTrigger(armed, peer, direction, point);
  if (phase !== 'holding') return false;
  // FrameFilter decides whether to hold them: only frames that would overtake a held one.
  if (fault.fault === 'pause') return armed.on.includes(senderOf({ peer, direction }));
  if (fault.fault === 'partition' || fault.fault === 'half_open') {
    const wanted = fault.fault === 'partition' ? fault.direction : 'both';
    return !armed.noticed.has(peer) && armed.on.some((name) => passesBy(name, peer, direction, wanted));
  }
  return armed.nature === 'frames' && isSubject(armed, peer, direction, point);
}

/** Whether a fault with a point triggers at this frame. */
function isTrigger({ fault, targets }: ArmedFault, peer: ProcessName, direction: 'in' | 'out', point: Point): boolean {
  const { at } = fault;
  if (at?.point !== point) return false;
  if (at.of !== undefined) return passesBy(at.of, peer, direction);
  const names = targets.filter((name) => !isFrameless(name));
  return names.length === 0 || names.some((name) => passesBy(name, peer, direction));
}

/** Whether a fault of frames touches this frame. */
function isSubject({ fault, targets }: ArmedFault, peer: ProcessName, direction: 'in' | 'out', point: Point): boolean {
  const { at } = fault;
  if (at?.point !== undefined && at.point !== point) return false;
  if (at?.of !== undefined && !passesBy(at.of, peer, direction)) return false;
  if (fault.fault === 'force_receipt') return point === 'call';
  if (isLie(fault) && !liePoints[fault.fault].includes(point)) return false;
  const wanted = isLie(fault) ? 'out' : 'direction' in fault ? fault.direction : 'both';
  return targets.some((name) => passesBy(name, peer, direction, wanted));
}

/** Whether the frame is of the session that the fault names, if it names one. */
export function isOfSession({ fault }: ArmedFault, { envelope }: FrameInTransit): boolean {
  const session = fault.at?.session;
  if (session === undefined || envelope.message.session === session) return true;
  const { body } = envelope.message;
  if (body.case === 'call') return bytesOf(CallSchema, body.value).includes(session);
  return body.case === 'callReply' && bytesOf(CallReplySchema, body.value).includes(session);
}

function bytesOf(schema: DescMessage, value: unknown): Buffer {
  return Buffer.from(encodeMessage(schema, value));
}
