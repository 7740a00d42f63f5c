/**
 * What the commands for a running service do, each by calls of `signmesh/client`: `signmesh faults`, `nodes`, `clock`, `snapshots`,
 * `sessions`, `wallets`, `intents`, `report`. An action gives the answer of the API, which --json prints,
 * and how a person reads it.
 */
import type {
  Intent,
  SandboxClock,
  SandboxFault,
  SandboxNode,
  SandboxSnapshot,
  Session,
  Wallet,
} from '../../clients/client/generated-api.ts';
import type { Client, Pages } from '../../clients/client/index.ts';
import { durationMs } from '../../proto/durations.ts';
import { describe } from '../../scenarios/faults/describe.ts';
import { type Fault, type FaultKind, faultKinds, faultSchemas } from '../../scenarios/faults/vocabulary/fault.ts';
import { exitCodes, Failure } from '../common/failure.ts';
import type { ServiceCommandName } from '../common/service-commands.ts';
import { faultOfWords } from './fault-words.ts';

export interface RunningService {
  readonly client: Client;
  /** Of a second person of the tenant, where there is one: the initiator of an intent has no vote. */
  readonly approver: Client;
  readonly url: string;
  readonly flags: ActionFlags;
}

export interface ActionFlags {
  readonly limit?: number;
  readonly reason?: string;
  readonly restartAfter?: number | 'never';
  readonly output?: string;
}

/** `value`: as the API answers. `rows`: a table, its head first; or sentences. */
export interface ActionResult {
  readonly value: unknown;
  readonly rows?: readonly (readonly string[])[];
  readonly words?: string;
}

export interface Action {
  /** As commander reads it: "remove <id>". */
  readonly usage: string;
  readonly description: string;
  /** Options of its own: flag and text. */
  readonly options?: readonly (keyof ActionFlags)[];
  run(service: RunningService, args: readonly string[]): Promise<ActionResult>;
}

/** Intents that are looked through for an id. */
const intentsMax = 2_000;

