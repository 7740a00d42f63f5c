/**
 * The last requests of a sandbox's gateway, by tenant: references to what was there anyway. Nothing is read, masked or written as
 * text until a page asks (request-views.ts). It watches after all others: it takes from an entry what it does not keep.
 */
import type { Timers } from '../../core/actors/contract.ts';
import { pageReadsHeader } from '../../core/pages/page-reads.ts';
import { faultsHeader } from '../../scenarios/faults/api-fault-answers.ts';
import type { AccessEntry, Ending, RequestWatcher } from '../access-log/access-log.ts';

export interface SeenRequest {
  /** Grows with each request, also from one life of the gateway to the next. */
  readonly number: number;
  readonly entry: AccessEntry;
  readonly ending: Ending;
  /** About: of what it holds. */
  readonly bytes: number;
  readonly answer: string | Uint8Array | undefined;
  /** Headers of the answer, and of the request. */
  readonly rateLimit: string | undefined;
  readonly isReplay: boolean;
  readonly idempotencyKey: unknown;
  readonly userAgent: unknown;
  readonly faults: unknown;
}

export interface RequestLogLimits {
  readonly ofTenantMax: number;
  /** Of all tenants. */
  readonly bytesMax: number;
}

const defaults: RequestLogLimits = { ofTenantMax: 1_000, bytesMax: 32 * 1024 * 1024 };
/** The entry and its ending. */
const entryBytes = 1_000;
/** A page's own reading would fill what it reads, and a generator's notices what is measured; a page's other reads have the header. */
const own = /^\/v1\/sandbox\/(stream|load|requests(\/:id)?|tokens\/owner)$/;
/** The first number of a life is beyond the last one of the life before, by far. */
const numbersPerMs = 1_000;
/** Slots of dropped requests are given back in bulk. */
const droppedMax = 1_000;

/** Oldest first, from `begin` on. */
interface OfTenant {
  requests: (SeenRequest | undefined)[];
  begin: number;
}

export class RequestLog implements RequestWatcher {
  readonly #timers: Pick<Timers, 'elapsedMs' | 'epochMs'>;
  readonly #limits: RequestLogLimits;
  /** The tenant of the latest request last. What no token admitted is under ''. */
  readonly #tenants = new Map<string, OfTenant>();
  readonly #waiting = new Set<() => void>();
  readonly #first: number;
  #next: number;
  #bytes = 0;
  #droppedUpTo = 0;
  #latest: string | undefined;
  readonly #refused = new Map<string, number>();

  constructor(timers: Pick<Timers, 'elapsedMs' | 'epochMs'>, limits: Partial<RequestLogLimits> = {}) {
    this.#timers = timers;
    this.#limits = { ...defaults, ...limits };
    this.#first = Math.floor(timers.epochMs()) * numbersPerMs;
    this.#next = this.#first;
  }

  begun(_entry: AccessEntry, traceparent: string | undefined): string | undefined {
    return traceparent;
  }

  ended(entry: AccessEntry, ending: Ending): void {
    const { principal, error, body, answer, headers } = entry;
    if (ending.isProbe) return;
    // The files of pages.
    if (principal === undefined && error === undefined && headers?.[faultsHeader] === undefined) return;
    if (headers?.[pageReadsHeader] !== undefined || (ending.route !== undefined && own.test(ending.route))) return;
    if (error !== undefined) this.#refused.set(error.entry.code, (this.#refused.get(error.entry.code) ?? 0) + 1);
    const bytes = entryBytes + (body?.length ?? 0) + (answer?.body?.length ?? 0);
    const tenant = principal?.tenant ?? '';
    const of = this.#of(tenant);
    of.requests.push({
      number: this.#next,
      entry,
      ending,
      bytes,
      answer: answer?.body,
      rateLimit: answer?.headers.ratelimit,
      isReplay: answer?.headers['idempotent-replayed'] === 'true',
      idempotencyKey: headers?.['idempotency-key'],
      userAgent: headers?.['user-agent'],
      faults: headers?.[faultsHeader],
    });
    // What is kept costs: nothing else of the exchange stays.
    entry.headers = undefined;
    entry.answer = undefined;
    entry.trace = undefined;
    entry.span = undefined;
    this.#next += 1;
    this.#bytes += bytes;
    if (of.requests.length - of.begin > this.#limits.ofTenantMax) this.#dropFirst(of);
    while (this.#bytes > this.#limits.bytesMax) this.#makeRoom(tenant);
    if (this.#waiting.size > 0) for (const wake of this.#waiting) wake();
  }

  /** Where a reader begins that wants what comes. */
  get end(): number {
    return this.#next;
  }

  /** Of all requests since it began: those that were answered with an error, by its code. */
  get refused(): ReadonlyMap<string, number> {
    return this.#refused;
  }

  /** Since the Unix epoch, by the machine's clock. */
  beganMs({ entry }: SeenRequest): number {
    return this.#timers.epochMs() - (this.#timers.elapsedMs() - entry.startedMs);
  }

  /** Those from `number` on, of all tenants or of these, oldest first. `lost`: some between are gone. */
  since(
    number: number,
    tenants?: readonly string[],
  ): { readonly requests: readonly SeenRequest[]; readonly lost: boolean } {
    const found: SeenRequest[] = [];
    for (const [tenant, { requests, begin }] of this.#tenants) {
      if (tenants !== undefined && !tenants.includes(tenant)) continue;
      for (let index = requests.length - 1; index >= begin; index -= 1) {
        const request = requests[index]!;
        if (request.number < number) break;
        found.push(request);
      }
    }
    const lost = number < this.#first || number < this.#droppedUpTo;
    return { requests: found.sort((one, other) => one.number - other.number), lost };
  }

  /** Calls `wake` at each new request, until the returned function is called. */
  watch(wake: () => void): () => void {
    this.#waiting.add(wake);
    return () => this.#waiting.delete(wake);
  }

  /** The stored state was replaced: what was asked of the old one is gone. */
  clear(): void {
    this.#tenants.clear();
    this.#latest = undefined;
    this.#bytes = 0;
    this.#droppedUpTo = this.#next;
  }

  #of(tenant: string): OfTenant {
    let of = this.#tenants.get(tenant);
    if (of !== undefined && tenant === this.#latest) return of;
    of ??= { requests: [], begin: 0 };
    this.#latest = tenant;
    this.#tenants.delete(tenant);
    this.#tenants.set(tenant, of);
    return of;
  }

  /** The tenant that was quiet for longest loses its oldest first. */
  #makeRoom(latest: string): void {
    const [tenant, of] = this.#tenants.entries().next().value!;
    this.#dropFirst(of);
    if (of.begin < of.requests.length) return;
    this.#tenants.delete(tenant);
    if (tenant === latest) this.#latest = undefined;
  }

  #dropFirst(of: OfTenant): void {
    const { number, bytes } = of.requests[of.begin]!;
    of.requests[of.begin] = undefined;
    of.begin += 1;
    this.#bytes -= bytes;
    this.#droppedUpTo = Math.max(this.#droppedUpTo, number + 1);
    if (of.begin < droppedMax) return;
    of.requests = of.requests.slice(of.begin);
    of.begin = 0;
  }
}
