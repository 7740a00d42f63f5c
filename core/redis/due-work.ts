/**
 * Due work: the tenants that have work due now. One registry for all kinds: intents and jobs (gateways), webhooks
 * (workers), sessions past their lifetime (coordinators). Any number of processes register and claim.
 *
 * Due entries are stored with their tenant, in the tenant's slot of Redis, in the same step as the record that they belong to.
 * The registry is separate: a sorted set of tenants, each with a time that is not after its first entry. So the cost of a sweep
 * depends only on due work: it reads no tenant without due work, however many exist. Since slots differ, a change of the
 * entries and its registration cannot be one step. Hence this protocol:
 *
 * - **Register.** Before a write that makes an entry due at `atMs`, the writer registers the tenant with that time or an
 *   earlier one; an earlier stored time stays. Redis notes when it was registered last, by its own clock. A writer
 *   that did so less than `registeredForMs` ago need not do it again.
 * - **Claim.** A sweep takes tenants whose time has come, by the claimer's clock, and moves each to the end of a hold. So
 *   others skip it, and if the claimer dies, another claims it after the hold.
 * - **Handle.** The claimer takes the tenant's due entries and reads the time of the next one.
 * - **Settle.** It moves the tenant to that time, or drops it when no entry is left, but only if the tenant was not
 *   registered in the `unsettledMs` before the claim or at any time since. Otherwise a write may be in progress that the
 *   handler did not see, and the tenant is claimed again after `recheckMs`. A tenant that another process has claimed or
 *   registered with an earlier time since the claim stays as it is.
 *
 * Proof that no entry is lost. Take an entry that is written at time W, due at t. All times are Redis's own, so clocks of
 * processes do not matter. Its writer registered the tenant at R with a time n ≤ t, and W − R < unsettledMs: at most
 * registeredForMs pass until the write is sent, and a command ends within seconds. From R on the tenant is in the
 * registry, and only claims and settlements move it to a later time. A claim ends: by its settlement, or by its hold, after
 * which the tenant is claimed again. So take the last settlement that moved it; its claim was at C, its handler read at L > C.
 *   - L > W: the handler read the entry. It was taken, or the tenant was moved to t or earlier.
 *   - L < W, so C < W < R + unsettledMs: the tenant was registered in the window before the claim, or since. It was
 *     moved to a recheck soon after, so this was not the last settlement.
 * After a failover of a Redis Cluster the registry may lack the last registrations. So each process registers the tenants of its
 * last unsettledMs once more, due at once, when it sees another master; if the process has died too, its registrations are lost.
 *
 * Assumptions: a write takes no longer than unsettledMs − registeredForMs, 20 s, and Redis's clock makes
 * no such jump meanwhile. A writer that took longer (its process was paused, say) registers once more.
 *
 * Effect of clocks: an entry is found when the time of a living claimer has come. A clock that is ahead finds it early. If such
 * a process dies before its next sweep, others find its claimed or settled tenants late by the difference. One whose clock is
 * set back takes its transfers up early (wallets/custody/intents/driver.ts). No difference of clocks loses an entry.
 */

/** Each kind of work has one set of tenants; the sessions of each cluster are a kind (`ofCluster`). */
export type DueKind = 'work' | 'webhooks' | 'sessions' | `sessions:${number}`;

/**
 * Handles the due work of a tenant. Resolves to the time of the next entry; undefined: no entry is left. `claimed`: the number
 * of tenants in this sweep.
 */
export type DueHandler = (tenant: string, claimed: number) => Promise<number | undefined>;

export interface DueWork {
  /**
   * Registers the tenant, then performs the write that makes something due at `atMs`. It throws the error of either:
   * without the registration there is no write.
   */
  registered<T>(tenant: string, atMs: number, write: () => Promise<T>): Promise<T>;
  /**
   * Claims up to `tenantsMax` tenants with something due by `nowMs`, handles each and settles it. A handler that throws is
   * called again after `recheckMs`; the first error is thrown when all others are done. Resolves to whether more may be due.
   * `byMs`: claims also tenants with something due by this later time. Call it once, and not in a loop: it may claim the
   * same tenants again.
   */
  sweep(nowMs: number, handle: DueHandler, tenantsMax?: number, byMs?: number): Promise<boolean>;
  /** The store was restored to an earlier state, which may lack this process's registrations: clears their cache. */
  clear(): void;
}

/** A process reuses its registration for this long. */
export const registeredForMs = 10_000;
/** A tenant that was registered within this time before a claim may have a write in progress. */
export const unsettledMs = 30_000;
/** A writer that takes this long after its registration registers again: half of the remaining time. */
export const lateWriteMs = registeredForMs + (unsettledMs - registeredForMs) / 2;
export const recheckMs = 1_000;
/** After this time another process may claim a claimed tenant that is not settled. */
export const holdMs = 10_000;
export const claimedMax = 64;
