/**
 * The format of all stored data of a cluster: its data directory, its Redis, the stores of its nodes, its snapshots. One number
 * for all, written into cluster.json and into each snapshot; every role checks it before it reads anything else. A role refuses
 * another version's data, in one line with the remedy, unless this version reads it unchanged: `up` and `init` then write the new
 * number.
 */
import { join } from 'node:path';
import { Failure } from '../common/failure.ts';
import { readIfThere, replaceFile } from '../common/files.ts';

export interface DataFormat {
  readonly format: number;
  readonly what: string;
  /** Later versions read it unchanged. */
  readonly isRead?: boolean;
}

/** Oldest first. A change of the layout or the meaning of stored data adds a row. */
export const dataFormats: readonly DataFormat[] = [
  { format: 1, what: 'the first; `cluster.json` does not name it' },
  {
    format: 2,
    what: 'keys are bound to a scheme and name their participants; orders, sessions and keys in Redis are authenticated; nodes remember what they signed for an intent',
  },
  {
    format: 3,
    what: 'one registry in Redis says which tenants have something due; key generations keep their chain code',
  },
  {
    format: 4,
    isRead: true,
    what: 'intents have a kind; balances on the simulated EVM chain are kept by contract; shown assets name decimals and contract; nodes may have keys of their own; simulated custodians keep books, chains index transactions by address, and deposits have records',
  },
  {
    format: 5,
    isRead: true,
    what: 'clusters beyond the first lie in `cluster-N/`; sessions and keys name their cluster; `cluster.json` says how keys are shared by default. What stands in format 4 is read as cluster 1',
  },
  {
    format: 6,
    isRead: true,
    what: 'nodes keep a journal of what they signed for intents, beside their store, both encrypted with XChaCha20-Poly1305, and their orders at a vendor; key generations keep what every node signed of the key; plans of the treasury have overdue trades; sessions that have ended keep a digest of a long message and list no pairs; what tenants store is counted in bytes; large events, decisions and transfers that are over are packed; states of embedded services hold packed blocks and all their clusters; `init` adds an authority and certificates for links, which nothing else reads',
  },
  {
    format: 7,
    what: 'records of the control plane and tokens in Redis carry MACs, under `gateway/record.key` and a key of `gateway/token.key`: `gateway/records.json` says whether those of format 6 have got theirs; policy receipts name initiator, approvals and fee, and votes carry MACs: open transfers of format 6 fail. URLs of webhooks are stored with their query sealed, and answers with the hash of their request; what ends after a time (idempotency keys, claims, records) carries that end, and `clock.json` the clocks of a sandbox; key generations keep the result that every node signed, and nodes the terms of a ready-made key; intents name the terms of their fee and what they replace, and the simulated chains keep a fee market and transactions that wait for it; from a secret seed each node has a `sandbox.key`, and `sandbox.json` no seed; tenants keep when they began; wallets have movements, those of format 6 from what they have when they first move; Bitcoin wallets may have further addresses; intents may sign a message or call a contract or typed data; completed intents and deposits may be not final yet; tokens name those that issued them; on the simulated chains accounts allow others to move their units, which may leave a wallet less than it has reserved, transactions may run out of gas, and those of Bitcoin name the unmined ones that they spend from; keys, in Redis and at nodes, name the version of their shares, from 2 on; tenants keep whether they are frozen, their change control and proposed changes',
  },
];

/** From here on the records in Redis carry MACs. */
export const firstSealedFormat = 7;

/** The format that this version writes and reads. */
export const dataFormat = dataFormats.at(-1)!.format;

/** The file with the roster and the number. */
export const rosterFile = 'cluster.json';

export function withDataFormat(roster: string): string {
  return `${JSON.stringify({ data_format: dataFormat, ...(JSON.parse(roster) as object) }, null, 2)}\n`;
}

/** Throws a Failure when another version wrote the directory. A directory without a cluster has no version yet. */
export function checkDataFormat(dataDir: string): void {
  const text = readIfThere(join(dataDir, rosterFile));
  if (text === undefined) return;
  const found = formatIn(text);
  if (found === undefined || isReadable(found)) return;
  const what = `${dataDir} was made by ${versionOf(found)}.`;
  throw new Failure(
    found > dataFormat
      ? `${what} Start it with that version, or choose another --data-dir.`
      : `${what} It cannot be carried over: remove it (rm -r ${quoted(dataDir)}) and start again, or choose another --data-dir.`,
  );
}

/** Whether this version reads data of that format. */
export function isReadable(format: number): boolean {
  return format === dataFormat || dataFormats.some((one) => one.format === format && one.isRead === true);
}

/** Gives a readable directory of an earlier format this version's number: the earlier version must refuse newer data. */
export function carryOver(folder: string): void {
  const path = join(folder, rosterFile);
  const text = readIfThere(path);
  const found = text === undefined ? undefined : formatIn(text);
  if (text === undefined || found === undefined || found === dataFormat || !isReadable(found)) return;
  const { data_format: _, ...roster } = JSON.parse(text) as Record<string, unknown>;
  replaceFile(path, withDataFormat(JSON.stringify(roster)));
}

/** "an earlier version (data format 1; this version has 2)" */
export function versionOf(format: number): string {
  const age = format > dataFormat ? 'a later' : 'an earlier';
  return `${age} version (data format ${format}; this version has ${dataFormat})`;
}

/** Format 1 had no number. undefined: it is no roster at all, which its parser reports. */
function formatIn(text: string): number | undefined {
  try {
    const { data_format: format = 1, cluster_id: clusterId } = JSON.parse(text) as Record<string, unknown>;
    return typeof format === 'number' && typeof clusterId === 'string' ? format : undefined;
  } catch {
    return undefined;
  }
}

/** For a POSIX shell. */
function quoted(path: string): string {
  return /^[\w./@:+-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
