/** What a person gets for a wrong call: one clear line and exit code 2. */
import { spawnSync } from 'node:child_process';
import { beforeAll, describe, expect, test } from 'vitest';
import { root } from './support/up-process.ts';

function signmesh(args: readonly string[], extra: NodeJS.ProcessEnv = {}) {
  const { REDIS_URL: _, ...environment } = process.env;
  const options = { cwd: root, encoding: 'utf8' as const, env: { ...environment, ...extra } };
  const { status, stdout, stderr } = spawnSync(process.execPath, ['cli/signmesh.mjs', ...args], options);
  return { status, stdout, stderr };
}

describe('the command line', () => {
  // Whoever runs this file alone may have no build yet, and its making is said.
  beforeAll(() => {
    signmesh(['--version']);
  });

  test.each([
    [['nope'], "signmesh: unknown command 'nope'"],
    [['upp'], "signmesh: unknown command 'upp' (Did you mean up?)"],
    [['up', '--sed', 'x'], "signmesh: unknown option '--sed' (Did you mean --seed?)"],
    [['up', '--nodes', '1'], 'It must be a number from 2 to 100.'],
    [['up', '--nodes', 'many'], 'It must be a number from 2 to 100.'],
    [['node'], "signmesh: missing required argument 'id'"],
    [['node', 'three'], 'It must be a number from 1.'],
    [['health', 'redis'], 'signmesh: health: "redis" is none of coordinator, node, gateway.'],
    [['gateway'], 'signmesh: REDIS_URL is not set; it must be a URL that starts with redis:// or rediss://.'],
  ])('%j is one line and exit code 2', (args, line) => {
    const { status, stdout, stderr } = signmesh(args);
    expect(status).toBe(2);
    expect(stdout).toBe('');
    expect(stderr.trim().split('\n')).toEqual([expect.stringContaining(line)]);
  });

  test('bad settings are one line each and exit code 2', () => {
    const { status, stderr } = signmesh(['up'], { SIGNMESH_HTTP_PORT: 'http', SIGNMESH_NODES: '1' });
    expect(status).toBe(2);
    expect(stderr.trim().split('\n')).toEqual([
      'signmesh: SIGNMESH_HTTP_PORT: "http" must be a port from 1 to 65535.',
      'signmesh: SIGNMESH_NODES: "1" must be an integer from 2 to 100.',
    ]);
  });

  test('help names every command, and the version is the package’s', () => {
    const { status, stdout } = signmesh(['--help']);
    expect(status).toBe(0);
    for (const command of ['up', 'init', 'coordinator', 'node', 'gateway', 'demo', 'bench', 'check']) {
      expect(stdout).toMatch(new RegExp(`^ +${command} `, 'm'));
    }
    expect(signmesh(['--version'])).toMatchObject({ status: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  });
});
