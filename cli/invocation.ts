/** How this command was called, so that commands which are shown can be pasted. */
import { relative } from 'node:path';

/** "signmesh", or from a checkout "node cli/signmesh.mjs". */
export function commandName(script: string = process.argv[1] ?? ''): string {
  if (!script.endsWith('.mjs')) return 'signmesh';
  const near = relative(process.cwd(), script);
  return `node ${near.startsWith('..') ? script : near}`;
}
