/**
 * The parts of an exercise: calls at rest, when nothing else happens, so that docs/wallet-api.md gives the one right answer to
 * each. exercises.ts draws which of them a run does.
 */

import type { Draw } from '../../cluster/draw.ts';
import type { ClientAnswer } from '../../service/client.ts';
import { found } from '../../service/invariants/finding.ts';
import { issuesOf } from './answer-invariants.ts';
import type { Operator } from './operator.ts';
import type { Tenancy } from './tenancy.ts';

export interface Exercise {
  readonly tenancy: Tenancy;
  /** Any of the tenant's callers. */
  readonly operator: Operator;
  readonly draw: Draw;
}

/** The answer to a call that must succeed. Throws a Finding. */
export async function done(
  { operator, tenancy }: Exercise,
  method: string,
  target: string,
  body?: unknown,
  // biome-ignore lint/suspicious/noExplicitAny: answers have every shape.
): Promise<any> {
  const key = method === 'POST' ? tenancy.key('exercise') : undefined;
  const answer = await operator.call(method, target, body, key);
  if (answer.status <= 299) return answer.body;
  return found('answers-as-modelled', `${method} ${target} ${JSON.stringify(body)} at rest: ${textOf(answer)}`);
}

/** A call that must be refused so. `issue`: one of the details has it. Throws a Finding. */
export async function refused(
  { operator, tenancy }: Exercise,
  call: readonly [method: string, target: string, body?: unknown],
  status: number,
  issue?: string,
): Promise<void> {
  const [method, target, body] = call;
  const answer = await operator.call(method, target, body, method === 'POST' ? tenancy.key('exercise') : undefined);
  if (answer.status === status && (issue === undefined || issuesOf(answer).includes(issue))) return;
  const wanted = `${status} ${issue ?? ''}`.trimEnd();
  found('answers-as-modelled', `${method} ${target} ${JSON.stringify(body)}: ${textOf(answer)}, not ${wanted}`);
}

/** Throws a Finding unless each of the wanted fields is shown with this value. */
// biome-ignore lint/suspicious/noExplicitAny: resources of every type.
export function shows(about: string, shown: any, wanted: Readonly<Record<string, unknown>>): void {
  for (const [field, value] of Object.entries(wanted)) {
    const [is, due] = [shown?.[field], value].map((one) => JSON.stringify(sorted(one)));
    if (is !== due) found('answers-as-modelled', `${about} shows ${field} ${is}, not ${due}`);
  }
}

/** The time of a change, in a field of it; where clocks differ, that of its record may be later. */
export function dated(
  { tenancy }: Exercise,
  field: string,
  { updated_at: updatedAt }: { readonly updated_at: string },
): object {
  return tenancy.isCalm ? { [field]: updatedAt } : {};
}

/** Ids of a whole list, read in small pages. */
export async function idsOf({ operator, draw }: Exercise, target: string, name: string): Promise<string[]> {
  const items = await operator.list<{ readonly id: string }>(target, name, draw.int(2, 20));
  return items.map(({ id }) => id);
}

/** A list must have exactly these, in any order. Throws a Finding. */
export function sameIds(about: string, listed: readonly string[], wanted: readonly string[]): void {
  if ([...listed].sort().join() === [...wanted].sort().join()) return;
  found('pages-complete', `${about} lists ${listed}, not ${wanted}`);
}

/** With the fields of objects in one order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, one]) => [name, sorted(one)] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

function textOf(answer: Pick<ClientAnswer, 'status' | 'body'>): string {
  return `${answer.status} ${issuesOf(answer).join()}${answer.status > 299 ? ` ${answer.body?.error?.message}` : ''}`;
}
