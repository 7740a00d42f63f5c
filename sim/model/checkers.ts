/**
 * The reference model of sessions, keys and nodes: its own rules for every record, answer and request, which share nothing with
 * the product's code. A flaw that changes a rule in one place contradicts it in the other.
 */
import { untilRolledBack } from '../invariants/checkers.ts';
import type { Checker } from '../observation.ts';
import { worldBeganMs } from '../virtual-time.ts';
import { answersAsModelled } from './answers.ts';
import { History } from './history.ts';
import { type LifetimesMs, lifetimes } from './lifetimes.ts';
import { answeredInTime } from './liveness.ts';
import { honestNodes } from './nodes.ts';
import { recordRules } from './record-rules.ts';
import { requestsAsRecorded } from './requests.ts';

export interface ModelOptions {
  /** Of the roster. */
  readonly nodesTotal: number;
  readonly nodesWaitMs: number;
  readonly partialTimeoutMs: number;
  readonly lifetimesMs: LifetimesMs;
}

/** New checkers for one run. The first replays what the others read. */
export function modelCheckers(options: ModelOptions): Checker[] {
  const history = new History();
  const replay: Checker = {
    invariant: 'record-as-modelled',
    observe(observation) {
      history.take(observation);
      return undefined;
    },
  };
  return [
    replay,
    recordRules(history),
    lifetimes(options.lifetimesMs, history, worldBeganMs),
    requestsAsRecorded(history),
    answersAsModelled(history, options.nodesTotal),
    honestNodes(),
    answeredInTime(options),
  ].map(untilRolledBack);
}
