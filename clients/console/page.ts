/**
 * The files of the console, which a sandbox's gateway serves at `/`: one document, its scripts and its style by the digests of
 * their content, and the vocabulary of faults and reasons. They are made at the first request.
 *
 * The document holds at most a public token. It loads nothing from elsewhere and runs no inline script (gateway/serve/console.ts
 * sends the policy).
 */
import { createHash } from 'node:crypto';
import { packPage } from '../../core/pages/pack.mjs';
import { reasonCodes } from '../../proto/reason-codes.ts';
import { subStatusTexts } from '../../proto/sub-statuses.ts';
import { faultKinds, faultSchemas } from '../../scenarios/faults/vocabulary/fault.ts';
import { Trigger } from '../../scenarios/faults/vocabulary/fault-parts.ts';
import { liveOnly, simulatedOnly } from '../../scenarios/faults/vocabulary/kinds.ts';
import { styles } from './styles.ts';

export interface ConsoleFile {
  readonly type: string;
  readonly body: string;
  /** Its path changes with its content. */
  readonly isImmutable: boolean;
}

/** The file at `path`; undefined: there is none. `publicToken`: written into the document; never a secret one. */
export function consoleFile(path: string, publicToken?: string): ConsoleFile | undefined {
  files ??= makeFiles();
  if (path === '/') return { type: 'text/html; charset=utf-8', body: files.document(publicToken), isImmutable: false };
  return files.assets.get(path);
}

let files: { readonly assets: ReadonlyMap<string, ConsoleFile>; document(token?: string): string } | undefined;

function makeFiles(): NonNullable<typeof files> {
  const assets = new Map<string, ConsoleFile>();
  const add = (name: string, extension: string, type: string, body: string): string => {
    const digest = createHash('sha256').update(body).digest('hex').slice(0, 16);
    const path = `/console/${name}-${digest}.${extension}`;
    assets.set(path, { type, body, isImmutable: true });
    return path;
  };
  const { text, chunks } = packPage('clients/console/browser/main.ts', true);
  const javascript = 'text/javascript; charset=utf-8';
  const app = add('console', 'js', javascript, text);
  // The scripts name each other by names that have digests already.
  for (const [name, body] of Object.entries(chunks))
    assets.set(`/console/${name}`, { type: javascript, body, isImmutable: true });
  const style = add('console', 'css', 'text/css; charset=utf-8', styles);
  const words = add('words', 'json', 'application/json; charset=utf-8', JSON.stringify(vocabulary()));
  return {
    assets,
    document: (token) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${token === undefined ? '' : `<meta name="signmesh-token" content="${attribute(token)}">\n`}<meta name="signmesh-words" content="${words}">
<title>signmesh</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${style}">
<script type="module" src="${app}"></script>
</head>
<body><div id="console"></div><noscript>The console needs scripts; the API does not: see /v1/docs.</noscript></body>
</html>
`,
  };
}

/** What browser/context.ts calls Words: kinds of faults with their schemas and sentences, and what reason codes say. */
function vocabulary(): object {
  return {
    kinds: faultKinds.map((kind) => ({
      kind,
      schema: formOf(faultSchemas[kind]),
      ...(simulatedOnly[kind] !== undefined && { only: 'simulated' }),
      ...(liveOnly[kind] !== undefined && { only: 'live' }),
    })),
    trigger: Trigger,
    sub_statuses: subStatusTexts,
    reasons: Object.fromEntries(Object.entries(reasonCodes).map(([code, { text, helps }]) => [code, { text, helps }])),
  };
}

/** Without the name of the kind, and its trigger: every kind has the same one, which the page has by itself. */
function formOf(schema: { readonly properties: object; readonly required?: readonly string[] }): object {
  const { fault: _, ...fields } = schema.properties as Readonly<Record<string, unknown>>;
  const required = schema.required?.filter((name) => name !== 'fault');
  return { ...schema, required, properties: { ...fields, ...(fields.at !== undefined && { at: {} }) } };
}

function attribute(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
