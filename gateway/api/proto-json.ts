/**
 * ProtoJSON for the signing API (docs/http-and-grpc.md): snake_case out with every field present; in, snake_case or camelCase,
 * unknown fields ignored, an unknown enum *name* refused and never read as 0.
 *
 * protobuf-es reports one fault at a time and only by leaf name, drops unknown enum names together with unknown fields, and reads
 * texts that are no base64 or no number as some other value. So this module walks a body first, field by field, to locate every
 * fault; protobuf-es decides on the values that remain.
 *
 * Common values take a quicker way (planned-json.ts) with the same results.
 */
import {
  type DescEnum,
  type DescField,
  type DescMessage,
  fromJson,
  type JsonObject,
  type JsonValue,
  type Message,
  type MessageShape,
  ScalarType,
  toJson,
} from '@bufbuild/protobuf';
import { base64Fault, readBase64 } from '../../proto/base64.ts';
import { readEnumName } from '../../proto/enum-names.ts';
import type { FieldIssue } from './errors/service-error.ts';
import { readPlanned, writePlanned } from './planned-json.ts';

/** More faults than this in one body are not listed. */
const issuesMax = 20;

export type ProtoJsonResult<D extends DescMessage> =
  | { readonly message: MessageShape<D>; readonly issues?: undefined }
  | { readonly message?: undefined; readonly issues: readonly FieldIssue[] };

/** Reads a request. `hasLoneEscapes`: the text holds \\ud… escapes, so that strings must be checked for half pairs. */
export function decodeProtoJson<D extends DescMessage>(
  schema: D,
  given: JsonObject,
  hasLoneEscapes = false,
): ProtoJsonResult<D> {
  const json = withOwnNames(schema, given);
  const planned = hasLoneEscapes ? undefined : readPlanned(schema, json);
  if (planned !== undefined) return { message: planned as MessageShape<D> };
  const issues = findIssues(schema, json);
  if (issues.length > 0) return { issues };
  try {
    return { message: fromJson(schema, json, { ignoreUnknownFields: true }) };
  } catch {
    return { issues: [{ field: '', issue: 'malformed' }] };
  }
}

/**
 * A response message, as the text of its JSON document: every field present. Sub-messages that are not set are null,
 * which ProtoJSON reads as not set. Throws when `message` is not one of `schema`.
 */
export function encodeProtoJson(schema: DescMessage, message: Message): string {
  const planned = writePlanned(schema, message, true);
  if (planned !== undefined) return planned;
  const json = toJson(schema, message, { useProtoFieldName: true, alwaysEmitImplicit: true });
  const document = json as JsonObject;
  for (const field of schema.fields) {
    if (field.fieldKind === 'message' && document[field.name] === undefined) document[field.name] = null;
  }
  return JSON.stringify(document);
}

/** The enum fields of a message's top level. Requests have none deeper, which the table's test checks. */
const enumFields = new WeakMap<DescMessage, readonly (DescField & { fieldKind: 'enum' })[]>();

function namesAnUnknownEnumValue(schema: DescMessage, json: JsonObject): boolean {
  let fields = enumFields.get(schema);
  if (fields === undefined) {
    fields = schema.fields.filter((field) => field.fieldKind === 'enum');
    enumFields.set(schema, fields);
  }
  for (const field of fields) {
    if (isUnknownName(field.enum, json[field.name]) || isUnknownName(field.enum, json[field.jsonName])) return true;
  }
  return false;
}

/** Enum values by their own names: a body may have short forms, in either case. */
function withOwnNames(schema: DescMessage, json: JsonObject): JsonObject {
  if (!namesAnUnknownEnumValue(schema, json)) return json;
  const named: JsonObject = { ...json };
  for (const { enum: desc, name, jsonName } of enumFields.get(schema) ?? []) {
    for (const key of [name, jsonName]) {
      const value = named[key];
      if (typeof value === 'string') named[key] = readEnumName(desc, value) ?? value;
    }
  }
  return named;
}

function isUnknownName(desc: DescEnum, value: JsonValue | undefined): boolean {
  return typeof value === 'string' && !desc.values.some((known) => known.name === value);
}

/** Every fault of a body, in the order of its keys, with paths in snake_case such as `context.client.client_name`. */
export function findIssues(schema: DescMessage, json: JsonObject): FieldIssue[] {
  const issues: FieldIssue[] = [];
  walkMessage(schema, json, '', issues);
  return issues;
}

