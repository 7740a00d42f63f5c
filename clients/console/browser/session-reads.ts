/**
 * Reads sessions of the page's tenant by GET /v1/sandbox/sessions/:id when they are shown: signers, culprits, receipt. Two at a
 * time, the newest first, and again when the stream says that one changed. No rate limit counts these reads. Runs in the browser.
 */
import type { SandboxStreamSession } from '../../client/generated-api.ts';
import type { Client } from '../../client/index.ts';
import { ApiError } from '../../client/index.ts';
import { type ConsoleStore, keyOf } from './store.ts';

export interface SessionReader {
  /** These are on the screen, the most important first. */
  want(sessions: readonly SandboxStreamSession[]): void;
}

const atOnceMax = 2;
/** So many sessions of a tenant are tried. */
const unseenMax = 3;

export function sessionReads(client: Pick<Client, 'sandbox'>, store: ConsoleStore, changed: () => void): SessionReader {
  /** What the stream said of it when it was read last. */
  const readAt = new Map<string, string>();
  /** Sessions of a tenant that this token does not see, until it has seen one. */
  const unseen = new Map<string, number>();
  let wanted: readonly SandboxStreamSession[] = [];
  let reading = 0;
  const versionOf = ({ state, attempt, reason_code: reason, culprits }: SandboxStreamSession) =>
    `${state} ${attempt} ${reason} ${culprits}`;

  const next = (): void => {
    const session = wanted.find(
      (one) => (unseen.get(one.tenant) ?? 0) < unseenMax && readAt.get(keyOf(one)) !== versionOf(one),
    );
    if (session === undefined || reading >= atOnceMax) return;
    reading += 1;
    const key = keyOf(session);
    readAt.set(key, versionOf(session));
    void client.sandbox
      .session(session.session, { limit: 1 }, { attemptsMax: 1 })
      .then(
        (read) => {
          store.reads.set(key, read);
          unseen.set(session.tenant, Number.NEGATIVE_INFINITY);
        },
        (error: unknown) => {
          // A token sees its own tenant's sessions alone; of one that has expired nothing is left to read either.
          if (!(error instanceof ApiError) || error.status !== 404) return;
          store.reads.set(key, null);
          unseen.set(session.tenant, (unseen.get(session.tenant) ?? 0) + 1);
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
