/**
 * The reference model of a node's record of a key generation: the order of its records, and their content. Written from
 * docs/durability.md and docs/protocol.md.
 *
 * One attempt is dealt once. A final key stays final until it is deleted, and is written together with its key record. An ended
 * record contains no polynomial. A node replaces a share only together with the final record of the session that made the new one,
 * by the next version; until then it keeps a result of such a session that it has signed. The node reveals a sealing key only
 * after the store says that the attempt is dead.
 */
import type { DkgOpen, DkgRefused, DkgVerified } from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import type { WireEnvelope } from '../../proto/wire.ts';
import {
  type DkgRecordJson,
  dkgRecordsIn,
  type KeyRecordJson,
  keyRecordsIn,
} from '../cluster/invariants/node-records.ts';
import type { Checker, Observation } from '../cluster/observation.ts';

/** By phase: the phases that may follow in the same attempt, and in a later one. */
const following: Readonly<Record<string, readonly [same: readonly string[], later: readonly string[]]>> = {
  dealing: [
    ['dealing', 'provisional', 'broken', 'discarded'],
    ['dealing', 'discarded'],
  ],
  provisional: [
    ['final', 'discarded'],
    ['dealing', 'discarded'],
  ],
  broken: [['discarded'], ['dealing', 'discarded']],
  discarded: [[], ['dealing', 'discarded']],
  final: [[], []],
};
/** Of new shares: a node that has signed a result keeps it, or deals in a later attempt. */
const afterResult = [['final'], ['dealing']] as const;
const first: readonly string[] = ['dealing', 'discarded'];
/** Phases whose record holds the dealt shares. */
const dealt: ReadonlySet<string> = new Set(['dealing', 'provisional']);

interface KeyWritten {
  readonly name: string;
  readonly key: KeyRecordJson;
}

