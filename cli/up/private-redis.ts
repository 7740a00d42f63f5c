/**
 * A private redis-server, on a port that `up` chooses, since redis-server cannot report one; it chooses again when Redis says that
 * the port is taken: append-only file on, on loopback, with a password that only this cluster knows, its data in our data
 * directory. It dies with us even when we are killed, where the system supports that (Linux).
 *
 * `appendfsync no` preserves acknowledged writes through the death of any process, ours and Redis's own: Redis passes every write
 * to the operating system before its answer. `always` also preserves them through a power loss. `everysec` would preserve less
 * than either: while its fsync runs, Redis answers first and writes later, so that kill -9 of Redis loses acknowledged writes
 * (src/aof.c, "postponed"; seen in one of forty kills).
 */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { join } from 'node:path';
import { makeDirectory, replaceShortLived } from '../common/files.ts';
import { freePort } from '../common/ports.ts';
import { oldPortForMs } from './child-ports.ts';
import type { ChildSpec } from './supervisor.ts';

export interface PrivateRedis {
  readonly spec: ChildSpec;
  /** With the password: secret. Another one after `onMoved`. */
  readonly url: string;
}

export interface PrivateRedisOptions {
  readonly dataDir: string;
  /** Ports of other listeners. */
  readonly reservedPorts: ReadonlySet<number>;
  /** After a restart it has another URL. */
  readonly onMoved?: () => void;
  /** A random free port by default. */
  readonly choosePort?: () => Promise<number>;
  readonly fsync: 'no' | 'always';
  /** undefined: redis-server from the PATH. */
  readonly program: string | undefined;
  readonly logFile: string;
  readonly recordFile: string;
}

const choicesMax = 20;

export async function privateRedis(options: PrivateRedisOptions): Promise<PrivateRedis> {
  const folder = join(options.dataDir, 'redis');
  makeDirectory(folder);
  const password = randomBytes(24).toString('hex');
  const config = join(folder, 'redis.conf');
  const choose = options.choosePort ?? (() => freePort(options.reservedPorts));
  let port = await choose();
  let choices = 1;
  let takenSinceMs: number | undefined;
  const server = [options.program ?? 'redis-server', config];
  const [command, ...args] = [...deathSignalPrefix(), ...server];
  return {
    get url() {
      return `redis://:${password}@127.0.0.1:${port}`;
    },
    spec: {
      name: 'redis',
      command: command!,
      args,
      environment: { PATH: process.env.PATH, LANG: 'C.UTF-8' },
      environmentNow: () => {
        replaceShortLived(config, configText(folder, port, options.fsync, password));
        return {};
      },
      channel: false,
      ready: async (signal) => {
        await untilAnswering(port, password, signal);
        choices = 1;
        takenSinceMs = undefined;
      },
      portTakenIn: (words) => {
        const isTaken = words.slice(-lastWords).some((line) => /address already in use/i.test(line));
        if (!isTaken) return undefined;
        const line = `redis-server found ${choices} ports of 127.0.0.1 taken, the last was ${port}. End what takes them, or set REDIS_URL.`;
        return { kind: 'portTaken', variable: 'REDIS_URL', line };
      },
      onPortTaken: async (_, wasReady) => {
        takenSinceMs ??= performance.now();
        // Its clients expect it at its old port.
        if (wasReady && performance.now() - takenSinceMs < oldPortForMs) return sameAgainMs;
        if (choices === choicesMax) return undefined;
        choices += 1;
        port = await choose();
        if (wasReady) options.onMoved?.();
        return 0;
      },
      logFile: options.logFile,
      recordFile: options.recordFile,
    },
  };
}

const sameAgainMs = 200;
/** Of redis-server, when it cannot listen: the reason, and that it gives up. */
const lastWords = 3;

/** The password is in the file, which only we can read, not in the arguments, which every user can read. */
function configText(folder: string, port: number, fsync: string, password: string): string {
  const quoted = `"${folder.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
  return [
    '# Written by signmesh up at every start.',
    'bind 127.0.0.1',
    `port ${port}`,
    'protected-mode yes',
    `requirepass ${password}`,
    `dir ${quoted}`,
    'daemonize no',
    'appendonly yes',
    `appendfsync ${fsync}`,
    'save ""',
    // Rewriting the append-only file takes a third less CPU; the rewritten file has 3.4 KB a session instead of 2.1.
    'rdbcompression no',
    'maxmemory-policy noeviction',
    // Records are hashes of a few fields, one of them long: packed in one block they take half the memory.
    'hash-max-listpack-value 8192',
    // Keeps our data directory in the output of `ps`.
    'set-proc-title no',
    '',
  ].join('\n');
}

/** util-linux's setpriv asks the kernel to send SIGTERM (Redis: write everything out, then exit) when we die. */
function deathSignalPrefix(): string[] {
  const words = ['setpriv', '--pdeathsig', 'TERM'];
  return spawnSync(words[0]!, [...words.slice(1), 'true']).status === 0 ? words : [];
}

/** Resolves when Redis answers PING: it has read its append-only file by then. Another Redis at that port does not know our password. */
async function untilAnswering(port: number, password: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const answer = await ask(port, `AUTH ${password}\r\nPING\r\n`);
    if (answer.includes('+PONG')) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** The answer within a second; empty while the port does not answer. Two inline commands need no client library. */
function ask(port: number, commands: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(commands));
    const finish = () => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(1000, finish);
    socket.on('error', finish).on('close', finish);
    socket.on('data', (data) => {
      answer += data.toString('latin1');
      if (answer.split('\r\n').length > 2) finish();
    });
  });
}
