/**
 * A private redis-server: append-only file on, on loopback, with a password that only this cluster knows, its data in our data
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
import { Failure } from '../common/failure.ts';
import { makeDirectory, replaceShortLived } from '../common/files.ts';
import type { ChildSpec } from './supervisor.ts';

export interface PrivateRedis {
  readonly spec: ChildSpec;
  readonly port: number;
  /** With the password: secret. */
  readonly url: string;
}

export interface PrivateRedisOptions {
  readonly dataDir: string;
  readonly port: number;
  readonly fsync: 'no' | 'always';
  /** undefined: redis-server from the PATH. */
  readonly program: string | undefined;
  readonly logFile: string;
  readonly recordFile: string;
}

export function privateRedis(options: PrivateRedisOptions): PrivateRedis {
  const folder = join(options.dataDir, 'redis');
  makeDirectory(folder);
  const password = randomBytes(24).toString('hex');
  const config = join(folder, 'redis.conf');
  replaceShortLived(config, configText(folder, options.port, options.fsync, password));
  const server = [options.program ?? 'redis-server', config];
  const [command, ...args] = [...deathSignalPrefix(), ...server];
  return {
    port: options.port,
    url: `redis://:${password}@127.0.0.1:${options.port}`,
    spec: {
      name: 'redis',
      command: command!,
      args,
      environment: { PATH: process.env.PATH, LANG: 'C.UTF-8' },
      channel: false,
      ready: (signal) => untilAnswering(options.port, password, signal),
      logFile: options.logFile,
      recordFile: options.recordFile,
    },
  };
}

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

/** Resolves when Redis answers PING: it has read its append-only file by then. Rejects when it belongs to another cluster. */
async function untilAnswering(port: number, password: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const answer = await ask(port, `AUTH ${password}\r\nPING\r\n`);
    if (answer.includes('+PONG')) return;
    if (answer.startsWith('-WRONGPASS') || answer.startsWith('-ERR')) {
      throw new Failure(`Another Redis serves port ${port}.`);
    }
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
