/**
 * The sessions of a recording, each with its frames: the newest ones whole, and for longer those that failed, blamed a node or
 * met a fault, so that load does not wash away the one that matters.
 */
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { splitName } from '../faults/cluster-names.ts';
import type { TranscriptFrame } from '../faults/control.ts';
import type { RunEvent } from '../faults/recording.ts';
import type { SeenSession, SessionTotals } from '../faults/stream.ts';

export interface BookLimits {
  /** Sessions that are kept whatever they are. */
  readonly newestMax: number;
  readonly notableMax: number;
  /** Of all frames. */
  readonly bytesMax: number;
  /** Of one session. */
  readonly framesMax: number;
}

const defaults: BookLimits = { newestMax: 200, notableMax: 2_000, bytesMax: 32 * 1024 * 1024, framesMax: 2_000 };

/** The outcome of a call, as its answer names it. */
export interface Outcome {
  readonly session: string;
  readonly state: ReceiptState;
  readonly reasonCode: string;
}

const none: readonly string[] = Object.freeze([]);

/** One of the book. Made and filled with every signature: nothing here is more than it needs. */
export class Entry {
  readonly tenant: string;
  readonly session: string;
  readonly kind: SeenSession['kind'];
  readonly cluster: number;
  state: SeenSession['state'] = 'open';
  reasonCode: string | null = null;
  attempt = 0;
  readonly nodes: number[] = [];
  faults = none;
  frames = 0;
  readonly beganMs: number;
  lastMs: number;
  isNotable = false;
  readonly kept: TranscriptFrame[] = [];
  /** Of each frame. */
  readonly positions: number[] = [];
  /** The position of the last event about it. */
  touched = 0;

  constructor({ tenant, session, point, from, atMs }: TranscriptFrame) {
    this.tenant = tenant;
    this.session = session;
    this.kind = point?.startsWith('dkg_') === true ? 'dkg' : 'signing';
    this.cluster = from.startsWith('cluster/') ? splitName(from).cluster : 1;
    this.beganMs = atMs;
    this.lastMs = atMs;
  }
}

/** An object with its strings, some of which others share. */
const frameBytes = 350;
const ended: ReadonlyMap<ReceiptState, SeenSession['state']> = new Map([
  [ReceiptState.BACKEND_COMPLETED, 'completed'],
  [ReceiptState.BACKEND_FAILED, 'failed'],
  [ReceiptState.EXPIRED, 'failed'],
  [ReceiptState.REVOKED, 'failed'],
  [ReceiptState.ACCEPTED, 'open'],
  [ReceiptState.RESUMED, 'open'],
  [ReceiptState.PENDING_HUMAN_APPROVAL, 'open'],
]);

export class RecordedSessions {
  readonly #limits: BookLimits;
  /** Each oldest first, by tenant and session. A session is in one of them. */
  readonly #newest = new Map<string, Entry>();
  readonly #notable = new Map<string, Entry>();
  #bytes = 0;
  #dropped = false;
  readonly #totals = { frames: 0, bytes: 0, began: 0, completed: 0, failed: 0 };

  constructor(limits: Partial<BookLimits> = {}) {
    this.#limits = { ...defaults, ...limits };
  }

  /** Whether sessions were ever dropped. */
  get hasDropped(): boolean {
    return this.#dropped;
  }

  /** `outcome`: of a call's answer. */
  add(event: RunEvent, position: number, outcome: Outcome | undefined): void {
    if (event.kind === 'frame') this.#frame(event, position, outcome);
    else if (event.kind === 'state') this.#state(event, position);
  }

  /** A frame of a session that is not kept. */
  passOver(event: RunEvent): void {
    if (event.kind !== 'frame') return;
    this.#totals.frames += 1;
    this.#totals.bytes += event.bytes;
    if (event.session !== '') this.#dropped = true;
  }

  find(tenant: string, session: string): Entry | undefined {
    const key = keyOf(tenant, session);
    return this.#newest.get(key) ?? this.#notable.get(key);
  }

  *all(): Iterable<Entry> {
    yield* this.#notable.values();
    yield* this.#newest.values();
  }

