/**
 * Checks steps of the wallet API beyond their shape: bodies and queries that the route would refuse, references to steps and
 * fields that do not exist, wallets and intents that no step makes.
 */
import { type CustodyCall, type CustodyStep, isCustodyStep } from './custody-format.ts';
import type { AnswerShape } from './custody-operation.ts';
import { explain, oneOf, type Path, type ReportFault, type SchemaFault } from './explain.ts';
import { operations } from './generated-operations.ts';
import { referencesOf, unknownField } from './references.ts';

export interface PlacedCustodyStep {
  readonly step: CustodyStep;
  readonly path: Path;
  readonly client: string;
  readonly index: number;
}

/** The kind of resource that a step makes, for the steps that name it. */
export type MadeKind = 'wallet' | 'intent' | 'webhook' | 'other';

/** The kind of resource that each call of the wallet API makes, by its step. */
export function madeBy(steps: readonly { readonly step: object }[]): ReadonlyMap<string, MadeKind> {
  const made = new Map<string, MadeKind>();
  for (const { step } of steps) if (isCustodyStep(step) && !('receiver' in step)) made.set(step.step, kindOf(step));
  return made;
}

/** Every fault of these steps. `all`: every wallet API step of the scenario. */
export function checkCustodySteps(all: readonly PlacedCustodyStep[], report: ReportFault): void {
  const made = madeBy(all);
  const calls = new Map(all.flatMap((placed) => ('receiver' in placed.step ? [] : [[placed.step.step, placed]])));
  for (const placed of all) {
    const { step, path } = placed;
    const needs = (field: string, name: string, kind: MadeKind) => {
      const known = [...made].filter(([, one]) => one === kind).map(([id]) => id);
      if (!known.includes(name)) report([...path, field], `no step makes the ${kind} ${name}`, oneOf(known, name));
      else precedes(placed, calls.get(name), [...path, field], report);
    };
    if ('receiver' in step) needs('receiver', step.receiver, 'webhook');
    else if ('api' in step) checkApi(step, path, report);
    else if (step.call === 'transfer') {
      needs('from', step.from, 'wallet');
      // Any other name than a wallet of the scenario is an address: the service checks it.
      if (made.get(step.to) === 'wallet') needs('to', step.to, 'wallet');
      else if (step.to.length < 20 && !step.to.startsWith('$')) needs('to', step.to, 'wallet');
    } else if (step.call === 'vote') {
      needs('intent', step.intent, 'intent');
      if (step.decision === 'reject' && step.reason === undefined) {
        report(path, 'a rejection has a reason', 'give reason');
      }
    } else if (step.call === 'make_wallet' && step.connection !== undefined) {
      needs('connection', step.connection, 'wallet');
    }
    for (const { path: at, found } of referencesOf(step)) {
      for (const reference of found) {
        const other = calls.get(reference.step);
        if (other === undefined || reference.step === step.step) {
          const names = [...calls.keys()].filter((name) => name !== step.step);
          report([...path, ...at], `no step ${reference.step} has an answer`, oneOf(names, reference.step));
          continue;
        }
        precedes(placed, other, [...path, ...at], report);
        fieldKnown(other.step, reference.field, [...path, ...at], report);
      }
    }
    if (!('receiver' in step)) checkExpectation(step, path, calls, report);
  }
}

function precedes(
  { client, index }: PlacedCustodyStep,
  other: PlacedCustodyStep | undefined,
  path: Path,
  report: ReportFault,
): void {
  if (other === undefined || other.client !== client || other.index < index) return;
  report(path, `${other.step.step} is used before it is made`, 'make it in an earlier step');
}

