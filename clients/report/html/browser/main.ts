/** The entry of the page: the only module that names the browser. */
import { startPage } from './app.ts';
import type { Browser } from './dom.ts';

startPage(globalThis as unknown as Browser);
