/**
 * `signmesh tokens`: who may call the service. It shows a token once, when it issues it; afterwards only its keyed hash exists,
 * and its record is named by its id.
 */

import { Command, InvalidArgumentError, Option } from 'commander';
import { systemPorts } from '../core/actors/live/ports.ts';
import { allScopes, isScope, type Scope, sandboxScopes, withinProviders } from '../gateway/api/scopes.ts';
import type { TokenRecord } from '../gateway/auth/token-record.ts';
import { TokenTampered } from '../gateway/auth/token-record.ts';
import { type IssuedToken, TokenStore, tenantPattern } from '../gateway/auth/token-store.ts';
import { durationMs } from '../proto/durations.ts';
import type { ClusterEnvironment } from '../proto/roster.ts';
import { readRoster, readSecret, secretFiles } from './cluster-files/cluster-material.ts';
import { readSandbox, sandboxTenant } from './cluster-files/sandbox.ts';
import { exitCodes, Failure } from './common/failure.ts';
import { runSubcommand } from './common/subcommands.ts';
import { table } from './common/table.ts';
import { redisUrlFor, withRedis } from './redis/redis-address.ts';
import { sealOnce } from './redis/seal-records.ts';
import { loadSettings } from './settings/config.ts';
import { runningCluster } from './start/running.ts';

interface CommonFlags {
  readonly tenant?: string;
  readonly dataDir?: string;
  readonly json?: boolean;
}

interface IssueFlags extends CommonFlags {
  readonly name?: string;
  readonly scopes?: Scope[];
  readonly all?: boolean;
  readonly readOnly?: boolean;
  readonly expires?: number | 'never';
  readonly providerConnection?: string[];
  readonly environment?: ClusterEnvironment;
}

const lifetimeMaxMs = 3_650 * 86_400_000;
const nameCharsMax = 100;
const columns = ['ID', 'NAME', 'SCOPES', 'CREATED', 'EXPIRES', 'REVOKED'] as const;

/** Resolves with an exit code. Throws a Failure for a wrong call, and for an unsuitable environment. */
export async function run(args: readonly string[]): Promise<number> {
  return (await runSubcommand(makeCommand(), args)) ?? exitCodes.ok;
}

function makeCommand(): Command {
  const program = new Command('signmesh tokens')
    .description('Issue, list, rotate and revoke access tokens.')
    .exitOverride()
    .configureOutput({ outputError: () => undefined })
    .addHelpText(
      'after',
      '\nThey work on the Redis of REDIS_URL, or else on that of the "signmesh up" that runs in the data directory.',
    );
  common(program, 'issue', 'issue a token; it is shown once')
    .option('--name <text>', 'a label for people', label)
    .option('--scopes <list>', 'scopes, such as wallets:read,intents:write', scopeList)
    .option('--all', 'every scope but sandbox:admin')
    .option('--read-only', 'every scope that reads')
    .option('--expires <time>', 'such as 90d, 12h or "never" (production: 90d; sandbox: never)', lifetime)
    .option('--provider-connection <id>', 'restrict it to this provider connection (repeatable)', connections)
    .addOption(
      new Option('--environment <name>', 'environment of the token (SIGNMESH_ENVIRONMENT)').choices([
        'sandbox',
        'production',
      ]),
    )
    .addHelpText('after', `\nScopes:\n${scopeLines().join('\n')}`)
    .action(issue);
  common(program, 'list', 'list the tokens of a tenant, also revoked and expired ones; never a token itself').action(
    list,
  );
  common(program, 'rotate', 'issue a token with the same rights and revoke this one')
    .argument('<id>', 'tok_…')
    .action(rotate);
  common(program, 'revoke', 'revoke a token; gateways follow within 5 seconds')
    .argument('<id>', 'tok_…')
    .action(revoke);
  return program;
}

function common(program: Command, name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .option(
      '--tenant <id>',
      `tenant of the token; in a sandbox by default the banner’s tenant, ${sandboxTenant}`,
      tenantId,
    )
    .option('--data-dir <path>', 'data directory of the cluster (SIGNMESH_DATA_DIR)')
    .option('--json', 'one JSON document on standard output');
}

