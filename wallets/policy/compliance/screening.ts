/** Screens an intent's destination, and the owner of the units that a call moves: the first of the three evaluators. */
import { eventOf } from '../../../gateway/api/event.ts';
import type { RequestContext } from '../../../gateway/api/route.ts';
import type { EvaluatorResult, ScreeningResult, TransactionFacts } from '../../custody/intents/public.ts';
import { callOf } from '../../networks/token-calls.ts';
import type { NewEvent } from '../../store/contract.ts';
import { destinationOf, type EvaluationRecord, evaluationOf, sibling } from '../rules/evaluation-record.ts';
import type { IndexedList } from './list.ts';
import { currentLists } from './load.ts';
import { type ScreeningOutcome, screenSubject } from './match.ts';
import { screeningView } from './view.ts';

/**
 * The report is part of the intent's evaluation, which the policy's decision writes. Any other result than clear also makes an
 * event; a clear screening shows in the intent's own events.
 */
export async function screenTransaction(
  context: RequestContext,
  facts: TransactionFacts,
): Promise<EvaluatorResult<ScreeningResult>> {
  const outcome = screenAll(facts, await currentLists(context));
  const result: ScreeningResult = { id: sibling(facts.id, 'scr'), reportId: sibling(facts.id, 'rep'), ...outcome };
  if (outcome.decision === 'clear') return { result, change: {} };
  const record = evaluationOf(context, result.id, facts, result, null, null);
  return { result, change: { events: [screeningEvent(context, record, facts)] } };
}

/** The gravest of what its addresses give, with the matches of all. */
function screenAll(facts: TransactionFacts, lists: readonly IndexedList[]): ScreeningOutcome {
  const called = facts.call && callOf(facts.call);
  const owners = called?.kind === 'transferFrom' ? [called.from] : [];
  const outcomes = [facts.toAddress, ...owners].map((address) =>
    screenSubject({ ...destinationOf(facts), address }, lists),
  );
  const [gravest] = outcomes.toSorted((a, b) => b.riskScore - a.riskScore);
  return { ...gravest!, matches: outcomes.flatMap(({ matches }) => matches) };
}

export function screeningEvent(
  context: RequestContext,
  record: EvaluationRecord,
  about: Pick<TransactionFacts, 'connectionId' | 'provider'> | undefined,
): NewEvent {
  return eventOf(context, {
    type: 'compliance.screening.completed',
    resource: 'compliance_screening',
    record: { id: record.screening.id, version: 1 },
    object: screeningView(record),
    ...(about === undefined ? {} : { provider: about.provider }),
    ...(record.connectionId === null ? {} : { connectionId: record.connectionId }),
  });
}
