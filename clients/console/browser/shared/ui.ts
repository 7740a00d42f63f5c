/**
 * Elements of the page. Every text becomes a text node, and each text or attribute is shown on one line with control and direction
 * characters escaped: no name that a caller chose can change what stands beside it. Runs in the browser.
 */
import { plain } from '../../../report/plain.ts';
import { textIn } from './dom.ts';
import { type Children, h as element, type VNode } from './preact.mjs';

export type Node = Children;
export type UiAttributes = Readonly<Record<string, unknown>>;

export function h(name: string, attributes: UiAttributes | null, ...children: readonly Node[]): VNode {
  const safe: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(attributes ?? {}))
    safe[key] = typeof value === 'string' && key !== 'value' ? plain(value) : value;
  return element(name, safe, ...children.map(clean));
}

function clean(node: Node): Node {
  if (typeof node === 'string') return plain(node);
  return Array.isArray(node) ? node.map(clean) : node;
}

export function button(words: Node, attributes: UiAttributes & { readonly onClick: () => void }): VNode {
  return h('button', { type: 'button', ...attributes }, words);
}

export function card(...parts: readonly Node[]): VNode {
  return h('section', { class: 'card' }, ...parts);
}

/** The head of a card. */
export function bar(...parts: readonly Node[]): VNode {
  return h('header', { class: 'bar' }, ...parts);
}

/** In a bar: what follows stands at its end. */
export function space(): VNode {
  return h('span', { class: 'space' });
}

/** A remark. */
export function quiet(...words: readonly Node[]): VNode {
  return h('p', { class: 'quiet' }, ...words);
}

/** Buttons of which one is pressed; `options`: what each stands for, by its words. */
export function choices<T>(
  name: string,
  options: Readonly<Record<string, T>>,
  chosen: T,
  choose: (value: T) => void,
): VNode {
  return h(
    'span',
    { class: 'set', role: 'group', 'aria-label': name },
    ...Object.entries(options).map(([words, value]) =>
      button(words, { 'aria-pressed': String(value === chosen), onClick: () => choose(value) }),
    ),
  );
}

/** The field that narrows a list by words; they stand in the page's address. */
export function searchField(
  { place, go }: { readonly place: { readonly words: string }; go(words: { readonly words: string }): void },
  name: string,
  { id, placeholder = name }: { readonly id?: string; readonly placeholder?: string } = {},
): VNode {
  return h('input', {
    ...{ type: 'search', id, placeholder, 'aria-label': name, value: place.words },
    onInput: (event: { readonly target: unknown }) => go({ words: textIn(event) }),
  });
}

/** A text of several lines, as it is copied. */
export function code(text: string): VNode {
  const lines = text.split('\n').map((line) => h('span', { class: 'line' }, line === '' ? ' ' : line));
  return h('pre', { tabIndex: 0 }, h('code', null, ...lines));
}

/** A table with a caption for screen readers. */
export function table(caption: string, heads: readonly string[], rows: readonly VNode[]): VNode {
  return h(
    'div',
    { class: 'table', tabIndex: 0, role: 'region', 'aria-label': caption },
    h(
      'table',
      null,
      h('caption', { class: 'unseen' }, caption),
      h('thead', null, h('tr', null, ...heads.map((head) => h('th', { scope: 'col' }, head)))),
      h('tbody', null, ...rows),
    ),
  );
}

/** How many rows of a list the reader wants to see, by its caption. */
const wantedRows = new Map<string, number>();
/** More than a screen has. */
const firstRows = 25;

/** The first rows of a list, and a button for more: each message of the stream makes them anew. */
export function firstOf<T>(caption: string, all: readonly T[]): readonly T[] {
  return all.slice(0, wantedRows.get(caption) ?? firstRows);
}

/** A list of `firstOf`. */
export function longList<T>(
  { changed }: { changed(): void },
  ...[caption, all, list]: readonly [string, readonly T[], (first: readonly T[]) => Node]
): Node {
  const first = firstOf(caption, all);
  const more = () => {
    wantedRows.set(caption, first.length + 100);
    changed();
  };
  return [
    list(first),
    first.length < all.length
      ? button(`Show more: ${(all.length - first.length).toLocaleString('en')} older`, { class: 'link', onClick: more })
      : null,
  ];
}

export function longTable<T>(
  context: { changed(): void },
  ...[caption, heads, all, row]: readonly [string, readonly string[], readonly T[], (one: T) => VNode]
): Node {
  return longList(context, caption, all, (first) => table(caption, heads, first.map(row)));
}

/** A state as a coloured word. */
export function chip(words: string, kind: string): VNode {
  return h('span', { class: `chip ${kind}` }, words);
}

export function pairs(rows: readonly (readonly [string, Node])[], kind = ''): VNode {
  const shown = rows.filter(([, value]) => value !== '' && value !== null && value !== undefined && value !== false);
  return h(
    'dl',
    { class: `pairs ${kind}` },
    ...shown.flatMap(([name, value]) => [h('dt', null, name), h('dd', null, value)]),
  );
}
