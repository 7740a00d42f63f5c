/** The version of this package, for health. Sources and the build lie at different depths: the file is looked for upwards. */
import { existsSync, readFileSync } from 'node:fs';

export function packageVersion(): string {
  for (let directory = new URL('.', import.meta.url); ; directory = new URL('..', directory)) {
    const file = new URL('package.json', directory);
    if (existsSync(file)) {
      const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version?: unknown };
      return typeof version === 'string' ? version : 'unknown';
    }
    if (directory.pathname === '/') return 'unknown';
  }
}
