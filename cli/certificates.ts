/**
 * `signmesh certificates`: lists the certificates of a data directory, renews them, and issues further ones of its authority, for
 * API servers and for Redis. It needs the authority's key: run it on the machine of `signmesh init`.
 */
import { isIP } from 'node:net';
import { join, resolve } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { authorityFile, readCertificate } from './cluster-files/certificate-file.ts';
import { holdersOf, issueFor, leafDays, renewCertificates } from './cluster-files/certificates.ts';
import { readRosters } from './cluster-files/cluster-material.ts';
import { exitCodes } from './common/failure.ts';
import { readIfThere } from './common/files.ts';
import { runSubcommand } from './common/subcommands.ts';
import { loadSettings } from './settings/config.ts';

interface Flags {
  readonly dataDir?: string;
  readonly json?: boolean;
}

const dayMs = 24 * 3_600_000;

/** Resolves with an exit code. Throws a Failure for a wrong call, and where the authority's key is missing. */
export async function run(args: readonly string[]): Promise<number> {
  return (await runSubcommand(makeCommand(), args)) ?? exitCodes.ok;
}

function makeCommand(): Command {
  const program = new Command('signmesh certificates')
    .description('List, renew and issue the certificates of a deployment. "signmesh init" makes the first ones.')
    .exitOverride()
    .configureOutput({ outputError: () => undefined })
    .addHelpText('after', `\nCertificates are valid for ${leafDays} days. Processes read them when they start.`);
  common(program, 'list', 'list the certificates of the data directory and their expiry')
    .option('--json', 'one JSON document on standard output')
    .action(list);
  common(
    program,
    'renew',
    'make new keys and certificates for every coordinator, node and gateway with a folder in the data directory',
  ).action(renew);
  common(program, 'issue', 'issue a certificate for an API server or a Redis, or for a client of one')
    .argument('<hosts...>', 'its DNS names and IP addresses', hostName)
    .requiredOption('--out <path>', 'writes <path>.crt and <path>.key')
    .action((hosts: readonly string[], flags: Flags & { out: string }) => issueOne(hosts, flags));
  return program;
}

function common(program: Command, name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .option('--data-dir <path>', 'data directory of the deployment (SIGNMESH_DATA_DIR)');
}

function list(flags: Flags): void {
  const dataDir = dataDirOf(flags);
  const paths = [authorityFile, ...holdersOf(readRosters(dataDir, undefined)).map(({ path }) => `${path}.crt`)];
  const rows = paths.flatMap((path) => {
    if (readIfThere(join(dataDir, path)) === undefined) return [];
    const { validTo, fingerprint256 } = readCertificate(join(dataDir, path));
    const expires = new Date(validTo);
    const days = Math.floor((expires.getTime() - Date.now()) / dayMs);
    return [{ path, expires: expires.toISOString(), days_left: days, sha256: fingerprint256 }];
  });
  if (flags.json) process.stdout.write(`${JSON.stringify({ certificates: rows })}\n`);
  for (const { path, expires, days_left: days } of flags.json ? [] : rows) {
    process.stdout.write(`${path.padEnd(28)} ${days < 0 ? 'EXPIRED on' : 'until'} ${expires} (${days} days)\n`);
  }
  if (rows.length === 0) process.stderr.write('signmesh: there are no certificates: "signmesh init" makes them\n');
}

function renew(flags: Flags): void {
  const dataDir = dataDirOf(flags);
  const renewed = renewCertificates(dataDir, readRosters(dataDir, undefined), new Date());
  for (const path of renewed) process.stdout.write(`renewed ${path}\n`);
  process.stderr.write('signmesh: copy each certificate and its key to its host, and restart its process\n');
}

function issueOne(hosts: readonly string[], flags: Flags & { out: string }): void {
  const path = resolve(flags.out);
  issueFor(dataDirOf(flags), path, { title: hosts[0]!, hosts, usage: ['server', 'client'] }, new Date());
  process.stdout.write(`${path}.crt\n${path}.key\n`);
}

function dataDirOf(flags: Flags): string {
  const { settings } = loadSettings({ ...process.env, ...(flags.dataDir && { SIGNMESH_DATA_DIR: flags.dataDir }) });
  return settings.SIGNMESH_DATA_DIR;
}

function hostName(text: string, before: readonly string[] = []): readonly string[] {
  const isName =
    /^(?=.{1,253}$)(\*\.)?[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i.test(text);
  if (isIP(text) !== 0 || isName) return [...before, text];
  throw new InvalidArgumentError('It must be a DNS name or an IP address.');
}
