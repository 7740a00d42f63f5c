/** What is seen of a run (scenarios/faults/recording.ts), as the API shows it. Public values only. */
import Type, { type TProperties } from 'typebox';
import type { RunEventJson } from '../../scenarios/faults/recording-json.ts';
import { faultKinds } from '../../scenarios/faults/vocabulary/fault.ts';
import { points } from '../../scenarios/faults/vocabulary/trigger-points.ts';
import { Closed, OneOf } from '../api/schema-kit.ts';

function kind<const K extends RunEventJson['kind'], T extends TProperties>(name: K, title: string, properties: T) {
  const atMs = Type.Number({ description: 'milliseconds since the recording began' });
  return Closed({ kind: Type.Literal(name), at_ms: atMs, ...properties }, { title });
}

const text = Type.String({ description: 'in words' });
const Words = Type.Array(Type.String());
/** Plain public values by name. */
const Fields = Type.Record(
  Type.String(),
  Type.Union([Type.String(), Type.Number(), Type.Boolean(), Words, Type.Array(Type.Number())]),
);

export const FrameView = kind('frame', 'SandboxFrame', {
  arrives_ms: Type.Array(Type.Number(), { description: 'when it arrives, once a copy; empty: never' }),
  from: Type.String({ description: 'the address of an actor, e.g. `node/2`' }),
  to: Type.String(),
  point: OneOf(points, { description: 'the protocol point, as in triggers of faults' }),
  tenant: Type.String(),
  session: Type.String(),
  attempt: Type.Integer({ minimum: 0 }),
  bytes: Type.Integer({ minimum: 0 }),
  text,
  faults: Type.Array(Type.String(), { description: 'ids of the faults that affected it' }),
});

export const EventView = Type.Unsafe<RunEventJson>(
  Type.Union(
    [
      FrameView,
      kind('actor', 'SandboxActorEvent', {
        address: Type.String(),
        type: Type.String(),
        level: OneOf(['debug', 'info', 'warn', 'error']),
        fields: Fields,
      }),
      kind('state', 'SandboxStateEvent', { address: Type.String(), state: Type.String(), fields: Fields }),
      kind('process', 'SandboxProcessEvent', {
        process: Type.String(),
        what: OneOf(['up', 'down', 'paused', 'resumed', 'link_up', 'link_down', 'clock']),
        text,
      }),
      kind('fault', 'SandboxFaultEvent', {
        id: Type.String(),
        fault: OneOf(faultKinds),
        targets: Words,
        what: OneOf(['armed', 'fired', 'ended']),
        text,
      }),
      kind('step', 'SandboxStepEvent', {
        client: Type.String(),
        step: Type.String(),
        what: OneOf(['began', 'ended']),
        session: Type.String(),
        text,
      }),
      kind('delivery', 'SandboxDeliveryEvent', {
        event: Type.String(),
        session: Type.String(),
        status: Type.Integer(),
        text,
      }),
      kind('violation', 'SandboxViolationEvent', { invariant: Type.String(), text }),
    ],
    { title: 'SandboxEvent' },
  ),
);
