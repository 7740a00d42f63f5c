/** Checks the steps of a scenario: their names, the sessions that they use and make, their waits and expectations. */
import { reasonCodes } from '../../proto/reason-codes.ts';
import type { CallStep } from './client.ts';
import { isCustodyStep } from './custody-format.ts';
import { oneOf, type Path, type ReportFault } from './explain.ts';
import type { ScenarioStep } from './format.ts';
import { checkTransport } from './transport-meaning.ts';

type SessionKind = 'key' | 'signature';

export interface PlacedStep {
  readonly step: ScenarioStep;
  readonly path: Path;
  readonly client: string;
  readonly index: number;
}

export interface Made {
  readonly kind: SessionKind;
  readonly client: string;
  readonly index: number;
}

export function checkNames(steps: readonly PlacedStep[], report: ReportFault): void {
  const seen = new Set<string>();
  for (const { step, path } of steps) {
    if (seen.has(step.step)) report([...path, 'step'], `another step is named ${step.step}`, 'each has its own name');
    seen.add(step.step);
  }
}

/** A step of the same client has ended before, or never will. */
export function checkAwaitedSteps(steps: readonly PlacedStep[], report: ReportFault): void {
  for (const { step, path, client } of steps) {
    const ended = 'wait' in step ? step.wait.ended : undefined;
    if (ended === undefined) continue;
    const others = steps.filter((other) => other.client !== client).map((other) => other.step.step);
    if (!others.includes(ended)) {
      report([...path, 'wait', 'ended'], `no other client has a step ${ended}`, oneOf(others, ended));
    }
  }
}

/** The place where each session of the scenario is first made. */
export function madeSessions(steps: readonly PlacedStep[], report: ReportFault): ReadonlyMap<string, Made> {
  const made = new Map<string, Made>();
  for (const { step, path, client, index } of steps) {
    if (!('call' in step) || isCustodyStep(step)) continue;
    const kind: SessionKind | undefined =
      step.call === 'initiate_dkg' || step.call === 'make_key'
        ? 'key'
        : step.call === 'initiate_signing' || step.call === 'sign'
          ? 'signature'
          : undefined;
    if (kind === undefined || step.session === undefined) continue;
    const before = made.get(step.session);
    if (before === undefined) made.set(step.session, { kind, client, index });
    else if (before.kind !== kind) report([...path, 'session'], `${step.session} names a ${before.kind} already`);
    else if (kind === 'signature') {
      report([...path, 'session'], `${step.session} names another signing session`, 'each has its own name');
    }
  }
  return made;
}

export function checkStep(
  { step, path, client, index }: PlacedStep,
  made: ReadonlyMap<string, Made>,
  report: ReportFault,
): void {
  const uses = (field: Path, name: string, kind?: SessionKind) => {
    const session = made.get(name);
    const known = [...made].filter(([, one]) => kind === undefined || one.kind === kind).map(([id]) => id);
    if (session === undefined || (kind !== undefined && session.kind !== kind)) {
      const what = kind === undefined ? 'session' : kind === 'key' ? 'key' : 'signing session';
      report([...path, ...field], `no step makes the ${what} ${name}`, known.length > 0 ? oneOf(known, name) : '');
    } else if (session.client === client && session.index >= index) {
      report([...path, ...field], `${name} is used before it is made`, 'make it in an earlier step');
    }
  };
  if ('wait' in step) {
    checkWait(step, path, uses, report);
    return;
  }
  if (!('call' in step) || isCustodyStep(step)) return;
  if ('key' in step) uses(['key'], step.key, 'key');
  if (step.call === 'close_key' || step.call === 'refresh_key') uses(['session'], step.session, 'key');
  if (step.call === 'exchange_dkg_shares') {
    uses(['session'], step.session, 'key');
    if (step.client_supplied !== undefined && ((step.sender ?? 0) === 0 || (step.recipient ?? 0) === 0)) {
      report(
        [...path, 'client_supplied'],
        'the client-supplied dealer and its recipient are missing',
        'give sender and recipient',
      );
    }
  }
  if (step.call === 'submit_signature_share') {
    uses(['session'], step.session, 'signature');
    if (step.client_supplied !== undefined && (step.node ?? 0) === 0) {
      report([...path, 'client_supplied'], 'the node of the client-supplied partial is missing', 'give node');
    }
  }
  if (step.call === 'inspect_session') uses(['session'], step.session);
  if (step.call === 'read_sessions' && step.session !== undefined) uses(['session'], step.session);
  if (step.call === 'preview_partial') uses(['session'], step.session, 'signature');
  if (step.call === 'resume_session') uses(['session'], step.session);
  checkTransport(step, path, report);
  checkStepExpectation(step, path, report);
}

