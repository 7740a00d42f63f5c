/**
 * The writes of the coordinator. Changes of sessions go together, those of a tenant and a tick of the event loop in one script
 * (batches.ts); each is an atomic step of its own, with the event of the change in it.
 *
 * All are safe to repeat: a write whose answer was lost and which is sent again finds its own checkpoint and says OK; its
 * event is not written again. All compare the fence: a coordinator that was paused while a newer one started cannot write
 * any more. First every check, then every write: what is refused has changed nothing.
 */

import type { SessionPageQuery } from '../../proto/session-list.ts';
import { luaScript } from '../../redis/lua.ts';
import type { ConflictCode } from '../contract/messages.ts';
import type { SessionWriteArguments } from './layout.ts';

/** `current`: the record that stands against the write, as flat fields. */
export type WriteReply = readonly [code: 'OK' | ConflictCode, current?: readonly string[]];

interface WriteSessions {
  readonly keys: Readonly<Record<'fenceKey' | 'endingKey' | 'listKey', string>>;
  readonly args: {
    readonly fence: number;
    readonly retentionMs: number;
    readonly prefix: string;
    /** Empty: no bound. */
    readonly bytesMax: number | '';
    readonly writes: readonly SessionWriteArguments[];
  };
}

/** For each write, in their order; of one that failed by itself, why. */
export type BatchReply = readonly (WriteReply | readonly [code: 'ERROR', text: string])[];

interface CloseKey {
  readonly keys: Readonly<Record<'fenceKey' | 'closedKey', string>>;
  readonly args: { readonly fence: number };
}

interface OverdueSessions {
  readonly keys: Readonly<Record<'endingKey', string>>;
  readonly args: { readonly prefix: string; readonly nowMs: number; readonly limit: number };
}

interface ListSessions {
  readonly keys: Readonly<Record<'listKey', string>>;
  readonly args: {
    readonly prefix: string;
    readonly kind: SessionPageQuery['kind'];
    /** As ",1,8,"; empty: all. */
    readonly states: string;
    readonly afterMs: number | '+inf';
    readonly afterId: string;
    readonly limit: number;
    readonly scanMax: number;
  };
}

/** Records as flat fields, and the place after which the next page begins; empty: this is the last. */
type ListReply = readonly [records: readonly (readonly string[])[], nextMs: string, nextId: string];

export const writeSessions = luaScript<WriteSessions, BatchReply>('coordinator/store/write-sessions.lua');
export const closeKey = luaScript<CloseKey, WriteReply>('coordinator/store/close-key.lua');
export const overdueSessions = luaScript<OverdueSessions, readonly [ids: readonly string[], nextAtMs: string]>(
  'coordinator/store/overdue-sessions.lua',
);
export const listSessions = luaScript<ListSessions, ListReply>('coordinator/store/list-sessions.lua');
