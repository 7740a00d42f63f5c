/**
 * The wallet API for a test, in one line each: approvals, transfers and awaited events. The same in every world: it only uses
 * HTTP, and the world decides how time passes.
 */
import type { ClientPorts } from '../client/contract.ts';
import type { Event, Intent } from '../client/generated-api.ts';
import { finalStatuses, IntentEndedError, type IntentStatus } from '../client/waiting.ts';
import { type EventMatch, type EventOf, EventReader, matcher } from './event-reader.ts';
import { checkNames, type OptionNames } from './option-names.ts';
import { ApiError, SandboxApi } from './sandbox-api.ts';
import { StillPending } from './still-pending.ts';

export interface WalletWorld {
  readonly url: string;
  readonly token: string;
  readonly approverToken: () => string;
  /** Do not let time pass by themselves. */
  readonly ports: ClientPorts;
  readonly since: string | undefined;
  /** Lets time pass until `work` has settled. */
  drive<T>(work: Promise<T>): Promise<T>;
  /** Possible causes in words: faults, processes that do not run. */
  obstacles(): Promise<readonly string[]>;
}

export interface WithinOptions {
  /** Of the cluster's time: 60,000 by default. */
  readonly withinMs?: number;
}

export interface NextOptions extends WithinOptions {
  /** Only events of this resource: a wallet, an intent, a session, or its id. */
  readonly of?: string | { readonly id: string };
}

export interface WaitForOptions extends WithinOptions {
  /** "completed" by default; several: any of them. */
  readonly until?: IntentStatus | readonly IntentStatus[];
}

export interface ApproveOptions {
  readonly comment?: string;
  /** Of the principal that votes; the cluster's second one by default. */
  readonly token?: string;
}

export interface RejectOptions {
  /** "rejected by a test" by default. */
  readonly reason?: string;
  /** Likewise. */
  readonly token?: string;
}

export const nextNames: OptionNames<NextOptions> = { of: true, withinMs: true };
const waitForNames: OptionNames<WaitForOptions> = { until: true, withinMs: true };
const approveNames: OptionNames<ApproveOptions> = { comment: true, token: true };
const rejectNames: OptionNames<RejectOptions> = { reason: true, token: true };

export type IntentRef = Pick<Intent, 'id' | 'wallet_id'>;

const withinMsDefault = 60_000;
const shownMax = 5;

export class WalletSide {
  readonly #world: WalletWorld;
  readonly #api: SandboxApi;
  readonly #reader: EventReader;
  readonly #knownTypes = new Set<string>(['*']);

  constructor(world: WalletWorld) {
    this.#world = world;
    this.#api = new SandboxApi({ baseUrl: world.url, token: world.token, fetch: world.ports.fetch });
    this.#reader = new EventReader(world);
  }

