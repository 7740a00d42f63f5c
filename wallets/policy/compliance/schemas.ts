/** What the compliance routes take and give. docs/wallet-api.md shows the same. */
import Type from 'typebox';
import {
  Closed,
  DecimalText,
  Id,
  Lines,
  Nullable,
  OneOf,
  Timestamp,
  WholeNumberText,
} from '../../../gateway/api/schema-kit.ts';
import { networkIds } from '../../networks/networks.ts';
import { ControlName } from '../rules/control-name.ts';
import { listKinds } from './list.ts';

const Network = OneOf(networkIds, { description: 'CAIP-2 id of the network' });
const AddressText = Type.String({
  pattern: '^[\\x21-\\x7e]{1,128}$',
  description: 'an address: printable ASCII without spaces',
  examples: ['0x000000000000000000000000000000000000dEaD'],
});
const PersonName = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: '^[^\\u0000-\\u001f\\u007f]+$',
  description: 'compared without case, accents, punctuation, spaces and the order of words',
});
const Decision = OneOf(['clear', 'review', 'blocked']);
const Score = Type.Integer({ minimum: 0, maximum: 100 });

export const ScreenBody = Closed({
  subject: Closed({
    type: OneOf(['address', 'individual', 'organization']),
    address: Type.Optional(AddressText),
    network: Type.Optional(Network),
    name: Type.Optional(PersonName),
  }),
  asset: Type.Optional(Type.String({ minLength: 1, maxLength: 20, description: 'asset symbol' })),
  amount: Type.Optional(DecimalText),
  direction: Type.Optional(OneOf(['incoming', 'outgoing'])),
  intent_id: Type.Optional(Id('txi')),
});

const Match = Closed(
  {
    list_id: Id('lst'),
    list_name: Type.String(),
    kind: OneOf(listKinds),
    list_version: Type.Integer(),
    entry: Type.String({ description: 'as the list has it' }),
  },
  { title: 'ComplianceMatch' },
);

const ListVersions = Type.Record(Type.String(), Type.Integer(), {
  description: 'every list that was searched, by name, with its version',
});

export const Screening = Closed(
  {
    id: Id('scr'),
    decision: Decision,
    risk_score: Score,
    matches: Type.Array(Match),
    report_id: Id('rep'),
    list_versions: ListVersions,
    created_at: Timestamp,
  },
  { title: 'ComplianceScreening' },
);

export const Report = Closed(
  {
    id: Id('rep'),
    screening_id: Id('scr'),
    decision: Decision,
    risk_score: Score,
    subject: Closed({
      type: Type.String(),
      address: Nullable(Type.String()),
      network: Nullable(Type.String()),
      name: Nullable(Type.String()),
    }),
    asset: Nullable(Type.String()),
    amount: Nullable(Type.String()),
    direction: Nullable(Type.String()),
    intent_id: Nullable(Type.String()),
    wallet_id: Nullable(Type.String()),
    matches: Type.Array(Match),
    list_versions: ListVersions,
    created_at: Timestamp,
  },
  { title: 'ComplianceReport' },
);

export const ListedEntryBody = Closed(
  {
    address: Type.Optional(AddressText),
    network: Type.Optional(Network),
    name: Type.Optional(PersonName),
    note: Type.Optional(Lines(200)),
  },
  { description: 'an `address` (of one `network`, or of any), or a `name`' },
);

export const entriesMax = 10_000;

export const ListBody = Closed({
  name: ControlName,
  kind: OneOf(listKinds, { description: 'an existing list keeps its kind' }),
  entries: Type.Array(ListedEntryBody, { maxItems: entriesMax }),
  append: Type.Optional(
    Type.Boolean({ description: 'true: the next version also has the entries of the previous one. Default false' }),
  ),
});

const listFields = {
  id: Id('lst'),
  name: Type.String(),
  kind: OneOf(listKinds),
  version: Type.Integer({ minimum: 1 }),
  entry_count: Type.Integer({ minimum: 0 }),
  created_at: Timestamp,
} as const;

export const ComplianceList = Closed({ ...listFields, updated_at: Timestamp }, { title: 'ComplianceList' });

export const ComplianceListVersion = Closed(
  {
    ...listFields,
    entries: Type.Array(
      Closed({
        address: Type.Optional(Type.String()),
        network: Type.Optional(Network),
        name: Type.Optional(Type.String()),
        note: Type.Optional(Type.String()),
      }),
    ),
  },
  { title: 'ComplianceListVersion' },
);

/** Versions of a resource, as a query names them. */
export const VersionText = WholeNumberText('^[1-9][0-9]{0,8}$', 1, 999_999_999, 'a version; the newest by default');
