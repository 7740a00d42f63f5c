/** Making the next version of a list from a request. */
import type { Static } from 'typebox';
import { invalidFields } from '../../../gateway/api/errors/invalid-fields.ts';
import type { FieldIssue } from '../../../gateway/api/errors/service-error.ts';
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { eventOf } from '../../../gateway/api/event.ts';
import type { RequestContext } from '../../../gateway/api/route.ts';
import { canonicalAddress } from '../../networks/addresses.ts';
import type { Change, RecordType, Versioned } from '../../store/contract.ts';
import { catalogLimits, catalogOf, catalogPut, datesOf, type ListEntry, withEntry } from '../rules/catalog.ts';
import { needRoomForVersion, replaced } from '../rules/retained-versions.ts';
import { type ListedEntry, type ListVersionRecord, listVersionId, listVersionType } from './list.ts';
import { listedAddressProblem } from './listed-address.ts';
import { listEntries, listVersion } from './load.ts';
import { nameKey } from './name-key.ts';
import { entriesMax, type ListBody, type ListedEntryBody } from './schemas.ts';
import { listView } from './view.ts';

/** Mistakes that one answer names, at most. */
const issuesMax = 20;

/** The new version and the change that makes it. Throws ServiceError 400 or 409. */
export async function nextListVersion(
  context: RequestContext,
  body: Static<typeof ListBody>,
): Promise<{ readonly view: object; readonly change: Change }> {
  const catalog = await catalogOf(context);
  const before = listEntries(context, catalog).find(({ name }) => name === body.name);
  if (before !== undefined && before.kind !== body.kind) {
    throw new ServiceError('conflict', `the list is of kind ${before.kind}`, {
      details: [{ field: 'kind', issue: 'immutable', message: `takes ${before.kind}` }],
    });
  }
  const given = readEntries(body.entries);
  const older = before === undefined ? undefined : await newestOf(context, before);
  if (before !== undefined) await needRoomForVersion(context, before.id);
  const kept = body.append === true ? (older?.entries ?? []) : [];
  const entries = withoutRepeats([...kept, ...given]);
  if (entries.length > entriesMax) throw invalid([{ field: 'entries', issue: 'too_many', message: atMost }]);
  if (Buffer.byteLength(JSON.stringify(entries)) > entriesBytesMax) {
    const message = `at most ${entriesBytesMax} bytes in all: split the list, or leave notes out`;
    throw invalid([{ field: 'entries', issue: 'too_large', message }]);
  }
  const { nowMs } = context;
  const entry: ListEntry = {
    id: before?.id ?? context.newId('lst'),
    name: body.name,
    kind: body.kind,
    version: (before?.version ?? 0) + 1,
    entryCount: entries.length,
    createdAtMs: before?.createdAtMs ?? nowMs,
    updatedAtMs: nowMs,
  };
  const version: ListVersionRecord = {
    id: listVersionId(entry.id, entry.version),
    version: 1,
    listId: entry.id,
    listVersion: entry.version,
    name: entry.name,
    kind: entry.kind,
    entries,
    createdAtMs: nowMs,
  };
  const view = listView(entry, await datesOf(context));
  const event = eventOf(context, {
    type: entry.version === 1 ? 'compliance.list.created' : 'compliance.list.updated',
    resource: 'compliance_list',
    record: entry,
    object: view,
  });
  const change: Change = {
    puts: [
      catalogPut(catalog, { lists: withEntry(catalog.lists, entry, catalogLimits.lists) }),
      { type: listVersionType as unknown as RecordType<Versioned>, before: undefined, after: version },
      ...(older === undefined || isBuiltIn(older) ? [] : replaced(listVersionType, older, nowMs)),
    ],
    events: [event],
  };
  return { view, change };
}

/** A version is one record of the store. */
const entriesBytesMax = 900_000;

const atMost = `at most ${entriesMax} entries`;

async function newestOf(context: RequestContext, { id, version }: ListEntry): Promise<ListVersionRecord> {
  const list = await listVersion(context, id, version);
  if (list === undefined) throw new Error(`list ${id} has no version ${version}`);
  return list;
}

/** The initial lists of a tenant are not stored. */
function isBuiltIn({ createdAtMs }: ListVersionRecord): boolean {
  return createdAtMs === 0;
}

function readEntries(entries: readonly Static<typeof ListedEntryBody>[]): ListedEntry[] {
  const issues: FieldIssue[] = [];
  const read = entries.map((entry, index): ListedEntry => {
    const { address, network, name, note } = entry;
    const field = `entries[${index}]`;
    if ((address === undefined) === (name === undefined)) {
      issues.push({ field, issue: 'invalid_value', message: 'takes an address or a name' });
    } else if (name !== undefined && (network !== undefined || nameKey(name) === '')) {
      const wrong = network === undefined ? 'name' : 'network';
      issues.push({ field: `${field}.${wrong}`, issue: 'invalid_value', message: 'a name has letters and no network' });
    }
    const problem = address === undefined ? undefined : listedAddressProblem(network ?? null, address);
    if (problem !== undefined) issues.push({ field: `${field}.address`, issue: problem });
    const isCanonical = address !== undefined && network !== undefined && problem === undefined;
    return {
      address: isCanonical ? canonicalAddress(network, address) : (address ?? null),
      network: network ?? null,
      name: name ?? null,
      note: note ?? null,
    };
  });
  if (issues.length > 0) throw invalid(issues.slice(0, issuesMax));
  return read;
}

/** The last of two entries for the same thing stays. */
function withoutRepeats(entries: readonly ListedEntry[]): readonly ListedEntry[] {
  const byKey = new Map(
    entries.map((entry) => [`${entry.network ?? ''} ${entry.address ?? ''} ${entry.name ?? ''}`, entry]),
  );
  return [...byKey.values()];
}

function invalid(details: readonly FieldIssue[]): ServiceError {
  return invalidFields(details, 'the list');
}
