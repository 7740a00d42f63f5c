/**
 * Checks a scenario beyond its shape: unknown names, sessions that are used before they are made, faults that a world does not
 * support.
 */

import { type CustodyStep, isCustodyStep } from './custody-format.ts';
import { checkCustodySteps, madeBy } from './custody-meaning.ts';
import { oneOf, type Path, type ReportFault, type SchemaFault } from './explain.ts';
import { checkFaults, placedFaults } from './fault-meaning.ts';
import type { CheckedScenario } from './format.ts';
import type { ScenarioFile } from './shape.ts';
import {
  checkAwaitedSteps,
  checkNames,
  checkReason,
  checkStep,
  type Made,
  madeSessions,
  type PlacedStep,
} from './step-meaning.ts';
import { clusterConstants } from './terms.ts';
import { usesWalletApi } from './wallet-api-use.ts';

/** Every fault of the file's meaning; `scenario` is the same with its defaults. */
export function meaningFaults(file: ScenarioFile, scenario: CheckedScenario): SchemaFault[] {
  const found: SchemaFault[] = [];
  const report: ReportFault = (path, message, remedy = '') => {
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

function placedSteps(file: ScenarioFile, scenario: CheckedScenario): PlacedStep[] {
  return Object.entries(scenario.clients).flatMap(([client, list]) => {
    const path: Path = file.steps !== undefined ? ['steps'] : ['clients', client];
    return list.map((step, index) => ({ step, client, index, path: [...path, index] }));
  });
}

/** Clients cannot make the wallet service's calls on a live cluster, nor in a world that runs the wallet service itself. */
function walletServiceSteps(scenario: CheckedScenario, steps: readonly PlacedStep[], report: ReportFault): void {
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
  report: ReportFault,
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

function checkExpectations(
  scenario: CheckedScenario,
  faultIds: ReadonlySet<string>,
  made: ReadonlyMap<string, Made>,
  report: ReportFault,
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
