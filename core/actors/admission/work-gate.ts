/**
 * Load control for one class of work: it decides which work starts, which waits, and which is refused before it has had any
 * effect. Its inputs are the work in progress, the expected wait of new work, and the delay of the process.
 *
 * - **In progress.** At most `limit` pieces run at once. The limit adapts: it falls while the process is late
 *   (`delayTargetMs`), and rises while work waits although the process is in time. So work that waits for something outside
 *   this process (unreachable nodes, for example) does not block the rest.
 * - **Waiting.** The expected wait is the number of pieces ahead over the measured rate at which they start. A burst may wait
 *   `burstWaitMs`. Once work has waited without interruption for `standingAfterMs`, new work may wait `standingWaitMs` only,
 *   so that a lasting overload keeps no long queue (the idea of CoDel, RFC 8289). No work waits longer than `burstWaitMs`.
 * - **Fair.** Tenants start in turn. One tenant may hold `tenantShare` of the places, and a tenant's own queue alone makes it
 *   wait longer than its turn: the flood of one tenant is refused, the calls of the others are not.
 *
 * Pure and synchronous: its host passes in the time and the measured delay, and starts and refuses the work that it returns
 * (gate-host.ts). Invariant: every offered piece of work is refused, withdrawn, or started once and then left once.
 */

export interface GateOptions {
  /** Pieces in progress at once: the initial limit, and its bounds. */
  readonly limitStart: number;
  readonly limitMin: number;
  readonly limitMax: number;
  /** The share of `limit` that one tenant may hold. */
  readonly tenantShare: number;
  readonly burstWaitMs: number;
  readonly standingWaitMs: number;
  readonly standingAfterMs: number;
  /** Pieces that wait at once, over all tenants. */
  readonly waitingMax: number;
  /** How late the process may be before the limit falls. */
  readonly delayTargetMs: number;
  /** Whether other work leaves room for this class and tenant now; asked at every start. */
  readonly mayStart: (tenant: string) => boolean;
}

export const gateDefaults: GateOptions = {
  limitStart: 64,
  limitMin: 16,
  limitMax: 4_096,
  tenantShare: 0.75,
  burstWaitMs: 2_000,
  standingWaitMs: 250,
  standingAfterMs: 1_000,
  waitingMax: 8_192,
  delayTargetMs: 100,
  mayStart: () => true,
};

/** A piece of work, from its offer to its end. The gate alone writes its fields. */
export interface GateWork {
  readonly tenant: string;
  state: 'new' | 'waiting' | 'inHand' | 'over';
  /** Since when it waits. */
  sinceMs: number;
}

export interface GateVerdicts<W> {
  readonly started: readonly W[];
  readonly refused: readonly W[];
}

interface OfTenant<W> {
  inHand: number;
  /** Those that wait, oldest first; withdrawn ones are skipped. */
  queue: W[];
  waiting: number;
}

/** A sample of the rate ends with so many starts, or after so long. */
const sampleTaken = 20;
const sampleMinMs = 100;
const sampleMaxMs = 1_000;
const sampleWeight = 0.4;
/** Starts a millisecond that a gate assumes before its first start. */
const rateLeast = 1e-6;
const limitFall = 0.8;
const limitRise = 0.5;
const nothing: readonly never[] = Object.freeze([]);

export class WorkGate<W extends GateWork> {
  readonly #options: GateOptions;
  readonly #tenants = new Map<string, OfTenant<W>>();
  /** Those whose work waits, the next one to start first. */
  readonly #queued = new Map<string, OfTenant<W>>();
  #limit: number;
  #inHand = 0;
  #waiting = 0;
  /** Since when work waits without interruption. */
  #waitingSinceMs = 0;
  /** Pieces a millisecond that left the queue while work waited; undefined: not measured yet. */
  #rate: number | undefined;
  #sampleFromMs = 0;
  #taken = 0;
  /** Pieces in hand that were left since then. */
  #left = 0;

  constructor(options: Partial<GateOptions> = {}) {
    this.#options = { ...gateDefaults, ...options };
    this.#limit = this.#options.limitStart;
  }

  get inHand(): number {
    return this.#inHand;
  }

  get waiting(): number {
    return this.#waiting;
  }

  get limit(): number {
    return this.#limit;
  }

  /** Pieces a millisecond that start while work waits; undefined: not measured yet. */
  get rate(): number | undefined {
    return this.#rate;
  }

