/** The awaited condition did not hold in time; the message names it and its possible causes. */
export class StillPending extends Error {
  override readonly name = 'StillPending';
  /** In words, one entry each: unfinished transfers, faults, processes that are down. */
  readonly pending: readonly string[];

  constructor(what: string, withinMs: number, pending: readonly string[]) {
    const lines = pending.length === 0 ? ' Nothing is pending.' : `\n${pending.map((line) => `- ${line}`).join('\n')}`;
    super(`${what} within ${withinMs} ms.${lines}`);
    this.pending = pending;
  }
}
