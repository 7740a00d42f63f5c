/** Screenings, reports and lists as the API shows them. */
import { timestamp } from '../../../proto/timestamps.ts';
import type { ScreeningMatch } from '../../custody/intents/public.ts';
import type { DateOf, ListEntry } from '../rules/catalog.ts';
import type { EvaluationRecord } from '../rules/evaluation-record.ts';
import type { ListVersionRecord } from './list.ts';

/** Answer of a screening. */
export function screeningView({ screening, createdAtMs }: EvaluationRecord): object {
  return {
    id: screening.id,
    decision: screening.decision,
    risk_score: screening.riskScore,
    matches: screening.matches.map(matchView),
    report_id: screening.reportId,
    list_versions: screening.listVersions,
    created_at: timestamp(createdAtMs),
  };
}

/** The report: the subject, the lists, and the result. */
export function reportView(record: EvaluationRecord): object {
  const { screening, subject, details, transaction, txId, createdAtMs } = record;
  const isIntent = txId.startsWith('txi_');
  return {
    id: screening.reportId,
    screening_id: screening.id,
    decision: screening.decision,
    risk_score: screening.riskScore,
    subject,
    asset: transaction?.asset ?? details?.asset ?? null,
    amount: transaction?.amount ?? details?.amount ?? null,
    direction: transaction === null ? (details?.direction ?? null) : 'outgoing',
    intent_id: isIntent ? txId : (details?.intentId ?? null),
    wallet_id: transaction?.walletId ?? null,
    matches: screening.matches.map(matchView),
    list_versions: screening.listVersions,
    created_at: timestamp(createdAtMs),
  };
}

function matchView({ listId, listName, kind, listVersion, entry }: ScreeningMatch): object {
  return { list_id: listId, list_name: listName, kind, list_version: listVersion, entry };
}

/** A list without its entries. */
export function listView(
  { id, name, kind, version, entryCount, createdAtMs, updatedAtMs }: ListEntry,
  dateOf: DateOf,
): object {
  return {
    id,
    name,
    kind,
    version,
    entry_count: entryCount,
    created_at: dateOf(createdAtMs),
    updated_at: dateOf(updatedAtMs),
  };
}

export function listVersionView(list: ListVersionRecord, dateOf: DateOf): object {
  return {
    id: list.listId,
    name: list.name,
    kind: list.kind,
    version: list.listVersion,
    entry_count: list.entries.length,
    entries: list.entries.map(({ address, network, name, note }) => ({
      ...(address === null ? {} : { address }),
      ...(network === null ? {} : { network }),
      ...(name === null ? {} : { name }),
      ...(note === null ? {} : { note }),
    })),
    created_at: dateOf(list.createdAtMs),
  };
}
