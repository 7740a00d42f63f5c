/** Faults as the API takes and shows them: the schemas are those of the vocabulary, chosen by the field `fault`. */
import Type, { type TSchema } from 'typebox';
import { timestamp, timestampOrNull } from '../../proto/timestamps.ts';
import type { ArmedStatus } from '../../scenarios/faults/control.ts';
import { type Fault, type FaultKind, faultKinds, faultSchemas } from '../../scenarios/faults/vocabulary/fault.ts';
import { Trigger } from '../../scenarios/faults/vocabulary/fault-parts.ts';
import { liveOnly, simulatedOnly } from '../../scenarios/faults/vocabulary/kinds.ts';
import { Closed, ListOf, Nullable, OneOf, Timestamp } from '../api/schema-kit.ts';

/** A fault left behind ends by itself. */
export const faultLifetime = { defaultS: 300, maxS: 86_400 } as const;

const lifetime = {
  expires_in_s: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: faultLifetime.maxS,
      description: `it is removed after this many seconds, in any state; ${faultLifetime.defaultS} by default`,
    }),
  ),
};

/** Named, so that the OpenAPI document and the client describe it once for all kinds. */
const { description } = Trigger as unknown as { readonly description: string };
const at = Type.Optional(Closed(Trigger.properties, { title: 'FaultTrigger', description }));

/** "bad_share" → "BadShare". */
function titleOf(kind: FaultKind): string {
  return kind.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function variants(suffix: string, more: Record<string, TSchema>): TSchema[] {
  return faultKinds.map((kind) => {
    const { properties, description } = faultSchemas[kind] as unknown as {
      properties: Record<string, TSchema>;
      description: string;
    };
    const isSimulated = simulatedOnly[kind] !== undefined;
    const only = isSimulated ? ' (simulated worlds alone)' : liveOnly[kind] === undefined ? '' : ' (live alone)';
    return Closed(
      { ...properties, at, ...more },
      { title: `${titleOf(kind)}${suffix}`, description: description + only },
    );
  });
}

export type FaultBodyValue = Fault & { readonly expires_in_s?: number };

/** One of the kinds, told apart by `fault`. */
export const FaultBody = Type.Unsafe<FaultBodyValue>(Type.Union(variants('FaultRequest', lifetime)));

export const FaultView = Closed(
  {
    id: Type.String({ description: 'the requested id, or a generated one' }),
    fault: Type.Unsafe<Fault>(
      Type.Union(variants('Fault', {}), {
        examples: [{ fault: 'bad_partial', target: 'node/2', at: { point: 'partial_reply', nth: 3 }, count: 1 }],
      }),
    ),
    state: OneOf(['armed', 'holding', 'over'], {
      description: 'waits for its trigger; is active; has ended by itself and stays listed for a while',
    }),
    trigger_count: Type.Integer({ minimum: 0, description: 'how often it triggered' }),
    strikes: Type.Integer({ minimum: 0, description: 'old name of `trigger_count`, until version 0.2' }),
    armed_at: Timestamp,
    ends_at: Nullable(Type.String({ format: 'date-time', description: 'null: it has no set duration' })),
    expires_at: Type.String({ format: 'date-time', description: 'it is removed then' }),
  },
  { title: 'SandboxFault' },
);

export const FaultList = ListOf('faults', FaultView);

export function faultView({ id, fault, state, triggerCount, armedMs, endsMs, expiresMs }: ArmedStatus) {
  return {
    id,
    fault,
    state,
    trigger_count: triggerCount,
    strikes: triggerCount,
    armed_at: timestamp(armedMs),
    ends_at: timestampOrNull(endsMs),
    expires_at: timestamp(expiresMs),
  };
}