export function nodeRecords(): Checker {
  /** "node/1 tenant/session" */
  const records = new Map<string, DkgRecordJson>();
  /** "node/1 tenant/key": of its share. */
  const versions = new Map<string, number>();
  /**
   * "node/1 tenant/session attempt": it was shown an opening of another node, which has not signed the result of an earlier one.
   */
  const renounced = new Set<string>();
  /** The actor that is still making a key may write a key that is being deleted. */
  const deleted = new Set<string>();
  /** Nodes with a lost or rolled-back store, or with another process writing to it. */
  const unknown = new Set<string>();

  function follows(about: string, before: DkgRecordJson | undefined, next: DkgRecordJson): string | undefined {
    const { phase } = next;
    if (dealt.has(phase) !== (next.dealing !== undefined))
      return `it is ${phase}, and its polynomial is there, or gone`;
    if (before === undefined) return first.includes(phase) ? undefined : `it begins as ${phase}`;
    const [from, to] = [attemptOf(before), attemptOf(next)];
    if (to < from) return `attempt ${to} follows ${from}`;
    const isSigned = before.phase === 'provisional' && before.terms?.refresh !== undefined;
    const [same, later] = isSigned ? afterResult : (following[before.phase] ?? [[], []]);
    if (!(to === from ? same : later).includes(phase)) return `${phase} (${to}) follows ${before.phase} (${from})`;
    if (isSigned && to !== from && !renounced.has(`${about} ${to}`)) return 'it gives up a result that all may sign';
    if (to !== from) return undefined;
    if (before.dealing && next.dealing && before.dealing.opening.signature !== next.dealing.opening.signature)
      return 'it deals one attempt twice';
    const ids = ({ dealers = [] }: DkgRecordJson) => dealers.map(({ dealer }) => dealer);
    const lost = phase === 'dealing' ? ids(before).find((dealer) => !ids(next).includes(dealer)) : undefined;
    return lost === undefined ? undefined : `it loses the share of dealer ${lost}`;
  }

  function shows({ to, message: { attempt, body } }: WireEnvelope): void {
    const [role, id, , tenant, session] = to.split('/');
    const { renounced: opening } = body.value as DkgOpen;
    if (opening && opening.dealer !== Number(id)) renounced.add(`${role}/${id} ${tenant}/${session} ${attempt}`);
  }

  /** `made`: the keys whose sessions became final in the same write. */
  function replaces(process: string, { name, key }: KeyWritten, made: ReadonlySet<string>): string | undefined {
    const { version = 1 } = key;
    const before = versions.get(`${process} ${name}`);
    versions.set(`${process} ${name}`, version);
    if (before === undefined || version === before || unknown.has(process)) return undefined;
    if (version !== before + 1) return `version ${version} follows ${before}`;
    return made.has(name) ? undefined : `version ${version} replaces ${before}, and no session of it became final`;
  }

  return {
    invariant: 'node-record-as-modelled',
    observe(observation: Observation) {
      switch (observation.kind) {
        case 'written': {
          const { process, write, outcome } = observation;
          if (process === 'coordinator' || outcome !== 'written') return undefined;
          for (const key of write.deletes) {
            const name = `${process} ${key.replace(/^dkg\//, '')}`;
            records.delete(name);
            versions.delete(`${process} ${key.replace(/^key\//, '')}`);
            deleted.add(name);
          }
          const keys = keyRecordsIn(write);
          const made = new Set<string>();
          for (const { name, dkg } of dkgRecordsIn(write)) {
            const before = records.get(`${process} ${name}`);
            records.set(`${process} ${name}`, dkg);
            const isUnknown = unknown.has(process) || (before === undefined && deleted.has(`${process} ${name}`));
            const wrong = isUnknown ? undefined : follows(`${process} ${name}`, before, dkg);
            if (wrong) return `the record of ${process} of the key ${name}: ${wrong}`;
            const of = keyOf(name, dkg);
            const hasKey = keys.some(({ name: id, key }) => id === of.name && (key.version ?? 1) === of.version);
            if (hasKey) made.add(of.name);
            if ((dkg.phase === 'final') !== hasKey)
              return `${process} makes the key ${name} final, or its record, alone`;
          }
          for (const key of keys) {
            const wrong = replaces(process, key, made);
            if (wrong) return `the share of ${process} of the key ${key.name}: ${wrong}`;
          }
          return undefined;
        }
        case 'frame': {
          const { envelope, touched } = observation;
          const { from, message } = envelope;
          if (message.body.case === 'dkgOpen') shows(envelope);
          if (touched || !from.startsWith('node/')) return undefined;
          const [role, id, , tenant, session] = from.split('/');
          const process = `${role}/${id}`;
          const name = `${process} ${tenant}/${session}`;
          const record = records.get(name);
          if (message.body.case === 'dkgRefused') {
            const { code } = message.body.value as DkgRefused;
            const isSo = unknown.has(process) || deleted.has(name) || refusesRightly(code, message.attempt, record);
            return isSo ? undefined : `${process} refuses (${code}), and its record is ${record?.phase ?? 'unopened'}`;
          }
          if (message.body.case !== 'dkgVerified') return undefined;
          const { verdicts } = message.body.value as DkgVerified;
          if (!verdicts.some(({ revealedSealingKey }) => revealedSealingKey.length > 0)) return undefined;
          return record?.phase === 'broken' || unknown.has(process)
            ? undefined
            : `${process} reveals its sealing key of an attempt that is ${record?.phase ?? 'unopened'}`;
        }
        case 'process':
          if (observation.storeLost) unknown.add(observation.process);
          return undefined;
        case 'fault':
          if (observation.fault === 'rollback' || observation.fault === 'second_process')
            for (const target of observation.targets) unknown.add(target);
          return undefined;
        default:
          return undefined;
      }
    },
  };
}

/** Whether a code about the progress of an attempt matches the record. */
function refusesRightly(code: string, attempt: number, record: DkgRecordJson | undefined): boolean {
  const known = record === undefined ? 0 : attemptOf(record);
  switch (code) {
    case 'NOT_OPEN':
      return attempt > known;
    case 'STALE_ATTEMPT':
      return attempt < known;
    case 'RESULT_SIGNED':
      return record?.phase === 'provisional';
    case 'ATTEMPT_DISCARDED':
      return record?.phase === 'discarded';
    case 'ATTEMPT_BROKEN':
      return record?.phase === 'broken';
    case 'ALREADY_FINAL':
      return record?.phase === 'final';
    case 'NOT_FINISHED':
      return record?.phase === 'dealing';
    default:
      return true;
  }
}

/** The key that a session makes, or makes new shares of, and their version. */
function keyOf(session: string, { terms }: DkgRecordJson): { readonly name: string; readonly version: number } {
  const { key, version } = terms?.refresh ?? {};
  if (key === undefined || version === undefined) return { name: session, version: 1 };
  return { name: `${session.slice(0, session.indexOf('/'))}/${key}`, version };
}

function attemptOf({ attempt, terms }: DkgRecordJson): number {
  return attempt ?? terms?.attempt ?? 0;
}
