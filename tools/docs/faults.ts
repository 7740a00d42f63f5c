/** The generated parts of docs/faults.md: every kind with its fields, the trigger and the points, from the vocabulary itself. */
import type { TSchema } from 'typebox';
import { type FaultKind, faultKinds, faultSchemas } from '../../scenarios/faults/vocabulary/fault.ts';
import { Trigger } from '../../scenarios/faults/vocabulary/fault-parts.ts';
import { liveOnly, simulatedOnly } from '../../scenarios/faults/vocabulary/kinds.ts';
import { points } from '../../scenarios/faults/vocabulary/trigger-points.ts';
import { requestTable } from './schemas.ts';
import { code, withSections } from './sections.ts';

/** The page as it must be, from the present page: hand-written parts stay. */
export function faultsPage(page: string): string {
  const { properties } = faultSchemas.drop as unknown as ObjectSchema;
  const shared = Object.fromEntries(common.map((name) => [name, properties[name]!]));
  return withSections(
    page,
    new Map([
      ['common fields', requestTable({ properties: shared, required: ['fault'] } as unknown as TSchema)],
      ['trigger', requestTable(Trigger)],
      ['points', points.map(code).join(', ')],
      ['kinds', faultKinds.map(kindSection).join('\n\n')],
    ]),
  );
}

/** The fields of every kind. */
const common = ['fault', 'id', 'at', 'probability', 'count', 'for_ms'];

interface ObjectSchema {
  readonly description?: string;
  readonly properties: Readonly<Record<string, TSchema>>;
  readonly required?: readonly string[];
}

function kindSection(kind: FaultKind): string {
  const { description = '', properties, required = [] } = faultSchemas[kind] as unknown as ObjectSchema;
  const isOwn = (name: string) => !common.includes(name) || (name !== 'fault' && required.includes(name));
  const own = Object.fromEntries(Object.entries(properties).filter(([name]) => isOwn(name)));
  const only =
    simulatedOnly[kind] !== undefined
      ? ` In simulated worlds alone: ${simulatedOnly[kind]}.`
      : liveOnly[kind] !== undefined
        ? ` Live, and simulated with the wallet API: ${liveOnly[kind]}.`
        : '';
  const sentence = `${description.charAt(0).toUpperCase()}${description.slice(1)}.${only}`;
  const fields =
    Object.keys(own).length === 0 ? [] : [requestTable({ properties: own, required } as unknown as TSchema)];
  return [`### ${kind}`, sentence, ...fields].join('\n\n');
}
