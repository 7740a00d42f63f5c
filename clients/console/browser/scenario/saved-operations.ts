/** What the parts of a saved scenario share: the file that they write, and which operation of the API a request is of. Pure. */
import { operations } from '../../../client/generated-api.ts';

/** A step without its name. */
export type SavedDraft = Readonly<Record<string, unknown>>;

/** Where the parts of a file are written. */
export interface SavedFile {
  /** Gives the name of the step. */
  put(kind: string, draft: SavedDraft): string;
  /** A comment before the next step. */
  say(text: string): void;
}

export interface FoundOperation {
  /** As `signmesh/client` calls it: wallets.create. */
  readonly name: string;
  /** Of the path, by their names. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
}

interface Pattern {
  readonly name: string;
  readonly method: string;
  readonly parts: readonly string[];
}

const patterns: readonly Pattern[] = Object.entries(operations).flatMap(([group, all]) =>
  Object.entries(all).flatMap(([name, { method, path }]) =>
    // The others have the same path with a query.
    path.includes('?') ? [] : [{ name: `${group}.${name}`, method, parts: path.split('/') }],
  ),
);

export function operationAt(method: string, target: string): FoundOperation | undefined {
  const [path = '', query = ''] = target.split('?', 2);
  const parts = path.split('/');
  const fits = (one: Pattern) =>
    one.method === method &&
    one.parts.length === parts.length &&
    one.parts.every((part, index) => part.startsWith(':') || part === parts[index]);
  const isExact = (one: Pattern) => one.parts.every((part, index) => part === parts[index]);
  const found = patterns.find((one) => fits(one) && isExact(one)) ?? patterns.find(fits);
  if (found === undefined) return undefined;
  const params = found.parts.flatMap((part, index) =>
    part.startsWith(':') ? [[part.slice(1), decodeURIComponent(parts[index] ?? '')] as const] : [],
  );
  return {
    name: found.name,
    params: Object.fromEntries(params),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}
