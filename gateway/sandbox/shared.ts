/** What every route of the sandbox has, and the bodies of its lists. */

import type { TSchema } from 'typebox';
import type { RouteSpec } from '../api/route.ts';

/** Spread into each route: see routes.ts for why. */
export const common = {
  tag: 'Sandbox',
  scope: 'sandbox:admin',
  limitClass: 'none',
  idempotent: false,
} as const satisfies Partial<RouteSpec<TSchema, TSchema, TSchema>>;

/** These lists are short, and come whole. */
export function wholeList<K extends string, T>(key: K, items: readonly T[]) {
  return { [key]: items, has_more: false, next_cursor: null };
}
