/**
 * Reads sessions of tenants whose token the page holds by GET /v1/sandbox/sessions/:id when they are shown: signers, culprits, receipt. Two at a
 * time, the newest first, and again when the stream says that one changed. No rate limit counts these reads: under load most ceremonies
 * pass unread, and the stream alone tells of them. Runs in the browser.
 */
import type { SandboxStreamSession } from '../../../client/generated-api.ts';
import type { Client } from '../../../client/index.ts';
import { ApiError } from '../../../client/index.ts';
import type { ConsoleBrowser } from '../shared/dom.ts';
import { type ConsoleStore, keyOf } from '../shared/store.ts';

export interface SessionReader {
  /** These are on the screen, the most important first. */
  want(sessions: readonly SandboxStreamSession[]): void;
}

const atOnceMax = 2;
/** So many at once after a pause, and then one each time. */
const burstMax = 20;
const everyMs = 100;

/** `clientOf`: of a tenant whose token the page holds. */
export function sessionReads(
  page: Pick<ConsoleBrowser, 'setTimeout'>,
  clientOf: (tenant: string) => Pick<Client, 'sandbox'> | undefined,
  store: ConsoleStore,
  changed: () => void,
): SessionReader {
  /** What the stream said of it when it was read last. */
  const readAt = new Map<string, string>();
  let wanted: readonly SandboxStreamSession[] = [];
  let reading = 0;
  let left = burstMax;
  const versionOf = ({ state, attempt, reason_code: reason, culprits }: SandboxStreamSession) =>
    `${state} ${attempt} ${reason} ${culprits}`;

  const refill = (): void => {
    left += 1;
    if (left < burstMax) page.setTimeout(refill, everyMs);
    next();
  };
  const next = (): void => {
    const session = wanted.find(
      (one) => readAt.get(keyOf(one)) !== versionOf(one) && clientOf(one.tenant) !== undefined,
    );
    if (session === undefined || reading >= atOnceMax || left === 0) return;
    const client = clientOf(session.tenant);
    if (client === undefined) return;
    reading += 1;
    if (left === burstMax) page.setTimeout(refill, everyMs);
    left -= 1;
    const key = keyOf(session);
    readAt.set(key, versionOf(session));
    void client.sandbox
      .session(session.session, { limit: 1 }, { attemptsMax: 1 })
      .then(
        (read) => {
          store.reads.set(key, read);
        },
        (error: unknown) => {
          // It has expired.
          if (!(error instanceof ApiError) || error.status !== 404) return;
          store.reads.set(key, null);
        },
      )
      .finally(() => {
        reading -= 1;
        changed();
        next();
      });
    next();
  };
  return {
    want: (sessions) => {
      wanted = sessions;
      next();
    },
  };
}
