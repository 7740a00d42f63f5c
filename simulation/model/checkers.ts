/**
 * The reference model of sessions, keys and nodes: its own rules for every record, answer and request, which share nothing with
 * the product's code. A flaw that changes a rule in one place contradicts it in the other.
 */

import type { Identities } from '../cluster/identities.ts';
import { untilRolledBack } from '../cluster/invariants/rollbacks.ts';
import type { Checker } from '../cluster/observation.ts';
import { worldBeganMs } from '../cluster/virtual-time.ts';
import { closingsAsked } from './closings.ts';
import { statusTold } from './cluster-status.ts';
import { dkgFailures } from './dkg-failures.ts';
import { eventsAsModelled } from './events.ts';
import { faultsAsArmed } from './fault-effects.ts';
import { History } from './history.ts';
import { answeredInTime } from './liveness.ts';
import { answersAsModelled } from './modelled-answers.ts';
import { nodeRecords } from './node-records.ts';
import { RequestsFollowed } from './node-requests.ts';
import { HonestNodes } from './nodes.ts';
import { promptAnswers } from './prompt-answers.ts';
import { recordRules } from './record-rules.ts';
import { Refusals } from './refusals.ts';
import { requestsAsRecorded } from './requests.ts';
import { sandboxAnswers } from './sandbox-answers.ts';
import { type LifetimesMs, lifetimes } from './session-lifetimes.ts';
import { sessionReads } from './session-reads.ts';
import { suspicionsAsModelled } from './suspicions.ts';
import { transcriptsAsDealt } from './transcripts.ts';
import { WaitingCalls } from './waiting-calls.ts';

export interface ModelOptions {
  /** Of the roster. */
  readonly nodesTotal: number;
  readonly nodesWaitMs: number;
  readonly partialTimeoutMs: number;
  /** The limit of waiting calls of one session. */
  readonly callsWaitingMax: number;
  /** Sessions refuse messages, so that calls fail and take longer. */
  readonly hasSmallMailboxes: boolean;
  /** The coordinator learns this late that the link of a dead node is gone. */
  readonly linkNewsMs: number;
  readonly lifetimesMs: LifetimesMs;
  /** Of the run's cluster. */
  readonly identities: () => Identities;
}

/** New checkers for one run. The first replays the writes for the others. */
export function modelCheckers(options: ModelOptions): Checker[] {
  const history = new History();
  const refusals = new Refusals();
  const waiting = new WaitingCalls();
  const replay: Checker = {
    invariant: 'record-as-modelled',
    observe(observation) {
      history.take(observation);
      refusals.take(observation);
      waiting.take(observation);
      return undefined;
    },
  };
  const sources = { ...options, history, refusals, waiting };
  const compared = [
    replay,
    recordRules(sources),
    closingsAsked(history),
    lifetimes(options.lifetimesMs, history, worldBeganMs),
    requestsAsRecorded({ ...options, history, waiting }),
    answersAsModelled(sources),
    sandboxAnswers(history),
    sessionReads(history),
    answeredInTime(options),
    statusTold(options.linkNewsMs),
    suspicionsAsModelled(),
    promptAnswers(options.nodesTotal),
    eventsAsModelled(history),
    dkgFailures(history, options.nodesTotal),
    transcriptsAsDealt(() => options.identities().roster),
  ].map((checker) => untilRolledBack(checker, 'node', 'coordinator'));
  // What a node does follows from its own store and the requests to it.
  const ofNodes = [new HonestNodes(), nodeRecords(), new RequestsFollowed(options.nodesTotal)];
  compared.push(faultsAsArmed(), ...ofNodes.map((checker) => untilRolledBack(checker, 'node')));
  return compared;
}
