/**
 * The scripts of the outbox of webhooks: what each is called with, and what it answers. A webhook's outbox is the
 * tenant's event log itself and a cursor into it, so nothing is copied when a change is committed, nothing can be lost
 * between the two, and what waits costs nothing. Names of keys: see keys.ts and ../../store/layout.ts.
 */
import type { Redis } from 'ioredis';
import { luaCommand, luaScript } from '../../redis/lua.ts';
import type { StreamEntry } from '../../store/replies.ts';
import type { WebhookStatus } from '../webhooks/public.ts';

export type JobReply = readonly [id: string, tries: number, sequence: string];
type LookReply = readonly [
  last: string,
  webhooks: readonly (readonly [string, string, WebhookStatus, string, number, number, string, string, string])[],
  removed: readonly string[],
];
type PumpReply =
  | readonly ['ok', more: number, skipped: number, jobs: readonly JobReply[], entries: readonly StreamEntry[]]
  | readonly ['changed'];
type MoveReply = readonly ['ok', failing: string, behind: number] | readonly ['conflict'];
type DepthReply = readonly [outstanding: number, retrying: number, cursor: string, last: string, failing: string];

interface OfTenant<Args extends object> {
  readonly keys: { readonly [name: string]: string; readonly prefixKey: string };
  readonly args: Readonly<Args>;
}

interface Kept {
  nowMs: number;
  keptMax: number;
  keptMs: number;
}

interface Pump extends Kept {
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

const look = luaScript<OfTenant<Kept>, LookReply>('delivery/deliveries/look.lua');
const begin = luaScript<OfWebhook<{ cursor: number }>, number>('delivery/deliveries/begin.lua');
const pump = luaScript<OfTenant<Pump>, PumpReply>('delivery/deliveries/pump.lua');
const move = luaScript<OfTenant<Move>, MoveReply>('delivery/deliveries/move.lua');
const release = luaScript<OfWebhook<{ id: string; how: 'drop' | 'hold'; nowMs: number }>, number>(
  'delivery/deliveries/release.lua',
);
const takeOverdue = luaScript<OfWebhook<{ beforeMs: number; nowMs: number; limit: number }>, readonly JobReply[]>(
  'delivery/deliveries/take-overdue.lua',
);
const clear = luaScript<OfWebhook<{ limit: number }>, number>('delivery/deliveries/clear.lua');
const depth = luaScript<OfWebhook, DepthReply>('delivery/deliveries/depth.lua');
const trim = luaScript<OfWebhook<Kept & { limit: number }>, number>('delivery/deliveries/trim.lua');

export type HookScripts = ReturnType<typeof hookScripts>;

export function hookScripts(redis: Redis) {
  return {
    look: luaCommand(redis, look),
    begin: luaCommand(redis, begin),
    pump: luaCommand(redis, pump),
    move: luaCommand(redis, move),
    release: luaCommand(redis, release),
    takeOverdue: luaCommand(redis, takeOverdue),
    clear: luaCommand(redis, clear),
    depth: luaCommand(redis, depth),
    trim: luaCommand(redis, trim),
  };
}