  async next<M extends EventMatch>(match: M, options: NextOptions): Promise<EventOf<M>> {
    checkNames('events.next', options, nextNames);
    const { of, withinMs = withinMsDefault } = options;
    const resource = resourceOf(of);
    if (typeof match !== 'function') await this.#needType(match);
    const wanted = matcher(match);
    const matches = (event: Event) => (resource === undefined || event.resource.id === resource) && wanted(event);
    const name = typeof match === 'function' ? 'event that matches the function' : `event ${match}`;
    const what = `no ${name}${resource === undefined ? '' : ` of ${resource}`} came`;
    const found = await this.within(what, withinMs, (signal) => this.#reader.first(matches, true, signal));
    return found as EventOf<M>;
  }

  /** Marks every event so far as given. */
  async skip(): Promise<void> {
    const last = await this.#lastSequence();
    await this.within('the event log was not read', withinMsDefault, (signal) =>
      last === 0
        ? Promise.resolve()
        : this.#reader.first(({ sequence }) => sequence >= last, false, signal).then(() => undefined),
    );
    this.#reader.giveAll();
  }

  async waitFor(intent: IntentRef, options: WaitForOptions): Promise<Intent> {
    checkNames('waitFor', options, waitForNames);
    const { until = 'completed', withinMs = withinMsDefault } = options;
    const wanted = [until].flat();
    const isOver = ({ status }: Intent) => wanted.includes(status) || finalStatuses.has(status);
    const settled = (found: Intent): Intent => {
      if (wanted.includes(found.status)) return found;
      throw new IntentEndedError(found, wanted);
    };
    const now = await this.call<Intent>('GET', pathOf(intent));
    if (isOver(now)) return settled(now);
    const what = `${intent.id} did not become ${wanted.join(' or ')}`;
    const ofIt = ({ resource, data }: Event) => resource.id === intent.id && isOver(data.object as Intent);
    const event = await this.within(what, withinMs, (signal) => this.#reader.first(ofIt, false, signal));
    return settled(event.data.object as Intent);
  }

  async approve(intent: IntentRef, options: ApproveOptions): Promise<Intent> {
    checkNames('approve', options, approveNames);
    const { comment, token } = options;
    return this.#vote(intent, { decision: 'approve', ...(comment !== undefined && { comment }) }, token);
  }

  async reject(intent: IntentRef, options: RejectOptions): Promise<Intent> {
    checkNames('reject', options, rejectNames);
    const { reason = 'rejected by a test', token } = options;
    return this.#vote(intent, { decision: 'reject', reason }, token);
  }

  async #vote(intent: IntentRef, body: object, token: string | undefined): Promise<Intent> {
    return this.call('POST', `${pathOf(intent)}/approve`, body, token ?? this.#world.approverToken());
  }

  /** Rejects with ApiError. */
  call<T>(method: string, path: string, body?: object, token: string = this.#world.token): Promise<T> {
    return this.#api.request(method, path, body, token);
  }

  /** Rejects with StillPending after `withinMs` of the cluster's time. */
  async within<T>(what: string, withinMs: number, begin: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (!Number.isSafeInteger(withinMs) || withinMs < 0)
      throw new RangeError('withinMs must be a whole number of milliseconds, 0 or more');
    const { ports, drive } = this.#world;
    const scope = new AbortController();
    const late = Symbol('late');
    const cancel = ports.startTimer(withinMs, () => scope.abort(late));
    try {
      return await drive(begin(scope.signal));
    } catch (error) {
      if (error === late) throw new StillPending(what, withinMs, await this.#pending());
      throw error;
    } finally {
      cancel();
    }
  }

  /** From now on reads another log. */
  restored(): void {
    this.#reader.restart();
  }

  stop(): void {
    this.#reader.stop();
  }

  async #needType(type: string): Promise<void> {
    if (typeof type !== 'string')
      throw new TypeError('match must be an event type, a pattern such as "wallet.*", or a function');
    if (this.#knownTypes.has(type)) return;
    try {
      await this.call('GET', `/v1/events?limit=1&type=${encodeURIComponent(type)}`);
      this.#knownTypes.add(type);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 400) throw error;
      throw new TypeError(`match: there is no event type ${type}; docs/wallet-api.md#events lists them`);
    }
  }

  async #lastSequence(): Promise<number> {
    interface Page {
      readonly events: readonly Event[];
      readonly has_more: boolean;
    }
    for (let last = this.#reader.log.at(-1)?.sequence ?? 0; ; ) {
      const page = await this.call<Page>('GET', `/v1/events?limit=100&after_sequence=${last}`);
      last = page.events.at(-1)?.sequence ?? last;
      if (!page.has_more) return last;
    }
  }

  async #pending(): Promise<readonly string[]> {
    const { obstacles } = this.#world;
    const open = this.#openIntents().catch((error: unknown) => [`transfers cannot be read: ${textOf(error)}`]);
    const others = obstacles().catch((error: unknown) => [`the sandbox does not answer: ${textOf(error)}`]);
    return [...(await open), ...(await others)];
  }

  async #openIntents(): Promise<readonly string[]> {
    interface Page {
      readonly transaction_intents: readonly Intent[];
    }
    const { transaction_intents: intents } = await this.call<Page>('GET', '/v1/transaction-intents?limit=100');
    const open = intents.filter(({ status }) => !finalStatuses.has(status));
    const lines = open.slice(0, shownMax).map((intent) => {
      const { id, status, approvals, approvals_required: required } = intent;
      const votes = `: ${approvals.length} of ${required} approvals; custody.approve(intent) gives one`;
      return `${id} is ${status}${status === 'pending_approval' ? votes : ''}`;
    });
    return open.length > shownMax ? [...lines, `${open.length - shownMax} further transfers are not over`] : lines;
  }
}

function pathOf(intent: IntentRef): string {
  const { id, wallet_id: walletId } = Object(intent) as IntentRef;
  if (typeof id !== 'string' || typeof walletId !== 'string')
    throw new TypeError('intent must be a transaction intent as the API shows it: it has an id and a wallet_id');
  return `/v1/wallets/${encodeURIComponent(walletId)}/transaction-intents/${encodeURIComponent(id)}`;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Of the option `of`. */
export function resourceOf(of: NextOptions['of']): string | undefined {
  const id = typeof of === 'object' ? of?.id : of;
  if (of !== undefined && typeof id !== 'string')
    throw new TypeError('of must be a resource as the API shows it, with an id, or its id');
  return id;
}
