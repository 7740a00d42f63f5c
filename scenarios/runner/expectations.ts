/** Compares a step's outcome with its expectation. Pure. */
import type { Static } from 'typebox';
import type { StepExpectation } from './format.ts';
import { outcomeText, type StepOutcome } from './outcome.ts';

/** Live clocks are real: a step may take this much longer there. */
const liveGraceMs = 2000;

export interface Mismatch {
  /** e.g. "expect.state". */
  readonly field: string;
  readonly expected: string;
  readonly found: string;
}

/** Every mismatch; empty: there is none. */
export function stepMismatches(
  expect: Static<typeof StepExpectation>,
  outcome: StepOutcome,
  tookMs: number,
  world: 'simulated' | 'live',
): Mismatch[] {
  const { answer, failure } = outcome;
  const differs = (field: string, expected: string, found: string): Mismatch => ({
    field: `expect.${field}`,
    expected,
    found,
  });
  if (expect.error !== undefined) {
    if (failure === undefined) return [differs('error', expect.error, outcomeText(outcome))];
    // No answer: the gateway reports a timeout; without a gateway the client times out itself.
    const kind = failure.kind === 'LOST' ? 'DEADLINE_EXCEEDED' : failure.kind;
    if (expect.error !== 'any' && expect.error !== kind) return [differs('error', expect.error, outcomeText(outcome))];
  }
  const wrong: Mismatch[] = [];
  const ended = failure?.grpc;
  for (const [field, expected, found] of [
    ['grpc', expect.grpc, ended?.code],
    ['grpc_reason', expect.grpc_reason, ended?.reason],
  ] as const) {
    if (expected !== undefined && expected !== found) wrong.push(differs(field, expected, outcomeText(outcome)));
  }
  const fields = [
    ['state', expect.state, answer?.state],
    ['verified', expect.verified, answer?.verified],
    ['is_complete', expect.is_complete, answer?.isComplete],
    ['resumable', expect.resumable, answer?.resumable],
  ] as const;
  for (const [field, expected, found] of fields) {
    if (expected === undefined || expected === found) continue;
    wrong.push(differs(field, String(expected), answer === undefined ? outcomeText(outcome) : String(found)));
  }
  if (expect.reason_code !== undefined) {
    const codes = [expect.reason_code].flat();
    if (answer === undefined || !codes.includes(answer.reasonCode)) {
      wrong.push(differs('reason_code', codes.join(' or '), answer?.reasonCode ?? outcomeText(outcome)));
    }
  }
  if (expect.message_names !== undefined && answer?.message.includes(expect.message_names) !== true) {
    wrong.push(differs('message_names', JSON.stringify(expect.message_names), outcomeText(outcome)));
  }
  return [...wrong, ...tookMismatches(expect, tookMs, world)];
}

/** Compares a step's duration with its expectation. */
export function tookMismatches(
  { at_least_ms: least = 0, within_ms: most }: { readonly at_least_ms?: number; readonly within_ms?: number },
  tookMs: number,
  world: 'simulated' | 'live',
): Mismatch[] {
  const differs = (field: string, expected: string): Mismatch => {
    return { field: `expect.${field}`, expected, found: `${tookMs} ms` };
  };
  const graceMs = world === 'live' ? liveGraceMs : 0;
  return [
    ...(tookMs < least ? [differs('at_least_ms', `${least} ms or more`)] : []),
    ...(most !== undefined && tookMs > most + graceMs ? [differs('within_ms', `${most} ms or less`)] : []),
  ];
}

export function mismatchText({ field, expected, found }: Mismatch): string {
  return `${field} is ${expected}, found ${found}`;
}
