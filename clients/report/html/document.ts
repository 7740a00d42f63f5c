/**
 * A self-contained HTML document with a packed script and its data. It loads nothing: its policy only allows its own script and
 * style, by their digests. The data appears only as text, never as markup or code.
 */
import { createHash } from 'node:crypto';
import { escaped } from '../../../core/pages/markup.ts';
import { packPage } from '../../../core/pages/pack.mjs';
import { plain } from '../plain.ts';

export interface PageParts {
  readonly title: string;
  /** The style sheet. */
  readonly styles: string;
  /** The entry module of the packed script, from the root of the repository; undefined: it has none, and no data. */
  readonly script?: string;
  /** Markup. External texts must go through `html`. */
  readonly body: string;
  /** JSON, for the script: the text of the element `run`. */
  readonly data?: unknown;
}

const packed = new Map<string, string>();

/** The same parts give the same bytes. */
export function htmlDocument({ title, styles, script: entry, body, data }: PageParts): string {
  const script = entry === undefined ? '' : packedScript(entry);
  const scripts =
    entry === undefined
      ? ''
      : `<script type="application/json" id="run">${embedded(data)}</script>\n<script>${script}</script>\n`;
  const policy = [
    "default-src 'none'",
    `script-src ${digest(script)}`,
    `style-src ${digest(styles)}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${html(title)}</title>
<style>${styles}</style>
</head>
<body>
${body}
${scripts}</body>
</html>
`;
}

function packedScript(entry: string): string {
  const known = packed.get(entry) ?? packPage(entry).text;
  packed.set(entry, known);
  return known;
}

/** Text for markup. */
export function html(text: string): string {
  return escaped(plain(text));
}

function digest(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

/** JSON in which nothing can end the element or begin another. */
function embedded(value: unknown): string {
  return JSON.stringify(value).replace(
    /[<>&\u007f-\u009f\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
