/** Requests as a page shows them: a line for all tenants' pages, and everything for its own tenant's. */
import type { DescMessage } from '@bufbuild/protobuf';
import Type, { type Static } from 'typebox';
import { requestFieldsMax } from '../../proto/limits.ts';
import { decodeMessage } from '../../proto/message-decoding.ts';
import { timestamp } from '../../proto/timestamps.ts';
import { withoutSecrets } from '../access-log/secret-text.ts';
import { encodeProtoJson } from '../api/proto-json.ts';
import { Closed, Nullable, OneOf, Timestamp } from '../api/schema-kit.ts';
import { signingMethods } from '../api/signing-methods.ts';
import { type MaskSchema, masked, type NamedMaskSchemas } from './masking.ts';
import type { RequestLog, SeenRequest } from './request-log.ts';

const text = (description: string) => Nullable(Type.String({ description }));
/** Of a body as text. */
const charsMax = 4_096;
const idCharsMax = 256;
const targetCharsMax = 2_048;

const lineFields = {
  id: Type.String({ description: 'of this list: `GET /v1/sandbox/requests/:id`' }),
  tenant: text('null: no token admitted it'),
  began_at: Timestamp,
  duration_ms: Type.Number(),
  door: OneOf(['http', 'grpc']),
  method: text('of HTTP'),
  route: text('the pattern of its path, or the gRPC method; null: there is none'),
  status: Nullable(Type.Integer({ description: 'of HTTP; null: no answer was sent' })),
  grpc_status: text('by name'),
  aborted: Type.Boolean({ description: 'the caller left before its answer' }),
  error_code: text('`error.code` of its answer'),
  field: text('the first field that the answer blames'),
  reason_code: text('of its receipt, or of the error'),
  receipt_state: text('of its receipt'),
  session: text('that its receipt names'),
  request_id: Type.String(),
  is_replay: Type.Boolean({ description: 'the answer of an earlier request under its idempotency key' }),
  rate_limit_left: Nullable(
    Type.Integer({ minimum: 0, description: 'calls of its class in this window; null: not counted' }),
  ),
  faults: Type.Array(Type.String(), { description: 'ids of the faults of the API that touched it' }),
} as const;

export const RequestLine = Closed(lineFields, { title: 'SandboxRequestLine' });

const BodyView = Closed(
  {
    text: text(`JSON, up to ${charsMax} characters of it; null: it is not shown`),
    bytes: Type.Integer({ minimum: 0, description: 'as it was sent' }),
    is_whole: Type.Boolean({ description: '`text` is all of it, and nothing of it is masked' }),
    masked: Type.Array(Type.String(), { description: 'fields whose values are secret, or not known' }),
  },
  { title: 'SandboxRequestBody' },
);

export const RequestView = Closed(
  {
    ...lineFields,
    target: text('its path and query'),
    idempotency_key: text('as its header has it'),
    user_agent: text('of its client'),
    error_message: text('of its answer'),
    body: Nullable(BodyView),
    answer: Nullable(BodyView),
  },
  { title: 'SandboxRequest' },
);

export type RequestLineValue = Static<typeof RequestLine>;
type Body = Static<typeof BodyView>;

export function lineOf(log: RequestLog, seen: SeenRequest): RequestLineValue {
  const { number, entry, ending } = seen;
  const { principal, receipt, error } = entry;
  const { grpcStatus, status } = ending;
  const left = /;r=([0-9]+)/.exec(seen.rateLimit ?? '')?.[1];
  return {
    id: String(number),
    tenant: principal?.tenant ?? null,
    began_at: timestamp(log.beganMs(seen)),
    duration_ms: Math.round((ending.endedMs - entry.startedMs) * 100) / 100,
    door: ending.door,
    method: ending.door === 'http' ? (ending.method ?? null) : null,
    route: ending.route ?? null,
    status: status ?? null,
    grpc_status: grpcStatus ?? null,
    aborted: ending.aborted,
    error_code: error?.entry.code ?? null,
    field: error?.details?.find(({ field }) => field !== '')?.field.slice(0, idCharsMax) ?? null,
    reason_code: receipt?.reasonCode || error?.entry.reason || null,
    receipt_state: receipt?.state ?? null,
    session: receipt?.sessionId || null,
    request_id: withoutSecrets(entry.requestId),
    is_replay: seen.isReplay,
    rate_limit_left: left === undefined ? null : Number(left),
    faults: headerText(seen.faults)?.split(',') ?? [],
  };
}

