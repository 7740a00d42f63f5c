/** The common parts of all operations of the OpenAPI document: errors, headers, the security scheme, and named schemas. */
import { type ErrorKind, errorKinds } from '../api/errors/kinds.ts';
import { ErrorBody } from '../api/schema-kit.ts';

/** Any part of the document. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

const namePattern = /^[A-Z][A-Za-z0-9]*$/;

/** Lists schemas with a title in PascalCase once, under that name; all others stay inline. */
export class NamedSchemas {
  readonly #named = new Map<string, JsonObject>();

  /** The schema in the document's form: a reference if it has a name. `name`: for an object without a title. */
  refer(schema: object, name?: string): Json {
    const plain = JSON.parse(JSON.stringify(schema)) as JsonObject;
    const isStructured = plain.type === 'object' || plain.anyOf !== undefined;
    return this.#hoist(name === undefined || !isStructured || 'title' in plain ? plain : { ...plain, title: name });
  }

  add(name: string, schema: JsonObject): void {
    const known = this.#named.get(name);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema)) {
      throw new Error(`two different schemas are called ${name}`);
    }
    this.#named.set(name, schema);
  }

  all(): JsonObject {
    return Object.fromEntries([...this.#named].sort(([one], [other]) => (one < other ? -1 : 1)));
  }

  #hoist(part: Json): Json {
    if (Array.isArray(part)) return part.map((item) => this.#hoist(item));
    if (!isObject(part)) return part;
    // The document describes it in more detail under that name.
    if (typeof part['x-documented-as'] === 'string') return ref('schemas', part['x-documented-as']);
    const inner = Object.fromEntries(Object.entries(meant(part)).map(([key, value]) => [key, this.#hoist(value)]));
    const { title } = inner;
    // `title` may also be the name of a property; a schema's is a string.
    if (typeof title !== 'string' || !namePattern.test(title)) return inner;
    this.add(title, inner);
    return ref('schemas', title);
  }
}

/** Replaces text that encodes a number or a boolean (WholeNumberText, BooleanText) by the encoded type. */
function meant(part: JsonObject): JsonObject {
  const { 'x-whole-number': range, 'x-boolean': isBoolean, ...rest } = part;
  const described = rest.description === undefined ? {} : { description: rest.description };
  if (Array.isArray(range)) {
    const [minimum, maximum] = range as readonly number[];
    return { type: 'integer', ...described, minimum: minimum!, maximum: maximum! };
  }
  return isBoolean === true ? { type: 'boolean', ...described } : rest;
}

function isObject(part: Json): part is JsonObject {
  return part !== null && typeof part === 'object' && !Array.isArray(part);
}

export function ref(kind: 'schemas' | 'responses' | 'headers' | 'parameters', name: string): JsonObject {
  return { $ref: `#/components/${kind}/${name}` };
}

/** Errors by status: the component that describes it, and the kind of its example code. */
const errors: Readonly<Record<number, { readonly name: string; readonly kind: ErrorKind; readonly text: string }>> = {
  400: { name: 'InvalidRequest', kind: 'invalidRequest', text: 'Missing or malformed parameters' },
  401: { name: 'AuthenticationFailed', kind: 'authenticationFailed', text: 'Missing, expired or invalid token' },
  403: { name: 'InsufficientScope', kind: 'insufficientScope', text: 'The token lacks a scope' },
  404: { name: 'NotFound', kind: 'notFound', text: 'It does not exist, or is not visible to the token' },
  409: {
    name: 'Conflict',
    kind: 'conflict',
    text: 'The idempotency key was used otherwise or its request still runs, or the state does not allow it',
  },
  413: { name: 'BodyTooLarge', kind: 'bodyTooLarge', text: 'The body is too large' },
  415: { name: 'UnsupportedMediaType', kind: 'unsupportedMediaType', text: 'The body is not application/json' },
  422: { name: 'ProviderRejected', kind: 'providerRejected', text: 'The provider refused the operation' },
  429: { name: 'RateLimited', kind: 'rateLimited', text: 'Too many requests' },
  500: { name: 'InternalError', kind: 'internalError', text: 'Unexpected server error' },
  503: { name: 'ProviderUnavailable', kind: 'unavailable', text: 'Provider, cluster or store unreachable or degraded' },
  504: { name: 'DeadlineExceeded', kind: 'deadlineExceeded', text: 'The call took too long' },
};

/** `{400: {$ref}, …}`, in the order of the statuses. */
export function errorResponses(statuses: readonly number[]): JsonObject {
  const sorted = [...new Set(statuses)].sort((one, other) => one - other);
  return Object.fromEntries(sorted.map((status) => [String(status), ref('responses', errors[status]!.name)]));
}

export const sharedHeaders: JsonObject = {
  RequestId: {
    description: 'Names the request in logs and errors: the caller’s own X-Request-Id if it is well-formed',
    required: true,
    schema: { type: 'string', pattern: '^[A-Za-z0-9_-]{8,128}$' },
  },
  RateLimit: {
    description: 'Calls left (r) and seconds until the window ends (t); absent while calls are not counted',
    schema: { type: 'string' },
    example: '"reads";r=299;t=10',
  },
  RateLimitPolicy: {
    description: 'Calls (q) a window of so many seconds (w)',
    schema: { type: 'string' },
    example: '"reads";q=300;w=10',
  },
  RetryAfter: { description: 'Seconds to wait', schema: { type: 'integer', minimum: 1 } },
  IdempotentReplayed: {
    description: '`true` when this is the answer of an earlier request with the same key',
    schema: { type: 'string', enum: ['true'] },
  },
};

/** Headers of an answer. */
export function answerHeaders(options: { readonly guarded: boolean; readonly idempotent: boolean }): JsonObject {
  return {
    'X-Request-Id': ref('headers', 'RequestId'),
    ...(options.guarded
      ? { RateLimit: ref('headers', 'RateLimit'), 'RateLimit-Policy': ref('headers', 'RateLimitPolicy') }
      : {}),
    ...(options.idempotent ? { 'Idempotent-Replayed': ref('headers', 'IdempotentReplayed') } : {}),
  };
}

export function sharedResponses(): JsonObject {
  const entries = Object.entries(errors).map(([status, { name, kind, text }]): [string, Json] => {
    const waits = status === '429' || status === '503';
    return [
      name,
      {
        description: text,
        headers: {
          ...answerHeaders({ guarded: false, idempotent: false }),
          ...(waits ? { 'Retry-After': ref('headers', 'RetryAfter') } : {}),
        },
        content: {
          'application/json': {
            schema: ref('schemas', 'Error'),
            example: {
              error: {
                code: errorKinds[kind].code,
                message: text.toLowerCase(),
                ...(status === '400'
                  ? { details: [{ field: 'name', issue: 'missing_required', message: 'takes a string' }] }
                  : {}),
                request_id: 'req_01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e',
              },
            },
          },
        },
      },
    ];
  });
  return Object.fromEntries(entries);
}

export const errorSchema = JSON.parse(JSON.stringify(ErrorBody)) as JsonObject;

/** `token`: a public one, which the document shows. */
export function securitySchemes(token: string | undefined): JsonObject {
  const words =
    'An access token of one tenant: `svc_sk_live_…` in production, `svc_sk_test_…` in a sandbox. Each operation names ' +
    'the scope that it asks for.';
  const offer = token === undefined ? '' : ` This sandbox’s own token: \`${token}\``;
  return { bearer: { type: 'http', scheme: 'bearer', description: words + offer } };
}

export const idempotencyKeyParameter: JsonObject = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Repeats with the same key and body get the first answer again, for 24 hours, and have no second effect. Another ' +
    'body under the same key is 409.',
  // Without an example, since the page would send it with every request.
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
};
