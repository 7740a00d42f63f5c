/** Two clusters under one `up`, the nodes of each in one process: routing, the end of a cluster and its return. */
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../cli/up/ports.ts';
import { type ReadyLine, UpProcess } from '../../testing/up-process.ts';
import { keptFolder } from '../cli/support/temporary.ts';
import { until } from '../support/until.ts';

interface Answer {
  readonly signing_session_id?: string;
  readonly full_signature?: string;
  readonly receipt?: { readonly reason_code: string; readonly resumable: boolean; readonly session_id: string };
}
interface Node {
  readonly process: string;
  readonly cluster: number | null;
  readonly pid: number | null;
  readonly state: string;
  readonly linked: boolean | null;
  readonly resident_bytes: number | null;
  readonly together: readonly string[];
}

const dataDir = keptFolder();
let up: UpProcess;
let ready: ReadyLine & { readonly bytes_per_node: number };

beforeAll(async () => {
  const place = { dataDir, httpPort: await freePort(), grpcPort: await freePort() };
  const environment = {
    ...{ SIGNMESH_CLUSTERS: '2', SIGNMESH_NODES: '3', SIGNMESH_THRESHOLD: '2', SIGNMESH_NODES_PER_PROCESS: '3' },
    SIGNMESH_RATE_LIMIT: 'off',
  };
  up = new UpProcess(place, { environment });
  ready = (await up.ready()) as typeof ready;
});
afterAll(async () => {
  up.child.kill('SIGTERM');
  await up.exited;
  rmSync(dataDir, { recursive: true, force: true });
});

async function call<T = Answer>(path: string, body?: object): Promise<T> {
  const response = await fetch(`${ready.http}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${ready.token}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return (await response.json()) as T;
}

const digest = Buffer.alloc(32, 7).toString('base64');
const begin = (wallet: string, intent: string) =>
  call('/v1/signing/initiate', { transaction_intent_id: intent, wallet_id: wallet, message_hash: digest });
const share = (session: string | undefined) => call('/v1/signing/share', { signing_session_id: session });
const reasonOf = ({ receipt }: Answer) => receipt?.reason_code;
const nodes = async () => (await call<{ nodes: Node[] }>('/v1/sandbox/nodes')).nodes;

/** One key in each cluster: keys are spread. */
async function keys(): Promise<void> {
  for (const key of ['k1', 'k2']) {
    await call('/v1/dkg/initiate', { session_id: key });
    expect(reasonOf(await call('/v1/dkg/shares', { session_id: key }))).toBe('DKG_COMPLETED');
  }
}

test('a cluster that dies leaves the other at work; its sessions say so, and go on when it is back', async () => {
  await keys();
  const [one, two] = [await begin('k1', 'i1'), await begin('k2', 'i2')];
  // An intent has one session, whichever cluster is asked.
  const again = await begin('k2', 'i1');
  expect([reasonOf(again), again.receipt?.session_id]).toEqual(['DUPLICATE_INTENT', one.signing_session_id]);

  await call('/v1/sandbox/nodes/cluster-2-coordinator/crash', { restart_after_ms: null });
  const health = () => call<{ status: string; reasons: string[] }>('/v1/health');
  await until(async () => (await health()).status === 'degraded', 'the loss of cluster 2 is seen');
  expect((await health()).reasons).toEqual(['cluster 2: no coordinator is connected']);
  const answers = [await share(one.signing_session_id), await share(two.signing_session_id)];
  const gone = answers.filter((answer) => reasonOf(answer) === 'QUORUM_UNAVAILABLE');
  expect(answers.map(reasonOf).sort()).toEqual(['QUORUM_UNAVAILABLE', 'SIGNATURE_COMPLETED']);
  expect(gone[0]?.receipt?.resumable).toBe(true);

  await call('/v1/sandbox/nodes/cluster-2-coordinator/restart', {});
  await until(async () => (await health()).status === 'ok', 'cluster 2 is back');
  for (const session of [one, two])
    expect(reasonOf(await share(session.signing_session_id))).toBe('SIGNATURE_COMPLETED');
});

test('nodes that share a process crash together; only the store of the node that is named is lost', async () => {
  const before = (await nodes()).filter(({ process }) => process.startsWith('cluster/2/node/'));
  expect(new Set(before.map(({ pid }) => pid)).size).toBe(1);
  expect(before.map(({ cluster, together }) => [cluster, together.length])).toEqual([
    [2, 3],
    [2, 3],
    [2, 3],
  ]);
  expect(ready.bytes_per_node).toBeGreaterThan(1_000_000);
  await call('/v1/sandbox/nodes/cluster-2-node-1/crash', { lose_state: true, restart_after_ms: 0 });
  const back = async () => (await nodes()).filter(({ process, linked }) => process.startsWith('cluster/2/') && linked);
  await until(async () => {
    const now = await back();
    return now.length === 3 && now[0]!.pid !== before[0]!.pid;
  }, 'the nodes of cluster 2 are back');
  // Two of three still have their shares.
  for (const key of ['k1', 'k2']) {
    const { signing_session_id: session } = await begin(key, `after-${key}`);
    expect(reasonOf(await share(session))).toBe('SIGNATURE_COMPLETED');
  }
  const fault = { fault: 'pause', target: ['node/1', 'cluster/2/node/1'], for_ms: 100 };
  expect(JSON.stringify(await call('/v1/sandbox/faults', fault))).toContain('a fault has targets in one cluster');
});
