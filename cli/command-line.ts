/**
 * The signmesh command as people call it: its commands, options and help. Every mistake ends in one clear line: exit 2 for a
 * wrong call or wrong settings, exit 1 for an unsuitable environment. Commands load their code when they run.
 */
import { existsSync, readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { nodesMax } from '../proto/limits.ts';
import { builtFile, packageFile } from './common/built.ts';
import { exitCodes, Failure } from './common/failure.ts';
import { serviceCommandTexts } from './common/service-commands.ts';
import { nodeIdPattern } from './role-call.ts';
import type { RoleName } from './roles.ts';
import type { Settings } from './settings/config.ts';
import { type PlaceFlags, readEnvironment } from './settings/environment.ts';
import { noRedis } from './start/no-redis.ts';

interface ClusterFlags extends PlaceFlags {
  readonly seed?: string;
  readonly nodes?: number;
}

interface UpFlags extends ClusterFlags {
  readonly json?: boolean;
  readonly verbose?: boolean;
  readonly detach?: boolean;
  readonly outlive?: boolean;
  readonly embedded?: boolean;
  readonly state?: string;
  readonly record?: string;
  readonly chaos?: string;
  readonly chaosSeed?: string;
}

interface LogsFlags {
  readonly lines: number;
  readonly follow?: boolean;
  readonly raw?: boolean;
}

/** Resolves with an exit code. Throws a Failure; any other error is a bug. */
export async function runCommandLine(argv: readonly string[]): Promise<number> {
  let exitCode: number = exitCodes.ok;
  const program = makeProgram(argv, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync([...argv]);
    return exitCode;
  } catch (error) {
    // Help and version also end in an "error"; commander has written their output.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    throw error;
  }
}

/** Those that this installation has. */
export function commandNames(): readonly string[] {
  const program = makeProgram([], () => undefined);
  const commands = program.createHelp().visibleCommands(program);
  return commands.map((command) => command.name());
}

function makeProgram(argv: readonly string[], end: (exitCode: number) => void): Command {
  const program = new Command('signmesh')
    .description(
      'A simulator of a threshold-signing custody service: real processes, real signatures, a mock mode.\nNever guard real funds with it.',
    )
    .version(version())
    .exitOverride()
    .showSuggestionAfterError()
    .configureOutput({
      outputError: (text, write) => write(`signmesh: ${text.replace(/^error: /, '').replace('\n(', ' (')}`),
    })
    .addHelpText('after', '\nSettings come from environment variables: see docs/configuration.md.');

  clusterCommand(program, 'up', 'start a whole cluster: Redis, coordinator, nodes, gateway, worker')
    .option('--json', 'print one machine-readable line when ready')
    .option('--verbose', 'print the log, including a line for every request')
    .option('--detach', 'exit when the cluster is ready; it runs until "signmesh stop"')
    .addOption(new Option('--outlive').hideHelp())
    .option('--embedded', 'run everything in this process: no Redis, no data directory')
    .option('--no-embedded', 'end where redis-server is missing, instead of running embedded')
    .option('--state <file>', 'with --embedded: load the state from this file, and save it there at the end')
    .option('--record <file.yaml>', 'with --embedded: write a scenario of the clients’ calls and the faults')
    .option('--port <port>', 'port of the REST API (SIGNMESH_HTTP_PORT)')
    .option('--grpc-port <port>', 'port of the gRPC API (SIGNMESH_GRPC_PORT)')
    .option('--door-faults', 'run a proxy in front of the gateway that can inject API faults (SIGNMESH_DOOR_FAULTS)')
    .option('--chaos <profile>', 'arm faults at random: calm, flaky-network, stormy, byzantine or slow-custodian')
    .option('--chaos-seed <seed>', 'with --chaos: the same seed has the same faults; a random one by default')
    .option('--gateways <count>', 'number of gateways, on consecutive ports (SIGNMESH_GATEWAYS)')
    .option('--workers <count>', 'number of workers, which deliver webhooks (SIGNMESH_WORKERS)')
    .option('--nodes-per-process <count>', 'number of nodes in one process (SIGNMESH_NODES_PER_PROCESS)')
    .action(async (flags: UpFlags) => {
      const missing = flags.embedded === true ? undefined : noRedis();
      const embedded = flags.embedded === true || missing !== undefined;
      const chaos = await chaosOf(flags);
      // Embedded, the API has its faults without a proxy.
      const doorFaults = flags.doorFaults === true || (chaos !== undefined && !embedded);
      const { settings, environment } = readEnvironment({ ...flags, doorFaults });
      const {
        seed,
        nodes,
        json = false,
        verbose = false,
        detach: isDetached = false,
        outlive: detached = false,
        state,
        record,
      } = flags;
      if (missing !== undefined) {
        const { standInLine } = await import('./embedded/requested.ts');
        const refused = flags.embedded === false ? '--no-embedded' : flags.dataDir && !isDetached && '--data-dir';
        const line = standInLine(missing, settings, refused || undefined, state);
        (json ? process.stderr : process.stdout).write(`${line}\n`);
      }
      if (!embedded) needEmbedded(flags);
      if (embedded && !isDetached) {
        const { upEmbedded } = await import('./embedded/embedded.ts');
        end(await upEmbedded({ settings, seed, nodes, json, verbose, state, record, detached, chaos }));
        return;
      }
      const { detach, up } = await import('./up/public.ts');
      if (isDetached) {
        const place = { dataDir: settings.SIGNMESH_DATA_DIR, colour: isColoured(settings) };
        const args = missing === undefined ? argv.slice(2) : [...argv.slice(2), '--embedded'];
        end(await detach({ ...place, args, json }));
      } else end(await up({ settings, environment, seed, nodes, json, verbose, detached, chaos }));
    });
  placeCommand(program, 'status', 'show the cluster of a data directory; exit 0 if it serves')
    .option('--json', 'one machine-readable line')
    .action(async ({ json = false, ...flags }: PlaceFlags & { json?: boolean }) => {
      const { settings } = readEnvironment(flags);
      const { status } = await import('./up/public.ts');
      end(await status({ dataDir: settings.SIGNMESH_DATA_DIR, json, colour: isColoured(settings) }));
    });
  placeCommand(program, 'stop', 'stop the cluster of a data directory').action(async (flags: PlaceFlags) => {
    const { settings } = readEnvironment(flags);
    const { stop } = await import('./up/public.ts');
    end(await stop(settings.SIGNMESH_DATA_DIR));
  });
  placeCommand(program, 'logs', 'print the logs of a data directory’s processes')
    .argument('[processes...]', 'such as gateway and node-3; by default all')
    .option('--lines <count>', 'print only the last lines', lineCount, 100)
    .option('-f, --follow', 'follow: print new lines as they are logged')
    .option('--raw', 'print the raw lines: JSON, one record a line')
    .action(async (processes: readonly string[], flags: PlaceFlags & LogsFlags) => {
      const { settings } = readEnvironment(flags);
      const { logs } = await import('./up/public.ts');
      const { lines, follow = false, raw = false } = flags;
      end(await logs({ dataDir: settings.SIGNMESH_DATA_DIR, processes, lines, follow, raw }));
    });
  clusterCommand(program, 'init', 'make the keys and secrets of a cluster, and start no process').action(
    async (flags: ClusterFlags) => {
      const { settings } = readEnvironment(flags);
      const { initialise } = await import('./init.ts');
      process.stdout.write(`${initialise(settings, flags.seed, flags.nodes)}\n`);
    },
  );

  const role = async (name: RoleName, nodeIds: readonly number[]) => {
    const { settings } = readEnvironment({});
    const { runRole } = await import('./roles.ts');
    end(await runRole(name, nodeIds, settings));
  };
  program
    .command('coordinator')
    .description('run the coordinator of a cluster')
    .action(() => role('coordinator', []));
  program
    .command('node')
    .description('run one signer node, or several in one process')
    .argument('<ids...>', 'their ids, from 1', (id: string, ids: readonly number[] = []) => [...ids, nodeId(id)])
    .action((ids: readonly number[]) => role('node', ids));
  program
    .command('gateway')
    .description('run a gateway: REST and gRPC')
    .action(() => role('gateway', []));
  program
    .command('worker')
    .description('run a worker, which delivers webhooks')
    .action(() => role('worker', []));
  program
    .command('health')
    .description('exit 0 if a role on this host is healthy (for containers)')
    .argument('<role>', 'coordinator, node, gateway or worker')
    .action(async (name: string) => {
      const { settings } = readEnvironment({});
      const { probe } = await import('./health.ts');
      end(await probe(name, settings));
    });

  // Commands with options have their own text for --help.
  for (const [name, description, ownHelp] of [
    ['tokens', 'issue, list, rotate and revoke access tokens', true],
    ['modules', 'list, grant and deny requests for access to modules', true],
    ['credentials', 'rotate the keys that seal provider credentials', true],
    ['certificates', 'list, renew and issue certificates of links, API servers and Redis', true],
    ['listen', 'print a tenant’s events as they happen, and forward them to a local URL', true],
    ['trigger', 'perform the operation that causes an event of a type', true],
    ...Object.entries(serviceCommandTexts).map(([name, text]) => [name, text, true] as const),
    ['completion', 'print the completion of these commands for bash, zsh or fish', true],
    ['load', 'send load to a service through its APIs, measure it, and check every answer', true],
    ['demo', 'show a guided tour: two keys and two signatures, message by message', true],
    ['scenario', 'run fault scenarios, simulated or against real processes', true],
    ['sim', 'run random clusters, calls and faults in virtual time, and check every invariant', true],
    ['bench', 'measure signatures, keys and the wallet API on this machine', true],
    ['check', 'run every check of this repository, then its tests', false],
    ['mutate', 'plant mutants in a room, one at a time, and count how many its tests detect', false],
    ['docs', 'generate the pages of docs/ from code', false],
  ] as readonly (readonly [name: string, description: string, ownHelp: boolean])[]) {
    const command = program
      // A package omits the commands that need the repository.
      .command(name, { hidden: !existsSync(moduleOf(name)) })
      .description(description)
      .argument('[args...]')
      .allowUnknownOption()
      .action(async (args: string[]) => end(await runModule(name, args)));
    if (ownHelp) command.helpOption(false);
  }
  return program;
}

/** Of flags that only an embedded service has. */
async function chaosOf({ chaos, chaosSeed }: UpFlags) {
  if (chaos === undefined) {
    if (chaosSeed !== undefined) throw new Failure('--chaos-seed needs --chaos.', exitCodes.usage);
    return undefined;
  }
  const { chaosRequest } = await import('./start/chaos.ts');
  return chaosRequest(chaos, chaosSeed);
}

function needEmbedded(flags: UpFlags): void {
  const given = (['state', 'record'] as const).find((name) => flags[name] !== undefined);
  if (given !== undefined) throw new Failure(`--${given} needs "up --embedded".`, exitCodes.usage);
}

function placeCommand(program: Command, name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .option('--data-dir <path>', 'data directory of the cluster (SIGNMESH_DATA_DIR)');
}

function clusterCommand(program: Command, name: string, description: string): Command {
  return placeCommand(program, name, description)
    .option('--seed <text>', 'seed of the ready-made keys: a text, or "random" for a secret one', seedText)
    .option('--clusters <count>', 'number of clusters: coordinators with their nodes (SIGNMESH_CLUSTERS)')
    .option('--nodes <count>', 'number of signer nodes of a new cluster', nodeCount)
    .option('--threshold <count>', 'number of nodes that must sign, in a new cluster (SIGNMESH_THRESHOLD)');
}

/** Commands that need a checkout are separate from the product: a package has no tools/. */
const repositoryCommands = new Set(['bench', 'check', 'docs', 'mutate']);

function moduleOf(name: string): string {
  if (Object.hasOwn(serviceCommandTexts, name)) return builtFile('cli/service.js');
  return builtFile(`${repositoryCommands.has(name) ? 'tools' : 'cli'}/${name}.js`);
}

/** Commands with their own module and arguments: the module exports `run(args)`, which gives an exit code. */
async function runModule(name: string, args: readonly string[]): Promise<number> {
  const path = moduleOf(name);
  if (!existsSync(path)) throw new Failure(`"signmesh ${name}" is for a checkout: this package has no ${name}.`);
  const { run } = (await import(pathToFileURL(path).href)) as { run(args: readonly string[]): Promise<number> };
  return run(Object.hasOwn(serviceCommandTexts, name) ? [name, ...args] : args);
}

function nodeId(text: string): number {
  const id = text.replace(/^node[/-]/, '');
  if (nodeIdPattern.test(id)) return Number(id);
  throw new InvalidArgumentError('It must be a number from 1.');
}

function lineCount(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a number from 0 to 999999.');
}

function isColoured({ NO_COLOR }: Settings): boolean {
  return process.stdout.isTTY === true && NO_COLOR === undefined;
}

/** An empty seed is more likely an unset variable than a choice. */
function seedText(text: string): string {
  if (text !== '') return text;
  throw new InvalidArgumentError('It must not be empty.');
}

function nodeCount(text: string): number {
  const count = Number(text);
  if (/^\d{1,4}$/.test(text) && count >= 2 && count <= nodesMax) return count;
  throw new InvalidArgumentError(`It must be a number from 2 to ${nodesMax}.`);
}

function version(): string {
  const manifest = packageFile('package.json');
  return manifest === undefined
    ? 'unknown'
    : (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version;
}
