/** The resources of a tenant, for the paths and bodies of generated calls: what its lists show, and what its calls made. */

import type { Route } from '../../../gateway/api/route.ts';
import { pathParameters } from '../../../gateway/api/route-table.ts';
import type { JsonSchema } from '../../../gateway/api/schema-text.ts';
import type { Draw } from '../../cluster/draw.ts';
import type { Operator } from './operator.ts';
import { routeFinder } from './outcomes.ts';

// biome-ignore lint/suspicious/noExplicitAny: resources of every type.
type Item = any;

/** Of collections without a list of their own: the prefix of the ids that name their members. */
const unlisted: Readonly<Record<string, string>> = { scores: 'txi', reports: 'rep' };
/** Listed ones are what a list shows by itself; the others are archived, disconnected or ended. */
const anyShare = 0.2;

const anyId = /\b[a-z]{3}_[0-9a-f]{8}-[0-9a-f-]{27}\b/g;

/** A record by its path, and the path of its route. */
export interface NamedRecord {
  readonly template: string;
  readonly path: string;
}

export class ResourcePool {
  readonly #operator: Operator;
  readonly #routes: readonly Route[];
  readonly #find: ReturnType<typeof routeFinder>;
  readonly #ids = new Map<string, Set<string>>();
  /** As last shown. */
  readonly #states = new Map<string, string>();
  /** What lists have shown since the last change. */
  readonly #listed = new Map<string, readonly Item[]>();
  /** By the prefix of an id: the route of the record. */
  readonly #templates = new Map<string, string>();

  constructor(operator: Operator, routes: readonly Route[]) {
    this.#operator = operator;
    this.#routes = routes;
    this.#find = routeFinder(routes);
    for (const { method, path, responses } of routes) {
      if (method !== 'GET' || !/\/:\w+$/.test(path)) continue;
      const { id } = (responses[200]?.schema as JsonSchema | undefined)?.properties ?? {};
      const [, prefix] = /([a-z]{3})_/.exec(JSON.stringify(id ?? '')) ?? [];
      if (prefix !== undefined) this.#templates.set(prefix, path);
    }
  }

  /** Lists of the whole tenant. */
  get lists(): readonly string[] {
    const isList = (route: Route) => route.method === 'GET' && 'limit' in queryOf(route);
    return this.#routes
      .filter((route) => isList(route) && pathParameters(route.path).length === 0)
      .map(({ path }) => path);
  }

  /** Reads the first page of every list. */
  async fill(): Promise<void> {
    for (const path of this.lists) await this.#items(path);
  }

  /** The record that a call on this path has made, as other routes name it; undefined: they name it otherwise. */
  made(target: string, id: string): NamedRecord | undefined {
    const template = this.#templates.get(id.slice(0, 3));
    if (template === undefined) return undefined;
    const given = target.split('/');
    const parts = template
      .split('/')
      .map((part, at, { length }) => (at === length - 1 ? id : part.startsWith(':') ? given[at] : part));
    return parts.includes(undefined) ? undefined : { template, path: parts.join('/') };
  }

  idOf(prefix: string, draw: Draw): string | undefined {
    const ids = [...(this.#ids.get(prefix) ?? [])];
    return ids.length === 0 ? undefined : draw.pick(ids);
  }

  /** A call has made or changed what its answer shows. */
  add(body: unknown): void {
    this.#listed.clear();
    this.#harvest(body);
  }

  /** The state of the last record that a path names, as last shown; empty: unknown. */
  stateAt(path: string): string {
    const [id = ''] = path.match(anyId)?.slice(-1) ?? [];
    return this.#states.get(id) ?? '';
  }

  /** Every id that an answer shows, and states of records. */
  #harvest(body: unknown): void {
    this.#noteStates(body);
    for (const id of JSON.stringify(body ?? null).match(anyId) ?? []) {
      const prefix = id.slice(0, 3);
      const known = this.#ids.get(prefix);
      if (known === undefined) this.#ids.set(prefix, new Set([id]));
      else known.add(id);
    }
  }

  #noteStates(value: unknown): void {
    if (typeof value !== 'object' || value === null) return;
    const { id, status } = value as { readonly id?: unknown; readonly status?: unknown };
    if (typeof id === 'string' && typeof status === 'string') this.#states.set(id, status);
    for (const item of Object.values(value)) this.#noteStates(item);
  }

  /** A path of the tenant's own resources; undefined: there are none of that kind. */
  async path(template: string, draw: Draw): Promise<string | undefined> {
    let path = '';
    for (const part of template.split('/').slice(1)) {
      const named = part.startsWith(':') ? await this.#named(path, draw) : part;
      if (named === undefined) return undefined;
      path = `${path}/${named}`;
    }
    return path;
  }

  /** The record that a path is about, or is below; undefined: it is about none. */
  async shown(target: string): Promise<Item> {
    for (const path of [target, target.replace(/\/[^/]*$/, '')]) {
      const route = this.#find('GET', path);
      if (route === undefined || pathParameters(route.path).length === 0 || !/\/:\w+$/.test(route.path)) continue;
      const { status, body } = await this.#operator.call('GET', path);
      if (status === 200) this.#noteStates(body);
      return status === 200 ? body : undefined;
    }
    return undefined;
  }

  async #named(collection: string, draw: Draw): Promise<string | undefined> {
    const segment = collection.split('/').at(-1)!;
    const prefix = unlisted[segment];
    if (prefix !== undefined) return this.idOf(prefix, draw);
    const listed = [collection, `/v1/${segment}`].find((path) => this.#find('GET', path) !== undefined);
    if (listed === undefined) return undefined;
    const items = await this.#items(listed);
    if (items.length === 0) return undefined;
    const item = draw.pick(items);
    const name = String(item.id ?? item.module ?? item.name);
    const isOfTop = collection.split('/').length === 3;
    return isOfTop && draw.chance(anyShare) ? (this.idOf(name.slice(0, 3), draw) ?? name) : name;
  }

  async #items(path: string): Promise<readonly Item[]> {
    const known = this.#listed.get(path);
    if (known !== undefined) return known;
    const route = this.#find('GET', path)!;
    const { status, body } = await this.#operator.call('GET', 'limit' in queryOf(route) ? `${path}?limit=20` : path);
    if (status !== 200) return [];
    this.#harvest(body);
    const items: readonly Item[] = Object.values(body as object).find((value) => Array.isArray(value)) ?? [];
    this.#listed.set(path, items);
    return items;
  }
}

function queryOf({ query }: Route): object {
  return (query as { readonly properties?: object } | undefined)?.properties ?? {};
}
