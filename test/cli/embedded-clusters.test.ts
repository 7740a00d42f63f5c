/** `signmesh up --embedded --clusters 2` as a command: its ready line, its banner, its recording, and what it says of its state. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { ReadyLineFacts } from '../../cli/start/banner.ts';
import { StartFailed, UpProcess, upCommand } from '../../clients/testing/up-process.ts';
import { loadScenario } from '../../scenarios/runner/load.ts';
import { RestClient } from '../support/rest.ts';
import { isThorough } from '../support/thorough.ts';
import { keptFolder } from './support/temporary.ts';

const folder = keptFolder();
const place = { dataDir: folder };
const state = join(folder, 'my.state');
const record = join(folder, 'my-clusters.yaml');

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function start(environment: NodeJS.ProcessEnv, ...options: string[]): UpProcess {
  return new UpProcess(place, { environment, command: upCommand('--embedded', '--state', state, ...options) });
}

async function clustersOf(up: UpProcess) {
  return ((await up.ready()) as unknown as ReadyLineFacts).clusters;
}

// The same in one process: test/simulation/embedded/clusters.test.ts, record.test.ts and state.test.ts.
test.runIf(isThorough)(
  'takes --clusters, --nodes and --threshold, names its clusters, and keeps them in its state and its recording',
  async () => {
    const size = ['--clusters', '2', '--nodes', '3', '--threshold', '2'];
    const first = start({}, ...size, '--record', record);
    expect(await clustersOf(first)).toEqual([
      { cluster: 1, nodes: 3 },
      { cluster: 2, nodes: 3 },
    ]);
    const { http, token } = await first.ready();
    const begun = await new RestClient(http, token).post('/v1/dkg/initiate', { session_id: 'mine' });
    expect(begun.status).toBe(200);
    first.child.kill('SIGTERM');
    expect(await first.exited).toBe(0);
    expect(first.output).toMatch(/^ +clusters +2, with 6 nodes$/m);
    expect(loadScenario(readFileSync(record, 'utf8'), { file: 'my-clusters.yaml' }).cluster).toMatchObject({
      ...{ clusters: 2, nodes: 3 },
    });
    const refused = start({ SIGNMESH_CLUSTERS: '3' });
    await expect(refused.ready()).rejects.toThrow(StartFailed);
    expect(refused.output).toContain('my.state has 2 clusters: omit --clusters, or choose another file.');
    expect(await refused.exited).toBe(2);
    const unused = join(folder, 'without-calls.yaml');
    const again = start({}, '--record', unused);
    expect(await clustersOf(again)).toHaveLength(2);
    again.child.kill('SIGTERM');
    expect(await again.exited).toBe(0);
    expect(again.output).toContain(`No client made a call that a scenario can repeat: ${unused} was not written.`);
    expect(existsSync(unused)).toBe(false);
  },
);
