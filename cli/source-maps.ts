/**
 * Stack traces of bundled code name the source file and line. Import it for its effect, before any code can throw.
 *
 * Node's own `--enable-source-maps` reads and stores the map of every loaded file; this reads a map when the first trace needs
 * it, so a process without traces pays nothing.
 */
import { readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const maps = new Map<string, SourceMap | undefined>();

Error.prepareStackTrace = (error, frames) => {
  const lines = frames.map((frame) => `\n    at ${described(frame)}`);
  return `${Error.prototype.toString.call(error)}${lines.join('')}`;
};

function described(frame: NodeJS.CallSite): string {
  const text = String(frame);
  const file = frame.getFileName();
  const line = frame.getLineNumber();
  const column = frame.getColumnNumber();
  if (!file?.startsWith('file:') || line === null || column === null) return text;
  const path = fileURLToPath(file);
  const entry = mapOf(path)?.findEntry(line - 1, column - 1);
  if (entry === undefined || !('originalSource' in entry) || !entry.originalSource) return text;
  const place = `${join(dirname(path), entry.originalSource)}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
  return text.replace(`${file}:${line}:${column}`, place);
}

/** undefined: it is no bundle, or has no map. */
export function mapOf(path: string): SourceMap | undefined {
  if (!maps.has(path)) {
    let map: SourceMap | undefined;
    try {
      map = new SourceMap(JSON.parse(readFileSync(`${path}.map`, 'utf8')) as SourceMapPayload);
    } catch {
      // Not our bundle: its positions are right already.
    }
    maps.set(path, map);
  }
  return maps.get(path);
}