function checkApi(step: Extract<CustodyCall, { api: unknown }>, path: Path, report: ReportFault): void {
  const operation = operations[step.api];
  if (operation === undefined) return;
  const { params = {}, query, body, until } = step;
  const wanted = [...operation.path.matchAll(/:([A-Za-z]+)/g)].map(([, name]) => name!);
  for (const name of wanted) {
    if (!Object.hasOwn(params, name)) report([...path, 'params'], `${name} is missing`, `of ${operation.path}`);
  }
  for (const name of Object.keys(params)) {
    if (!wanted.includes(name))
      report([...path, 'params', name], `${operation.path} has no ${name}`, oneOf(wanted, name));
  }
  if (step.key !== undefined && operation.keyed !== true) {
    report([...path, 'key'], `${step.api} takes no Idempotency-Key`, 'leave it out');
  }
  if (step.unchecked === true) return;
  if (body === undefined && operation.body !== undefined && operation.bodyOptional !== true) {
    report(path, 'body is missing', `${operation.method} ${operation.path} takes one`);
  }
  if (body !== undefined) checkAgainst(operation.body, body, [...path, 'body'], step.api, report);
  if (query !== undefined) checkAgainst(operation.query, asTexts(query), [...path, 'query'], step.api, report);
  for (const field of Object.keys(until ?? {})) fieldKnown(step, field.split('.'), [...path, 'until', field], report);
}

/** A text with references may become anything: the service checks the result. */
function checkAgainst(
  schema: (typeof operations)[string]['body'],
  value: unknown,
  path: Path,
  name: string,
  report: ReportFault,
): void {
  if (schema === undefined) {
    report(path, `${name} takes none`, 'leave it out');
    return;
  }
  const open = new Set(referencesOf(value, path).map(({ path: at }) => JSON.stringify(at)));
  const found: SchemaFault[] = explain(schema, value, path);
  for (const { path: at, message, remedy } of found) if (!open.has(JSON.stringify(at))) report(at, message, remedy);
}

/** The values of a query as texts. */
export function asTexts(query: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const isPlain = (value: unknown) => typeof value === 'number' || typeof value === 'boolean';
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, isPlain(value) ? String(value) : value]),
  );
}

function checkExpectation(
  step: CustodyCall,
  path: Path,
  calls: ReadonlyMap<string, PlacedCustodyStep>,
  report: ReportFault,
): void {
  const { expect } = step;
  if (expect === undefined) return;
  const { error, fields = {}, status, same_as: same, at_least_ms: least = 0, within_ms: most } = expect;
  const at = (field: string): Path => [...path, 'expect', field];
  const answered = ['http', 'code', 'issue', 'retry_after_max_s', 'status', 'fields', 'same_as'] as const;
  if (error !== undefined && answered.some((field) => expect[field] !== undefined)) {
    report(at('error'), 'a call without an answer has nothing to expect', 'expect an error, or what the answer says');
  }
  if (most !== undefined && least > most) report(at('within_ms'), 'it is less than at_least_ms');
  if (same !== undefined && (!calls.has(same) || same === step.step)) {
    const names = [...calls.keys()].filter((name) => name !== step.step);
    report(at('same_as'), `no step ${same} has an answer`, oneOf(names, same));
  }
  if (refused(expect)) return;
  if (status !== undefined) fieldKnown(step, ['status'], at('status'), report);
  for (const field of Object.keys(fields)) fieldKnown(step, field.split('.'), [...at('fields'), field], report);
}

function refused({ http, code, issue }: NonNullable<CustodyCall['expect']>): boolean {
  return code !== undefined || issue !== undefined || http === 'any' || (http !== undefined && http >= 300);
}

function fieldKnown(step: CustodyStep, field: readonly string[], path: Path, report: ReportFault): void {
  const unknown = unknownField(shapeOf(step), field);
  if (unknown === undefined) return;
  report(path, `the answer of ${step.step} has no field ${unknown.name}`, oneOf(unknown.known, unknown.name));
}

/** The shape of a step's answer. */
function shapeOf(step: CustodyStep): AnswerShape | null {
  if ('receiver' in step) return null;
  const name = 'api' in step ? step.api : operationOf[step.call];
  return operations[name]?.answer ?? null;
}

const operationOf = {
  make_wallet: 'wallets.get',
  transfer: 'intents.get',
  vote: 'intents.get',
  register_webhook: 'webhooks.create',
} as const;

function kindOf(step: CustodyCall): MadeKind {
  if (!('api' in step)) {
    if (step.call === 'vote') return 'other';
    return ({ make_wallet: 'wallet', transfer: 'intent', register_webhook: 'webhook' } as const)[step.call];
  }
  return step.api === 'wallets.create' ? 'wallet' : step.api === 'intents.create' ? 'intent' : 'other';
}
