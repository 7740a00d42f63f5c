/**
 * Checks a scenario beyond its shape: unknown names, sessions that are used before they are made, faults that a world does not
 * support.
 */

import { reasonCodes } from '../../proto/reason-codes.ts';
import { ofOneCluster } from '../faults/cluster-names.ts';
import { checkFault } from '../faults/engine/checks.ts';
import { type Fault as ClusterFault, liveOnly, simulatedOnly } from '../faults/vocabulary/fault.ts';
import { type FaultEngineOptions, FaultError } from '../faults/vocabulary/options.ts';
import { targetsOf } from '../faults/vocabulary/targets.ts';
import type { CallStep } from './client.ts';
import { type CustodyStep, isCustodyStep } from './custody-format.ts';
import { checkCustodySteps, madeBy } from './custody-meaning.ts';
import { oneOf, type Path, type SchemaFault } from './explain.ts';
import { type CheckedScenario, clusterConstants, type ScenarioStep } from './format.ts';
import type { ScenarioFile } from './shape.ts';
import { checkTransport } from './transport-meaning.ts';
import { usesWalletApi } from './wallet-api-use.ts';

type Report = (path: Path, message: string, remedy?: string) => void;
type SessionKind = 'key' | 'signature';

/** Every fault of the file's meaning; `scenario` is the same with its defaults. */
export function meaningFaults(file: ScenarioFile, scenario: CheckedScenario): SchemaFault[] {
  const found: SchemaFault[] = [];
  const report: Report = (path, message, remedy = '') => {
    found.push({ path, message, remedy });
  };
  if ((file.steps === undefined) === (file.clients === undefined)) {
    report([], 'a scenario has either steps or clients', 'steps for one client, clients for several');
    return found;
  }
  if (file.clients !== undefined && Object.keys(file.clients).length === 0) {
    report(['clients'], 'there is no client', 'at least one, with its steps');
  }
  if (!scenario.cluster.client_dealers && scenario.worlds.includes('live')) {
    report(
      ['cluster', 'client_dealers'],
      'the nodes of a sandbox take client-supplied dealers',
      'say worlds: [simulated]',
    );
  }
  if (scenario.worlds.includes('live')) {
    for (const name of [...clusterConstants, 'ready_made'] as const) {
      if (scenario.cluster[name] === undefined) continue;
      report(['cluster', name], 'a live cluster has its own', 'say worlds: [simulated]');
    }
  }
  const steps = placedSteps(file, scenario);
  walletServiceSteps(scenario, steps, report);
  const made = madeSessions(steps, report);
  checkNames(steps, report);
  checkAwaitedSteps(steps, report);
  for (const placed of steps) checkStep(placed, made, report);
  const custody = steps.flatMap(({ step, ...place }) => (isCustodyStep(step) ? [{ step, ...place }] : []));
  checkCustodySteps(custody, report);
  checkCustodyNames(scenario, steps, custody, report);
  const faults = placedFaults(scenario, steps);
  checkFaults(faults, steps, made, scenario, report);
  checkExpectations(scenario, new Set(faults.map(({ fault }) => fault.id ?? '')), made, report);
  for (const [index, { trigger_count: count, strikes }] of (file.expect ?? []).entries()) {
    if (count === undefined || strikes === undefined) continue;
    report(['expect', index, 'strikes'], 'strikes is the old name of trigger_count', 'give trigger_count alone');
  }
  const written = (file.clients ?? { '': file.steps ?? [] }) as CheckedScenario['clients'];
  for (const { step, path } of placedSteps(file, { ...scenario, clients: written })) {
    if (!('play' in step) || step.play === undefined || step.client_supplied === undefined) continue;
    report([...path, 'play'], 'play is the old name of client_supplied', 'give client_supplied alone');
  }
  return found;
}

interface PlacedStep {
  readonly step: ScenarioStep;
  readonly path: Path;
  readonly client: string;
  readonly index: number;
}

interface Made {
  readonly kind: SessionKind;
  readonly client: string;
  readonly index: number;
}

function placedSteps(file: ScenarioFile, scenario: CheckedScenario): PlacedStep[] {
  return Object.entries(scenario.clients).flatMap(([client, list]) => {
    const path: Path = file.steps !== undefined ? ['steps'] : ['clients', client];
    return list.map((step, index) => ({ step, client, index, path: [...path, index] }));
  });
}

function checkNames(steps: readonly PlacedStep[], report: Report): void {
  const seen = new Set<string>();
  for (const { step, path } of steps) {
    if (seen.has(step.step)) report([...path, 'step'], `another step is named ${step.step}`, 'each has its own name');
    seen.add(step.step);
  }
}