function walkMessage(schema: DescMessage, json: JsonValue, path: string, issues: FieldIssue[]): void {
  if (json === null || typeof json !== 'object' || Array.isArray(json)) {
    add(issues, path, 'wrong_type', 'takes an object');
    return;
  }
  const seen = new Set<DescField>();
  for (const [key, value] of Object.entries(json)) {
    const field = schema.fields.find((known) => known.name === key || known.jsonName === key);
    if (field === undefined) continue;
    const fieldPath = path === '' ? field.name : `${path}.${field.name}`;
    if (seen.has(field)) add(issues, fieldPath, 'given_twice', 'is given once, in snake_case or in camelCase');
    seen.add(field);
    if (value === null) continue;
    if (field.fieldKind === 'message') walkMessage(field.message, value, fieldPath, issues);
    else if (field.fieldKind === 'list') walkList(schema, field, value, fieldPath, issues);
    else walkLeaf(schema, field, value, fieldPath, issues);
  }
}

function walkList(
  schema: DescMessage,
  field: DescField & { fieldKind: 'list' },
  value: JsonValue,
  path: string,
  issues: FieldIssue[],
): void {
  if (!Array.isArray(value)) {
    add(issues, path, 'wrong_type', 'takes a list');
    return;
  }
  value.forEach((item, index) => {
    const itemPath = `${path}[${index}]`;
    if (item === null) addFault(issues, itemPath, field, item);
    else if (field.listKind === 'message') walkMessage(field.message, item, itemPath, issues);
    else if (!isStrict(field, item) || !isReadable(schema, field, [item])) addFault(issues, itemPath, field, item);
  });
}

function walkLeaf(schema: DescMessage, field: DescField, value: JsonValue, path: string, issues: FieldIssue[]): void {
  if (typeof value === 'string' && hasLoneSurrogate(value))
    add(issues, path, 'invalid_utf8', 'takes Unicode: half of a surrogate pair stands alone in it');
  else if (!isStrict(field, value) || !isReadable(schema, field, value)) addFault(issues, path, field, value);
}

/** Whether a text is base64, or a number as JSON has them, where the field takes these: the library reads more. */
function isStrict({ scalar }: DescField, value: JsonValue): boolean {
  if (typeof value !== 'string') return true;
  if (scalar === ScalarType.BYTES) return readBase64(value) !== undefined;
  return !integerScalars.has(scalar) || isWholeText(value);
}

/** Asks the library about this one field. Without `ignoreUnknownFields` it refuses unknown enum names as well. */
function isReadable(schema: DescMessage, field: DescField, value: JsonValue): boolean {
  try {
    fromJson(schema, { [field.name]: value });
    return true;
  } catch {
    return false;
  }
}

/** The fault of a value that is refused. */
function issueOf(field: DescField, value: JsonValue): string {
  if (field.enum !== undefined) {
    if (typeof value === 'string') return 'unknown_enum_value';
    return Number.isInteger(value) ? 'out_of_range' : 'wrong_type';
  }
  if (field.scalar === ScalarType.BYTES && typeof value === 'string') return 'invalid_base64';
  const isWhole = typeof value === 'number' ? Number.isInteger(value) : isWholeText(value);
  const isInteger = isWhole && integerScalars.has(field.scalar);
  return isInteger ? 'out_of_range' : 'wrong_type';
}

/** As JSON writes it: the library reads "0x10" too. */
function isWholeText(value: JsonValue): boolean {
  return typeof value === 'string' && /^-?(0|[1-9]\d*)(\.0+)?(e\+?\d+)?$/i.test(value);
}

const integerScalars: ReadonlySet<ScalarType | undefined> = new Set([
  ScalarType.INT32,
  ScalarType.INT64,
  ScalarType.UINT32,
  ScalarType.UINT64,
]);

function hasLoneSurrogate(text: string): boolean {
  return /\p{Surrogate}/u.test(text);
}

function addFault(issues: FieldIssue[], path: string, field: DescField, value: JsonValue): void {
  const issue = issueOf(field, value);
  add(issues, path, issue, issue === 'invalid_base64' ? base64Fault(String(value)) : `takes ${describeField(field)}`);
}

function describeField({ enum: desc, scalar, message }: DescField): string {
  if (desc !== undefined) return `one of ${desc.values.map(({ name }) => name).join(', ')}`;
  if (message !== undefined) return 'an object';
  switch (scalar) {
    case ScalarType.STRING:
      return 'a string';
    case ScalarType.BYTES:
      return 'a string of base64';
    case ScalarType.BOOL:
      return 'true or false';
    case ScalarType.INT32:
      return 'a whole number from -2147483648 to 2147483647';
    case ScalarType.UINT32:
      return 'a whole number from 0 to 4294967295';
    default:
      return 'a whole number of 64 bits, as a string';
  }
}

function add(issues: FieldIssue[], field: string, issue: string, message: string): void {
  if (issues.length < issuesMax) issues.push({ field, issue, message });
}
