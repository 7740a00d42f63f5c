/**
 * The reference model of a node's record of a key generation: the order of its records, and their content. Written from
 * docs/durability.md and docs/protocol.md.
 *
 * One attempt is dealt once. A final key stays final until it is deleted, and is written together with its key record. An ended
 * record contains no polynomial. The node reveals a sealing key only after the store says that the attempt is dead.
 */
import type { DkgRefused, DkgVerified } from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import { type DkgRecordJson, dkgRecordsIn, keyRecordsIn } from '../cluster/invariants/node-records.ts';
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
const first: readonly string[] = ['dealing', 'discarded'];
/** Phases whose record holds the dealt shares. */
const dealt: ReadonlySet<string> = new Set(['dealing', 'provisional']);

export function nodeRecords(): Checker {
  /** "node/1 tenant/session" */
  const records = new Map<string, DkgRecordJson>();
  /** The actor that is still making a key may write a key that is being deleted. */
  const deleted = new Set<string>();
  /** Nodes with a lost or rolled-back store, or with another process writing to it. */
  const unknown = new Set<string>();

  function follows(before: DkgRecordJson | undefined, next: DkgRecordJson): string | undefined {
    const { phase } = next;
    if (dealt.has(phase) !== (next.dealing !== undefined))
      return `it is ${phase}, and its polynomial is there, or gone`;
    if (before === undefined) return first.includes(phase) ? undefined : `it begins as ${phase}`;
    const [from, to] = [attemptOf(before), attemptOf(next)];
    if (to < from) return `attempt ${to} follows ${from}`;
    const [same, later] = following[before.phase] ?? [[], []];
    if (!(to === from ? same : later).includes(phase)) return `${phase} (${to}) follows ${before.phase} (${from})`;
    if (to !== from) return undefined;
    if (before.dealing && next.dealing && before.dealing.opening.signature !== next.dealing.opening.signature)
      return 'it deals one attempt twice';
    const ids = ({ dealers = [] }: DkgRecordJson) => dealers.map(({ dealer }) => dealer);
    const lost = phase === 'dealing' ? ids(before).find((dealer) => !ids(next).includes(dealer)) : undefined;
    return lost === undefined ? undefined : `it loses the share of dealer ${lost}`;
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
            deleted.add(name);
          }
          for (const { name, dkg } of dkgRecordsIn(write)) {
            const before = records.get(`${process} ${name}`);
            records.set(`${process} ${name}`, dkg);
            const isUnknown = unknown.has(process) || (before === undefined && deleted.has(`${process} ${name}`));
            const wrong = isUnknown ? undefined : follows(before, dkg);
            if (wrong) return `the record of ${process} of the key ${name}: ${wrong}`;
            const hasKey = keyRecordsIn(write).some((key) => key.name === name);
            if ((dkg.phase === 'final') !== hasKey)
              return `${process} makes the key ${name} final, or its record, alone`;
          }
          return undefined;
        }
        case 'frame': {
          const { envelope, touched } = observation;
          const { from, message } = envelope;
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

function attemptOf({ attempt, terms }: DkgRecordJson): number {
  return attempt ?? terms?.attempt ?? 0;
}
