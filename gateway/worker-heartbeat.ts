/**
 * The key in Redis that says whether a worker of this host is alive: the worker sets it again and again, and it is gone
 * soon after the worker is.
 */
export function heartbeatKey(host: string): string {
  return `sm:worker:${host}`;
}
