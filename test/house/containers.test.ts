/** docker-compose.yml and the Dockerfile, held to the code: commands, ports and variables exist there. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { loadSettings } from '../../cli/settings/config.ts';
import { type Role, type Variable, variables } from '../../cli/settings/variables.ts';
import { root } from '../cli/support/up-process.ts';

interface Service {
  readonly image?: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { condition: string }>>;
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean };
}

const compose = parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8'), { merge: true }) as {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
};
const ours = Object.entries(compose.services).filter(([, { image }]) => image === 'signmesh');
/** Chosen by the person who starts it: nothing starts without. */
const password = 'chosen-by-the-operator';
/** What an unset variable of the person's own environment leaves: its default, or nothing. */
const interpolate = (value: string) =>
  value.replace(/\$\{\w+:-([^}]*)\}/g, '$1').replace(/\$\{SIGNMESH_REDIS_PASSWORD:\?[^}]+\}/g, password);

describe('docker-compose.yml', () => {
  test('runs a redis, a coordinator, five nodes, a gateway and a worker', () => {
    const nodes = [1, 2, 3, 4, 5].map((id) => `node-${id}`);
    const others = ['coordinator', 'gateway', 'init', 'redis', 'worker'];
    expect(Object.keys(compose.services).sort()).toEqual([...others, ...nodes].sort());
    for (const id of [1, 2, 3, 4, 5]) expect(compose.services[`node-${id}`]?.command).toEqual(['node', String(id)]);
  });

  test.each(ours)('%s runs a command that exists, with variables that its role reads and accepts', (_, service) => {
    const [role] = service.command ?? [];
    expect(['init', 'coordinator', 'node', 'gateway', 'worker']).toContain(role);
    const environment = Object.fromEntries(
      Object.entries(service.environment ?? {}).map(([name, value]) => [name, interpolate(value)]),
    );
    for (const name of Object.keys(environment)) {
      const entry = (variables as Readonly<Record<string, Variable<unknown>>>)[name];
      expect(entry, name).toBeDefined();
      expect(entry?.roles, name).toContain(role as Role);
    }
    expect(loadSettings(environment).warnings).toEqual([]);
  });

  test('every process finds the coordinator where it listens', () => {
    const { SIGNMESH_COORDINATOR_PORT: port } = compose.services.coordinator?.environment ?? {};
    for (const [name, { environment = {} }] of ours) {
      if (environment.SIGNMESH_COORDINATOR_URL === undefined) continue;
      expect(environment.SIGNMESH_COORDINATOR_URL, name).toBe(`wss://coordinator:${port}`);
    }
  });

  test('no process but init sees the key of the authority', () => {
    const holders = ours.filter(([, { volumes = [] }]) => volumes.some((volume) => volume.startsWith('authority:')));
    expect(holders.map(([name]) => name)).toEqual(['init']);
  });

  test('the gateway’s ports are published on loopback alone, and no other ports', () => {
    const { SIGNMESH_HTTP_PORT: http, SIGNMESH_GRPC_PORT: grpc } = compose.services.gateway?.environment ?? {};
    expect(compose.services.gateway?.ports).toEqual([`127.0.0.1:${http}:${http}`, `127.0.0.1:${grpc}:${grpc}`]);
    for (const [name, { ports }] of Object.entries(compose.services))
      if (name !== 'gateway') expect(ports).toBeUndefined();
  });

  test('every process has a health check', () => {
    for (const [name, { healthcheck, command }] of Object.entries(compose.services)) {
      if (name === 'init') continue;
      const expected = name === 'redis' ? ['redis-cli', 'ping'] : ['dist/cli/main.js', 'health', command?.[0]];
      expect(healthcheck?.test?.slice(-expected.length), name).toEqual(expected);
    }
  });

  test('a process sees its own secrets and no other’s', () => {
    for (const [name, { volumes = [] }] of ours) {
      for (const volume of volumes) expect(Object.keys(compose.volumes)).toContain(volume.split(':')[0]);
      if (name === 'init') continue;
      // A worker opens what the gateway has sealed.
      const own = name === 'worker' ? 'gateway:/data/gateway:ro' : `${name}:/data/${name}`;
      expect(volumes, name).toEqual(['cluster:/data:ro', own]);
    }
  });

  test('the redis asks for a password that has no default, and every process that uses it has it', () => {
    const words = compose.services.redis?.command ?? [];
    const asked = words[words.indexOf('--requirepass') + 1] ?? '';
    expect(asked).toMatch(/^\$\{SIGNMESH_REDIS_PASSWORD:\?[^}]+\}$/);
    expect(interpolate(compose.services.redis?.environment?.REDISCLI_AUTH ?? '')).toBe(password);
    const users = ours.filter(([, { environment }]) => environment?.REDIS_URL !== undefined);
    expect(users.map(([name]) => name).sort()).toEqual(['coordinator', 'gateway', 'worker']);
    for (const [name, { environment }] of users) {
      expect(interpolate(environment!.REDIS_URL!), name).toBe(`redis://:${password}@redis:6379`);
    }
  });

  test('the redis keeps what it acknowledges', () => {
    const words = compose.services.redis?.command?.join(' ');
    expect(words).toContain('--appendonly yes');
    expect(words).toContain('--maxmemory-policy noeviction');
    // As the private Redis has it (cli/up/private-redis.ts): what a session takes is said for that.
    expect(words).toContain('--hash-max-listpack-value 8192');
    expect(Number(/^redis:(\d+)\.\d+/.exec(compose.services.redis?.image ?? '')?.[1])).toBeGreaterThanOrEqual(7);
  });
});

