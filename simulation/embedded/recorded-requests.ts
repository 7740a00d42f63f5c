/**
 * Recorded requests of the wallet API as steps of a scenario: the request, its caller, and its answer: the status, the issue of a
 * refusal, and the final state of the created resource.
 */
import type { CallExpectation, ReceiverAnswerShape } from '../../scenarios/runner/custody-format.ts';
import { owner } from '../../scenarios/runner/custody-format.ts';
import type { CustodyOperation } from '../../scenarios/runner/custody-operation.ts';
import { isRecord } from '../../scenarios/runner/explain.ts';
import { operations } from '../../scenarios/runner/generated-operations.ts';
import type { ReceiverNote } from './egress.ts';
import type { RecordedFinal, RecordedPrincipal, RecordedRequest } from './recorded.ts';
import { RecordedValues, Unwritable } from './recorded-values.ts';

export type ApiDraft = Readonly<Record<string, unknown>> & { readonly step: string };

interface Known {
  readonly name: string;
  readonly operation: CustodyOperation;
}

/** By method and pattern. */
const known = new Map<string, Known>(
  Object.entries(operations).map(([name, operation]) => [`${operation.method} ${operation.path}`, { name, operation }]),
);
/** Transient statuses: their duration depends on the machine. */
const passing: ReadonlySet<unknown> = new Set([
  ...['created', 'screening', 'approved', 'signing', 'broadcasting', 'confirming'],
  ...['queued', 'running', 'executing', 'deploying', 'closing', 'retrying', 'reserve_check', 'processing'],
]);
/** Refusals that depend on the speed of this machine. */
const racing: ReadonlySet<string> = new Set(['request_in_progress', 'version_conflict']);
const answersMax = 100;

export interface RequestParts {
  readonly requests: readonly RecordedRequest[];
  readonly receivers: ReadonlyMap<string, readonly ReceiverNote[]>;
  readonly secrets: readonly string[];
  /** The tenant of its signing calls, if there are any. */
  readonly signingTenant: string | undefined;
  /** No step expects an answer: the run is judged by invariants alone. */
  readonly takesAny: boolean;
  /** Makes a name for a step. */
  readonly name: (kind: string) => string;
}

export class RecordedRequests {
  readonly values: RecordedValues;
  readonly #parts: RequestParts;
  /** The names of principals, by tenant and actor. */
  readonly #principals = new Map<string, string>();
  /** Names of idempotency keys, by principal and key; and the first step with the key. */
  readonly #keys = new Map<string, { readonly name: string; readonly step: string }>();
  /** The step that created it, by URL. */
  readonly #webhooks = new Map<string, string>();

  constructor(parts: RequestParts) {
    this.#parts = parts;
    this.values = new RecordedValues(parts.secrets);
    this.#namePrincipals();
  }

