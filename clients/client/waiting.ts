/** Waits for asynchronous work of the service: transfers, jobs, plans, orders. */
import type { ClientPorts } from './contract.ts';
import { ClientError } from './errors.ts';
import type { FollowOptions } from './follow.ts';
import type { Event, Intent } from './generated-api.ts';
import { type Names, needKnown } from './known-options.ts';
import { pause } from './transport.ts';

export interface WaitOptions {
  readonly signal?: AbortSignal;
  /** 60,000 by default. */
  readonly deadlineMs?: number;
}

export interface WaitForOptions extends WaitOptions {
  /** The status to wait for; by default `completed`. Several: any of them. */
  readonly until?: IntentStatus | readonly IntentStatus[];
  /** `events` needs the scope `events:read`, and reports a change at once. `polling` (the default) reads the intent. */
  readonly by?: 'polling' | 'events';
}

export type IntentStatus = Intent['status'];

/** The intent has ended in another status than the awaited one, and will not change any more. */
export class IntentEndedError extends ClientError {
  override readonly name = 'IntentEndedError';
  readonly intent: Intent;

  constructor(intent: Intent, wanted: readonly IntentStatus[]) {
    const { id, status, sub_status: sub, provider_error: refusal } = intent;
    const why = [sub, refusal === null ? null : JSON.stringify(refusal)].filter((part) => part !== null).join(': ');
    super('intent_ended', `${id} is ${status}, not ${wanted.join(' or ')}${why === '' ? '' : ` (${why})`}`);
    this.intent = intent;
  }
}

/** The time is over: the result may still come. */
export class WaitTimedOutError extends ClientError {
  override readonly name = 'WaitTimedOutError';
  /** The last read value. */
  readonly last: unknown;

  constructor(what: string, last: unknown, cause?: unknown) {
    super('wait_timed_out', `${what} within the deadline: it may still happen, read it again`, { cause });
    this.last = last;
  }
}

const waitNames: Names<WaitOptions> = { signal: true, deadlineMs: true };
const waitForNames: Names<WaitForOptions> = { ...waitNames, until: true, by: true };

const deadlineMsDefault = 60_000;
const firstPollMs = 50;
const pollMsMax = 2_000;

/** The statuses without followers: docs/wallet-api.md. */
export const finalStatuses: ReadonlySet<IntentStatus> = new Set<IntentStatus>([
  'completed',
  'denied',
  'rejected',
  'expired',
  'cancelled',
  'failed',
]);

/** Reads until `isOver`, at growing intervals. Rejects with WaitTimedOutError, and with the error of `read`. */
export async function waitUntil<T>(
  ports: ClientPorts,
  read: (signal: AbortSignal | undefined) => Promise<T>,
  isOver: (value: T) => boolean,
  options: WaitOptions,
): Promise<T> {
  needKnown('waitUntil', options, waitNames);
  const { signal, deadlineMs = deadlineMsDefault } = options;
  const endMs = ports.nowMs() + deadlineMs;
  for (let pollMs = firstPollMs; ; pollMs = Math.min(pollMsMax, pollMs * 1.5)) {
    const value = await read(signal);
    if (isOver(value)) return value;
    const leftMs = endMs - ports.nowMs();
    if (leftMs <= 0) throw new WaitTimedOutError('what was waited for did not happen', value);
    await pause(ports, Math.min(leftMs, pollMs * (1 + ports.random() / 4)), signal);
  }
}

export interface IntentReader {
  readonly ports: ClientPorts;
  read(signal: AbortSignal | undefined): Promise<Intent>;
  follow(options: FollowOptions): AsyncIterable<Event>;
}

/** Rejects with IntentEndedError, WaitTimedOutError, and as reading and following do. */
export async function waitForIntent(id: string, reader: IntentReader, options: WaitForOptions): Promise<Intent> {
  needKnown('waitFor', options, waitForNames);
  const wanted = [options.until ?? 'completed'].flat();
  const settled = (intent: Intent): Intent | undefined => {
    if (wanted.includes(intent.status)) return intent;
    if (finalStatuses.has(intent.status)) throw new IntentEndedError(intent, wanted);
    return undefined;
  };
  const { by, until: _, ...wait } = options;
  if (by === 'events') return waitByEvents(id, reader, wait, settled);
  return waitUntil(reader.ports, reader.read, (intent) => settled(intent) !== undefined, wait);
}

/** Follows first and reads then, so that it misses no change in between. */
async function waitByEvents(
  id: string,
  { ports, read, follow }: IntentReader,
  { signal, deadlineMs = deadlineMsDefault }: WaitForOptions,
  settled: (intent: Intent) => Intent | undefined,
): Promise<Intent> {
  const scope = new AbortController();
  const stop = (): void => scope.abort(signal?.reason);
  if (signal?.aborted) stop();
  signal?.addEventListener('abort', stop, { once: true });
  const late = new WaitTimedOutError(`${id} did not come to the status`, undefined);
  const cancel = ports.startTimer(deadlineMs, () => scope.abort(late));
  try {
    return await new Promise<Intent>((resolve, reject) => {
      const settle = (intent: Intent): boolean => {
        const found = settled(intent);
        if (found !== undefined) resolve(found);
        return found !== undefined;
      };
      let isOpen = false;
      const onPlace = (): void => {
        if (isOpen) return;
        isOpen = true;
        read(scope.signal).then(settle).catch(reject);
      };
      const listen = async (): Promise<void> => {
        const events = follow({ types: ['transaction_intent.*'], resourceId: id, signal: scope.signal, onPlace });
        for await (const event of events) if (settle(event.data.object as Intent)) return;
      };
      listen().catch(reject);
    });
  } finally {
    cancel();
    signal?.removeEventListener('abort', stop);
    scope.abort();
  }
}