async function issue(flags: IssueFlags): Promise<void> {
  const { settings } = readSettings(flags);
  const environment = flags.environment ?? settings.SIGNMESH_ENVIRONMENT;
  const scopes = wantedScopes(flags, environment);
  const { name, expires, providerConnection: providerConnectionIds } = flags;
  const tenant = tenantOf(flags);
  if (expires === 'never' && environment === 'production') {
    throw new Failure('A production token must expire: give --expires, for example 90d.', exitCodes.usage);
  }
  if (providerConnectionIds !== undefined) {
    const kept = withinProviders(scopes);
    const left = scopes.filter((scope) => !kept.includes(scope));
    if (kept.length === 0) {
      throw new Failure(`A token restricted to connections cannot have ${left.join(', ')}.`, exitCodes.usage);
    }
    if (left.length > 0) note(`omitted, since a token restricted to connections never has them: ${left.join(', ')}`);
  }
  const request = {
    tenant,
    environment,
    scopes,
    ...(name !== undefined && { name }),
    ...(typeof expires === 'number' && { lifetimeMs: expires }),
    ...(providerConnectionIds !== undefined && { providerConnectionIds }),
  };
  show(await withStore(flags, (store) => store.issueToken(request)), flags);
}

async function list(flags: CommonFlags): Promise<void> {
  const tenant = tenantOf(flags);
  const records = await withStore(flags, (store) => store.listTokens(tenant));
  if (flags.json) {
    write(JSON.stringify({ tokens: records.map(view) }));
    return;
  }
  const anyRotated = records.some((record) => otherActor(record) !== undefined);
  const rows = records.map((record) => {
    const { id, name, scopes, createdAtMs, expiresAtMs, revokedAtMs } = record;
    const times = [day(createdAtMs), day(expiresAtMs), day(revokedAtMs)];
    return [id, name || '-', String(scopes.length), ...times, ...(anyRotated ? [otherActor(record) ?? '-'] : [])];
  });
  if (rows.length === 0) note(`${tenant} has no tokens`);
  else write(table([[...columns, ...(anyRotated ? ['ACTS AS'] : [])], ...rows]));
}

async function rotate(id: string, flags: CommonFlags): Promise<void> {
  const tenant = tenantOf(flags);
  const issued = await withStore(flags, (store) => store.rotateToken(tenant, id));
  if (issued === undefined) throw new Failure(`${tenant} has no valid token ${quoted(id)}.`);
  show(issued, flags);
}

async function revoke(id: string, flags: CommonFlags): Promise<void> {
  const tenant = tenantOf(flags);
  const found = await withStore(flags, (store) => store.revokeToken(tenant, id));
  if (!found) throw new Failure(`${tenant} has no token ${quoted(id)}.`);
  write(flags.json ? JSON.stringify({ id, revoked: true }) : `${id} is revoked; gateways follow within 5 seconds`);
}

function wantedScopes({ scopes = [], all, readOnly }: IssueFlags, environment: ClusterEnvironment): readonly Scope[] {
  const wanted = new Set<Scope>([
    ...scopes,
    ...(all ? sandboxScopes : []),
    ...(readOnly ? allScopes.filter((scope) => scope.endsWith(':read')) : []),
  ]);
  if (wanted.size === 0) throw new Failure('Give its scopes: --scopes, --read-only or --all.', exitCodes.usage);
  if (environment === 'production' && wanted.has('sandbox:admin')) {
    throw new Failure('sandbox:admin exists only in a sandbox.', exitCodes.usage);
  }
  return allScopes.filter((scope) => wanted.has(scope));
}

function readSettings({ dataDir }: CommonFlags) {
  return loadSettings({ ...process.env, ...(dataDir !== undefined && { SIGNMESH_DATA_DIR: dataDir }) });
}

/** A sandbox has its own tenant, whose token the banner shows; elsewhere the caller names the tenant. */
function tenantOf(flags: CommonFlags): string {
  if (flags.tenant !== undefined) return flags.tenant;
  const { settings } = readSettings(flags);
  refuseEmbedded(settings.SIGNMESH_DATA_DIR);
  const isSandbox =
    settings.SIGNMESH_ENVIRONMENT === 'sandbox' && readSandbox(settings.SIGNMESH_DATA_DIR) !== undefined;
  if (isSandbox) return sandboxTenant;
  throw new Failure(
    'Give the tenant: --tenant <id>. Only the data directory of a sandbox has a default tenant.',
    exitCodes.usage,
  );
}

/** An embedded service in the background has a data directory, and its tokens in memory. */
function refuseEmbedded(dataDir: string): void {
  const ready = runningCluster(dataDir)?.ready;
  if (ready === undefined || !('embedded' in ready)) return;
  throw new Failure(
    `The service in ${dataDir} is embedded: it keeps tokens in memory. Use the two of its banner, any "svc_sk_test_…" with 12 ` +
      'letters and digits or more, which opens a tenant of its own, or POST /v1/sandbox/tokens; only a process cluster (no ' +
      '--embedded) has "signmesh tokens".',
  );
}

