/**
 * Steps made from the registry of routes: any operation, by any caller, towards any of its documented outcomes, with a body that
 * its example and its schema give, on everything that the run has made (explore.ts). Several walks at once, during faults, do not
 * rest after a step: then an answer is compared with the version of the record that it changed. At rest nothing else changes it.
 */

import type { Route } from '../../../gateway/api/route.ts';
import { isIdempotent, pathParameters } from '../../../gateway/api/route-table.ts';
import type { JsonSchema } from '../../../gateway/api/schema-text.ts';
import { allScopes } from '../../../gateway/api/scopes.ts';
import type { Draw } from '../../cluster/draw.ts';
import type { ClientAnswer } from '../../service/client.ts';
import { found } from '../../service/invariants/finding.ts';
import { isStored, issuesOf, storedText } from './answer-invariants.ts';
import { mayRefuse, maySucceed } from './effects.ts';
import type { Operator } from './operator.ts';
import { isDocumented, isSearched } from './outcomes.ts';
import type { NamedRecord, ResourcePool } from './resource-pool.ts';
import { brokenBodies, brokenQueries, objectOf, type ValueContext } from './schema-values.ts';
import type { Tenancy } from './tenancy.ts';

type Aim = 'valid' | 'broken' | 'unknown' | 'foreign' | 'unscoped' | 'scoped' | 'unauthenticated';
const aims: Readonly<Record<Aim, number>> = {
  ...{ valid: 16, broken: 3, unknown: 1, foreign: 1, unscoped: 1, scoped: 2, unauthenticated: 0.5 },
};
/** Work that a step began has ended, and events of it are written. */
const restMs = 1_500;

/** The share of steps about the record that was made last. */
const latestShare = 0.5;
/** Of so many drawn steps, the walk takes the one that it took the least so far. */
const candidates = 3;

interface Call {
  readonly route: Route;
  readonly target: string;
  readonly body: object | undefined;
  readonly key: string | undefined;
}

/** The tenant's own resources, and those of the other tenants. */
export interface WalkPools {
  readonly own: ResourcePool;
  readonly others: readonly ResourcePool[];
}

/**
 * A step of one client would end what all others do: it freezes their tenant, has others approve their changes, or takes their token.
 * test/simulation/service/{frozen-tenant,change-control}.test.ts and test/gateway/access-tokens.test.ts try these in the middle of
 * others.
 */
const stopsOthers = new Set(['freezeTenant', 'putChangeControl', 'rotateAccessToken', 'revokeAccessToken']);

export class RouteWalk {
  readonly #tenancy: Tenancy;
  readonly #draw: Draw;
  readonly #routes: readonly Route[];
  readonly #own: ResourcePool;
  readonly #others: readonly ResourcePool[];
  readonly #isAtRest: boolean;
  /** Steps so far, by operation and state of the record. */
  readonly #taken = new Map<string, number>();
  #latest: NamedRecord | undefined;

  constructor(tenancy: Tenancy, draw: Draw, { own, others }: WalkPools, isAtRest: boolean) {
    this.#tenancy = tenancy;
    this.#draw = draw;
    this.#routes = tenancy.world.routes.filter((route) => isSearched(route) && !stopsOthers.has(route.operationId));
    this.#own = own;
    this.#others = others;
    this.#isAtRest = isAtRest;
  }