describe('Dockerfile', () => {
  const lines = readFileSync(join(root, 'Dockerfile'), 'utf8').split('\n');
  const arguments_ = (instruction: string) =>
    lines.filter((line) => line.startsWith(`${instruction} `)).map((line) => line.slice(instruction.length + 1));

  test('builds in stages, from one pinned slim image of a Node that package.json allows', () => {
    const stages = arguments_('FROM').map((line) => line.split(' AS ')[1]);
    const images = arguments_('FROM')
      .map((line) => line.split(' ')[0])
      .filter((image) => !stages.includes(image));
    expect(images.length).toBeGreaterThan(1);
    expect(new Set(images).size).toBe(1);
    const [, major, minor] = /^node:(\d+)\.(\d+)\.\d+-slim$/.exec(images[0] ?? '') ?? [];
    expect(Number(major)).toBe(20);
    expect(Number(minor)).toBeGreaterThanOrEqual(19);
  });

  test('runs as a user without rights, with a health check, and without shells between', () => {
    expect(arguments_('USER')).toEqual(['node']);
    expect(arguments_('HEALTHCHECK')[0]).toContain('"health", "gateway"');
    for (const line of [...arguments_('ENTRYPOINT'), ...arguments_('CMD')])
      expect(JSON.parse(line)).toBeInstanceOf(Array);
    expect(arguments_('ENTRYPOINT')).toEqual(['["node", "dist/cli/main.js"]']);
  });

  test('makes the image of the roles unless told otherwise, and one with everything in one as the stage embedded', () => {
    const from = (line: string) => lines.slice(lines.indexOf(`FROM ${line}`)).slice(1);
    const command = (line: string) => from(line).find((each) => each.startsWith('CMD '));
    expect(arguments_('FROM').at(-1)).toBe('common');
    expect(command('common')).toBe('CMD ["gateway"]');
    expect(command('common AS embedded')).toBe('CMD ["up", "--embedded"]');
    const environment = Object.fromEntries(
      from('common AS embedded')
        .slice(0, 2)
        .map((line) => /(\w+)=(\S+)/.exec(line)!.slice(1) as [string, string]),
    );
    expect(loadSettings(environment).warnings).toEqual([]);
    expect(Object.keys(environment)).toEqual(['SIGNMESH_HTTP_HOST', 'SIGNMESH_GRPC_HOST']);
  });

  test('copies what exists, and brings no development packages', () => {
    const sources = arguments_('COPY')
      .filter((line) => !line.startsWith('--from'))
      .flatMap((line) => line.split(' ').slice(0, -1));
    for (const source of sources) expect(existsSync(join(root, source)), source).toBe(true);
    expect(arguments_('RUN')).toContain('npm ci --omit=dev --no-audit --no-fund');
  });

  test('exposes the gateway’s default ports', () => {
    const { settings } = loadSettings({});
    expect(arguments_('EXPOSE')).toEqual([`${settings.SIGNMESH_HTTP_PORT} ${settings.SIGNMESH_GRPC_PORT}`]);
  });
});
