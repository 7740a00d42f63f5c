/** The entry of the page: the only module that names the browser. */
import type { PageBrowser } from './dom.ts';
import { startForm } from './form.ts';

startForm(globalThis as unknown as PageBrowser);