  /** One call, and its repetitions. */
  async step(): Promise<void> {
    const draw = this.#draw;
    const aim = draw.weighted(aims);
    const next = await this.#next(aim);
    if (next === undefined) return;
    const { route, path } = next;
    const body = this.#body(route);
    const call: Call = { route, target: path, body, key: isIdempotent(route) ? this.#tenancy.key('walk') : undefined };
    switch (aim) {
      case 'valid':
        return this.#valid(
          call,
          draw.pick([...this.#tenancy.operators, ...this.#tenancy.limited.map((one) => one.operator)]),
        );
      case 'scoped':
        if (route.scope === undefined) return;
        return this.#valid(call, await this.#hired([...(route.scope === 'any' ? [] : [route.scope]), ...previews]));
      case 'broken':
        return this.#broken(call);
      case 'unscoped': {
        if (route.scope === undefined || route.scope === 'any') return;
        const operator = await this.#hired(allScopes.filter((scope) => scope !== route.scope));
        return this.#refused(call, operator, 403);
      }
      case 'unauthenticated':
        return route.scope === undefined ? undefined : this.#refused(call, this.#tenancy.stranger(), 401);
      default:
        return this.#refused(call, this.#tenancy.owner, 404, aim);
    }
  }

  /** On the record that was made last, or on any: an operation that the walk took seldom so far in the state of its record. */
  async #next(aim: Aim): Promise<{ readonly route: Route; readonly path: string } | undefined> {
    const draw = this.#draw;
    const after = this.#routes.filter((route) => this.#isOfLatest(route));
    const some = after.length > 0 && draw.chance(latestShare) ? after : this.#routes;
    let least: { readonly route: Route; readonly path: string; readonly name: string } | undefined;
    const takenOf = ({ route, name }: NonNullable<typeof least>) =>
      (this.#taken.get(name) ?? 0) + (route.method === 'GET' ? 1 : 0);
    for (let count = 0; count < candidates; count += 1) {
      const route = draw.pick(some);
      const path = await this.#path(route, aim);
      if (path === undefined) continue;
      const drawn = { route, path, name: `${route.operationId} ${this.#own.stateAt(path)}` };
      if (least === undefined || takenOf(drawn) < takenOf(least)) least = drawn;
    }
    if (least !== undefined) this.#taken.set(least.name, (this.#taken.get(least.name) ?? 0) + 1);
    return least;
  }

  #isOfLatest({ path }: Route): boolean {
    const { template } = this.#latest ?? {};
    return template !== undefined && path.startsWith(template) && !path.slice(template.length).includes(':');
  }

  async #hired(scopes: readonly string[]): Promise<Operator> {
    return (await this.#tenancy.hire('walk', undefined, scopes)).operator;
  }

  /** undefined: there is no such resource. */
  async #path(route: Route, aim: Aim): Promise<string | undefined> {
    const names = pathParameters(route.path);
    if (aim !== 'unknown' && aim !== 'foreign') {
      if (this.#isOfLatest(route)) return route.path.replace(this.#latest!.template, this.#latest!.path);
      return this.#own.path(route.path, this.#draw);
    }
    const pool = aim === 'foreign' ? this.#draw.pick([...this.#others, undefined]) : this.#own;
    if (names.length === 0 || route.errors?.includes(404) !== true || pool === undefined) return undefined;
    const path = await pool.path(route.path, this.#draw);
    if (aim === 'foreign') return path !== undefined && last.test(path) ? path : undefined;
    return path !== undefined && last.test(path) ? path.replace(last, (id) => unknown(id.slice(0, 3))) : undefined;
  }

  #context(): ValueContext {
    const { world } = this.#tenancy;
    return {
      draw: this.#draw,
      nowMs: world.nowMs,
      idOf: (prefix) => this.#own.idOf(prefix, this.#draw) ?? unknown(prefix),
    };
  }

  /** The example, about the tenant's own resources, with other fields in some of them. */
  #body({ body, example, bodyOptional, method }: Route): object | undefined {
    if (body === undefined) return method === 'POST' ? {} : undefined;
    if (bodyOptional && this.#draw.chance(0.2)) return {};
    const own = JSON.stringify(example ?? {}).replace(
      /([a-z]{3})_01938f2a[0-9a-f-]+/g,
      (_, prefix: string) => this.#own.idOf(prefix, this.#draw) ?? unknown(prefix),
    );
    return objectOf(body as JsonSchema, this.#context(), JSON.parse(own), this.#draw.pick([0, 0, 0.2]));
  }

  async #call({ route, target, body, key }: Call, operator: Operator): Promise<ClientAnswer> {
    const answer = await operator.call(route.method, target, body, key);
    if (!isDocumented(route, answer.status))
      found(
        'answers-as-modelled',
        `${about(route, target, body)} answers ${answer.status}, which its page does not have`,
      );
    return answer;
  }

  async #valid(drawn: Call, operator: Operator): Promise<void> {
    const { route, target } = drawn;
    const { landmarks, owner } = this.#tenancy;
    const isRead = route.method === 'GET';
    const before = isRead ? undefined : await this.#own.shown(target);
    const call = { ...drawn, body: this.#versioned(drawn, before) };
    const { body } = call;
    const answer = await this.#call(call, operator);
    await this.#repeated(call, operator, answer);
    if (isRead) return;
    if (answer.status < 300) {
      this.#own.add(answer.body);
      const { id } = answer.body ?? {};
      if (typeof id === 'string') this.#latest = this.#own.made(target, id) ?? this.#latest;
      if (this.#isAtRest) await owner.client.pause(restMs);
    }
    this.#expected(call, before, answer);
    if (!this.#isAtRest) return this.#changed(call, before, answer);
    const after = await this.#own.shown(target);
    const [issue = answer.body?.error?.code ?? ''] = issuesOf(answer);
    const [from, to] = [stateOf(before), stateOf(after)];
    landmarks.reach(`effect ${route.operationId} ${answer.status} ${from}>${answer.status < 300 ? to : issue}`);
    const hasAllScopes = this.#tenancy.operators.includes(operator);
    const isWrong =
      answer.status < 300
        ? before !== undefined && !maySucceed(route, from, to)
        : (answer.status === 409 && before !== undefined && !mayRefuse(route.operationId, from, issue)) ||
          (issue === 'insufficient_scope' && hasAllScopes);
    if (isWrong)
      found(
        'answers-as-modelled',
        `${about(route, target, body)}, ${from}, answers ${answer.status} ${issue}, and is ${to}`,
      );
    if (answer.status > 299 && before?.version !== after?.version && !moving.test(target))
      found(
        'changes-take-effect',
        `${about(route, target, body)} is refused with ${answer.status} ${issue}, and changes it`,
      );
  }

  /** A change of a record names the version that it has, or the one before. */
  #versioned({ route, body }: Call, before: Shown): object | undefined {
    const { properties = {} } = (route.body ?? {}) as JsonSchema;
    if (!('expected_version' in properties) || before?.version === undefined) return body;
    const expected = this.#draw.pick([before.version, before.version, before.version - 1, undefined]);
    const { expected_version: _, ...rest } = body as { readonly expected_version?: unknown };
    return expected === undefined || expected < 1 ? rest : { ...rest, expected_version: expected };
  }

  /**
   * A version that is not the record's changes nothing. At rest only such a version is a conflict: nothing else changes anything.
   */
  #expected({ route, target, body }: Call, before: Shown, { status, body: shown, ...rest }: ClientAnswer): void {
    const { expected_version: expected } = (body ?? {}) as { readonly expected_version?: number };
    const isChanged = status < 300 && shown?.id === before?.id && shown?.version !== before?.version;
    const isConflict = issuesOf({ body: shown, ...rest }).includes('version_conflict');
    const isWrong = isConflict
      ? this.#isAtRest && (expected === undefined || expected === before?.version)
      : isChanged && expected !== undefined && before?.version !== undefined && shown.version !== expected + 1;
    if (isWrong)
      found(
        'answers-as-modelled',
        `${about(route, target, body)}, at ${before?.version}, answers ${status} ${shown?.version}`,
      );
  }

  /** While others change the record too: a version that follows the one before was made of it. */
  #changed({ route, target, body }: Call, before: Shown, { status, body: shown }: ClientAnswer): void {
    if (status > 299 || before?.version === undefined || shown?.id !== before.id) return;
    if (shown.version !== before.version && shown.version !== before.version + 1) return;
    const [from, to] = [stateOf(before), stateOf(shown)];
    if (!maySucceed(route, from, to))
      found('answers-as-modelled', `${about(route, target, body)}, ${from}, answers ${status}, and is ${to}`);
  }

