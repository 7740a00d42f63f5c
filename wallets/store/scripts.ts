/** The scripts of the tenant store: their arguments and replies. */
import type { Redis } from 'ioredis';
import { luaCommand, luaScript } from '../../core/redis/lua.ts';
import type { eventQueryArguments, listArguments } from './query-arguments.ts';
import type { BeginReply, CommitReply, EventsReply, ListReply, StreamReply } from './replies.ts';

interface OfTenant<Args extends object> {
  readonly keys: { readonly [name: string]: string; readonly prefixKey: string };
  readonly args: Args;
}

interface OfMark<Args extends object> {
  readonly keys: { readonly [name: string]: string; readonly markKey: string };
  readonly args: Args;
}

interface Commit {
  /** Empty: not idempotent. */
  readonly keyHash: string;
  readonly owner: string;
  readonly answer: string;
  readonly answerLifetimeMs: number;
  readonly nowMs: number;
  readonly change: object;
}

interface Begin {
  readonly bodyHash: string;
  readonly nowMs: number;
  readonly machineMs: number;
  readonly leaseMs: number;
  readonly owner: string;
  readonly seed: string;
  readonly lifetimeMs: number;
}

interface Settle {
  readonly owner: string;
  readonly answered: 0 | 1;
  readonly answer: string;
  readonly nowMs: number;
  readonly lifetimeMs: number;
}

interface MovementsPage {
  readonly walletId: string;
  readonly below: number;
  readonly limit: number;
  readonly nowMs: number;
}

interface TakeDue {
  readonly nowMs: number;
  readonly byMs: number;
  readonly earlyPrefix: string;
  readonly leaseMs: number;
  readonly limit: number;
}

interface Count {
  readonly keys: { readonly [name: string]: string; readonly indexKey: string };
  readonly args: { readonly fromTime: string };
}

const commit = luaScript<OfTenant<Commit>, CommitReply>('wallets/store/commit.lua');
const list = luaScript<OfTenant<ReturnType<typeof listArguments>>, ListReply>('wallets/store/list.lua');
const withBalances = luaScript<
  OfTenant<{ readonly id: string; readonly nowMs: number }>,
  [kind: string, document: string, version: string, status: string, fields: string[]]
>('wallets/store/with-balances.lua');
const count = luaScript<Count, number>('wallets/store/count.lua');
const events = luaScript<OfTenant<ReturnType<typeof eventQueryArguments>>, EventsReply>('wallets/store/events.lua');
const movements = luaScript<OfTenant<MovementsPage>, readonly StreamReply[]>('wallets/store/movements.lua');
const begin = luaScript<OfMark<Begin>, BeginReply>('wallets/store/begin-idempotent.lua');
const settle = luaScript<OfMark<Settle>, number>('wallets/store/settle-idempotent.lua');
const takeDue = luaScript<OfTenant<TakeDue>, readonly [nextAtMs: string, members: readonly string[]]>(
  'wallets/store/take-due.lua',
);

export type TenantScripts = ReturnType<typeof tenantScripts>;

export function tenantScripts(redis: Redis) {
  return {
    commit: luaCommand(redis, commit),
    list: luaCommand(redis, list),
    withBalances: luaCommand(redis, withBalances),
    count: luaCommand(redis, count),
    events: luaCommand(redis, events),
    movements: luaCommand(redis, movements),
    begin: luaCommand(redis, begin),
    settle: luaCommand(redis, settle),
    takeDue: luaCommand(redis, takeDue),
  };
}
