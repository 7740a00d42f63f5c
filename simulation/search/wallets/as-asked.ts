/**
 * What a change asks for is what its answer shows: each field of a request that its answer also has, with the same value. In a run
 * whose clocks agree, a new resource is also dated within its call. It knows no routes.
 */
import type { ClientAnswer } from '../../service/client.ts';
import { decimal } from '../../service/invariants/documented-ledger.ts';
import { found } from '../../service/invariants/finding.ts';

interface Change {
  readonly method: string;
  readonly target: string;
  readonly body: unknown;
}

/**
 * The fields that answers show in another form, by docs/wallet-api.md: secrets are hidden, a list gains entries, a sandbox has its
 * own tenants, scopes are sorted, and a job ends before its lag.
 */
const otherForm = new Set(['credentials', 'entries', 'prices', 'tenant', 'scopes', 'to']);
const decimalText = /^\d+(?:\.\d+)?$/;

/** Throws a Finding unless the answer to a change shows it. */
export function checkShown({ method, target, body: asked }: Change, { status, body: shown }: ClientAnswer): void {
  if (!isObject(asked) || !isObject(shown) || status > 299 || target.includes('dry_run=')) return;
  // A drift has the fields of its kind alone, and a tenant that is frozen (or not) already keeps the reason why.
  if (target.endsWith('/drift') || target.startsWith('/v1/tenant/')) return;
  const other = differing(asked, shown, '');
  if (other !== undefined) found('changes-take-effect', `${method} ${target} asks for ${other}`);
}

/** Throws a Finding unless the answer to a list of intents that await the actor's vote has only such. */
export function checkInbox(actor: string, target: string, { status, body }: ClientAnswer): void {
  if (status !== 200 || !target.includes('awaiting_my_vote=true')) return;
  const intents: readonly Voted[] = body.transaction_intents ?? [];
  for (const { id, initiator, approvals } of intents) {
    if (initiator === actor) found('votes-as-required', `${id} awaits the vote of its initiator`);
    if (approvals.some(({ by }) => by === actor)) found('votes-as-required', `${id} awaits a second vote of ${actor}`);
  }
}

interface Voted {
  readonly id: string;
  readonly initiator: string;
  readonly approvals: readonly { readonly by: string }[];
}

/** For runs without faults. Throws a Finding unless a new resource is dated between its request and its answer. */
export function checkDated(
  { method, target }: Change,
  { status, body }: ClientAnswer,
  fromMs: number,
  toMs: number,
): void {
  if (status !== 201 || !isObject(body)) return;
  // A policy and a list have one time of creation, and each version its own.
  const { updated_at: updatedAt, created_at: createdAt } = body;
  const atMs = Date.parse(String(updatedAt ?? createdAt));
  if (Number.isNaN(atMs)) return;
  if (atMs >= fromMs && atMs <= toMs) return;
  found('changes-take-effect', `${method} ${target}, from ${fromMs} to ${toMs}, makes a resource of ${atMs}`);
}

/** The first field of `asked` that `shown` has with another value; undefined: none. */
function differing(asked: unknown, shown: unknown, path: string): string | undefined {
  if (isObject(asked) && isObject(shown)) {
    for (const [name, value] of Object.entries(asked)) {
      if (!(name in shown) || otherForm.has(name)) continue;
      const other = differing(value, shown[name], `${path}/${name}`);
      if (other !== undefined) return other;
    }
    return undefined;
  }
  if (Array.isArray(asked) && Array.isArray(shown)) {
    // A resource may have more of them than one request.
    if (asked.length !== shown.length) return undefined;
    for (const [index, item] of asked.entries()) {
      const other = differing(item, shown[index], `${path}/${index}`);
      if (other !== undefined) return other;
    }
    return undefined;
  }
  // A reference with its details: the service also names the policy that decided, which may be another one.
  if (isObject(shown)) return undefined;
  return isSame(asked, shown) ? undefined : `${path} ${JSON.stringify(asked)} and shows ${JSON.stringify(shown)}`;
}

/** Amounts compare as numbers, addresses regardless of spelling. */
function isSame(asked: unknown, shown: unknown): boolean {
  if (JSON.stringify(asked) === JSON.stringify(shown)) return true;
  // A refusal of the signing API has no session.
  if (shown === '') return true;
  if (typeof asked !== 'string' || typeof shown !== 'string') return false;
  if (decimalText.test(asked) && decimalText.test(shown)) return decimal(asked) === decimal(shown);
  // A value of an enum has a long spelling too.
  const isLong = /^[A-Z_]+$/.test(asked) && asked.toLowerCase().endsWith(`_${shown.toLowerCase()}`);
  return isLong || asked.toLowerCase() === shown.toLowerCase();
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
