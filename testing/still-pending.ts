/** What was awaited did not happen in its time: what, and what stands in its way. */
export class StillPending extends Error {
  override readonly name = 'StillPending';
  /** In words, one thing each: transfers that are not over, faults, processes that are down. */
  readonly pending: readonly string[];

  constructor(what: string, withinMs: number, pending: readonly string[]) {
    const lines = pending.length === 0 ? ' Nothing is pending.' : `\n${pending.map((line) => `- ${line}`).join('\n')}`;
    super(`${what} within ${withinMs} ms.${lines}`);
    this.pending = pending;
  }
}
