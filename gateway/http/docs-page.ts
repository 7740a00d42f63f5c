/**
 * The page of the API, below /v1/docs, over HTTP (docs-page/page.ts makes it). It is made at its first request: no start of a
 * gateway waits for it.
 */
import { packPage } from '../../core/pages/pack.mjs';
import type { DescribedApi } from '../docs-page/document.ts';
import { docsPageFiles, type PageFile } from '../docs-page/page.ts';
import { type DocsPage, docsPath } from '../serve/documents.ts';

const headers = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};

export interface PageOptions {
  /** Never a secret one: the page is public. */
  readonly publicToken?: string;
}

export function docsPage({ publicToken }: PageOptions): DocsPage {
  let files: ((path: string) => PageFile | undefined) | undefined;
  return (document, { target }) => {
    files ??= docsPageFiles(document() as DescribedApi, {
      at: docsPath,
      script: packPage('gateway/docs-page/browser/main.ts').text,
      publicToken,
    });
    const path = target.split('?', 1)[0]!.slice(docsPath.length).replace(/^\//, '');
    const file = files(path);
    return file && { status: 200, headers: { ...headers, 'content-type': file.contentType }, body: file.text };
  };
}
