/** The console's files as a gateway asks for them. What makes them is loaded at the first request: no start waits for it. */
import type { ConsoleFile } from './page.ts';

export async function consoleFiles(path: string, publicToken: string | undefined): Promise<ConsoleFile | undefined> {
  const { consoleFile } = await import('./page.ts');
  return consoleFile(path, publicToken);
}