const waits = ['ms', 'session', 'nodes_ready', 'fired', 'delivered', 'intent', 'event', 'ended'] as const;

function checkWait(
  { wait }: Extract<ScenarioStep, { wait: unknown }>,
  path: Path,
  uses: (field: Path, name: string) => void,
  report: ReportFault,
): void {
  const given = waits.filter((name) => wait[name] !== undefined);
  if (given.length !== 1) {
    report(
      [...path, 'wait'],
      'a wait is for one thing',
      'ms, or session and state, or nodes_ready, or fired, or delivered, or intent and status, or event, or ended',
    );
  }
  if ((wait.intent === undefined) !== (wait.status === undefined)) {
    report([...path, 'wait'], 'intent and status come together', 'until this intent has this status');
  }
  if (wait.of !== undefined && wait.event === undefined && wait.delivered === undefined) {
    report([...path, 'wait', 'of'], 'what is awaited of it is missing', 'give event or delivered');
  }
  if (wait.webhook !== undefined && wait.delivered === undefined) {
    report([...path, 'wait', 'webhook'], 'what it is to get is missing', 'give delivered');
  }
  if (wait.session !== undefined) uses(['wait', 'session'], wait.session);
  if ((wait.session === undefined) !== (wait.state === undefined)) {
    report([...path, 'wait'], 'session and state come together', 'until this session is in this state');
  }
}

function checkStepExpectation(step: CallStep, path: Path, report: ReportFault): void {
  const { expect } = step;
  if (expect === undefined) return;
  const at = (field: string): Path => [...path, 'expect', field];
  const { verified, is_complete: isComplete, error, at_least_ms: least = 0, within_ms: most } = expect;
  if (verified !== undefined && step.call !== 'exchange_dkg_shares' && step.call !== 'make_key') {
    report(at('verified'), `${step.call} does not answer it`, 'it is of exchange_dkg_shares and make_key');
  }
  if (isComplete !== undefined && step.call !== 'submit_signature_share' && step.call !== 'sign') {
    report(at('is_complete'), `${step.call} does not answer it`, 'it is of submit_signature_share and sign');
  }
  const answered = ['state', 'reason_code', 'message_names', 'verified', 'is_complete', 'resumable'] as const;
  const ended = error ?? expect.grpc ?? expect.grpc_reason;
  if (ended !== undefined && answered.some((field) => expect[field] !== undefined)) {
    report(
      at(error !== undefined ? 'error' : 'grpc'),
      'a call without an answer has no receipt',
      'expect an error, or what the receipt says',
    );
  }
  if (most !== undefined && least > most) report(at('within_ms'), 'it is less than at_least_ms');
  const codes = expect.reason_code === undefined ? [] : [expect.reason_code].flat();
  for (const code of codes) checkReason(code, at('reason_code'), report);
}

export function checkReason(code: string, path: Path, report: ReportFault): void {
  const known = Object.keys(reasonCodes);
  if (!known.includes(code)) report(path, `there is no reason code ${code}`, oneOf(known, code));
}