  /** Throws Unwritable. */
  step(one: RecordedRequest): ApiDraft {
    const { name, operation } = known.get(`${one.method} ${one.route}`)!;
    const step = this.#parts.name(name.replace('.', '-').toLowerCase());
    const { status = 0 } = one.answer ?? {};
    const answer = parsed(one.answer?.body ?? '');
    const { takesAny } = this.#parts;
    if (!takesAny && (status === 401 || status === 403)) throw new Unwritable('what its token may not do');
    const by = this.#by(one.principal);
    const draft = name === 'webhooks.create' ? this.#webhook(one, step) : undefined;
    const written: ApiDraft = {
      step,
      ...(draft ?? this.#api(one, name, operation, step)),
      ...(by !== undefined && { by }),
      ...(takesAny ? { expect: { http: 'any' } } : this.#expected(one, operation, answer)),
    };
    if (status >= 200 && status < 300) this.values.learn(step, answer, operation.answer);
    return written;
  }

  /** The steps that read the created resources, until they have their final state. */
  finals(finals: readonly RecordedFinal[]): ApiDraft[] {
    const isUnderWay = finals.some(({ body }) => passing.has((parsed(body) as { status?: unknown }).status));
    return finals.flatMap(({ principal, route, target, body }) => {
      const { name, operation } = known.get(`GET ${route}`)!;
      const params = paramsOf(operation.path, target);
      const found = parsed(body) as { readonly status?: string; readonly assets?: readonly { balance: string }[] };
      if (found.status === undefined || passing.has(found.status)) return [];
      if (!Object.values(params).every((id) => this.values.knows(id))) return [];
      const balances = isUnderWay
        ? []
        : (found.assets ?? []).map(({ balance }, at) => [`assets.${at}.balance`, balance]);
      const by = this.#by(principal);
      return [
        {
          ...{ step: this.#parts.name('final'), api: name, params: this.values.written(params) },
          ...(by !== undefined && { by }),
          until: { status: found.status, ...Object.fromEntries(balances) },
        },
      ];
    });
  }

  /** The events that webhook receivers have acknowledged. */
  deliveries(): { readonly webhook: string; readonly delivered: string[] }[] {
    return [...this.#webhooks].flatMap(([url, webhook]) => {
      const notes = this.#parts.receivers.get(url) ?? [];
      const isGood = ({ answer }: ReceiverNote) => typeof answer === 'number' && answer >= 200 && answer < 300;
      const delivered = [...new Set(notes.filter(isGood).flatMap(({ type }) => type ?? []))].sort();
      return delivered.length === 0 ? [] : [{ webhook, delivered }];
    });
  }

  #api(
    { target, body, key, principal, answer }: RecordedRequest,
    name: string,
    operation: CustodyOperation,
    step: string,
  ) {
    const [path = '', query = ''] = target.split('?', 2);
    const params = paramsOf(operation.path, path);
    for (const id of Object.values(params)) {
      const isMade = /^[a-z]{2,6}_[0-9a-f]{8}-/.test(id);
      if (isMade && !this.values.knows(id) && answer?.status !== 404)
        throw new Unwritable(`${id}, which no answer told`);
    }
    const asked = Object.fromEntries(new URLSearchParams(query));
    const given = body === undefined || body === '' ? undefined : parsed(body);
    if (given !== undefined && !isRecord(given)) throw new Unwritable('a body that is no object');
    const isRefused = answer === undefined || answer.status > 299;
    const isWrong = answer?.status === 400 || answer?.status === 422 || (this.#parts.takesAny && isRefused);
    const { idempotency_key: keyInBody, ...rest } = given ?? {};
    const takesIt = operation.body?.properties?.idempotency_key !== undefined;
    const said = takesIt && typeof keyInBody === 'string' && !isWrong ? rest : given;
    const whole = key ?? (said === rest ? (keyInBody as string) : undefined);
    const ofWebhook = name === 'webhooks.update' && typeof said?.url === 'string';
    return {
      api: name,
      ...(Object.keys(params).length > 0 && { params: this.values.written(params) }),
      ...(Object.keys(asked).length > 0 && { query: this.values.written(asked) }),
      ...(said !== undefined && {
        body: this.values.written(ofWebhook ? { ...said, url: `https://hooks.example.com/${step}` } : said),
      }),
      ...(isWrong && { unchecked: true }),
      ...(operation.keyed === true && whole !== undefined && this.#keyOf(principal, whole, step)),
    };
  }

  /** undefined: a plain call expresses more. */
  #webhook({ body, answer, key }: RecordedRequest, step: string) {
    const given = parsed(body ?? '');
    if (answer?.status !== 201 || key !== undefined || !isRecord(given)) return undefined;
    const { url, events, ...rest } = given;
    if (typeof url !== 'string' || Object.keys(rest).length > 0 || this.#webhooks.has(url)) return undefined;
    this.#webhooks.set(url, step);
    const answers = shortened((this.#parts.receivers.get(url) ?? []).map((note) => note.answer));
    return {
      call: 'register_webhook',
      ...(JSON.stringify(events) !== '["*"]' && { events }),
      ...(answers.length > 0 && { answers }),
    };
  }

  #keyOf(principal: RecordedPrincipal, key: string, step: string): object {
    const place = `${principal.tenant} ${key}`;
    const first = this.#keys.get(place);
    if (first !== undefined) return { key: first.name };
    const name = /^[A-Za-z0-9._-]{1,64}$/.test(key) && !this.values.tells(key) ? key : this.#parts.name('key');
    this.#keys.set(place, { name, step });
    return { key: name };
  }

  #expected({ answer, method, key, principal }: RecordedRequest, operation: CustodyOperation, body: unknown): object {
    if (answer === undefined) return { expect: { error: 'any' } };
    const { error, status } = (body ?? {}) as {
      readonly error?: { readonly code?: string; readonly details?: readonly { readonly issue?: string }[] };
      readonly status?: unknown;
    };
    const issue = error?.details?.[0]?.issue;
    if (issue !== undefined && racing.has(issue)) throw new Unwritable('a race of two requests');
    const first = key === undefined ? undefined : this.#keys.get(`${principal.tenant} ${key}`)?.step;
    const isRead = method === 'GET';
    const hasStatus = typeof status === 'string' && isRecord(operation.answer) && 'status' in operation.answer;
    const until = isRead && hasStatus && !passing.has(status);
    const expect: CallExpectation = {
      http: answer.status,
      ...(error?.code !== undefined && { code: error.code }),
      ...(issue !== undefined && { issue }),
      ...(!isRead && hasStatus && { status }),
      ...(answer.isReplayed && first !== undefined && answer.status < 300 && { same_as: first }),
    };
    return { ...(until && { until: { status } }), expect };
  }

  #by(principal: RecordedPrincipal): string | undefined {
    const name = this.#principals.get(placeOf(principal)) ?? owner;
    return name === owner ? undefined : name;
  }

  /** The tenant with most requests is the scenario's own, and its most active actor the owner. */
  #namePrincipals(): void {
    const { requests, signingTenant } = this.#parts;
    const actors = byCount(requests.map(({ principal }) => placeOf(principal)));
    const [tenant = signingTenant] =
      signingTenant === undefined ? byCount(requests.map((one) => one.principal.tenant)) : [signingTenant];
    const tenants = new Map<string, string>();
    for (const place of actors) {
      const ofPlace = place.split(' ', 1)[0]!;
      const isOwn = ofPlace === tenant;
      if (isOwn && ![...this.#principals.values()].includes(owner)) this.#principals.set(place, owner);
      else {
        if (!isOwn && !tenants.has(ofPlace)) tenants.set(ofPlace, `@tenant-${tenants.size + 2}`);
        const name = `user-${this.#principals.size + 1}`;
        this.#principals.set(place, `${name}${tenants.get(ofPlace) ?? ''}`);
      }
    }
  }
}

function placeOf({ tenant, actor }: RecordedPrincipal): string {
  return `${tenant} ${actor}`;
}

/** Each once, the most frequent first. */
function byCount(names: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a).map(([name]) => name);
}

/** `pattern`: with ":name" parameters. */
function paramsOf(pattern: string, path: string): Record<string, string> {
  const parts = path.split('/');
  return Object.fromEntries(
    pattern
      .split('/')
      .flatMap((part, index) =>
        part.startsWith(':') ? [[part.slice(1), decodeURIComponent(parts[index] ?? '')]] : [],
      ),
  );
}

/** Without the repetitions of the last answer, which stands for all later ones. */
function shortened(answers: readonly ReceiverAnswerShape[]): readonly ReceiverAnswerShape[] {
  const kept = answers.slice(0, answersMax);
  while (kept.length > 1 && kept.at(-1) === kept.at(-2)) kept.pop();
  return kept;
}

/** undefined: not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
