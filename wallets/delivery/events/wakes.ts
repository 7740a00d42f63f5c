/** The port to wake-ups: messages that announce new events in a tenant's log. A message may be lost. */
export interface Wakes {
  /** Sets the listener. Once, before the first `follow`. */
  listen(listener: WakesListener): void;
  follow(tenant: string): void;
  unfollow(tenant: string): void;
  close(): void;
}

export interface WakesListener {
  /** The last sequence of the tenant's log, as the message says. */
  onWake(tenant: string, lastSequence: number): void;
  /** Wake-ups of these followed tenants arrive from now on, also after an interruption. */
  onListening(tenants: readonly string[]): void;
}
