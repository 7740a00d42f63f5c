/**
 * `prepare` writes a declaration for every module that signmesh/client and signmesh/testing load; this removes those that their declarations do
 * not refer to: seven eighths, which no compiler of a user would read.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const dist = join(dirname(dirname(fileURLToPath(import.meta.url))), 'dist');

const reached = new Set();
const waiting = ['client', 'testing'].map((room) => join(dist, room, 'index.d.ts'));
for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
  if (reached.has(file)) continue;
  reached.add(file);
  for (const [, path] of readFileSync(file, 'utf8').matchAll(/(?:from|import\(|import) ?['"](\.[^'"]+)['"]/g)) {
    const imported = join(dirname(file), path.replace(/\.[jt]s$/, '.d.ts'));
    if (!existsSync(imported)) throw new Error(`${file} imports ${path}, which has no declarations`);
    waiting.push(imported);
  }
}
for (const entry of readdirSync(dist, { recursive: true, encoding: 'utf8' })) {
  const file = join(dist, entry);
  if (entry.endsWith('.d.ts') && !reached.has(file)) rmSync(file);
}