export const serviceActions: Readonly<Record<ServiceCommandName, readonly Action[]>> = {
  faults: [
    listing('faults', ['ID', 'FAULT', 'STATE', 'FIRED', 'ENDS'], ({ client }) => client.sandbox.faults(), faultRow),
    {
      usage: 'kinds',
      description: 'the kinds of faults, and what each does',
      run: async () => ({
        value: { kinds: faultKinds },
        rows: [['KIND', 'WHAT IT DOES'], ...faultKinds.map((kind) => [kind, whatItDoes(kind)])],
      }),
    },
    {
      usage: 'add <kind> [fields...]',
      description: 'arm a fault: signmesh faults add bad_partial target=node/2 count=1',
      run: async ({ client }, [kind, ...fields]) => {
        const fault = await client.sandbox.createFault(faultOfWords(kind!, fields) as never);
        return { value: fault, words: `${fault.id}: ${describe(fault.fault as Fault)}` };
      },
    },
    {
      usage: 'remove <id>',
      description: 'end a fault',
      run: async ({ client }, [id]) => {
        await client.sandbox.deleteFault(id!);
        return { value: { id, removed: true }, words: `${id} is removed` };
      },
    },
    {
      usage: 'reset',
      description: 'end every fault: held frames arrive, paused processes resume',
      run: async ({ client }) => {
        const value = await client.sandbox.resetFaults();
        return { value, words: `${value.removed} ${value.removed === 1 ? 'fault is' : 'faults are'} removed` };
      },
    },
  ],
  nodes: [
    listing(
      'nodes',
      ['PROCESS', 'STATE', 'LINK', 'PID', 'RESTARTS', 'CLOCK', 'MEMORY'],
      ({ client }) => client.sandbox.nodes(),
      nodeRow,
    ),
    {
      usage: 'crash <process>',
      description: 'end a process at once, as by SIGKILL: 2, node/2, gateway',
      options: ['restartAfter'],
      run: async ({ client, flags }, [process]) => {
        const { restartAfter } = flags;
        const after = restartAfter === 'never' ? null : restartAfter;
        return node(await client.sandbox.crashNode(process!, after === undefined ? {} : { restart_after_ms: after }));
      },
    },
    ...(['pause', 'resume', 'restart'] as const).map((verb) => ({
      usage: `${verb} <process>`,
      description: { pause: 'stop it, as by SIGSTOP', resume: 'let it run again', restart: 'end and start it' }[verb],
      run: async ({ client }: RunningService, [process]: readonly string[]) =>
        node(await client.sandbox[`${verb}Node`](process!)),
    })),
  ],
  clock: [
    { usage: 'show', description: 'its time now', run: async ({ client }) => clock(await client.sandbox.clock()) },
    {
      usage: 'advance <time>',
      description: 'advance every process’s clock: 90s, 15m, 2h, 7d',
      run: async ({ client }, [time]) => clock(await client.sandbox.advanceClock({ advance_ms: timeMs(time!) })),
    },
  ],
  snapshots: [
    listing('snapshots', ['ID', 'NAME', 'TAKEN', 'BYTES'], ({ client }) => client.sandbox.snapshots(), snapshotRow),
    {
      usage: 'take [name]',
      description: 'keep everything that is stored: Redis and the nodes’ stores',
      run: async ({ client }, [name]) => {
        const value = await client.sandbox.takeSnapshot(name === undefined ? {} : { name });
        return { value, words: `${value.id} is taken: signmesh snapshots restore ${value.id}` };
      },
    },
    {
      usage: 'restore <id>',
      description: 'go back to a snapshot',
      run: async ({ client }, [id]) => {
        const value = await client.sandbox.restoreSnapshot(id!);
        return { value, words: `${id} is restored (${value.took_ms} ms)` };
      },
    },
    {
      usage: 'remove <id>',
      description: 'remove a snapshot',
      run: async ({ client }, [id]) => {
        await client.sandbox.deleteSnapshot(id!);
        return { value: { id, removed: true }, words: `${id} is removed` };
      },
    },
  ],
  sessions: [
    listing(
      'sessions',
      ['ID', 'KIND', 'STATE', 'REASON', 'CULPRITS', 'CHANGED'],
      ({ client }) => client.sessions.list(),
      sessionRow,
    ),
    {
      usage: 'show <id>',
      description: 'a session: state, reason, culprits, signature or public key',
      run: async ({ client }, [id]) => facts(await client.sessions.get(id!)),
    },
  ],
  wallets: [
    listing(
      'wallets',
      ['ID', 'NAME', 'PROVIDER', 'STATUS', 'BALANCES', 'ADDRESS'],
      ({ client }) => client.wallets.list(),
      walletRow,
    ),
    {
      usage: 'show <id>',
      description: 'a wallet with its balances',
      run: async ({ client }, [id]) => facts(await client.wallets.get(id!)),
    },
  ],
  intents: [
    listing(
      'intents',
      ['ID', 'STATUS', 'AMOUNT', 'TO', 'WALLET', 'CREATED'],
      ({ client }) => client.intents.listAll(),
      intentRow,
    ),
    {
      usage: 'show <id>',
      description: 'an intent: its status, policy, approvals and transaction',
      run: async ({ client }, [id]) => facts(await intentOf(client, id!)),
    },
    {
      usage: 'approve <id>',
      description: 'approve it, as the approver',
      run: ({ client, approver }, [id]) => decided(client, id!, (wallet) => approver.intents.approve(wallet, id!)),
    },
    {
      usage: 'reject <id>',
      description: 'reject it, as the approver',
      options: ['reason'],
      run: ({ client, approver, flags: { reason } }, [id]) => {
        if (reason === undefined) throw new Failure('Give the reason: --reason <text>.', exitCodes.usage);
        return decided(client, id!, (wallet) => approver.intents.approve(wallet, id!, { decision: 'reject', reason }));
      },
    },
    {
      usage: 'cancel <id>',
      description: 'cancel it, before it is signed',
      run: ({ client }, [id]) => decided(client, id!, (wallet) => client.intents.cancel(wallet, id!)),
    },
  ],
  report: [
    {
      usage: 'write',
      description: 'write one HTML file: the messages of every session as a diagram, with faults and states',
      options: ['output'],
      run: async ({ client, url, flags: { output: file = 'signmesh.html' } }) => {
        // The page and its script are large.
        const { writeRecording } = await import('./recording-page.ts');
        const events = await writeRecording(client, url, file);
        return { value: { file, events }, words: `${file} has ${events} events` };
      },
    },
  ],
};