/** What the OpenAPI document says of bodies. */
export interface DescribedBodies {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
  readonly components: { readonly schemas: NamedMaskSchemas };
}

interface DescribedOperation {
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly $ref?: string; readonly content?: Content }>>;
}

type Content = Readonly<Record<string, { readonly schema: MaskSchema }>>;

export function requestView(log: RequestLog, seen: SeenRequest, document: DescribedBodies): Static<typeof RequestView> {
  const { entry, ending, answer } = seen;
  const { error, body } = entry;
  const rpc = signingMethods.find(({ grpcPath }) => ending.door === 'grpc' && grpcPath === ending.route);
  const path = (rpc?.httpPath ?? ending.route ?? '').replace(/:([A-Za-z0-9_]+)/g, '{$1}');
  const method = rpc === undefined ? (ending.method ?? '').toLowerCase() : 'post';
  const operation = document.paths[path]?.[method];
  const named = document.components.schemas;
  const view = (
    given: string | Uint8Array | undefined,
    schema: MaskSchema | undefined,
    message: DescMessage | undefined,
  ) => (given === undefined || given.length === 0 ? null : bodyView(given, schema, named, message));
  const answered = operation?.responses[String(rpc === undefined ? ending.status : 200)];
  // The other answers are all errors.
  const answerSchema = jsonSchema(answered?.content) ?? ((ending.status ?? 0) >= 400 ? named.Error : undefined);
  const { target = ending.path } = entry;
  return {
    ...lineOf(log, seen),
    target: target === undefined ? null : withoutSecrets(target.slice(0, targetCharsMax)),
    idempotency_key: headerText(seen.idempotencyKey),
    user_agent: headerText(seen.userAgent),
    error_message: error === undefined ? null : withoutSecrets(error.message),
    body: view(body, jsonSchema(operation?.requestBody?.content), rpc?.request),
    answer: view(answer, answerSchema, rpc?.response),
  };
}

function bodyView(
  given: string | Uint8Array,
  schema: MaskSchema | undefined,
  named: NamedMaskSchemas,
  message: DescMessage | undefined,
): Body {
  const bytes = typeof given === 'string' ? Buffer.byteLength(given) : given.length;
  const value = schema === undefined ? undefined : jsonOf(given, message);
  // Text that is no JSON may hold anything.
  if (schema === undefined || value === undefined) return { text: null, bytes, is_whole: false, masked: [] };
  const { value: shown, fields } = masked(value, schema, named);
  const whole = JSON.stringify(shown);
  const isCut = whole.length > charsMax;
  return {
    text: isCut ? whole.slice(0, charsMax) : whole,
    bytes,
    is_whole: !isCut && fields.length === 0,
    masked: [...fields],
  };
}

/** undefined: it does not decode. */
function jsonOf(given: string | Uint8Array, message: DescMessage | undefined): unknown {
  try {
    if (message !== undefined && typeof given !== 'string') {
      return JSON.parse(encodeProtoJson(message, decodeMessage(message, given, requestFieldsMax)));
    }
    return JSON.parse(typeof given === 'string' ? given : Buffer.from(given).toString('utf8'));
  } catch {
    return undefined;
  }
}

function jsonSchema(content: Content | undefined): MaskSchema | undefined {
  return content?.['application/json']?.schema;
}

function headerText(value: unknown): string | null {
  return typeof value === 'string' ? withoutSecrets(value.slice(0, idCharsMax)) : null;
}
