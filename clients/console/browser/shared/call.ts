/**
 * An action as data: what it sends, and how a shell and a program would send it. The page performs what it shows. Nothing here names
 * a token: a shell takes it from $SIGNMESH_TOKEN.
 */
import { quoted } from '../../../../core/pages/shell-word.ts';
import { operations } from '../../../client/generated-api.ts';

export interface Request {
  readonly method: string;
  /** With its parameters, encoded. */
  readonly path: string;
  readonly body?: object | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export interface Call {
  /** What it does, in words. */
  readonly title: string;
  readonly requests: readonly Request[];
  /** Statements with a `client` of `signmesh/client`. */
  readonly program: readonly string[];
}

type Group = keyof typeof operations;

/** One operation of the API. `params` fill its path in order. */
export function operationCall(
  title: string,
  [group, name]: readonly [Group, string],
  params: readonly string[] = [],
  body?: object,
): Call {
  const request = requestOf([group, name], params, body);
  const given = [...params, ...(body === undefined ? [] : [body])].map((value) => literal(value));
  return { title, requests: [request], program: [`await client.${group}.${name}(${given.join(', ')});`] };
}

/** Throws an Error when the client has no such operation. */
export function requestOf(
  [group, name]: readonly [Group, string],
  params: readonly string[] = [],
  body?: object,
): Request {
  const operation = operations[group][name];
  if (operation === undefined) throw new Error(`there is no operation ${group}.${name}`);
  let place = 0;
  const path = operation.path.replace(/:\w+/g, () => encodeURIComponent(params[place++] ?? ''));
  return { method: operation.method, path, ...(body !== undefined && { body }) };
}

/** Lines for a POSIX shell. */
export function curlOf({ method, path, body, headers = {} }: Request, origin: string): string {
  return [
    `curl -sS${method === 'GET' ? '' : ` -X ${method}`} ${quoted(origin + path)}`,
    '-H "Authorization: Bearer $SIGNMESH_TOKEN"',
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d ${quoted(asciiJson(body))}`]),
  ].join(' \\\n  ');
}

/** A program for Node.js. */
export function programOf({ program }: Call, origin: string): string {
  return [
    "import { createClient } from 'signmesh/client';",
    '',
    `const client = createClient({ baseUrl: ${literal(origin)}, token: process.env.SIGNMESH_TOKEN });`,
    ...program,
  ].join('\n');
}

/** A value as JavaScript. */
export function literal(value: unknown): string {
  if (typeof value === 'string')
    return `'${asciiJson(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
  if (Array.isArray(value)) return `[${value.map((one) => literal(one)).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  const fields = Object.entries(value)
    .filter(([, each]) => each !== undefined)
    .map(([name, each]) => `${/^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name)}: ${literal(each)}`);
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`;
}

/** JSON whose characters look like what they are, wherever it is pasted. */
function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