/** The token key is in the data directory: the same for gateways and commands. */
async function withStore<T>(flags: CommonFlags, work: (store: TokenStore) => Promise<T>): Promise<T> {
  const { settings, warnings } = readSettings(flags);
  for (const warning of warnings) note(warning);
  refuseEmbedded(settings.SIGNMESH_DATA_DIR);
  readRoster(settings.SIGNMESH_DATA_DIR, undefined);
  const tokenKey = readSecret(settings.SIGNMESH_DATA_DIR, secretFiles.gatewayToken);
  return withRedis(redisUrlFor(settings), async (redis) => {
    await sealOnce(settings.SIGNMESH_DATA_DIR, redis);
    try {
      return await work(new TokenStore(redis, tokenKey, systemPorts));
    } catch (error) {
      if (error instanceof TokenTampered) throw new Failure(`${error.message}.`);
      throw error instanceof RangeError ? new Failure(`${error.message}.`, exitCodes.usage) : error;
    }
  });
}

/** Prints the token on standard output, and remarks for people on standard error. */
function show({ token, record }: IssuedToken, { json }: CommonFlags): void {
  if (json) {
    write(JSON.stringify({ token, ...view(record) }));
  } else {
    const { id, tenant, environment, name, scopes, providerConnectionIds, expiresAtMs } = record;
    const actor = otherActor(record);
    write(
      table([
        ['token', token],
        ['id', id],
        ...(actor === undefined ? [] : [['acts as', actor]]),
        ['tenant', `${tenant} (${environment})`],
        ['name', name || '-'],
        ['scopes', scopes.join(' ')],
        ...(providerConnectionIds ? [['connections', providerConnectionIds.join(' ')]] : []),
        ['expires', expiresAtMs === undefined ? 'never' : new Date(expiresAtMs).toISOString()],
      ]),
    );
  }
  note('the token is shown only this once');
}

/** The actor of a rotated token; undefined: its own id. */
function otherActor({ id, actorId }: TokenRecord): string | undefined {
  return actorId === id ? undefined : actorId;
}

function view(record: TokenRecord) {
  const { id, actorId, tenant, environment, name, scopes, providerConnectionIds } = record;
  const time = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());
  return {
    id,
    actor_id: actorId,
    issuers: record.issuers,
    tenant,
    environment,
    name,
    scopes,
    provider_connection_ids: providerConnectionIds ?? null,
    created_at: time(record.createdAtMs),
    expires_at: time(record.expiresAtMs),
    revoked_at: time(record.revokedAtMs),
  };
}

function day(ms: number | undefined): string {
  return ms === undefined ? '-' : new Date(ms).toISOString().slice(0, 16).replace('T', ' ');
}

function scopeLines(): string[] {
  const lines: string[] = [];
  for (const scope of allScopes) {
    const last = lines.at(-1);
    if (last === undefined || last.length + scope.length > 76) lines.push(`  ${scope}`);
    else lines[lines.length - 1] = `${last} ${scope}`;
  }
  return lines;
}

function tenantId(text: string): string {
  if (tenantPattern.test(text)) return text;
  throw new InvalidArgumentError('It must be 1 to 64 characters of A-Z a-z 0-9 _ -.');
}

function label(text: string): string {
  if (text.length <= nameCharsMax && !/\p{Cc}/u.test(text)) return text;
  throw new InvalidArgumentError(`It must have at most ${nameCharsMax} characters, and no control characters.`);
}

function scopeList(text: string): Scope[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.filter((name) => !isScope(name));
  if (unknown.length === 0) return names as Scope[];
  throw new InvalidArgumentError(`${unknown.map(quoted).join(', ')}: unknown scope (--help lists them).`);
}

function lifetime(text: string): number | 'never' {
  if (text === 'never') return text;
  const ms = durationMs(text, lifetimeMaxMs);
  if (ms !== undefined) return ms;
  throw new InvalidArgumentError('It must be a number with s, m, h or d, up to 3650d, or "never".');
}

function connections(text: string, previous: string[] = []): string[] {
  if (/^pcn_[0-9a-f-]{36}$/.test(text)) return [...new Set([...previous, text])];
  throw new InvalidArgumentError('It must be the id of a provider connection, pcn_…');
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text);
}

function write(text: string): void {
  process.stdout.write(`${text}\n`);
}

function note(text: string): void {
  process.stderr.write(`signmesh: ${text}\n`);
}
