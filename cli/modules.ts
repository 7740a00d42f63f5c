/**
 * `signmesh modules`: which tenants of a sandbox may use the modules that are PLANNED. A gateway grants requests at once, or,
 * with SIGNMESH_MODULE_ACCESS=operator, leaves them to this command.
 */
import { Argument, Command, InvalidArgumentError } from 'commander';
import { systemPorts } from '../core/actors/live/ports.ts';
import { type PlannedModule, plannedModules } from '../gateway/api/modules.ts';
import { tenantPattern } from '../gateway/auth/token-store.ts';
import {
  type AccessRequest,
  accessIndex,
  accessRequestView,
  decideAccess,
  readAccess,
} from '../wallets/companions/access/public.ts';
import { RedisTenantStore } from '../wallets/store/redis-tenant-store.ts';
import { tenantsWith } from '../wallets/store/tenants-with.ts';
import { readRoster, readSecret, secretFiles } from './cluster-files/cluster-material.ts';
import { exitCodes, Failure } from './common/failure.ts';
import { runSubcommand } from './common/subcommands.ts';
import { redisUrlFor, withRedis } from './redis/redis-address.ts';
import { sealOnce } from './redis/seal-records.ts';
import { loadSettings } from './settings/config.ts';

interface Flags {
  readonly tenant?: string;
  readonly note?: string;
  readonly dataDir?: string;
  readonly json?: boolean;
}

const noteCharsMax = 500;

/** Resolves with an exit code. Throws a Failure for a wrong call, and when no Redis is found. */
export async function run(args: readonly string[]): Promise<number> {
  return (await runSubcommand(makeCommand(), args)) ?? exitCodes.ok;
}

function makeCommand(): Command {
  const program = new Command('signmesh modules')
    .description('List, grant and deny access to the modules that are PLANNED.')
    .exitOverride()
    .configureOutput({ outputError: () => undefined })
    .addHelpText(
      'after',
      '\nGateways follow at once. They work on the Redis of REDIS_URL, or else on that of the "signmesh up" that runs in\nthe data directory.',
    );
  common(program, 'list', 'list the requests of all tenants, or of one').action(list);
  decision(program, 'grant', 'granted', 'grant a tenant access to a module, even without a request');
  decision(program, 'deny', 'denied', 'deny a request, or revoke access');
  return program;
}

function common(program: Command, name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .option('--tenant <id>', 'whose', tenantId)
    .option('--data-dir <path>', 'data directory of the cluster (SIGNMESH_DATA_DIR)')
    .option('--json', 'one JSON document on standard output');
}

function decision(program: Command, name: string, status: 'granted' | 'denied', description: string): void {
  common(program, name, description)
    .addArgument(new Argument('<module>').choices(plannedModules))
    .option('--note <text>', 'words for the tenant', noteText)
    .action((module: PlannedModule, flags: Flags) => settle(module, status, flags));
}

async function list(flags: Flags): Promise<void> {
  const found = await withStore(flags, async (store, redis) => {
    const tenants = flags.tenant === undefined ? await tenantsWith(redis, accessIndex) : [flags.tenant];
    const records = await Promise.all(
      tenants.map(async (tenant) => ({ tenant, ...(await readAccess(store, tenant)) })),
    );
    return records.flatMap(({ tenant, requests }) => requests.map((request) => ({ tenant, request })));
  });
  if (flags.json) {
    write(JSON.stringify({ access_requests: found.map(({ tenant, request }) => view(tenant, request)) }));
  } else if (found.length === 0) {
    process.stderr.write('signmesh: there are no requests\n');
  } else {
    for (const { tenant, request } of found) write(line(tenant, request));
  }
}

async function settle(module: PlannedModule, status: 'granted' | 'denied', flags: Flags): Promise<void> {
  const { tenant, note = null } = flags;
  if (tenant === undefined) throw new Failure('Give the tenant: --tenant <id>.', exitCodes.usage);
  const request = await withStore(flags, (store) => decideAccess(store, { tenant, module, status, note }, systemPorts));
  if (request === undefined) throw new Failure(`${tenant} has no request for ${module} that could be denied.`);
  write(flags.json ? JSON.stringify(view(tenant, request)) : line(tenant, request));
}

function view(tenant: string, request: AccessRequest): object {
  return { tenant, ...accessRequestView(request) };
}

function line(tenant: string, { id, module, status, reason, createdAtMs }: AccessRequest): string {
  const words = reason === null ? '' : `  ${JSON.stringify(reason)}`;
  return `${tenant}  ${module}  ${status}  ${id}  ${new Date(createdAtMs).toISOString()}${words}`;
}

function withStore<T>(
  { dataDir }: Flags,
  work: (store: RedisTenantStore, redis: import('ioredis').Redis) => Promise<T>,
): Promise<T> {
  const { settings, warnings } = loadSettings({
    ...process.env,
    ...(dataDir !== undefined && { SIGNMESH_DATA_DIR: dataDir }),
  });
  for (const warning of warnings) process.stderr.write(`signmesh: ${warning}\n`);
  readRoster(settings.SIGNMESH_DATA_DIR, undefined);
  return withRedis(redisUrlFor(settings), async (redis) => {
    await sealOnce(settings.SIGNMESH_DATA_DIR, redis);
    const recordKey = readSecret(settings.SIGNMESH_DATA_DIR, secretFiles.gatewayRecord);
    return work(new RedisTenantStore(redis, { ...systemPorts, recordKey }), redis);
  });
}

function tenantId(text: string): string {
  if (tenantPattern.test(text)) return text;
  throw new InvalidArgumentError('It must be 1 to 64 characters of A-Z a-z 0-9 _ -.');
}

function noteText(text: string): string {
  if (text.length <= noteCharsMax && !/\p{Cc}/u.test(text)) return text;
  throw new InvalidArgumentError(`It must have at most ${noteCharsMax} characters, and no control characters.`);
}

function write(text: string): void {
  process.stdout.write(`${text}\n`);
}
