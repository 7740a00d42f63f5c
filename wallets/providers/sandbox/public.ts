/** The exports of the sandbox’s adapter. */
export { sandboxAdapter, sandboxWords } from './adapter.ts';