  /** `sinceMs`: of the durations. */
  totals(sinceMs: number): SessionTotals {
    const tookMs: number[] = [];
    for (const { state, beganMs, lastMs } of this.all()) {
      if (state === 'completed' && lastMs >= sinceMs) tookMs.push(lastMs - beganMs);
    }
    return { ...this.#totals, tookMs };
  }

  #frame(frame: TranscriptFrame, position: number, outcome: Outcome | undefined): void {
    const { tenant, session, point, attempt, faults } = frame;
    this.#totals.frames += 1;
    this.#totals.bytes += frame.bytes;
    if (outcome !== undefined) this.#decide(this.find(tenant, outcome.session), outcome, frame.atMs, position);
    if (session === '' || point === undefined) return;
    const key = keyOf(tenant, session);
    const entry = this.#newest.get(key) ?? this.#notable.get(key) ?? this.#begin(key, frame);
    entry.frames += 1;
    entry.lastMs = frame.atMs;
    entry.touched = position;
    entry.attempt = Math.max(entry.attempt, attempt);
    const node = nodeIn(frame.from) ?? nodeIn(frame.to);
    if (node !== undefined && !entry.nodes.includes(node)) entry.nodes.push(node);
    if (faults.length > 0) entry.faults = [...new Set([...entry.faults, ...faults])];
    if (entry.kept.length < this.#limits.framesMax) {
      entry.kept.push(frame);
      entry.positions.push(position);
      this.#bytes += frameBytes + frame.text.length;
    }
    if (isNotable(frame)) this.#mark(key, entry);
    if (this.#bytes > this.#limits.bytesMax) this.#makeRoom(key);
  }

  /** The simulated coordinator shows its sessions' states. */
  #state({ address, state, fields, atMs }: Extract<RunEvent, { kind: 'state' }>, position: number): void {
    const [kind, tenant, session] = splitName(address).name.split('/');
    if ((kind !== 'signing' && kind !== 'dkg') || tenant === undefined || session === undefined) return;
    const outcome = {
      session,
      state: ReceiptState[state as keyof typeof ReceiptState],
      reasonCode: `${fields.reason}`,
    };
    const entry = this.find(tenant, session);
    if (outcome.state !== undefined && entry?.reasonCode !== outcome.reasonCode) {
      this.#decide(entry, outcome, atMs, position);
    }
    const { excluded } = fields;
    if (entry !== undefined && Array.isArray(excluded) && excluded.length > 0)
      this.#mark(keyOf(tenant, session), entry);
  }

  #decide(entry: Entry | undefined, { state, reasonCode }: Outcome, atMs: number, position: number): void {
    if (entry === undefined) return;
    entry.touched = position;
    entry.reasonCode = reasonCode;
    // The refusal of a call does not end its session.
    const now = ended.get(state) ?? entry.state;
    if (now === entry.state) return;
    entry.state = now;
    entry.lastMs = atMs;
    if (now === 'completed') this.#totals.completed += 1;
    if (now !== 'failed') return;
    this.#totals.failed += 1;
    this.#mark(keyOf(entry.tenant, entry.session), entry);
  }

  #begin(key: string, frame: TranscriptFrame): Entry {
    const entry = new Entry(frame);
    this.#newest.set(key, entry);
    this.#totals.began += 1;
    if (this.#newest.size > this.#limits.newestMax) this.#drop(this.#newest);
    return entry;
  }

  #mark(key: string, entry: Entry): void {
    if (entry.isNotable) return;
    entry.isNotable = true;
    this.#newest.delete(key);
    this.#notable.set(key, entry);
    if (this.#notable.size > this.#limits.notableMax) this.#drop(this.#notable);
  }

  /** The one at `key` stays. */
  #makeRoom(key: string): void {
    for (const sessions of [this.#newest, this.#notable]) {
      while (this.#bytes > this.#limits.bytesMax && sessions.size > 0) {
        if (sessions.keys().next().value === key) break;
        this.#drop(sessions);
      }
    }
  }

  #drop(sessions: Map<string, Entry>): void {
    const [key, { kept }] = sessions.entries().next().value!;
    sessions.delete(key);
    for (const { text } of kept) this.#bytes -= frameBytes + text.length;
    this.#dropped = true;
  }
}

export function seenSession(entry: Entry): SeenSession {
  const { kept, positions: _, touched: __, nodes, ...seen } = entry;
  const sorted = [...nodes].sort((one, other) => one - other);
  return { ...seen, nodes: sorted, retained: kept.length === seen.frames ? 'all' : 'some' };
}

/** The session that an event makes notable. */
export function notableKey(event: RunEvent, outcome: Outcome | undefined): string | undefined {
  if (event.kind !== 'frame') return undefined;
  if (outcome !== undefined && ended.get(outcome.state) === 'failed') return keyOf(event.tenant, outcome.session);
  return event.session !== '' && isNotable(event) ? keyOf(event.tenant, event.session) : undefined;
}

function isNotable({ faults, attempt, point }: TranscriptFrame): boolean {
  return faults.length > 0 || attempt > 1 || point === 'dkg_refused';
}

export function keyOf(tenant: string, session: string): string {
  return `${tenant}/${session}`;
}

/** Addresses of sessions are long, and most of them. */
function nodeIn(address: string): number | undefined {
  if (address.startsWith('node/')) return Number.parseInt(address.slice(5), 10);
  return address.startsWith('cluster/') ? nodeIn(splitName(address).name) : undefined;
}
