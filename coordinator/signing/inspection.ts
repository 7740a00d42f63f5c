/** What a sandbox's gateway is told of a signing session. To look changes nothing, whatever state it is in. */
import { participantsOf } from '../../crypto/participants.ts';
import type { InspectCall } from '../messages.ts';
import { inspectionReply } from '../session/inspection.ts';
import { isOpen } from '../session/transitions.ts';
import { partialsOf, type Turn } from './state.ts';

/** The number of its nodes stands with the key: without it the call waits for the key to be looked up. */
export function inspect(turn: Turn, call: InspectCall): void {
  const { work } = turn.state;
  work.inspections = [...work.inspections, call];
}

/** Answers all who look, once the key was looked up, unless the step has a write. */
export function serveInspections(turn: Turn): void {
  const { record, work } = turn.state;
  if (turn.persisted || work.inspections.length === 0 || work.loadingKey) return;
  const { ceremony } = record;
  // Partials of an attempt that a restart took away are asked for again, if the session goes on.
  const { submitted, given } = isOpen(record.state) ? partialsOf(work) : ceremony;
  const inHand = {
    attempt: Math.max(work.attempts, ceremony.attempt),
    culprits: [...ceremony.excluded],
    submitted: [...submitted],
    given: [...given],
    keySession: ceremony.facts.keyId,
    threshold: work.key?.threshold ?? 0,
    totalNodes: work.key?.totalNodes ?? 0,
    participants: work.key ? [...participantsOf(work.key)] : [],
    curve: ceremony.curve,
    keyScheme: work.key?.scheme ?? '',
    keyExposed: work.key?.exposed ?? false,
  };
  for (const call of work.inspections) turn.effects.push(inspectionReply(call, record, inHand));
  work.inspections = [];
}
