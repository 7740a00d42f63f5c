/** The entry of the console: the only module that names the browser. */
import { startConsole } from './app.ts';
import type { ConsoleBrowser } from './shared/dom.ts';

startConsole(globalThis as unknown as ConsoleBrowser);
