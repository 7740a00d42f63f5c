/**
 * The heartbeat key of this host's worker in Redis: the worker sets it periodically, and it expires soon after the worker dies.
 */
export function heartbeatKey(host: string): string {
  return `sm:worker:${host}`;
}
