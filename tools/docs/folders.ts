/** The table of folders in ARCHITECTURE.md, from rooms.json. */
import { rooms } from '../check/rooms.ts';
import { code, table, withSections } from './sections.ts';

export function architecturePage(page: string): string {
  const rows = Object.entries(rooms.folders).map(([folder, { holds, imports, rule }]) => [
    code(`${folder}/`),
    holds,
    imports.length === 0 ? 'nothing of ours' : imports.map(code).join(', '),
    rule ?? '–',
  ]);
  return withSections(page, new Map([['folders', table(['Folder', 'What is in it', 'Imports', 'Rule'], rows)]]));
}
