/**
 * Where a caller's own ids are listed: the form fills in the first of them in place of a placeholder. All of it is read from
 * the document: a list is a GET without parameters in its path, and its example shows the prefix of its ids.
 */
import { type DescribedAnswer, type DescribedApi, operationsOf, resolved } from './document.ts';

export interface OwnLists {
  /** The path of the list that has the ids of this parameter of a path: "/v1/wallets" for `id` of "/v1/wallets/{id}/archive". */
  ofParameter(path: string, name: string): string | undefined;
  /** By the prefix of ids: "wal" → "/v1/wallets". */
  readonly byPrefix: ReadonlyMap<string, string>;
}

const prefixed = /\b([a-z]{3})_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;

export function ownLists(api: DescribedApi): OwnLists {
  const reads = operationsOf(api).filter(({ method }) => method === 'GET');
  const listed = new Set(reads.map(({ path }) => path));
  const byPrefix = new Map<string, string>();
  for (const { path, responses } of reads) {
    if (path.includes('{') || responses['200'] === undefined) continue;
    const { content } = resolved<DescribedAnswer>(api, responses['200']);
    const prefix = firstId(content?.['application/json']?.example)?.match(/^([a-z]{3})_/)?.[1];
    if (prefix !== undefined && !byPrefix.has(prefix)) byPrefix.set(prefix, path);
  }
  return {
    ofParameter: (path, name) => {
      const list = path.slice(0, path.indexOf(`/{${name}}`));
      return listed.has(list) ? list : undefined;
    },
    byPrefix,
  };
}

/** Of each placeholder in this text: the path that lists what may take its place. */
export function listsOfExamples(text: string, { byPrefix }: OwnLists): Readonly<Record<string, string>> {
  const lists = [...text.matchAll(prefixed)].map(([id, prefix]) => [id, byPrefix.get(prefix!)] as const);
  return Object.fromEntries(lists.filter((pair): pair is readonly [string, string] => pair[1] !== undefined));
}

/** The id of the first item of a list's answer: an object whose one list holds objects with an `id`. */
function firstId(answer: unknown): string | undefined {
  const list = Object.values((answer ?? {}) as object).find(Array.isArray);
  const id = (list?.[0] as { readonly id?: unknown } | undefined)?.id;
  return typeof id === 'string' ? id : undefined;
}
