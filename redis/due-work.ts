/**
 * Due work: which tenants have something to do by now. One registry for all kinds: intents and jobs (gateways), webhooks
 * (workers), sessions past their lifetime (coordinators). Any number of processes register and claim.
 *
 * What is due lies with its tenant, in the tenant's slot of Redis, exact, changed in the same step as the record that it
 * belongs to: the tenant's own entries. The registry lies outside: a sorted set of tenants, each with a time that is not
 * after its first entry. So a sweep costs what is due: tenants that have nothing due by now are not touched, however many
 * they are. Since slots differ, a change of the entries and its registration cannot be one step. Hence this protocol:
 *
 * - **Register.** Before a write that makes an entry due at `atMs`, the writer registers the tenant with that time or an
 *   earlier one; an earlier time that stands is kept. Redis notes when it was registered last, by its own clock. A writer
 *   that did so less than `registeredForMs` ago need not do it again.
 * - **Claim.** A sweep takes tenants whose time has come, by the claimer's clock, and moves each to the end of a hold. So
 *   others leave it alone, and when the claimer dies it is claimed again after the hold.
 * - **Handle.** The claimer takes the tenant's entries that are due and reads when the next one is due.
 * - **Settle.** It moves the tenant to that time, or drops it when no entry is left, but only if the tenant was not
 *   registered in the `unsettledMs` before the claim or at any time since. Otherwise a write may be under way that the
 *   handler did not see, and the tenant is claimed again after `recheckMs`. A tenant that another process has claimed or
 *   registered with an earlier time since the claim stays as it is.
 *
 * Why no entry is lost. Take an entry that is written at the moment W, due at t. All moments are Redis's own, so clocks of
 * processes do not come into it. Its writer registered the tenant at R with a time n ≤ t, and W − R < unsettledMs: at most
 * registeredForMs pass until the write is sent, and a command ends within seconds. From R on the tenant stands in the
 * registry, and only claims and settlements move it to a later time. A claim ends: by its settlement, or by its hold, after
 * which the tenant is claimed again. So take the last settlement that moved it; its claim was at C, its handler read at L > C.
 *   - L > W: the handler read the entry. It was taken, or the tenant was moved to t or earlier.
 *   - L < W, so C < W < R + unsettledMs: the tenant was registered in the window before the claim, or since. It was
 *     moved to a recheck soon after, so this was not the last settlement.
 * After a failover of a Redis Cluster the registry may lack the last registrations. So each process registers the tenants of its
 * last unsettledMs once more, due at once, when it sees another master; those of a process that has died too are lost.
 *
 * What is assumed: a write is not under way for longer than unsettledMs − registeredForMs, 20 s, and Redis's clock makes
 * no such jump meanwhile. A writer that finds that it took longer (its process stood still, say) registers once more.
 *
 * What clocks do: an entry is found when the time of a living claimer has come. A clock that is ahead finds it early. What
 * such a process has claimed or settled, others find late by as much, if it dies before its next sweep. No difference of
 * clocks loses an entry.
 */

/** A kind of work has one set of tenants; sessions of each cluster are a kind (`ofCluster`). */
export type DueKind = 'work' | 'webhooks' | 'sessions' | `sessions:${number}`;

/**
 * Handles what is due for a tenant. Resolves to when the next entry is due; undefined: no entry is left. `claimed`: how many
 * tenants this sweep handles.
 */
export type DueHandler = (tenant: string, claimed: number) => Promise<number | undefined>;

export interface DueWork {
  /**
   * Registers the tenant, then performs the write that makes something due at `atMs`. What either throws, it throws:
   * without the registration there is no write.
   */
  registered<T>(tenant: string, atMs: number, write: () => Promise<T>): Promise<T>;
  /**
   * Claims up to `tenantsMax` tenants with something due by `nowMs`, handles each and settles it. A handler that throws is
   * called again after `recheckMs`; the first error is thrown when all others are done. Resolves to whether more may be due.
   */
  sweep(nowMs: number, handle: DueHandler, tenantsMax?: number): Promise<boolean>;
  /** The store was restored to an earlier state, which may lack what this process has registered: clears the cache of registrations. */
  clear(): void;
}

/** A registration holds for its process this long. */
export const registeredForMs = 10_000;
/** Registered less than this before a claim, a tenant may have a write under way. */
export const unsettledMs = 30_000;
/** A writer that took this long since its registration registers again: half of what is left. */
export const lateWriteMs = registeredForMs + (unsettledMs - registeredForMs) / 2;
export const recheckMs = 1_000;
/** A claimed tenant is claimed again after this long, unless it is settled. */
export const holdMs = 10_000;
export const claimedMax = 64;
