/** Faults in real processes, asked for by API as a user asks for them. One cluster for the whole file. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunEventJson } from '../../../scenarios/faults/recording-json.ts';
import { nodeWaits } from '../../support/busy-machine.ts';
import { startCluster, type TestCluster } from '../../support/cluster.ts';
import type { JsonReply, RestMethod } from '../../support/rest.ts';
import { SpanCollector } from '../../support/span-collector.ts';
import { isThorough } from '../../support/thorough.ts';
import { until } from '../../support/until.ts';

let cluster: TestCluster;
const collector = new SpanCollector();

beforeAll(async () => {
  cluster = await startCluster({
    nodesApart: true,
    environment: {
      SIGNMESH_FAULTS: 'on',
      ...nodeWaits(6_000, 1_500),
      SIGNMESH_METRICS_PORT: '0',
      OTEL_EXPORTER_OTLP_ENDPOINT: await collector.start(),
      OTEL_BSP_SCHEDULE_DELAY: '100',
    },
  });
});

afterAll(async () => {
  await Promise.all([cluster.stop(), collector.stop()]);
});

const api = (method: RestMethod, path: string, body?: object) =>
  cluster.rest.call<JsonReply>(method, path, method === 'GET' ? undefined : (body ?? {}));

const sandbox = async (method: RestMethod, path: string, body?: object) => {
  const answer = await api(method, `/v1/sandbox${path}`, body);
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
  return answer.body;
};
const node = async (id: string) =>
  (await sandbox('GET', '/nodes')).nodes.find((each: { id: string }) => each.id === id);

let intents = 0;
const messageHash = Buffer.alloc(32, 7).toString('base64');

async function initiate(walletId = 'sandbox-secp256k1'): Promise<string> {
  intents += 1;
  const body = { transaction_intent_id: `i-${intents}`, wallet_id: walletId, message_hash: messageHash };
  const { body: answer } = await api('POST', '/v1/signing/initiate', body);
  expect(answer.receipt, JSON.stringify(answer)).toMatchObject({ state: 'RECEIPT_STATE_ACCEPTED' });
  return answer.signing_session_id;
}

const share = async (session: string) => (await api('POST', '/v1/signing/share', { signing_session_id: session })).body;

async function sign(): Promise<string> {
  const session = await initiate();
  const answer = await share(session);
  expect(answer, JSON.stringify(answer)).toMatchObject({ is_complete: true });
  return session;
}

const recordedOf = async (session: string): Promise<readonly Extract<RunEventJson, { kind: 'frame' }>[]> => {
  const { events } = await sandbox('GET', '/recording?limit=10000');
  return events.filter((event: RunEventJson) => event.kind === 'frame' && event.session === session);
};

describe.sequential('metrics and traces', () => {
  test('every process serves its metrics where metrics-targets.json says', async () => {
    await sign();
    const targets = JSON.parse(readFileSync(join(cluster.dataDir, 'metrics-targets.json'), 'utf8'));
    const texts = new Map<string, string>();
    for (const { targets: addresses, labels } of targets) {
      texts.set(labels.process, await (await fetch(`http://${addresses[0]}/metrics`)).text());
    }
    const nodes = cluster.nodeIds.map((id) => `node-${id}`);
    expect([...texts.keys()].sort()).toEqual(['coordinator', 'gateway', ...nodes, 'worker']);
    for (const text of texts.values()) expect(text).toMatch(/^process_resident_memory_bytes\{.*role=/m);
    expect(texts.get('coordinator')).toMatch(
      /^signmesh_round_duration_seconds_count\{.*round="partialRequest".*\} \d/m,
    );
    expect(texts.get('gateway')).toMatch(/^signmesh_receipts_total\{.*SIGNATURE_COMPLETED.*\} \d/m);
    expect(texts.get('worker')).toMatch(/^signmesh_webhook_queue_jobs\{.*state="waiting".*\} \d/m);
    const partials = nodes.filter((name) => texts.get(name)!.includes('answer="partialReply"'));
    expect(partials.length).toBeGreaterThanOrEqual(3);
  });

  test('a signature is one trace, from the client’s traceparent through gateway and coordinator to the nodes', async () => {
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    const session = await initiate();
    const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
    const answer = await cluster.rest.post('/v1/signing/share', { signing_session_id: session }, { headers });
    expect(answer.status).toBe(200);
    const mine = () => collector.spans.filter((span) => span.traceId === traceId);
    const named = (name: string) => mine().filter((span) => span.name === name);
    await until(() => named('partialRequest').length >= 3 && named('request').length === 1, 'the spans');
    await until(() => named('round partialRequest').length === 1, 'the round');
    const [request] = named('request');
    expect(request!.parentSpanId).toBe('00f067aa0ba902b7');
    await until(() => named('submitSignatureShare').length === 2, 'the call');
    const calls = named('submitSignatureShare');
    const gateway = calls.find(({ service }) => service.includes('signmesh-gateway'))!;
    const coordinator = calls.find(({ service }) => service.includes('signmesh-coordinator'))!;
    expect(gateway.parentSpanId).toBe(request!.spanId);
    expect(coordinator.parentSpanId).toBe(gateway.spanId);
    const [round] = named('round partialRequest');
    expect(round!.parentSpanId).toBe(coordinator.spanId);
    for (const { service, parentSpanId } of named('partialRequest')) {
      expect(service).toContain('signmesh-node');
      expect(parentSpanId).toBe(round!.spanId);
    }
  });
});

describe.sequential('faults by API', () => {
  test('a node that crashes before its partial leaves is replaced, and comes back', async () => {
    const { id } = await sandbox('POST', '/faults', {
      ...{ fault: 'crash', target: 'node/*', at: { point: 'partial_reply', phase: 'before' }, count: 1 },
    });
    const session = await sign();
    const lost = (await recordedOf(session)).filter(
      ({ point, arrives_ms }) => point === 'partial_reply' && arrives_ms.length === 0,
    );
    expect(lost).toHaveLength(1);
    expect(lost[0]?.faults).toEqual([id]);
    const crashed = String(lost[0]?.from).split('/')[1]!;
    const back = await until(async () => {
      const now = await node(crashed);
      return now.linked && now.state === 'running' && now;
    }, 'the node is back');
    expect(back).toMatchObject({ state: 'running', restarts: 1 });
    expect((await sandbox('GET', '/faults')).faults[0]).toMatchObject({
      id,
      state: 'over',
      trigger_count: 1,
      strikes: 1,
    });
  });

  test('paused nodes stand still, the others sign, and they go on', async () => {
    await sandbox('POST', '/nodes/1/pause');
    const { pid } = await sandbox('POST', '/nodes/2/pause');
    expect(await node('1')).toMatchObject({ state: 'paused' });
    await sign();
    await sandbox('POST', '/nodes/1/resume');
    expect(await sandbox('POST', '/nodes/2/resume')).toMatchObject({ state: 'running', pid });
  });

  test('frames that are damaged break a link, which comes back', async () => {
    await sandbox('POST', '/faults', { fault: 'corrupt', target: 'node/3', direction: 'out', count: 1 });
    await sign();
    await until(
      async () => (await sandbox('GET', '/faults')).faults.at(-1).trigger_count === 1 || sign().then(() => false),
      'the trigger',
    );
    await until(async () => (await node('3')).linked, 'the link');
    await until(() => cluster.records('coordinator', 'the peer broke the wire protocol').length > 0, 'the complaint');
  });

  test('nodes that lost their stores cannot sign, until a snapshot is restored: keys and sessions are as they were, nonces are void', async () => {
    // FROST: its nonces are in the nodes' memory.
    const open = await initiate('sandbox-ed25519');
    const { body: first } = await api('POST', '/v1/signing/share', { signing_session_id: open, node_id: 1 });
    expect(first.receipt.message).toContain('the partial of node 1 is in');
    const done = await sign();
    const { body: before } = await api('POST', '/v1/signing/share', { signing_session_id: done });
    const snapshot = await sandbox('POST', '/snapshots', { name: 'with a key' });
    expect(snapshot.bytes).toBeGreaterThan(1000);

    for (const id of ['1', '2', '3']) {
      await sandbox('POST', `/nodes/${id}/crash`, { lose_state: true, restart_after_ms: null });
      expect(await node(id)).toMatchObject({ state: 'down', linked: false });
      expect(readdirSync(join(cluster.dataDir, `node-${id}`))).not.toContain('store');
      expect(await sandbox('POST', `/nodes/${id}/restart`)).toMatchObject({ state: 'running', linked: true });
    }
    const since = await initiate();
    expect((await share(since)).is_complete).toBe(false);

    const { took_ms: tookMs } = await sandbox('POST', `/snapshots/${snapshot.id}/restore`);
    expect(tookMs).toBeGreaterThan(0);
    // The session that was open then is open now, and its nonces are of an earlier life of the nodes.
    const completed = await share(open);
    expect(completed, JSON.stringify(completed)).toMatchObject({ is_complete: true });
    // The nodes that are linked first sign: node 1 is not always one of them.
    const asked = (await recordedOf(open)).filter(({ point }) => point === 'partial_request');
    expect(new Set(asked.map(({ attempt }) => attempt)).size).toBe(2);
    // What was done is done; what came after the snapshot never was.
    expect((await share(done)).full_signature).toBe(before.full_signature);
    expect((await share(since)).receipt.reason_code).toBe('SESSION_NOT_FOUND');
    await sign();
  });

  test('time that is advanced ends a session without waiting', async () => {
    const session = await initiate();
    const { now } = await sandbox('POST', '/clock', { advance_s: 3600 });
    expect(Date.parse(now)).toBeGreaterThan(Date.now() + 3_590_000);
    const answer = await share(session);
    expect(answer.receipt.state, JSON.stringify(answer)).toBe('RECEIPT_STATE_EXPIRED');
    // A process that restarts starts at that time.
    await sandbox('POST', '/nodes/4/restart');
    expect(await node('4')).toMatchObject({ clock_offset_ms: 3_600_000 });
    await sign();
    // The simulated vendor has that time too: it refuses what is older than minutes.
    const vault = { name: 'later', keystore_type: 'mpc_vendor', curve: 'ed25519', threshold: 1, total_nodes: 1 };
    expect(await api('POST', '/v1/vaults', vault)).toMatchObject({ status: 201 });
  });

  test('Redis goes away and comes back with what it had', async () => {
    const session = await initiate();
    const { id } = await sandbox('POST', '/faults', { fault: 'redis_gone', for_ms: 300 });
    await until(async () => {
      const { trigger_count } = await sandbox('GET', `/faults/${id}`);
      return trigger_count === 1 && (await node('redis')).state === 'running';
    }, 'Redis was gone and is back');
    expect(await share(session)).toMatchObject({ is_complete: true });
  });

  test('a fault left behind expires by itself', async () => {
    const { id } = await sandbox('POST', '/faults', { fault: 'drop', target: 'node/*', expires_in_s: 1 });
    await until(async () => {
      const { faults } = await sandbox('GET', '/faults');
      return faults.find((fault: { id: string; state: string }) => fault.id === id).state === 'over';
    }, 'its end');
    await sign();
  });

  // Simulated and embedded: test/clients/testing/cluster.test.ts.
  test.runIf(isThorough)(
    'a reset leaves what a first start leaves: the ready-made keys, the tokens, the right time, and the snapshots',
    async () => {
      const session = await sign();
      await sandbox('POST', '/nodes/5/crash', { restart_after_ms: null });
      await sandbox('POST', '/faults', { fault: 'pause', target: 'node/1', for_ms: 60_000 });
      await sandbox('POST', '/reset');
      const { nodes } = await sandbox('GET', '/nodes');
      expect(
        nodes.every(
          ({ state, clock_offset_ms }: Record<string, unknown>) => state === 'running' && clock_offset_ms === 0,
        ),
      ).toBe(true);
      expect((await share(session)).receipt.reason_code).toBe('SESSION_NOT_FOUND');
      expect((await sandbox('GET', '/snapshots')).snapshots).toHaveLength(1);
      const { body: keys } = await api('POST', '/v1/dkg/shares', { session_id: 'sandbox-secp256k1' });
      expect(keys.receipt.message).toContain(cluster.ready.keys[0]!.public_key);
      await sign();
    },
  );

  test('a cluster with processes that stand still or are held down stops cleanly', async () => {
    await sandbox('POST', '/nodes/2/pause');
    await sandbox('POST', '/nodes/3/crash', { restart_after_ms: null });
    await sandbox('POST', '/faults', { fault: 'pause', target: 'coordinator', for_ms: 60_000 });
    expect(await cluster.end()).toBe(0);
    expect(cluster.output).toContain('All processes have stopped');
    expect(cluster.output).not.toContain('does not stop');
  });
});
