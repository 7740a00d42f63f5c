/**
 * The writes of the coordinator: each is one script and one atomic step, with the event of the change in it.
 *
 * All are safe to repeat: a write whose answer was lost and which is sent again finds its own checkpoint and says OK; its
 * event is not written again. All compare the fence: a coordinator that was paused while a newer one started cannot write
 * any more. First every check, then every write: what is refused has changed nothing.
 */
import type { EventArguments } from '../../redis/event-log.ts';
import { luaScript } from '../../redis/lua.ts';
import type { ConflictCode } from '../contract/messages.ts';
import type { changeOf, openingOf, SessionArguments } from './layout.ts';

/** `current`: the record that stands against the write, as flat fields. */
export type WriteReply = readonly [code: 'OK' | ConflictCode, current?: readonly string[]];

interface OfSession {
  readonly fence: number;
  readonly retentionMs: number;
  readonly sessionId: string;
  readonly prefix: string;
  /** End of the session's lifetime; empty: it has ended. */
  readonly endsAtMs: number | '';
  readonly session: SessionArguments;
}

interface CreateSession {
  readonly keys: Readonly<
    Record<'sessionKey' | 'fenceKey' | 'endingKey', string> &
      Record<'guardKey' | 'openKey' | 'closedKey' | 'boundKey', string | undefined>
  >;
  readonly args: OfSession & {
    readonly nowMs: number;
    readonly opening: ReturnType<typeof openingOf>;
    readonly endedId: string;
    readonly boundRecord: string;
    readonly boundScheme: string;
    /** Empty: no bound. */
    readonly bytesMax: number | '';
    readonly event: EventArguments;
    readonly endedSession: SessionArguments | undefined;
    readonly endedEvent: EventArguments | undefined;
  };
}

interface UpdateSession {
  readonly keys: Readonly<
    Record<'sessionKey' | 'fenceKey' | 'endingKey', string> &
      Record<'keyKey' | 'guardKey' | 'openKey' | 'closedKey', string | undefined>
  >;
  readonly args: OfSession & {
    readonly keyRecord: string;
    readonly change: ReturnType<typeof changeOf>;
    readonly boundScheme: string;
    readonly event: EventArguments | undefined;
  };
}

interface CloseKey {
  readonly keys: Readonly<Record<'fenceKey' | 'closedKey', string>>;
  readonly args: { readonly fence: number };
}

interface OverdueSessions {
  readonly keys: Readonly<Record<'endingKey', string>>;
  readonly args: { readonly prefix: string; readonly nowMs: number; readonly limit: number };
}

export const createSession = luaScript<CreateSession, WriteReply>('coordinator/store/create-session.lua');
export const updateSession = luaScript<UpdateSession, WriteReply>('coordinator/store/update-session.lua');
export const closeKey = luaScript<CloseKey, WriteReply>('coordinator/store/close-key.lua');
export const overdueSessions = luaScript<OverdueSessions, readonly [ids: readonly string[], nextAtMs: string]>(
  'coordinator/store/overdue-sessions.lua',
);