  /** "A key gives one answer": the same for the same request, whatever it was; another request is refused. */
  async #repeated({ route, target, body, key }: Call, operator: Operator, first: ClientAnswer): Promise<void> {
    if (key === undefined || !isStored(first) || !this.#draw.chance(0.4)) return;
    const { landmarks } = this.#tenancy;
    if (this.#draw.chance(0.3)) {
      landmarks.reach(`pair ${route.operationId} reused`);
      const other = await operator.call(route.method, target, { ...body, not_a_field: 1 }, key);
      if (other.status !== 400 && !issuesOf(other).includes('idempotency_key_reused'))
        found(
          'one-answer-a-key',
          `${about(route, target, body)} ${key} gives another body ${other.status} ${issuesOf(other)}`,
        );
      return;
    }
    landmarks.reach(`pair ${route.operationId} replayed`);
    const again = await operator.call(route.method, target, body, key);
    const isReplay = again.headers['idempotent-replayed'] === 'true';
    const [one, two] = [first, again].map((answer) => `${answer.status} ${storedText(answer.body)}`);
    if (!isReplay || one !== two)
      found(
        'one-answer-a-key',
        `${about(route, target, body)} answers ${one}, and again ${two}, replayed: ${isReplay}`,
      );
  }

  async #broken(call: Call): Promise<void> {
    const { route, target, body = {} } = call;
    const { owner } = this.#tenancy;
    if (route.body === undefined) {
      if (route.query === undefined) return;
      const query = this.#draw.pick(brokenQueries(route.query as JsonSchema));
      // What is gone meanwhile has no listing, whose cursor could be judged.
      const { status } = await this.#call({ ...call, target }, owner);
      return this.#refused({ ...call, target: `${target}?${query}` }, owner, status === 404 ? 404 : 400);
    }
    const broken = this.#draw.pick(brokenBodies(route.body as JsonSchema, body as Record<string, unknown>));
    const answer = await this.#call({ ...call, body: broken.body }, owner);
    const details: readonly { readonly field: string; readonly issue: string }[] = answer.body?.error?.details ?? [];
    const { field, issue } = broken;
    const isNamed = details.some((one) => one.field.startsWith(field) && (issue === undefined || one.issue === issue));
    if ((answer.status === 400 && isNamed) || isWithoutModule(answer)) return;
    const due = `400 ${field} ${issue ?? ''}`.trimEnd();
    found(
      'answers-as-modelled',
      `${about(route, target, broken.body)} answers ${answer.status} ${issuesOf(answer)}, not ${due}`,
    );
  }

  async #refused(call: Call, operator: Operator, status: number, aim?: Aim): Promise<void> {
    const answer = await this.#call(call, operator);
    if (aim === 'foreign') this.#tenancy.landmarks.reach(`pair ${call.route.operationId} of another tenant`);
    const isBefore = (status === 404 && answer.status === 400) || (status !== 401 && isWithoutModule(answer));
    if (answer.status === status || isBefore) return;
    found(
      status === 400 || aim === 'unknown' ? 'answers-as-modelled' : 'tenants-apart',
      `${about(call.route, call.target, call.body)} of ${operator.actor} answers ${answer.status}, not ${status}`,
    );
  }
}

type Shown = { readonly id?: unknown; readonly version?: number; readonly status?: unknown } | undefined;

/** The last id of a path. */
const last = /[a-z]{3}_[0-9a-f-]{36}(?!.*[a-z]{3}_[0-9a-f-]{36})/;
/** The placeholder of the examples (gateway/api/examples.ts). */
const unknown = (prefix: string) => `${prefix}_01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e`;
/** Where each module needs a scope of its own (production). */
const previews = allScopes.filter((scope) => scope.startsWith('preview:'));
/** Workers change these without a call. */
const moving = /\/(?:txi|ord|pln|rcj|tkn|pcn)_/;

function isWithoutModule(answer: ClientAnswer): boolean {
  return answer.status === 403 && issuesOf(answer).includes('module_access_needed');
}

function stateOf(shown: Shown): string {
  return shown === undefined ? '-' : String(shown.status ?? '');
}

function about({ method }: Route, target: string, body: unknown): string {
  return `${method} ${target} ${JSON.stringify(body ?? {}).slice(0, 300)}`;
}
