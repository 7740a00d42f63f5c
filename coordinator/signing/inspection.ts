/** What a sandbox's gateway is told of a signing session. To look changes nothing, whatever state it is in. */
import { participantsOf } from '../../crypto/participants.ts';
import type { InspectCall } from '../messages.ts';
import { inspectionReply } from '../session/inspection.ts';
import { isOpen } from '../session/transitions.ts';
import { partialsOf } from './round.ts';
import { isLoading, type Turn } from './state.ts';

/** The number of its nodes stands with the key: without it the call waits for the key to be looked up. */
export function inspect(turn: Turn, call: InspectCall): void {
  const { work } = turn.state;
  work.looks = { ...work.looks, inspections: [...work.looks.inspections, call] };
}

/** Answers all who look, once the key was looked up, unless the step has a write. */
export function serveInspections(turn: Turn): void {
  const { record, work } = turn.state;
  if (turn.persisted || work.looks.inspections.length === 0 || isLoading(work)) return;
  const { ceremony } = record;
  const key = work.key.kind === 'known' ? work.key.record : undefined;
  // Partials of an attempt that a restart took away are asked for again, if the session goes on.
  const { submitted, given } = isOpen(record.state) ? partialsOf(work.round) : ceremony;
  const inHand = {
    attempt: Math.max(work.round.history.attempts, ceremony.attempt),
    culprits: [...ceremony.excluded],
    submitted: [...submitted],
    given: [...given],
    keySession: ceremony.facts.keyId,
    threshold: key?.threshold ?? 0,
    totalNodes: key?.totalNodes ?? 0,
    participants: key ? [...participantsOf(key)] : [],
    curve: ceremony.curve,
    keyScheme: key?.scheme ?? '',
    keyExposed: key?.exposed ?? false,
  };
  for (const call of work.looks.inspections) turn.effects.push(inspectionReply(call, record, inHand));
  work.looks = { ...work.looks, inspections: [] };
}
