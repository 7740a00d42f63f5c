/**
 * The writes of the coordinator. One script performs all changes of sessions of one tenant in a tick of the event loop
 * (batches.ts); each change is an atomic step, which includes its event.
 *
 * All are safe to repeat: a write that is sent again after a lost answer finds its own checkpoint and answers OK; it
 * does not write its event again. All compare the fence: after a newer coordinator started, a paused one can no longer
 * write. All checks precede all writes: a refused change has no effect.
 */

import { luaScript } from '../../core/redis/lua.ts';
import type { SessionPageQuery } from '../../proto/session-list.ts';
import type { ConflictCode } from '../contract/messages.ts';
import type { SessionWriteArguments } from './layout.ts';

/** `current`: the record that conflicts with the write, as flat fields. */
export type WriteReply = readonly [code: 'OK' | ConflictCode, current?: readonly string[]];

interface WriteSessions {
  readonly keys: Readonly<Record<'fenceKey' | 'endingKey' | 'listKey', string>>;
  readonly args: {
    readonly fence: number;
    readonly retentionMs: number;
    readonly prefix: string;
    /** Empty: no limit. */
    readonly bytesMax: number | '';
    readonly writes: readonly SessionWriteArguments[];
  };
}

/** The replies in the order of the writes; for a single failed write, its error. */
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

/** Records as flat fields, and the position after which the next page begins; empty: this is the last. */
type ListReply = readonly [records: readonly (readonly string[])[], nextMs: string, nextId: string];

export const writeSessions = luaScript<WriteSessions, BatchReply>('coordinator/store/write-sessions.lua');
export const closeKey = luaScript<CloseKey, WriteReply>('coordinator/store/close-key.lua');
export const overdueSessions = luaScript<OverdueSessions, readonly [ids: readonly string[], nextAtMs: string]>(
  'coordinator/store/overdue-sessions.lua',
);
export const listSessions = luaScript<ListSessions, ListReply>('coordinator/store/list-sessions.lua');
