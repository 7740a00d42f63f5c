/**
 * The composed service in real containers: docker with its compose plugin, or podman with podman-compose. Where base images cannot be
 * pulled, an image of this machine's own programs takes their names (base-image.sh): then everything but the base is tested.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

const root = fileURLToPath(new URL('../..', import.meta.url));
const imageScript = fileURLToPath(new URL('base-image.sh', import.meta.url));
const project = 'signmesh-test';
/** What runs without systemd, without overlay mounts and with small hard limits can do, every other machine can. */
const podmanFlags = '--storage-driver vfs --cgroup-manager cgroupfs --runtime runc';
const limits = '--ulimit nofile=4096:4096 --ulimit nproc=4096:4096';

export type EngineName = 'docker' | 'podman';

/** undefined: none runs here. */
export function containerEngine(): EngineName | undefined {
  const works = (program: string, ...args: string[]) => spawnSync(program, args, { stdio: 'ignore' }).status === 0;
  if (works('docker', 'info') && works('docker', 'compose', 'version')) return 'docker';
  const hasPodman = works('podman', '--version') && works('podman-compose', '--version') && works('runc', '--version');
  return hasPodman ? 'podman' : undefined;
}

/** One project of containers, volumes and images, which `down` removes. */
export class Composed {
  readonly #engine: EngineName;
  readonly #folder = mkdtempSync(join(tmpdir(), 'signmesh-containers-'));
  readonly #file: string;
  /** The engine as it is called. */
  readonly #program: string;
  readonly #variables: Readonly<Record<string, string>>;

