/**
 * What the calls of a scenario say of a tenant, for the checks of a search: the wallets, policies, lists, transfers and webhooks
 * that they made. A search's own clients note these themselves.
 */
import type { ClientAnswer } from '../../service/client.ts';
import type { SentRequest } from './answer-invariants.ts';
import { type RuleAction, termsOf } from './policies.ts';
import { ruleOf } from './risk.ts';
import type { RequestedTransfer, Tenancy } from './tenancy.ts';

interface LearnedCall {
  readonly asked: SentRequest;
  readonly answer: ClientAnswer;
  readonly askedMs: number;
  readonly answeredMs: number;
}

/** False: the model of the tenant has no such resource, or not in this form. */
export function learn(tenancy: Tenancy, call: LearnedCall): boolean {
  const { asked, answer } = call;
  const { method, target } = asked;
  const { status, body, headers } = answer;
  if (headers['idempotent-replayed'] === 'true') return true;
  const [, walletId] = transferPath.exec(target) ?? [];
  if (method === 'POST' && walletId !== undefined) noteTransfer(tenancy, call, walletId);
  if (method === 'GET' || status > 299) return true;
  const hook = tenancy.hooks.find(({ id }) => target.startsWith(`/v1/webhooks/${id}`));
  if (hook !== undefined) hook.wasDisturbed = true;
  if (hook !== undefined && method === 'DELETE') hook.deletedMs ??= call.answeredMs;
  // Its receiver is another one: its deliveries are at two places.
  if (hook !== undefined && method === 'PATCH' && body.url !== hook.url)
    tenancy.hooks.splice(tenancy.hooks.indexOf(hook), 1);
  if (target.endsWith('/rotate-secret')) hook?.secrets.push(secretOf(call));
  switch (`${method} ${target}`) {
    case 'POST /v1/wallets':
      tenancy.adopt(body);
      return true;
    case 'POST /v1/providers/connect':
      for (const { id } of body.test_wallets ?? []) tenancy.told.add(id);
      return true;
    case 'POST /v1/webhooks':
      tenancy.hooks.push({
        ...{ id: body.id, url: body.url, secrets: [{ ...secretOf(call), version: 1 }] },
        ...{ deletedMs: undefined, wasDisturbed: false },
      });
      return true;
    case 'POST /v1/policies':
      return notePolicy(tenancy, call);
    case 'POST /v1/compliance/lists':
      return noteList(tenancy, call);
    case 'POST /v1/risk/rules':
      return noteRule(tenancy, asked.body as RuleBody);
    default:
      return !unmodelled.test(target);
  }
}

const transferPath = /^\/v1\/wallets\/(wal_[^/?]+)\/transaction-intents$/;
/** Resources of which the model needs more than their calls say. */
const unmodelled =
  /^\/v1\/(?:change-proposals\/|policies\/|compliance\/lists\/|tokens|treasury|vaults)(?!.*\/evaluate$)/;

function noteTransfer(tenancy: Tenancy, { asked, answer, askedMs, answeredMs }: LearnedCall, walletId: string): void {
  const body = asked.body as (RequestedTransfer['body'] & TransferOptions) | undefined;
  const key = body?.metadata?.key;
  if (body === undefined || key === undefined || ![201, 409, 422].includes(answer.status)) return;
  if (body.policy !== undefined) tenancy.namedPolicies.set(key, body.policy);
  const intentId = answer.status === 201 ? (answer.body.id as string) : null;
  // Requests of one key have one effect.
  const isKnown = tenancy.submitted.some((one) => one.key === key && (one.intentId ?? intentId) === one.intentId);
  if (isKnown) return;
  tenancy.submitted.push({ key, walletId, initiator: asked.actor, askedMs, answeredMs, body, intentId });
}

interface TransferOptions {
  readonly metadata?: { readonly key?: string };
  readonly policy?: string;
}

function secretOf({ answer: { body }, asked, askedMs, answeredMs: madeMs }: LearnedCall) {
  const { revoke_previous: revokes = false } = (asked.body ?? {}) as { readonly revoke_previous?: boolean };
  return { secret: body.secret as string, version: body.version as number, askedMs, madeMs, revokes };
}

function notePolicy(tenancy: Tenancy, { asked, answer, askedMs, answeredMs: madeMs }: LearnedCall): boolean {
  const body = asked.body as Parameters<typeof termsOf>[0];
  const content = termsOf(body);
  if (content === undefined) return false;
  const { id, version } = answer.body;
  tenancy.policies.push({ ...{ id, name: body.name, version, askedMs, madeMs, content } });
  return true;
}

function noteList(tenancy: Tenancy, { asked, answer, askedMs, answeredMs: madeMs }: LearnedCall): boolean {
  const { name, kind, entries, append = false } = asked.body as ListBody;
  const { id, version } = answer.body;
  const addresses = entries.flatMap(({ address }) => address ?? []);
  tenancy.lists.push({ ...{ id, name, version, askedMs, madeMs, content: { kind, addresses, append } } });
  return true;
}

interface ListBody {
  readonly name: string;
  readonly kind: 'sanctions' | 'deny' | 'allow' | 'watch';
  readonly entries: readonly { readonly address?: string }[];
  readonly append?: boolean;
}

function noteRule(tenancy: Tenancy, { name, when, action }: RuleBody): boolean {
  const terms = ruleOf(when, action ?? undefined);
  const known = tenancy.riskRules.get(name);
  // The model has one condition of a name, for the whole log.
  const isOther = known !== undefined && (known.when !== when || known.action !== terms?.action);
  if (terms === undefined || isOther) return false;
  tenancy.riskRules.set(name, terms);
  return true;
}

interface RuleBody {
  readonly name: string;
  readonly when: string;
  readonly action?: RuleAction | null;
}