/** The vocabulary's own sentence. */
function whatItDoes(kind: FaultKind): string {
  return (faultSchemas[kind] as { readonly description?: string }).description ?? '';
}

/** 90s, 15m, 2h, 7d, or milliseconds: 250ms. Throws a Failure. */
export function timeMs(text: string): number {
  const ms = durationMs(text, Number.MAX_SAFE_INTEGER);
  if (ms !== undefined) return ms;
  const shown = JSON.stringify(text.slice(0, 40));
  throw new Failure(`${shown} is no time: give a number with ms, s, m, h or d.`, exitCodes.usage);
}

function listing<T>(
  field: string,
  head: readonly string[],
  pages: (service: RunningService) => Pages<T>,
  row: (item: T) => readonly string[],
): Action {
  return {
    usage: 'list',
    description: `the ${field}, one a line`,
    options: ['limit'],
    run: async (service) => {
      const { limit = 50 } = service.flags;
      const items: T[] = [];
      for await (const item of pages(service)) {
        if (items.push(item) >= limit) break;
      }
      if (items.length === 0) return { value: { [field]: [] }, words: `there are no ${field}` };
      return { value: { [field]: items }, rows: [head, ...items.map(row)] };
    },
  };
}

function faultRow({ id, fault, state, trigger_count, ends_at }: SandboxFault): readonly string[] {
  return [id, describe(fault as Fault), state, String(trigger_count), ends_at ?? '-'];
}

function nodeRow(one: SandboxNode): readonly string[] {
  const link = one.linked === null ? '-' : one.linked ? 'up' : 'down';
  const clockText = one.clock_offset_ms === 0 ? '-' : `${one.clock_offset_ms > 0 ? '+' : ''}${one.clock_offset_ms} ms`;
  const size = one.resident_bytes === null ? '-' : `${Math.round(one.resident_bytes / 2 ** 20)} MiB`;
  return [one.process, one.state, link, String(one.pid ?? '-'), String(one.restarts), clockText, size];
}

function node(value: SandboxNode): ActionResult {
  return { value, words: `${value.process} is ${value.state}` };
}

function clock(value: SandboxClock): ActionResult {
  const { now, offset_ms } = value;
  return { value, words: offset_ms === 0 ? now : `${now}, ${offset_ms / 1000} s ahead` };
}

function snapshotRow({ id, name, taken_at, bytes }: SandboxSnapshot): readonly string[] {
  return [id, name, taken_at, String(bytes)];
}

function sessionRow({ id, kind, state, reason_code, culprits, changed_at }: Session): readonly string[] {
  const nodes = culprits.length === 0 ? '-' : culprits.map((culprit) => `node/${culprit}`).join(' ');
  return [id, kind, state.replace('RECEIPT_STATE_', ''), reason_code || '-', nodes, changed_at];
}

function walletRow({ id, name, provider, status, assets, addresses }: Wallet): readonly string[] {
  const balances = assets.map(({ symbol, balance }) => `${balance} ${symbol}`).join(', ');
  return [id, name, provider, status, balances || '-', addresses[0]?.address ?? '-'];
}

function intentRow({ id, status, amount, asset, destination, wallet_id, created_at }: Intent): readonly string[] {
  return [id, status, `${amount} ${asset}`, destination.address, wallet_id, created_at];
}

async function decided(
  client: Client,
  id: string,
  decide: (walletId: string) => Promise<Intent>,
): Promise<ActionResult> {
  const value = await decide((await intentOf(client, id)).wallet_id);
  return { value, words: `${id} is ${value.status}` };
}

/** An intent is read below its wallet, which a person need not know. */
async function intentOf(client: Client, id: string): Promise<Intent> {
  let seen = 0;
  for await (const intent of client.intents.listAll({ limit: 100 })) {
    if (intent.id === id) return intent;
    seen += 1;
    if (seen >= intentsMax) break;
  }
  throw new Failure(`None of the newest ${seen} intents is ${JSON.stringify(id.slice(0, 64))}.`);
}

/** One thing, a field a line; what is nested as JSON. */
function facts(value: object): ActionResult {
  const rows = Object.entries(value)
    .filter(([, fact]) => fact !== null && !(Array.isArray(fact) && fact.length === 0))
    .map(([name, fact]) => [name, typeof fact === 'object' ? JSON.stringify(fact) : String(fact)]);
  return { value, rows };
}
