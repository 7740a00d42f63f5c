/** The demo's own cluster, in a directory that it removes at its end. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Client, createClient } from '../../clients/client/index.ts';
import { type LiveProcess, startLiveProcess } from '../../clients/testing/live-process.ts';
import { errorText, Failure } from '../common/failure.ts';
import type { Frame } from './diagram.ts';

export class DemoCluster {
  readonly #live: LiveProcess;

  private constructor(live: LiveProcess) {
    this.#live = live;
  }

  static async start(): Promise<DemoCluster> {
    // Frames are logged by name, so that the demo can draw them.
    const { REDIS_URL } = process.env;
    const environment = { SIGNMESH_LOG_LEVEL: 'debug', ...(REDIS_URL && { REDIS_URL }) };
    try {
      return new DemoCluster(await startLiveProcess({ environment, args: ['--seed', 'random'] }));
    } catch (error) {
      throw new Failure(`The demo's cluster did not start.\n${errorText(error).trim()}`);
    }
  }

  get client(): Client {
    const { http, token } = this.#live.ready;
    return createClient({ baseUrl: http, token });
  }

  /** The frames of one session so far, in the order in which the coordinator saw them. */
  frames(session: string): Frame[] {
    const log = readFileSync(join(this.#live.dataDir, 'logs', 'coordinator.log'), 'utf8');
    return log
      .split('\n')
      .filter((line) => line.includes('"event":"frame"'))
      .map((line) => JSON.parse(line) as Frame & { readonly session: string })
      .filter((frame) => frame.session === session);
  }

  stop(): Promise<void> {
    return this.#live.stop();
  }
}