/** Clients cannot make the wallet service's calls on a live cluster, nor in a world that runs the wallet service itself. */
function walletServiceSteps(scenario: CheckedScenario, steps: readonly PlacedStep[], report: Report): void {
  const isLive = scenario.worlds.includes('live');
  if (!isLive && !usesWalletApi(scenario)) return;
  const where = isLive ? 'of a live cluster' : 'beside the wallet API';
  const remedy = isLive ? 'say worlds: [simulated]' : 'use the calls of the API';
  for (const { step, path } of steps) {
    if (!('call' in step)) continue;
    if (step.call === 'close_key' || ('wallet_service' in step && step.wallet_service)) {
      report([...path, 'call'], `no client ${where} is the wallet service`, remedy);
    }
    if (['inspect_session', 'preview_partial', 'read_sessions'].includes(step.call)) {
      report([...path, 'call'], `no client ${where} is its gateway`, remedy);
    }
    for (const field of ['alter', 'wallet_terms'] as const) {
      if (field in step) report([...path, field], 'the gateway decides it itself', 'say worlds: [simulated]');
    }
  }
}

/** Checks the names of the wallet API in waits and expectations. */
function checkCustodyNames(
  { expect }: CheckedScenario,
  steps: readonly PlacedStep[],
  custody: readonly { readonly step: CustodyStep }[],
  report: Report,
): void {
  const made = madeBy(custody);
  const check = (named: object, path: Path, fields: readonly string[]) => {
    for (const field of fields) {
      const name = (named as Readonly<Record<string, unknown>>)[field];
      if (typeof name !== 'string') continue;
      const isRight = (kind: string) => field === 'of' || kind === field;
      const known = [...made].filter(([, kind]) => isRight(kind)).map(([id]) => id);
      if (known.includes(name)) continue;
      report([...path, field], `no step makes the ${field === 'of' ? 'resource' : field} ${name}`, oneOf(known, name));
    }
  };
  for (const { step, path } of steps) {
    if ('wait' in step) check(step.wait, [...path, 'wait'], ['intent', 'of', 'webhook']);
  }
  for (const [index, one] of expect.entries()) check(one, ['expect', index], ['intent', 'wallet', 'of', 'webhook']);
}

