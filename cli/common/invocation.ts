/** The way in which this command was called, so that the commands it shows can be pasted. */
import { relative, sep } from 'node:path';

/** "signmesh"; for a package of the project "npx signmesh"; from a checkout "node cli/signmesh.mjs". */
export function commandName(script: string = process.argv[1] ?? ''): string {
  if (script.includes(`${sep}node_modules${sep}`)) return 'npx signmesh';
  if (!script.endsWith('.mjs')) return 'signmesh';
  const near = relative(process.cwd(), script);
  return `node ${near.startsWith('..') ? script : near}`;
}
