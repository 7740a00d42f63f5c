/** `up --embedded` with two clusters: as with processes, keys, faults, processes, clocks and states are those of all of them. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { dataFormat } from '../../../cli/cluster-files/data-format.ts';
import { upEmbedded } from '../../../cli/embedded/embedded.ts';
import { loadSettings } from '../../../cli/settings/config.ts';
import { loadState, type StoredState, saveState } from '../../../simulation/embedded/state-file.ts';
import { until } from '../../support/until.ts';
import { type Running, signature, startService } from './support/service.ts';

const digest = createHash('sha256').update('clusters').digest();
const nodes = 3;
const threshold = 2;
const clusters = 2;
const config = { partialTimeoutMs: 300, nodesWaitMs: 1_000 };
const names = ['coordinator', 'node/1', 'node/2', 'node/3'];

let running: Running;

beforeAll(async () => {
  running = await startService({ clusters, nodes, threshold, config });
});
afterAll(() => running.service.stop());

const { POST, GET } = { POST: 'POST', GET: 'GET' } as const;
const sandbox = '/v1/sandbox';
const reasonOf = (answer: { readonly receipt?: { readonly reason_code: string } }) => answer.receipt?.reason_code;

async function makeKey(id: string, { must }: Running = running) {
  await must(200, POST, '/v1/dkg/initiate', { session_id: id });
  expect(reasonOf(await must(200, POST, '/v1/dkg/shares', { session_id: id }))).toBe('DKG_COMPLETED');
  return (await must(200, GET, `${sandbox}/sessions/${id}`)).cluster as number;
}

const begin = (wallet: string, intent: string) =>
  running.must(200, POST, '/v1/signing/initiate', {
    ...{ transaction_intent_id: intent, wallet_id: wallet, message_hash: digest.toString('base64') },
  });
const share = (session: string) => running.must(200, POST, '/v1/signing/share', { signing_session_id: session });
const signed = async (wallet: string, intent: string) => reasonOf(await signature(running, wallet, digest, intent));
const health = () => running.must(200, GET, '/v1/health');
const listed = async () => (await running.must(200, GET, `${sandbox}/nodes`)).nodes as { process: string }[];

it('spreads keys over its clusters, leaves the ready-made ones in the first, and has their threshold', async () => {
  await running.must(200, POST, `${sandbox}/reset`);
  expect(await health()).toMatchObject({ status: 'ok', nodes_ready: 6 });
  expect([await makeKey('k1'), await makeKey('k2'), await makeKey('k3')]).toEqual([1, 2, 1]);
  expect(await running.must(200, GET, `${sandbox}/sessions/k2`)).toMatchObject({ threshold, total_nodes: nodes });
  for (const key of ['k1', 'k2', 'sandbox-secp256k1'])
    expect(await signed(key, `one-${key}`)).toBe('SIGNATURE_COMPLETED');
  const { session_id: id } = (await signature(running, 'k2', digest, 'in-two')).receipt;
  const { cluster, transcript } = await running.must(200, GET, `${sandbox}/sessions/${id}`);
  expect(cluster).toBe(2);
  const frames = transcript as { from: string; to: string }[];
  expect(frames.filter(({ from, to }) => /^node\//.test(from) || /^node\//.test(to))).toEqual([]);
  expect(frames.some(({ to }) => to.startsWith('cluster/2/node/'))).toBe(true);
});

it('lists the processes of all clusters by their full names, in the order of a process cluster', async () => {
  expect((await listed()).map(({ process }) => process)).toEqual([
    ...['redis', 'coordinator', 'cluster/2/coordinator', 'node/1', 'node/2', 'node/3'],
    ...['cluster/2/node/1', 'cluster/2/node/2', 'cluster/2/node/3', 'gateway', 'worker'],
  ]);
  const second = (await listed()).filter(({ process }) => process.startsWith('cluster/2/'));
  for (const one of second)
    expect(one).toMatchObject({ cluster: 2, state: 'running', linked: /node/.test(one.process) || null });
});

it('a cluster without its coordinator leaves the other at work; its sessions say so, and go on when it is back', async () => {
  const [one, two] = [await begin('k1', 'gone-1'), await begin('k2', 'gone-2')];
  // An intent has one session, whichever cluster is asked.
  const again = await begin('k2', 'gone-1');
  expect([reasonOf(again), again.receipt.session_id]).toEqual(['DUPLICATE_INTENT', one.signing_session_id]);
  await running.must(200, POST, `${sandbox}/nodes/cluster-2-coordinator/crash`, { restart_after_ms: null });
  await until(async () => (await health()).status === 'degraded', 'the loss is seen');
  expect((await health()).reasons).toEqual(['cluster 2: no coordinator is connected']);
  expect(reasonOf(await share(one.signing_session_id))).toBe('SIGNATURE_COMPLETED');
  const { receipt } = await share(two.signing_session_id);
  expect([receipt.reason_code, receipt.resumable]).toEqual(['QUORUM_UNAVAILABLE', true]);
  // A new key goes to the cluster that can make it.
  expect(await makeKey('meanwhile')).toBe(1);
  await running.must(200, POST, `${sandbox}/nodes/cluster-2-coordinator/restart`);
  await until(async () => (await health()).status === 'ok', 'cluster 2 is back');
  expect(reasonOf(await share(two.signing_session_id))).toBe('SIGNATURE_COMPLETED');
});

it('pauses, resumes and crashes a node of the second cluster alone', async () => {
  type Node = { process: string; linked: boolean; restarts: number };
  const stateOf = async (process: string) => (await listed()).find((one) => one.process === process) as Node;
  const before = { first: await stateOf('node/2'), second: await stateOf('cluster/2/node/2') };
  await running.must(200, POST, `${sandbox}/nodes/cluster-2-node-1/pause`);
  expect(await stateOf('cluster/2/node/1')).toMatchObject({ state: 'paused' });
  expect(await stateOf('node/1')).toMatchObject({ state: 'running', linked: true });
  expect(await signed('k2', 'one-paused')).toBe('SIGNATURE_COMPLETED');
  await running.must(200, POST, `${sandbox}/nodes/cluster-2-node-1/resume`);
  const lost = { lose_state: true, restart_after_ms: 0 };
  await running.must(200, POST, `${sandbox}/nodes/cluster-2-node-2/crash`, lost);
  const isBack = ({ linked, restarts }: Node) => linked && restarts > before.second.restarts;
  await until(async () => isBack(await stateOf('cluster/2/node/2')), 'it is back');
  expect(await stateOf('cluster/2/node/2')).toMatchObject({ restarts: before.second.restarts + 1 });
  expect(await stateOf('node/2')).toMatchObject({ restarts: before.first.restarts });
  // Two of three still have their shares.
  expect(await signed('k2', 'one-lost')).toBe('SIGNATURE_COMPLETED');
  expect((await running.call(POST, `${sandbox}/nodes/cluster-3-node-1/pause`)).status).toBe(404);
});

it('arms faults of one cluster, with full names in lists, events and refusals, until they are removed or expire', async () => {
  const { must, call } = running;
  await must(200, POST, `${sandbox}/faults/reset`);
  const arm = (fault: object) => must(201, POST, `${sandbox}/faults`, fault);
  const armed = async () =>
    ((await must(200, GET, `${sandbox}/faults`)).faults as { id: string; state: string }[])
      .filter(({ state }) => state !== 'over')
      .map(({ id }) => id);
  const pause = { fault: 'pause', for_ms: 60_000 };
  const ofSecond = await arm({ ...pause, target: 'cluster/2/node/*' });
  const faultSeen = { fault: 'pause', target: 'cluster/2/node/*', for_ms: 60_000 };
  expect(ofSecond).toMatchObject({ id: expect.stringMatching(/^flt_c2_/), fault: faultSeen });
  expect(await signed('k1', 'other-cluster')).toBe('SIGNATURE_COMPLETED');
  expect(await signed('k2', 'paused-cluster')).toBe('QUORUM_UNAVAILABLE');
  expect(await must(200, GET, `${sandbox}/faults/${ofSecond.id}`)).toMatchObject({
    state: 'holding',
    trigger_count: 1,
  });
  await must(204, 'DELETE', `${sandbox}/faults/${ofSecond.id}`);
  expect(await signed('k2', 'resumed-cluster')).toBe('SIGNATURE_COMPLETED');

  await arm({ id: 'liar', fault: 'bad_partial', target: 'cluster/2/node/3', expires_in_s: 5 });
  await arm({ id: 'far', fault: 'partition', target: 'cluster/2/gateway', for_ms: 60_000 });
  await arm({ id: 'near', ...pause, target: 'node/2' });
  expect(await armed()).toEqual(['near', 'liar', 'far']);
  expect((await call(POST, `${sandbox}/faults`, { id: 'liar', ...pause, target: 'node/1' })).status).toBe(409);
  const refusals: [string | string[], string][] = [
    [['node/1', 'cluster/2/node/1'], 'a fault has targets in one cluster'],
    ['cluster/3/node/1', 'there are clusters 1 to 2'],
  ];
  for (const [target, text] of refusals) {
    const refused = await call(POST, `${sandbox}/faults`, { ...pause, target });
    expect([refused.status, JSON.stringify(refused.body)]).toEqual([400, expect.stringContaining(text)]);
  }
  await until(async () => !(await armed()).includes('liar'), 'it expires');
  expect(await must(200, POST, `${sandbox}/faults/reset`)).toEqual({ removed: 2 });
  const { events } = await must(200, GET, `${sandbox}/recording?limit=10000`);
  const told = (events as { kind: string; id?: string; what?: string; targets?: string[] }[]).filter(
    ({ kind, id }) => kind === 'fault' && ['near', 'liar', 'far', ofSecond.id].includes(id!),
  );
  const targets = told.filter(({ what }) => what === 'armed').map((event) => event.targets);
  // The gateway has one name in events, whichever of its links is meant.
  expect(targets).toEqual([['cluster/2/node/*'], ['cluster/2/node/3'], ['gateway'], ['node/2']]);
  await until(async () => (await health()).status === 'ok', 'the link is up again');
});

it('advances the clocks of all clusters, keeps them with a snapshot, and goes back to the beginning of all of them', async () => {
  const { must } = running;
  const { id: snapshot } = await must(201, POST, `${sandbox}/snapshots`, { name: 'two' });
  await must(201, POST, `${sandbox}/faults`, { fault: 'clock_jump', target: 'cluster/2/node/1', by_ms: 2_000 });
  await must(200, POST, `${sandbox}/clock`, { advance_s: 60 });
  const offsets = async () =>
    Object.fromEntries(
      ((await listed()) as unknown as { process: string; clock_offset_ms: number }[])
        .filter(({ process }) => names.includes(process.replace('cluster/2/', '')))
        .map(({ process, clock_offset_ms: offset }) => [process, offset]),
    );
  expect(new Set(Object.values(await offsets()))).toEqual(new Set([60_000, 62_000]));
  expect((await offsets())['cluster/2/node/1']).toBe(62_000);
  // The first cluster has more keys.
  expect([await makeKey('later-1'), await makeKey('later-2')]).toEqual([2, 2]);
  await must(200, POST, `${sandbox}/snapshots/${snapshot}/restore`);
  expect(new Set(Object.values(await offsets()))).toEqual(new Set([60_000]));
  for (const id of ['later-1', 'later-2']) expect((await running.call(GET, `/v1/sessions/${id}`)).status).toBe(404);
  for (const key of ['k1', 'k2']) expect(await signed(key, `after-restore-${key}`)).toBe('SIGNATURE_COMPLETED');
  await must(200, POST, `${sandbox}/reset`);
  expect(new Set(Object.values(await offsets()))).toEqual(new Set([0]));
  for (const id of ['k1', 'k2']) expect((await running.call(GET, `/v1/sessions/${id}`)).status).toBe(404);
  // As in a new service, and each cluster makes keys again.
  expect([await makeKey('k1'), await makeKey('k2')]).toEqual([1, 2]);
  for (const key of ['k1', 'k2']) expect(await signed(key, `after-reset-${key}`)).toBe('SIGNATURE_COMPLETED');
});

it('saves the state of all clusters and loads it again; a file with another number is refused by name', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'signmesh-clusters-'));
  const path = join(folder, 'my.state');
  const save = (state: StoredState) => saveState(path, dataFormat, state);
  const options = { seed: undefined, nodes: undefined, json: true, verbose: false, detached: false };
  const up = (environment: Record<string, string>) =>
    upEmbedded({ settings: loadSettings(environment).settings, ...options, state: path, record: undefined });
  try {
    save(running.service.state());
    const refused = { exitCode: 2, message: `${path} has 2 clusters: omit --clusters, or choose another file.` };
    for (const other of ['1', '3']) await expect(up({ SIGNMESH_CLUSTERS: other })).rejects.toMatchObject(refused);
    const stored = loadState(path, (format) => format === dataFormat)!;
    const second = await startService({ clusters: stored.clusters, nodes, threshold, config, stored });
    try {
      for (const key of ['k1', 'k2', 'sandbox-ed25519'])
        expect(reasonOf(await signature(second, key, digest, `later-${key}`))).toBe('SIGNATURE_COMPLETED');
      const cluster = async (id: string) => (await second.must(200, GET, `${sandbox}/sessions/${id}`)).cluster;
      expect([await cluster('k1'), await cluster('k2')]).toEqual([1, 2]);
      // No boot of any cluster is used twice.
      expect(second.service.state().starts).toBeGreaterThan(stored.starts);
    } finally {
      await second.service.stop();
    }
    const { clusters: _, ...older } = stored;
    save(older);
    const one = { exitCode: 2, message: `${path} has one cluster: omit --clusters, or choose another file.` };
    await expect(up({ SIGNMESH_CLUSTERS: '2' })).rejects.toMatchObject(one);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
