/** What a person gets for a wrong call: one clear line and exit code 2. */
import { type StdioOptions, spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { runCommandLine } from '../../cli/command-line.ts';
import { Failure } from '../../cli/common/failure.ts';
import { startRedis } from '../support/redis.ts';
import { runs } from '../support/thorough.ts';
import { temporaryFolder } from './support/temporary.ts';
import { root } from './support/up-process.ts';

/** What cli/signmesh.mjs hands over to when nothing is missing, which takes it as long again to find out. */
const program = 'dist/cli/main.js';

function signmesh(args: readonly string[], extra: NodeJS.ProcessEnv = {}) {
  const { REDIS_URL: _, ...environment } = process.env;
  const options = { cwd: root, encoding: 'utf8' as const, env: { ...environment, ...extra } };
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], options);
  return { status, stdout, stderr };
}

interface Ended {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The same in this process, without the start of another. Rejects with a Failure, which `cli/main.ts` prints. */
async function inProcess(...args: readonly string[]): Promise<Ended> {
  const said = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    vi.spyOn(process[name], 'write').mockImplementation((text) => {
      said[name] += String(text);
      return true;
    }),
  );
  try {
    const exitCode = await runCommandLine([process.execPath, program, ...args]);
    return { exitCode, ...said };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

describe('the command line', () => {
  // When this file runs alone there may be no build yet.
  beforeAll(() => {
    spawnSync(process.execPath, ['cli/signmesh.mjs', '--version'], { cwd: root });
  });

  test.each([
    [['nope'], "signmesh: unknown command 'nope'"],
    [['load', 'gone.yaml'], 'signmesh: There is no file gone.yaml.'],
    [
      ['up', '--port', '70000'],
      'signmesh: --port (SIGNMESH_HTTP_PORT): "70000" must be a port from 1 to 65535, or 0 for a free one.',
    ],
    [
      ['worker'],
      'signmesh: REDIS_URL is not set; it must be a URL that starts with redis:// or rediss://; of a Redis Cluster several nodes, separated by commas.',
    ],
    [
      ['gateway'],
      'signmesh: REDIS_URL is not set; it must be a URL that starts with redis:// or rediss://; of a Redis Cluster several nodes, separated by commas.',
    ],
  ])('%j is one line and exit code 2', (args, line) => {
    const { status, stdout, stderr } = signmesh(args);
    expect(status).toBe(2);
    expect(stdout).toBe('');
    expect(stderr.trim().split('\n')).toEqual([expect.stringContaining(line)]);
  });

  test.each([
    [['upp'], "signmesh: unknown command 'upp' (Did you mean up?)"],
    [['up', '--sed', 'x'], "signmesh: unknown option '--sed' (Did you mean --seed?)"],
    [['up', '--nodes', '1'], 'It must be a number from 2 to 100.'],
    [['up', '--nodes', 'many'], 'It must be a number from 2 to 100.'],
    [['up', '--seed', ''], "option '--seed <text>' argument '' is invalid. It must not be empty."],
    [['node'], "signmesh: missing required argument 'ids'"],
    [['logs', '--lines', 'all'], 'It must be a number from 0 to 999999.'],
    [['node', 'three'], 'It must be a number from 1.'],
  ])('%j is one line and exit code 2, too', async (args, line) => {
    const { exitCode, stdout, stderr } = await inProcess(...args);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr.trim().split('\n')).toEqual([expect.stringContaining(line)]);
  });

  test.each([
    [['up', '--grpc-port', 'x'], /^--grpc-port \(SIGNMESH_GRPC_PORT\): "x" must be .*$/],
    [['health', 'redis'], 'health: "redis" is none of coordinator, node, gateway, worker.'],
    [['up', '--chaos-seed', '3'], '--chaos-seed needs --chaos.'],
  ])('%j is a failure of one line and exit code 2', async (args, message) => {
    const error = await inProcess(...args).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Failure);
    expect(error).toMatchObject({ exitCode: 2, message: expect.stringMatching(message) });
  });

  test('chaos without faults is refused before anything starts', async () => {
    vi.stubEnv('SIGNMESH_FAULTS', 'off');
    onTestFinished(() => void vi.unstubAllEnvs());
    const error = await inProcess('up', '--chaos', 'calm').catch((reason: unknown) => reason);
    expect(error).toMatchObject({ exitCode: 2, message: '--chaos needs a sandbox with SIGNMESH_FAULTS=on.' });
  });

  test.runIf(existsSync('/dev/full'))('output that cannot be written is exit code 1 and a reason', () => {
    const full = openSync('/dev/full', 'w');
    onTestFinished(() => closeSync(full));
    const stdio: StdioOptions = ['ignore', full, 'pipe'];
    const { status, stderr } = spawnSync(process.execPath, [program, '--help'], { cwd: root, encoding: 'utf8', stdio });
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^signmesh: The output cannot be written: .*\n$/)]);
  });

  test('what the machine lacks is one line and a remedy', () => {
    const ended = (script: string) =>
      spawnSync('sh', ['-c', script, process.execPath, join(root, program)], {
        cwd: temporaryFolder(),
        encoding: 'utf8',
      });
    const gone = ended('mkdir gone && cd gone && rmdir ../gone && exec "$0" "$1" status');
    expect([gone.status, gone.stderr]).toEqual([
      1,
      'signmesh: The current directory no longer exists: change to another one.\n',
    ]);
    const few = ended('ulimit -n 40 && exec "$0" "$1" up --embedded');
    expect([few.status, few.stderr]).toEqual([1, expect.stringMatching(/^signmesh: EMFILE: .* \(ulimit -n\)[.]\n$/)]);
  });

  test.each(['up', 'status', 'stop', 'logs', 'init', 'node'])('%s --help prints the usage', async (command) => {
    const { exitCode, stdout } = await inProcess(command, '--help');
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining(`Usage: signmesh ${command}`)]);
  });

  // Each has a module of its own.
  test.each([...['tokens', 'modules', 'credentials', 'listen', 'trigger', 'demo', 'scenario', 'sim', 'bench']])(
    '%s --help prints its usage',
    async (command) => {
      const { exitCode, stdout } = await inProcess(command, '--help');
      expect([exitCode, stdout]).toEqual([0, expect.stringContaining(`Usage: signmesh ${command}`)]);
    },
  );

  test('bad settings are one line each and exit code 2', () => {
    const { status, stderr } = signmesh(['up'], { SIGNMESH_HTTP_PORT: 'http', SIGNMESH_NODES: '1' });
    expect(status).toBe(2);
    expect(stderr.trim().split('\n')).toEqual([
      'signmesh: SIGNMESH_HTTP_PORT: "http" must be a port from 1 to 65535, or 0 for a free one.',
      'signmesh: SIGNMESH_NODES: "1" must be an integer from 2 to 100.',
    ]);
  });

  test('two doors at one port are one line and exit code 2', () => {
    const { status, stderr } = signmesh(['up', '--data-dir', temporaryFolder()], {
      SIGNMESH_HTTP_PORT: '28123',
      SIGNMESH_GRPC_PORT: '28123',
    });
    expect(status).toBe(2);
    expect(stderr).toBe(
      'signmesh: SIGNMESH_HTTP_PORT and SIGNMESH_GRPC_PORT are both 28123. Set one of them to another port.\n',
    );
  });

  const roles = [
    [
      'coordinator',
      { SIGNMESH_COORDINATOR_PORT: 'taken' },
      /^signmesh: 127\.0\.0\.1:\d+ \(coordinator\) is taken by [^.]+\. Set SIGNMESH_COORDINATOR_PORT to another one\.$/m,
    ],
    [
      'gateway',
      { SIGNMESH_HTTP_PORT: 'taken', SIGNMESH_COORDINATOR_URL: 'ws://127.0.0.1:1' },
      /^signmesh: 127\.0\.0\.1:\d+ \(REST\) is taken by [^.]+\. Set SIGNMESH_HTTP_PORT to another one\.$/m,
    ],
  ] as const;
  test.each(roles.slice(0, runs(1, roles.length)))(
    'a %s whose port is taken says so, without a stack',
    async (role, settings, line) => {
      const holder = createServer();
      await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
      const { port } = holder.address() as AddressInfo;
      const redis = await startRedis();
      onTestFinished(async () => {
        holder.close();
        await redis.stop();
      });
      const dataDir = temporaryFolder();
      expect(signmesh(['init', '--data-dir', dataDir]).status).toBe(0);
      const { status, stderr } = signmesh([role], {
        SIGNMESH_DATA_DIR: dataDir,
        REDIS_URL: redis.url,
        ...Object.fromEntries(
          Object.entries(settings).map(([name, value]) => [name, value.replace('taken', String(port))]),
        ),
      });
      expect(status).toBe(1);
      expect(stderr).toMatch(line);
      expect(stderr).not.toContain('    at ');
    },
  );

  test('help names every command, and the version is the package’s', () => {
    const { status, stdout } = signmesh(['--help']);
    expect(status).toBe(0);
    for (const command of [
      'up',
      'init',
      'coordinator',
      'node',
      'gateway',
      'worker',
      'listen',
      'trigger',
      'demo',
      'bench',
      'check',
    ]) {
      expect(stdout).toMatch(new RegExp(`^ +${command} `, 'm'));
    }
    expect(signmesh(['--version'])).toMatchObject({ status: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  });
});