  /** Whether work of this tenant waits. */
  hasWaiting(tenant: string): boolean {
    return (this.#tenants.get(tenant)?.waiting ?? 0) > 0;
  }

  /** Whether work of this tenant would be refused now: the milliseconds after which to try again, or undefined. */
  refusal(tenant: string, nowMs: number): number | undefined {
    // The first waiting piece shows the present wait.
    if (this.#waiting === 0 || this.#hasRoom(tenant, this.#tenants.get(tenant))) return undefined;
    const { waitingMax, burstWaitMs, standingWaitMs, standingAfterMs } = this.#options;
    const isStanding = nowMs - this.#waitingSinceMs >= standingAfterMs;
    const expectedMs = this.#expectedWaitMs(tenant);
    const mayWaitMs = isStanding ? standingWaitMs : burstWaitMs;
    if (this.#waiting < waitingMax && expectedMs <= mayWaitMs) return undefined;
    return Math.max(1, Math.min(this.#drainMs(), 60_000));
  }

  /** `started`: it runs now, and `leave` must be called once. */
  offer(work: W, nowMs: number): 'started' | 'waits' | 'refused' {
    const known = this.#tenants.get(work.tenant);
    if (this.#waitsNoOneElse(known) && this.#hasRoom(work.tenant, known)) {
      this.#start(work, known ?? this.#tenant(work.tenant));
      return 'started';
    }
    if (this.refusal(work.tenant, nowMs) !== undefined) {
      work.state = 'over';
      return 'refused';
    }
    if (this.#waiting === 0) {
      this.#waitingSinceMs = nowMs;
      this.#sampleFromMs = nowMs;
      this.#taken = 0;
      this.#left = 0;
    }
    const tenant = this.#tenant(work.tenant);
    work.state = 'waiting';
    work.sinceMs = nowMs;
    tenant.queue.push(work);
    tenant.waiting += 1;
    this.#waiting += 1;
    this.#queued.set(work.tenant, tenant);
    return 'waits';
  }

  /** The work is done, or its caller has disconnected. Repeatable. Returns the work that starts in its place. */
  leave(work: W): readonly W[] {
    const { state } = work;
    if (state === 'over' || state === 'new') return nothing;
    const tenant = this.#tenants.get(work.tenant)!;
    work.state = 'over';
    if (state === 'waiting') {
      tenant.waiting -= 1;
      this.#waiting -= 1;
      this.#settle(work.tenant, tenant);
      return nothing;
    }
    tenant.inHand -= 1;
    this.#inHand -= 1;
    this.#left += 1;
    this.#settle(work.tenant, tenant);
    return this.fill();
  }

  /** Periodically, while there is work. `delayMs`: how late the process is, as measured since the last time. */
  tick(nowMs: number, delayMs: number): GateVerdicts<W> {
    const rises = this.#adapt(delayMs);
    const old = this.#shedOld(nowMs);
    this.#sample(nowMs, old.length > 0);
    const refused = [...old, ...(rises ? nothing : this.#shedExcess())];
    return { started: this.fill(), refused };
  }

  /** Whether the limit has risen. */
  #adapt(delayMs: number): boolean {
    const { delayTargetMs, limitMin, limitMax, tenantShare } = this.#options;
    if (delayMs > delayTargetMs) {
      const used = Math.min(this.#limit, Math.max(this.#inHand, limitMin));
      this.#limit = Math.max(limitMin, Math.floor(used * limitFall));
      return false;
    }
    if (this.#waiting === 0 || delayMs >= delayTargetMs / 2 || this.#limit === limitMax) return false;
    // Something else holds up what waits.
    if (this.#inHand < Math.ceil(this.#limit * tenantShare)) return false;
    this.#limit = Math.min(limitMax, this.#limit + Math.ceil(this.#limit * limitRise));
    if (this.#rate !== undefined) this.#rate *= 1 + limitRise;
    return true;
  }

  #sample(nowMs: number, isOver: boolean): void {
    if (this.#waiting === 0 && !isOver) return;
    const tookMs = nowMs - this.#sampleFromMs;
    if (!isOver && (tookMs < sampleMinMs || (tookMs < sampleMaxMs && this.#taken < sampleTaken))) return;
    // `isOver`: something has waited for as long as anything may. Fewer start than end while the limit falls, and more while it rises.
    const rate = Math.max(this.#taken, this.#left) / Math.max(1, tookMs);
    this.#rate = this.#rate === undefined ? rate : this.#rate + (rate - this.#rate) * sampleWeight;
    this.#sampleFromMs = nowMs;
    this.#taken = 0;
    this.#left = 0;
  }

  /** The work that has waited for too long. */
  #shedOld(nowMs: number): readonly W[] {
    if (this.#waiting === 0) return nothing;
    const refused: W[] = [];
    for (const [name, tenant] of [...this.#queued]) {
      for (const work of tenant.queue) {
        if (work.state === 'over') continue;
        if (nowMs - work.sinceMs <= this.#options.burstWaitMs) break;
        this.#refuse(work, tenant, refused);
      }
      this.#settle(name, tenant);
    }
    return refused;
  }

  /** The work that would wait for too long, newest first, of the tenants with the most work. */
  #shedExcess(): readonly W[] {
    if (this.#waiting === 0 || this.#rate === undefined) return nothing;
    const { burstWaitMs } = this.#options;
    const refused: W[] = [];
    for (let excess = this.#waiting - Math.ceil(this.#rate * burstWaitMs); excess > 0; ) {
      const sizes = [...this.#queued].sort(([, one], [, other]) => other.waiting - one.waiting);
      const [name, tenant] = sizes[0]!;
      const second = sizes[1]?.[1].waiting ?? 0;
      const least = Math.max(tenant.waiting - second, Math.ceil(excess / sizes.length));
      for (let left = Math.min(excess, least, tenant.waiting); left > 0; ) {
        const work = tenant.queue.pop()!;
        if (work.state === 'over') continue;
        this.#refuse(work, tenant, refused);
        left -= 1;
        excess -= 1;
      }
      this.#settle(name, tenant);
    }
    return refused;
  }

  #refuse(work: W, tenant: OfTenant<W>, refused: W[]): void {
    work.state = 'over';
    tenant.waiting -= 1;
    this.#waiting -= 1;
    refused.push(work);
  }

  /** Starts the work that may start: tenants take turns. For a host whose `mayStart` has changed, too. */
  fill(): readonly W[] {
    if (this.#waiting === 0 || this.#inHand >= this.#limit) return nothing;
    const started: W[] = [];
    for (let skipped = 0; skipped < this.#queued.size && this.#inHand < this.#limit; ) {
      const [name, tenant] = this.#queued.entries().next().value!;
      // To the end of the line.
      this.#queued.delete(name);
      this.#queued.set(name, tenant);
      if (!this.#hasRoom(name, tenant)) {
        skipped += 1;
        continue;
      }
      const index = tenant.queue.findIndex(({ state }) => state === 'waiting');
      const work = tenant.queue[index]!;
      tenant.queue.splice(0, index + 1);
      tenant.waiting -= 1;
      this.#waiting -= 1;
      this.#taken += 1;
      this.#start(work, tenant);
      this.#settle(name, tenant);
      started.push(work);
      skipped = 0;
    }
    return started;
  }

  #start(work: W, tenant: OfTenant<W>): void {
    work.state = 'inHand';
    tenant.inHand += 1;
    this.#inHand += 1;
  }

  #hasRoom(name: string, tenant: OfTenant<W> | undefined): boolean {
    if (this.#inHand >= this.#limit || !this.#options.mayStart(name)) return false;
    return (tenant?.inHand ?? 0) < Math.ceil(this.#limit * this.#options.tenantShare);
  }

  /** Whether new work of this tenant would overtake no other: neither its own, nor work that may start. */
  #waitsNoOneElse(tenant: OfTenant<W> | undefined): boolean {
    return this.#waiting === 0 || ((tenant?.waiting ?? 0) === 0 && this.#inHand < this.#limit);
  }

  /** Tenants take turns, so that ahead of it are as many of each other tenant as of its own. */
  #expectedWaitMs(name: string): number {
    if (this.#rate === undefined) return 0;
    const known = this.#queued.get(name);
    const own = (known?.waiting ?? 0) + 1;
    const queues = this.#queued.size + (known === undefined ? 1 : 0);
    return Math.min(this.#waiting + 1, own * queues) / Math.max(this.#rate, rateLeast);
  }

  /** Until all that waits has started. */
  #drainMs(): number {
    return this.#rate === undefined ? this.#options.burstWaitMs : this.#waiting / Math.max(this.#rate, rateLeast);
  }

  #tenant(name: string): OfTenant<W> {
    const known = this.#tenants.get(name);
    if (known !== undefined) return known;
    const tenant: OfTenant<W> = { inHand: 0, queue: [], waiting: 0 };
    this.#tenants.set(name, tenant);
    return tenant;
  }

  /** Drops a tenant without work, and withdrawn work when nothing else waits. */
  #settle(name: string, tenant: OfTenant<W>): void {
    if (tenant.waiting > 0) return;
    tenant.queue = [];
    this.#queued.delete(name);
    if (tenant.inHand === 0) this.#tenants.delete(name);
  }
}
