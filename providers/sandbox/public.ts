/** What is used of the sandbox’s adapter. */
export { sandboxAdapter } from './adapter.ts';
