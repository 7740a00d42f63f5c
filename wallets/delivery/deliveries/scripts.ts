/**
 * The scripts of the outbox of webhooks: their arguments and answers. A webhook's outbox is the tenant's event log itself and a
 * cursor into it, so a commit copies no event, no event can get lost between log and outbox, and waiting events take no extra
 * space. Names of keys: see keys.ts and ../../store/layout.ts.
 */
import type { Redis } from 'ioredis';
import { luaCommand, luaScript } from '../../../core/redis/lua.ts';
import type { StreamReply } from '../../store/replies.ts';
import type { WebhookStatus } from '../webhooks/public.ts';

export type JobReply = readonly [id: string, tries: number, sequence: string];
type OutboxesReply = readonly [
  last: string,
  webhooks: readonly (readonly [string, string, WebhookStatus, string, number, number, string, string, string])[],
  removed: readonly string[],
];
type DispatchReply =
  | readonly ['ok', more: number, skipped: number, jobs: readonly JobReply[], entries: readonly StreamReply[]]
  | readonly ['changed'];
type MoveReply = readonly ['ok', failing: string, behind: number] | readonly ['conflict'];
type DepthReply = readonly [outstanding: number, retrying: number, cursor: string, last: string, failing: string];

interface OfTenant<Args extends object> {
  readonly keys: { readonly [name: string]: string; readonly prefixKey: string };
  readonly args: Readonly<Args>;
}

interface Retention {
  nowMs: number;
  retainedMax: number;
  retentionMs: number;
}

interface Dispatch extends Retention {
  webhookId: string;
  version: number;
  window: number;
  failingWindow: number;
  retryingMax: number;
  types: readonly string[];
}

interface Move {
  webhookId: string;
  id: string;
  version: number;
  statusBefore: string;
  statusAfter: string;
  record: string;
  tries: number;
  place: 'out' | 'retry' | '';
  placeMs: number | '';
  endpoint: 'failed' | 'answered' | '';
  nowMs: number;
}

type OfWebhook<Args extends object = object> = OfTenant<Args & { webhookId: string }>;

const outboxes = luaScript<OfTenant<Retention>, OutboxesReply>('wallets/delivery/deliveries/outboxes.lua');
const begin = luaScript<OfWebhook<{ cursor: number }>, number>('wallets/delivery/deliveries/begin.lua');
const dispatch = luaScript<OfTenant<Dispatch>, DispatchReply>('wallets/delivery/deliveries/dispatch.lua');
const move = luaScript<OfTenant<Move>, MoveReply>('wallets/delivery/deliveries/move.lua');
const release = luaScript<OfWebhook<{ id: string; how: 'drop' | 'hold'; nowMs: number }>, number>(
  'wallets/delivery/deliveries/release.lua',
);
const takeOverdue = luaScript<OfWebhook<{ beforeMs: number; nowMs: number; limit: number }>, readonly JobReply[]>(
  'wallets/delivery/deliveries/take-overdue.lua',
);
const clear = luaScript<OfWebhook<{ limit: number }>, number>('wallets/delivery/deliveries/clear.lua');
const depth = luaScript<OfWebhook, DepthReply>('wallets/delivery/deliveries/depth.lua');
const trim = luaScript<OfWebhook<Retention & { limit: number }>, number>(
  'wallets/delivery/deliveries/trim-webhook-log.lua',
);

export type HookScripts = ReturnType<typeof hookScripts>;

export function hookScripts(redis: Redis) {
  return {
    outboxes: luaCommand(redis, outboxes),
    begin: luaCommand(redis, begin),
    dispatch: luaCommand(redis, dispatch),
    move: luaCommand(redis, move),
    release: luaCommand(redis, release),
    takeOverdue: luaCommand(redis, takeOverdue),
    clear: luaCommand(redis, clear),
    depth: luaCommand(redis, depth),
    trim: luaCommand(redis, trim),
  };
}
