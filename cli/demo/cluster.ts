/** The demo's own cluster, in a directory that it removes at its end. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
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

  get httpUrl(): string {
    return this.#live.ready.http;
  }

  /** One call of the signing API; the answer as JSON. */
  async call(path: string, body: object): Promise<Record<string, unknown>> {
    const response = await fetch(`${this.httpUrl}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.#live.ready.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Failure(`${path} answered ${response.status}: ${text}`);
    return JSON.parse(text) as Record<string, unknown>;
  }

  /** Of a created key: compressed, hex. */
  async publicKeyOf(session: string): Promise<string> {
    const response = await fetch(`${this.httpUrl}/v1/sandbox/sessions/${session}`, {
      headers: { authorization: `Bearer ${this.#live.ready.token}` },
    });
    const text = await response.text();
    if (!response.ok) throw new Failure(`The session ${session} cannot be read: ${response.status}: ${text}`);
    return (JSON.parse(text) as { readonly public_key: string | null }).public_key ?? '';
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
