/** What other modules use of egress: the port, and which targets are allowed. */
export type { KeptAnswer, Send, SendOutcome } from './contract.ts';
export { checkTarget } from './target.ts';
