/**
 * The page of the API below /v1/docs: a page for each operation, with a form that sends it, and a first page that lists them.
 * Each is made from the OpenAPI document at its first request. It loads only its own script and style, from here.
 */
import { type ApiOperation, type DescribedApi, operationsOf } from './document.ts';
import { described, html, type Markup, nothing } from './html.ts';
import { operationView } from './operation-view.ts';
import { ownLists } from './own-lists.ts';
import { styles } from './styles.ts';

export interface PageFile {
  readonly contentType: string;
  readonly text: string;
}

export interface DocsPageParts {
  /** Where the page is, e.g. "/v1/docs". */
  readonly at: string;
  /** The page's script (browser/main.ts), packed. */
  readonly script: string;
  /** Never a secret one: the page is public. */
  readonly publicToken?: string | undefined;
}

const markupType = 'text/html; charset=utf-8';

/** The files of the page, by their paths below it: '' is the first page. */
export function docsPageFiles(api: DescribedApi, options: DocsPageParts): (path: string) => PageFile | undefined {
  const operations = operationsOf(api);
  const lists = ownLists(api);
  const made = new Map<string, PageFile>([
    ['page.js', { contentType: 'text/javascript; charset=utf-8', text: options.script }],
    ['page.css', { contentType: 'text/css; charset=utf-8', text: styles }],
  ]);
  const view = (path: string): PageFile | undefined => {
    if (path === '') return framed(api, operations, options, firstView(api, operations, options), undefined);
    const operation = operations.find(({ operationId }) => operationId === path);
    return operation && framed(api, operations, options, operationView(api, operation, lists), operation);
  };
  return (path) => {
    const file = made.get(path) ?? view(path);
    if (file !== undefined) made.set(path, file);
    return file;
  };
}

function framed(
  { info, tags }: DescribedApi,
  operations: readonly ApiOperation[],
  { at, publicToken }: DocsPageParts,
  content: Markup,
  current: ApiOperation | undefined,
): PageFile {
  const title = current === undefined ? `${info.title} API` : `${current.summary} · ${info.title} API`;
  const page = html`<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${publicToken === undefined ? nothing : html`<meta name="token" content="${publicToken}">`}
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${at}/page.css">
<script src="${at}/page.js" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header><a class="name" href="${at}">${info.title} <span class="quiet">API ${info.version}</span></a>
<form class="token"><label>Token <input id="token" type="password" autocomplete="off" spellcheck="false" placeholder="svc_sk_…"></label></form>
<a href="/v1/openapi.json">openapi.json</a></header>
<div class="columns">
<nav aria-label="Operations"><input id="filter" type="search" placeholder="Filter ( / )" aria-label="Filter the operations">
${tags.map(({ name }) => tagView(name, operations, at, current))}</nav>
<main id="content">${content}</main>
</div>
</body>
</html>
`;
  return { contentType: markupType, text: `<!doctype html>\n${page.markup}` };
}

function tagView(
  tag: string,
  operations: readonly ApiOperation[],
  at: string,
  current: ApiOperation | undefined,
): Markup {
  const own = operations.filter(({ tags }) => tags[0] === tag);
  const open = current !== undefined && own.includes(current) ? html` open` : nothing;
  const items = own.map((operation) => {
    const here = operation === current ? html` aria-current="page"` : nothing;
    return html`<li><a href="${at}/${operation.operationId}"${here} title="${operation.method} ${operation.path}">${operation.summary}</a></li>`;
  });
  return html`<details${open}><summary>${tag}</summary><ul>${items}</ul></details>`;
}

function firstView({ info, tags }: DescribedApi, operations: readonly ApiOperation[], { at }: DocsPageParts): Markup {
  return html`<article><h1>${info.title} API</h1>
<p class="about">${described(info.description)}</p>
${tags.map(({ name, description }) => {
  const own = operations.filter(({ tags: [first] }) => first === name);
  return html`<section class="tag"><h2>${name}</h2><p class="about">${described(description)}</p><ul class="operations">${own.map(
    ({ method, path, operationId, summary }) =>
      html`<li><a href="${at}/${operationId}"><span class="method ${method.toLowerCase()}">${method}</span> <code>${path}</code> <span>${summary}</span></a></li>`,
  )}</ul></section>`;
})}</article>`;
}