/** The place where each session of the scenario is first made. */
function madeSessions(steps: readonly PlacedStep[], report: Report): ReadonlyMap<string, Made> {
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

function checkStep({ step, path, client, index }: PlacedStep, made: ReadonlyMap<string, Made>, report: Report): void {
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
  if (step.call === 'close_key') uses(['session'], step.session, 'key');
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
  report: Report,
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

function checkStepExpectation(step: CallStep, path: Path, report: Report): void {
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

function checkReason(code: string, path: Path, report: Report): void {
  const known = Object.keys(reasonCodes);
  if (!known.includes(code)) report(path, `there is no reason code ${code}`, oneOf(known, code));
}

interface PlacedFault {
  readonly fault: ClusterFault;
  readonly path: Path;
}

function placedFaults(scenario: CheckedScenario, steps: readonly PlacedStep[]): PlacedFault[] {
  return [
    ...scenario.faults.map((fault, index) => ({ fault, path: ['faults', index] })),
    ...steps.flatMap(({ step, path }) => ('inject' in step ? [{ fault: step.inject, path: [...path, 'inject'] }] : [])),
  ];
}

function checkFaults(
  faults: readonly PlacedFault[],
  steps: readonly PlacedStep[],
  made: ReadonlyMap<string, Made>,
  scenario: CheckedScenario,
  report: Report,
): void {
  const ids = new Set<string>();
  const names = steps.map(({ step }) => step.step);
  for (const { fault, path } of faults) {
    if (fault.id !== undefined && ids.has(fault.id)) report([...path, 'id'], `another fault has the id ${fault.id}`);
    if (fault.id !== undefined) ids.add(fault.id);
    const only = simulatedOnly[fault.fault];
    if (only !== undefined && scenario.worlds.includes('live')) {
      report([...path, 'fault'], `${fault.fault} is of the simulated world alone: ${only}`, 'say worlds: [simulated]');
    }
    const numbered = [...targetsOf(fault), fault.at?.of ?? ''].find((name) => /^(gateway|worker)[/][2-9]$/.test(name));
    if (numbered !== undefined && scenario.worlds.includes('live')) {
      report(path, `${numbered} is a name of the simulated world alone: live, all have one`, 'say worlds: [simulated]');
    }
    const lacking = liveOnly[fault.fault];
    if (lacking !== undefined && scenario.worlds.includes('simulated') && !usesWalletApi(scenario)) {
      report([...path, 'fault'], `${fault.fault} is of the live world alone: ${lacking}`, 'say worlds: [live]');
    }
    for (const wrong of faultErrors(fault, scenario)) {
      // The check above reports kinds that a world does not support.
      if (wrong.field === 'fault' && (only ?? lacking) !== undefined) continue;
      report([...path, ...wrong.field.split('.')], wrong.message.slice(wrong.field.length + 2));
    }
    const { step, session } = fault.at ?? {};
    if (step !== undefined && !names.includes(step)) {
      report([...path, 'at', 'step'], `there is no step ${step}`, oneOf(names, step));
    }
    if (session !== undefined && !made.has(session)) {
      report([...path, 'at', 'session'], `no step makes the session ${session}`, oneOf([...made.keys()], session));
    }
  }
  for (const { step, path } of steps) {
    const fired = 'wait' in step ? step.wait.fired : undefined;
    if (fired !== undefined && !ids.has(fired)) {
      report([...path, 'wait', 'fired'], `no fault has the id ${fired}`, oneOf([...ids], fired));
    }
  }
}

/** A step of the same client has ended before, or never will. */
function checkAwaitedSteps(steps: readonly PlacedStep[], report: Report): void {
  for (const { step, path, client } of steps) {
    const ended = 'wait' in step ? step.wait.ended : undefined;
    if (ended === undefined) continue;
    const others = steps.filter((other) => other.client !== client).map((other) => other.step.step);
    if (!others.includes(ended)) {
      report([...path, 'wait', 'ended'], `no other client has a step ${ended}`, oneOf(others, ended));
    }
  }
}

/** The errors of the engines of the scenario's worlds about a fault, each once. */
function faultErrors(fault: ClusterFault, { cluster, worlds, ...rest }: CheckedScenario): FaultError[] {
  const hasPorts = usesWalletApi({ cluster, worlds, ...rest });
  const found = worlds.flatMap((world) => faultError(fault, cluster, world, hasPorts && world === 'simulated') ?? []);
  return found.filter(({ message }, index) => found.findIndex((other) => other.message === message) === index);
}

/** undefined: the engine accepts it. */
function faultError(
  fault: ClusterFault,
  { nodes, clusters = 1, gateways = 1, workers = 1 }: CheckedScenario['cluster'],
  world: 'simulated' | 'live',
  hasPorts: boolean,
): FaultError | undefined {
  const bytes = (length: number) => new Uint8Array(length);
  const roster = { clusterId: '', coordinator: bytes(32), gateway: bytes(32), nodes: [] };
  const options: FaultEngineOptions = {
    nodesTotal: nodes,
    random: bytes,
    roster,
    identitySeed: () => bytes(32),
    ...{ gateways, workers, hasPorts },
    world,
  };
  try {
    checkFault(ofOneCluster(fault, clusters).fault, options);
    return undefined;
  } catch (error) {
    if (error instanceof FaultError) return error;
    throw error;
  }
}

function checkExpectations(
  scenario: CheckedScenario,
  faultIds: ReadonlySet<string>,
  made: ReadonlyMap<string, Made>,
  report: Report,
): void {
  for (const [index, expectation] of scenario.expect.entries()) {
    const path: Path = ['expect', index];
    const { session, culprits = [], fired, trigger_count: triggerCount, reason_code: code } = expectation;
    const { intent, status, wallet, balances, events, of, webhook, delivered, tries } = expectation;
    const names = ['session', 'intent', 'wallet', 'of', 'webhook'];
    if (Object.keys(expectation).every((field) => names.includes(field))) {
      report(
        path,
        'nothing is expected',
        'state, reason_code, culprits, attempts, signatures, delivered, fired, status, balances, events or tries',
      );
    }
    for (const [field, value, of_, name] of [
      ['status', status, intent, 'intent'],
      ['balances', balances, wallet, 'wallet'],
      ['of', of, events, 'events'],
      ['tries', tries, webhook, 'webhook'],
      ['webhook', webhook, delivered ?? tries, 'delivered or tries'],
    ] as const) {
      if (value !== undefined && of_ === undefined) report([...path, field], 'whose it is is missing', `give ${name}`);
    }
    if (session !== undefined && !made.has(session)) {
      report([...path, 'session'], `no step makes the session ${session}`, oneOf([...made.keys()], session));
    }
    for (const field of ['state', 'reason_code', 'attempts'] as const) {
      if (expectation[field] !== undefined && session === undefined) {
        report([...path, field], 'whose it is is missing', 'give session');
      }
    }
    for (const [at, id] of culprits.entries()) {
      if (id > scenario.cluster.nodes) {
        report([...path, 'culprits', at], `there is no node ${id}`, `nodes are 1 to ${scenario.cluster.nodes}`);
      }
    }
    if (code !== undefined) checkReason(code, [...path, 'reason_code'], report);
    if (fired !== undefined && !faultIds.has(fired)) {
      report([...path, 'fired'], `no fault has the id ${fired}`, oneOf([...faultIds], fired));
    }
    if (triggerCount !== undefined && fired === undefined) {
      report(path, 'the fault that it counts is missing', 'give fired beside trigger_count');
    }
  }
}