  constructor(engine: EngineName, variables: Readonly<Record<string, string>>) {
    this.#engine = engine;
    this.#variables = variables;
    this.#program = engine === 'docker' ? 'docker' : this.#podman();
    this.#file = join(this.#folder, 'docker-compose.yml');
    writeFileSync(this.#file, interpolated(readFileSync(join(root, 'docker-compose.yml'), 'utf8'), variables));
  }

  /** Builds the image from the Dockerfile. */
  build(): void {
    for (const base of this.#bases()) this.#ensureBase(base);
    this.#run(this.#program, ['build', ...this.#how, '-t', 'signmesh', root]);
  }

  /** Builds the image of that stage, and runs it with two ports of loopback as its doors; returns the container's name. */
  runStage(stage: string, ports: { readonly http: number; readonly grpc: number }): string {
    const image = `signmesh-${stage}`;
    const name = `${project}-${stage}`;
    this.#run(this.#program, ['build', ...this.#how, '--target', stage, '-t', image, root]);
    const doors = [`127.0.0.1:${ports.http}:8080`, `127.0.0.1:${ports.grpc}:50051`].flatMap((port) => ['-p', port]);
    const variables = Object.entries(this.#variables).flatMap(([key, value]) => ['-e', `${key}=${value}`]);
    this.#run(this.#program, ['run', '-d', '--init', '--name', name, ...doors, ...variables, image]);
    return name;
  }

  stop(container: string): void {
    this.#run(this.#program, ['stop', '-t', '20', container]);
  }

  /** Exit code of its health check, as the image has it. */
  healthcheck(container: string): string {
    return this.#run(this.#program, ['exec', container, 'node', 'dist/cli/main.js', 'health', 'gateway']);
  }

  /** All services, in the order in which the file asks for them: those that wait for `init` after it. */
  up(): void {
    this.#compose('up', '-d', 'redis', 'init');
    const code = this.#run(this.#program, ['wait', this.container('init')]).trim();
    if (code !== '0') throw new Error(`init ended with ${code}: ${this.logs('init')}`);
    this.#compose('up', '-d');
  }

  kill(service: string): void {
    this.#run(this.#program, ['kill', '-s', 'KILL', this.container(service)]);
  }

  start(service: string): void {
    this.#run(this.#program, ['start', this.container(service)]);
  }

  /** What it printed. */
  exec(service: string, ...words: readonly string[]): string {
    return this.#run(this.#program, ['exec', this.container(service), ...words]);
  }

  logs(service: string): string {
    return this.logsOf(this.container(service));
  }

  logsOf(container: string): string {
    const { stdout, stderr } = spawnSync(this.#program, ['logs', container], { encoding: 'utf8' });
    return stdout + stderr;
  }

  down(): void {
    spawnSync(this.#program, ['rm', '-f', `${project}-embedded`], { stdio: 'ignore' });
    this.#compose('down', '-v');
    if (this.#engine === 'podman') spawnSync(this.#program, ['system', 'reset', '--force'], { stdio: 'ignore' });
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Words of every build. */
  get #how(): readonly string[] {
    return [...(this.#engine === 'docker' ? [] : ['--isolation', 'chroot', '--format', 'docker']), '--network', 'host'];
  }

  container(service: string): string {
    return this.#engine === 'docker' ? `${project}-${service}-1` : `${project}_${service}_1`;
  }

  #compose(...words: readonly string[]): void {
    if (this.#engine === 'docker') {
      this.#run('docker', ['compose', '-f', this.#file, '-p', project, ...words]);
      return;
    }
    this.#run('podman-compose', ['--podman-path', this.#program, '-f', this.#file, '-p', project, ...words]);
  }

  /** The images that the Dockerfile and the file name, beside our own. */
  #bases(): readonly string[] {
    const { services } = parse(readFileSync(this.#file, 'utf8'), { merge: true }) as {
      readonly services: Readonly<Record<string, { readonly image: string }>>;
    };
    const images = Object.values(services).map(({ image }) => image);
    // Every stage begins with the same one (test/house/containers.test.ts).
    const from = /^FROM (\S+)/m.exec(readFileSync(join(root, 'Dockerfile'), 'utf8'))?.[1];
    return [...new Set([from!, ...images.filter((image) => image !== 'signmesh')])];
  }

  #ensureBase(image: string): void {
    const full = image.includes('/') ? image : `docker.io/library/${image}`;
    const there = spawnSync(this.#program, ['image', 'inspect', full], { stdio: 'ignore' }).status === 0;
    if (there || spawnSync(this.#program, ['pull', full], { stdio: 'ignore', timeout: 120_000 }).status === 0) return;
    const tar = join(this.#folder, 'base.tar');
    this.#run('sh', [imageScript, tar]);
    const environment = ['PATH=/usr/local/bin:/usr/bin:/bin', 'NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt'];
    this.#run(this.#program, ['import', ...environment.flatMap((each) => ['-c', `ENV ${each}`]), tar, full]);
  }

  /** With a storage of its own, in a script that podman-compose can call. */
  #podman(): string {
    const path = join(this.#folder, 'podman');
    const store = `--root ${join(this.#folder, 'store')} --runroot ${join(this.#folder, 'run')}`;
    const script = [
      '#!/bin/sh',
      'word=$1; shift',
      `case $word in run|build|create) set -- ${limits} "$@";; esac`,
      `exec podman ${store} ${podmanFlags} "$word" "$@"`,
    ];
    writeFileSync(path, `${script.join('\n')}\n`);
    chmodSync(path, 0o755);
    return path;
  }

  #run(program: string, args: readonly string[]): string {
    const { status, stdout, stderr, error } = spawnSync(program, [...args], { encoding: 'utf8', maxBuffer: 64 << 20 });
    if (status === 0) return stdout;
    throw new Error(`${program} ${args.slice(0, 4).join(' ')}: ${error?.message ?? stderr.slice(-2_000)}`);
  }
}

/**
 * As compose does it, after the text was read: podman-compose 1.0 leaves `${NAME:-}` as it stands, and its YAML takes a bare `on` for a truth
 * value. JSON is YAML. The build's context is the repository.
 */
function interpolated(text: string, variables: Readonly<Record<string, string>>): string {
  const value = (match: string, name: string, otherwise: string) => {
    if (variables[name] === undefined && match.includes(':?')) throw new Error(`${name} has no value`);
    return variables[name] ?? otherwise;
  };
  return JSON.stringify(parse(text, { merge: true }), (key, each: unknown) => {
    if (key === 'build') return root;
    return typeof each === 'string' ? each.replace(/\$\{(\w+):[-?]([^}]*)\}/g, value) : each;
  });
}
