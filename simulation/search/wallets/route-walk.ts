/**
 * Steps made from the registry of routes: any operation, by any caller, towards any of its documented outcomes, with a body that
 * its example and its schema give. They come last in a run, when all work has ended and nothing else happens, on everything that
 * the run has made; a snapshot before them is restored afterwards (explore.ts).
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

interface Call {
  readonly route: Route;
  readonly target: string;
  readonly body: object | undefined;
  readonly key: string | undefined;
}

export class RouteWalk {
  readonly #tenancy: Tenancy;
  readonly #draw: Draw;
  readonly #routes: readonly Route[];
  readonly #own: ResourcePool;
  readonly #others: readonly ResourcePool[];
  readonly #taken = new Map<Route, number>();
  #latest: NamedRecord | undefined;

  constructor(tenancy: Tenancy, draw: Draw, own: ResourcePool, others: readonly ResourcePool[]) {
    this.#tenancy = tenancy;
    this.#draw = draw;
    this.#routes = tenancy.world.routes.filter(isSearched);
    this.#own = own;
    this.#others = others;
  }

  /** One call, and its repetitions. */
  async step(): Promise<void> {
    const draw = this.#draw;
    const route = this.#next();
    const aim = draw.weighted(aims);
    const path =
      this.#isOfLatest(route) && aim !== 'foreign' && aim !== 'unknown'
        ? route.path.replace(this.#latest!.template, this.#latest!.path)
        : await this.#path(route, aim === 'foreign' ? draw.pick([...this.#others, undefined]) : this.#own, aim);
    if (path === undefined) return;
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

  /** An operation on the record that was made last, or one that the walk took seldom so far. */
  #next(): Route {
    const draw = this.#draw;
    const after = this.#routes.filter((route) => this.#isOfLatest(route));
    const some = after.length > 0 && draw.chance(latestShare) ? after : this.#routes;
    const drawn = Array.from({ length: 3 }, () => draw.pick(some));
    const takenOf = (route: Route) => (this.#taken.get(route) ?? 0) + (route.method === 'GET' ? 1 : 0);
    const next = drawn.reduce((one, other) => (takenOf(other) < takenOf(one) ? other : one));
    this.#taken.set(next, (this.#taken.get(next) ?? 0) + 1);
    return next;
  }

  #isOfLatest({ path }: Route): boolean {
    const { template } = this.#latest ?? {};
    return template !== undefined && path.startsWith(template) && !path.slice(template.length).includes(':');
  }

  async #hired(scopes: readonly string[]): Promise<Operator> {
    return (await this.#tenancy.hire('walk', undefined, scopes)).operator;
  }

  /** undefined: there is no such resource. */
  async #path(route: Route, pool: ResourcePool | undefined, aim: Aim): Promise<string | undefined> {
    const names = pathParameters(route.path);
    if (aim !== 'unknown' && aim !== 'foreign') return pool?.path(route.path, this.#draw);
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

  async #valid(call: Call, operator: Operator): Promise<void> {
    const { route, target, body } = call;
    const { landmarks, owner } = this.#tenancy;
    const isRead = route.method === 'GET';
    const before = isRead ? undefined : await this.#own.shown(target);
    const answer = await this.#call(call, operator);
    await this.#repeated(call, operator, answer);
    if (isRead) return;
    if (answer.status < 300) {
      this.#own.add(answer.body);
      const { id } = answer.body ?? {};
      if (typeof id === 'string') this.#latest = this.#own.made(target, id) ?? this.#latest;
      await owner.client.pause(restMs);
    }
    const after = await this.#own.shown(target);
    const [issue = answer.body?.error?.code ?? ''] = issuesOf(answer);
    const [from, to] = [stateOf(before), stateOf(after)];
    landmarks.reach(`effect ${route.operationId} ${answer.status} ${from}>${answer.status < 300 ? to : issue}`);
    const hasAllScopes = this.#tenancy.operators.includes(operator);
    const isWrong =
      answer.status < 300
        ? before !== undefined && !maySucceed(route.operationId, from, to)
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
      return this.#refused({ ...call, target: `${target}?${query}` }, owner, 400);
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

function stateOf(shown: { readonly status?: unknown } | undefined): string {
  return shown === undefined ? '-' : String(shown.status ?? '');
}

function about({ method }: Route, target: string, body: unknown): string {
  return `${method} ${target} ${JSON.stringify(body ?? {}).slice(0, 300)}`;
}
