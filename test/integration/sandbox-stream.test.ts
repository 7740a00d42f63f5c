/** The sandbox of a cluster of processes: its stream, with a key and a signature as they happen, and an inbox that its worker reaches. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createClient, type SandboxStreamBatch, type SandboxStreamMessage } from '../../clients/client/index.ts';
import { type SharedCluster, sharedCluster } from '../support/shared-cluster.ts';
import { until } from '../support/until.ts';

let cluster: SharedCluster;
beforeAll(async () => {
  cluster = await sharedCluster();
});
afterAll(() => cluster?.stop());

test('a page sees sessions of other tenants as they happen, and continues where it was', async () => {
  const [admin, own] = [cluster.ready.token, cluster.token].map((token) =>
    createClient({ baseUrl: cluster.httpUrl, token: token! }),
  );
  const scope = new AbortController();
  const follow = async <M extends SandboxStreamMessage>(
    isIt: (message: SandboxStreamMessage) => message is M,
    after?: string,
  ): Promise<M> => {
    for await (const message of admin!.sandbox.stream({ signal: scope.signal, ...(after && { after }) })) {
      if (isIt(message)) return message;
    }
    throw new Error('the stream has ended');
  };
  const hello = await follow((message) => message.kind === 'hello');
  expect(hello).toMatchObject({ world: 'process', lost: false, missing: [{ topic: 'deliveries' }] });
  const processes = new Map(hello.processes.map((each) => [each.process, each]));
  expect(processes.get('node/1')).toMatchObject({ state: 'running', linked: true });
  expect(hello.clusters[0]).toMatchObject({ number: 1, nodes: expect.any(Number) });

  const sessionId = `streamed-${Date.now()}`;
  await own!.signing.initiateDkg({ session_id: sessionId });
  await own!.signing.exchangeDkgShares({ session_id: sessionId });
  // After the position before the key was made: nothing of it is missed.
  const isMade = (message: SandboxStreamMessage): message is SandboxStreamBatch =>
    message.kind === 'batch' &&
    message.sessions?.some(({ session, state }) => session === sessionId && state === 'completed') === true;
  const made = await follow(isMade, hello.next);
  const session = made.sessions!.find((each) => each.session === sessionId)!;
  expect(session).toMatchObject({ kind: 'dkg', cluster: 1, reason_code: 'DKG_COMPLETED', culprits: [], faults: [] });
  expect(session.nodes.length).toBeGreaterThan(2);
  const frames = await admin!.sandbox.recording({ session: sessionId, tenant: session.tenant });
  expect(frames).toMatchObject({ lost: false });
  expect(frames.events.length).toBeGreaterThanOrEqual(session.frames);

  const { figures } = await follow(
    (message): message is SandboxStreamBatch => message.kind === 'batch' && message.figures !== undefined,
  );
  const gateway = figures!.processes.find((each) => each.processes.includes('gateway'));
  expect(gateway?.resident_bytes).toBeGreaterThan(1_000_000);
  expect(gateway?.cpu).toBeGreaterThanOrEqual(0);
  scope.abort();
});

test('an inbox gets what the worker delivers, with signatures that hold, and ends with its webhook', async () => {
  const admin = createClient({ baseUrl: cluster.httpUrl, token: cluster.ready.token! });
  const { id, secret } = await admin.sandbox.createInbox({ events: ['webhook.*'] });
  expect(secret).toMatch(/^whsec_/);
  const { event_id: pinged } = await admin.webhooks.ping(id);
  const delivered = async () =>
    (await admin.sandbox.inbox(id)).deliveries.find(({ headers }) => headers['webhook-id'] === pinged);
  expect(await until(delivered, 'the ping in the inbox')).toMatchObject({
    checks: { x_svc_signature: 'valid', webhook_timestamp: 'valid', webhook_signature: 'valid' },
    answered: 200,
  });
  await admin.sandbox.deleteInbox(id);
  await expect(admin.webhooks.get(id)).rejects.toMatchObject({ status: 404 });
});
