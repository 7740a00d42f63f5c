/** The wallet API of a simulated cluster in the hands of a test: fetch, events, webhooks, approvals, in virtual time. */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createClient } from '../../../clients/client/index.ts';
import { ClusterStopped, cluster, StillPending, type TestCluster } from '../../../clients/testing/index.ts';
import { until } from '../../support/until.ts';

const destination = { address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' };

async function made(seed: string): Promise<TestCluster> {
  const custody = await cluster({ nodes: 3, seed });
  onTestFinished(() => custody.stop());
  return custody;
}

const clientOf = (custody: TestCluster) =>
  createClient({ baseUrl: custody.url, token: custody.token, ports: custody.clientPorts });

async function wallet(custody: TestCluster, policy: 'open' | 'two-people' = 'open') {
  const client = clientOf(custody);
  const rule =
    policy === 'open'
      ? ({ id: policy, effect: 'allow', when: 'true' } as const)
      : ({ id: policy, effect: 'require_approval', when: 'true', approvals: { quorum: 1 } } as const);
  await client.policies.put({ name: policy, rules: [rule] });
  const connection = await client.connections.create({ provider: 'self_hosted', name: 'ours', credentials: {} });
  const network = 'eip155:11155111';
  const { id } = await client.wallets.create({ name: 'one', provider_connection_id: connection.id, network, policy });
  const pay = (amount = '0.25') => client.intents.create(id, { asset: 'ETH', amount, destination });
  return { client, id, pay };
}

describe('a transfer', () => {
  test('is paid, awaited and told, without a millisecond of real waiting', async () => {
    const custody = await made('transfer');
    const { pay } = await wallet(custody);
    const hook = await custody.webhooks.open({ events: ['transaction_intent.*'] });
    const intent = await pay();
    expect(intent.status).toBe('approved');
    expect(await custody.waitFor(intent)).toMatchObject({ id: intent.id, status: 'completed' });
    const event = await custody.events.next('transaction_intent.completed', { of: intent });
    expect(event.data.object.amount).toBe('0.25');
    const delivery = await hook.next('transaction_intent.completed', { of: intent });
    expect(delivery).toMatchObject({ status: 204, event: { id: event.id } });
    expect(custody.violations()).toEqual([]);
    await hook.close();
    await hook.close();
  });

  test('that awaits approval gets it in a line; who waits in vain is told what is pending', async () => {
    const custody = await made('approval');
    const { pay } = await wallet(custody, 'two-people');
    const intent = await pay();
    await custody.crash('node/1', { restart_after_ms: null });
    const { id } = await custody.inject({ fault: 'bad_partial', target: 'node/2' });
    const late: unknown = await custody.waitFor(intent, { withinMs: 5_000 }).catch((error: unknown) => error);
    expect(late).toBeInstanceOf(StillPending);
    expect((late as StillPending).message).toContain(`${intent.id} did not become completed within 5000 ms.`);
    expect((late as StillPending).pending).toEqual([
      `${intent.id} is pending_approval: 0 of 1 approvals; custody.approve(intent) gives one`,
      'node/1 is down: custody.heal() brings it up',
      expect.stringContaining(`the fault ${id} is in force: `),
    ]);
    await custody.heal();
    expect((await custody.approve(intent, { comment: 'checked' })).status).toBe('approved');
    expect((await custody.waitFor(intent)).status).toBe('completed');
    const other = await pay();
    expect((await custody.reject(other, { reason: 'not ours' })).status).toBe('rejected');
    await expect(custody.waitFor(other)).rejects.toMatchObject({ code: 'intent_ended' });
    await expect(custody.approve(other)).rejects.toMatchObject({ status: 409 });
  });
});

test('a new cluster serves: its health is good at the first question', async () => {
  const custody = await made('healthy');
  const health = await custody.fetch('/v1/health');
  expect(health.status).toBe(200);
  expect(await health.json()).toMatchObject({ status: 'ok', nodes_ready: 3, nodes_total: 3, reasons: [] });
});

describe('custody.fetch', () => {
  const authorized = (custody: TestCluster) => ({ authorization: `Bearer ${custody.token}` });

  test('takes what every fetch takes: relative and whole URLs, requests, lists of headers, bodies of each kind', async () => {
    const custody = await made('kinds');
    const { fetch, url, token } = custody;
    const body = JSON.stringify({ provider: 'self_hosted', name: 'ours', credentials: {} });
    const headers = { ...authorized(custody), 'content-type': 'application/json' };
    const post = { method: 'POST', headers, body };
    const path = '/v1/provider-connections';
    const inPieces = new Response(body).body!;
    const answers = await Promise.all([
      fetch(path, post),
      fetch(new URL(path, url), { ...post, headers: Object.entries(headers) }),
      fetch(new Request(`${url}${path}`, post)),
      fetch(new Request(`${url}${path}`), { ...post, headers: new Headers(headers), body: Buffer.from(body) }),
      fetch(path, { ...post, body: inPieces, duplex: 'half' } as RequestInit),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
    expect(answers[0]!.url).toBe(`${url}${path}`);
    const created = await Promise.all(answers.map(async (answer) => ((await answer.json()) as { id: string }).id));
    expect(new Set(created).size).toBe(5);
    const head = await fetch('/v1/health', { method: 'HEAD' });
    expect([head.status, head.body]).toEqual([200, null]);
    const gone = await fetch(`${path}/${created[0]}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${token}` },
    });
    expect(gone.status).toBeLessThan(500);
    const text = await fetch(path, { method: 'POST', headers: authorized(custody), body: 'plain' });
    expect(text.status).toBe(415);
    const huge = await fetch(path, { ...post, body: JSON.stringify({ name: 'x'.repeat(3_000_000) }) });
    expect([huge.status, await huge.json()]).toMatchObject([413, { error: { code: 'invalid_request' } }]);
    expect((await fetch('/v1/wallets')).status).toBe(401);
  });

  test('says what is wrong with a request that cannot be one', async () => {
    const { fetch } = await made('wrong');
    await expect(fetch('https://api.example.com/v1/wallets')).rejects.toThrow(
      'custody.fetch reaches http://signmesh.test alone, not https://api.example.com/v1/wallets: give your client custody.url',
    );
    await expect(fetch('http://[')).rejects.toThrow('http://[ is not a URL');
    await expect(fetch('/v1/wallets', { method: 'GET', body: 'no' })).rejects.toThrow(TypeError);
    await expect(fetch('/v1/wallets', { headers: { 'x y': '1' } })).rejects.toThrow(TypeError);
  });

  test('ends with the reason of its signal, before, during and after the answer', async () => {
    const custody = await made('abort');
    const { fetch } = custody;
    await expect(fetch('/v1/health', { signal: AbortSignal.abort(new Error('never began')) })).rejects.toThrow(
      'never began',
    );
    const scope = new AbortController();
    const under = fetch('/v1/health', { signal: scope.signal });
    scope.abort();
    await expect(under).rejects.toMatchObject({ name: 'AbortError' });
    const reading = new AbortController();
    const stream = await fetch('/v1/events/stream', { headers: authorized(custody), signal: reading.signal });
    const reader = stream.body!.getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toContain('retry: 1000');
    const next = reader.read();
    reading.abort(new Error('enough'));
    await expect(next).rejects.toThrow('enough');
    expect((await fetch('/v1/health')).status).toBe(200);
  });

  test('fails as over a network when the gateway is down or dies; the next call meets the next gateway', async () => {
    const custody = await made('network');
    const { fetch } = custody;
    await custody.crash('gateway', { at: { point: 'call' }, restart_after_ms: null });
    const post = { method: 'POST', headers: { ...authorized(custody), 'content-type': 'application/json' } };
    const lost = fetch('/v1/dkg/initiate', { ...post, body: JSON.stringify({ session_id: 'lost' }) });
    await expect(lost).rejects.toMatchObject({ message: 'fetch failed', cause: { code: 'UND_ERR_SOCKET' } });
    await expect(fetch('/v1/health')).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
    await custody.heal();
    expect((await fetch('/v1/health')).status).toBe(200);
    // Clients that repeat come forward: with pauses in the cluster's time, and with none at all.
    await custody.crash('gateway', { restart_after_ms: 2_000 });
    for (let isUp = false; !isUp; )
      isUp = await fetch('/v1/health').then(
        ({ ok }) => ok,
        () => false,
      );
    await custody.crash('gateway', { restart_after_ms: 2_000 });
    expect(await clientOf(custody).wallets.list().first()).toMatchObject({ wallets: [] });
  });

  test('brings a stream of events while something happens, and lets no time run away in the background', async () => {
    const custody = await made('stream');
    const seen: string[] = [];
    const scope = new AbortController();
    const following = (async () => {
      for await (const event of clientOf(custody).events.follow({ signal: scope.signal })) seen.push(event.type);
    })().catch(() => undefined);
    const { pay } = await wallet(custody);
    await custody.waitFor(await pay());
    await custody.wait(10);
    await until(() => seen.includes('transaction_intent.completed'), 'the event at its reader');
    await custody.wait(20_000);
    const before = custody.nowMs();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(custody.nowMs() - before).toBeLessThan(20_000);
    scope.abort();
    await following;
  });

  test('lets a client that polls with real pauses come forward', async () => {
    const custody = await made('polls');
    const { id, pay } = await wallet(custody);
    const intent = await pay();
    let reads = 0;
    for (let status = ''; status !== 'completed'; reads += 1) {
      const path = `/v1/wallets/${id}/transaction-intents/${intent.id}`;
      const answer = await custody.fetch(path, { headers: authorized(custody) });
      status = ((await answer.json()) as { status: string }).status;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect(reads).toBeLessThan(8);
    // The client of this package too, with its real pauses.
    const { url: baseUrl, token, fetch } = custody;
    expect((await createClient({ baseUrl, token, fetch }).waitFor(await pay())).status).toBe('completed');
  });

  test('serves many at once, and knows nothing of timers that a test has replaced', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const custody = await made('many');
    const { pay } = await wallet(custody);
    const intents = await Promise.all(Array.from({ length: 20 }, () => pay('0.01')));
    const ends = await Promise.all(intents.map((intent) => custody.waitFor(intent)));
    expect(new Set(ends.map(({ id, status }) => `${id} ${status}`)).size).toBe(20);
    expect(new Set(ends.map(({ status }) => status))).toEqual(new Set(['completed']));
  });
});

test('code of the test answers webhooks, and may ask the cluster; time stands still meanwhile', async () => {
  const custody = await made('respond');
  const { client, pay } = await wallet(custody);
  const answers = [503, 429];
  const asked: string[] = [];
  const hook = await custody.webhooks.open({
    events: ['transaction_intent.completed'],
    respond: async (request) => {
      const { data } = (await request.json()) as { data: { object: { id: string; wallet_id: string } } };
      await new Promise((resolve) => setTimeout(resolve, 5));
      asked.push((await client.intents.get(data.object.wallet_id, data.object.id)).status);
      return new Response(null, { status: answers.shift() ?? 204, headers: { 'retry-after': '7' } });
    },
  });
  const intent = await pay();
  const [first, second, third] = [await hook.next('*', { of: intent }), await hook.next(), await hook.next()];
  expect([first, second, third].map(({ status }) => status)).toEqual([503, 429, 204]);
  expect(second.atMs - first.atMs).toBeGreaterThanOrEqual(7_000);
  expect(new Set(hook.received.map(({ event }) => event.id)).size).toBe(1);
  expect(asked).toEqual(['completed', 'completed', 'completed']);
  const none: unknown = await hook.next('*', { withinMs: 100 }).catch((error: unknown) => error);
  expect((none as Error).message).toBe(`webhook ${hook.id} got no request of * within 100 ms. Nothing is pending.`);
  const broken = await custody.webhooks.open({
    respond: () => {
      throw new Error('a bug of the test');
    },
  });
  await pay();
  await expect(broken.next()).rejects.toThrow('a bug of the test');
});

test('a delivery under another secret is refused by its receiver', async () => {
  const custody = await made('secret');
  const { client } = await wallet(custody);
  const hook = await custody.webhooks.open();
  await client.webhooks.rotateSecret(hook.id, { revoke_previous: true });
  await client.webhooks.ping(hook.id);
  await expect(hook.next()).rejects.toMatchObject({ code: 'webhook_signature_mismatch' });
});

test('events are given once, in their order; wrong types are named at once', async () => {
  const custody = await made('events');
  const { events } = custody;
  await custody.makeKey({ threshold: 2, totalNodes: 3 });
  expect((await events.next('dkg.session.*')).type).toBe('dkg.session.accepted');
  expect((await events.next('dkg.session.*')).type).toBe('dkg.session.completed');
  await custody.makeKey({ threshold: 2, totalNodes: 3 });
  await events.skip();
  await expect(events.next('*', { withinMs: 50 })).rejects.toThrow('no event * came within 50 ms. Nothing is pending.');
  const coming = events.next((event) => event.type === 'dkg.session.completed');
  await custody.makeKey({ session: 'third', threshold: 2, totalNodes: 3 });
  expect((await coming).resource.id).toBe('third');
  expect((await events()).length).toBe(6);
  await expect(events.next('transaction_intent.complete' as '*')).rejects.toThrow(
    'there is no event type transaction_intent.complete; docs/wallet-api.md#events lists them',
  );
  await expect(
    events.next(() => {
      throw new Error('of the test');
    }),
  ).rejects.toThrow('of the test');
  await expect(events.next('*', { withinMs: -1 })).rejects.toThrow(/^withinMs/);
  await expect(custody.waitFor('txi_1' as never)).rejects.toThrow(/^intent must be/);
  await expect(custody.approve(undefined as never)).rejects.toThrow(/^intent must be/);
  await expect(events.next(7 as never)).rejects.toThrow(/^match must be/);
  await expect(events.next('*', { of: 7 as never })).rejects.toThrow(/^of must be/);
});

describe('clusters in one process', () => {
  test('of one seed are alike to the byte, whatever another one does meanwhile', async () => {
    const story = async (custody: TestCluster) => {
      const { pay } = await wallet(custody);
      await custody.waitFor(await pay());
      return JSON.stringify([await custody.events(), custody.nowMs()]);
    };
    const [one, two, other] = await Promise.all([made('same'), made('same'), made('other')]);
    const [first, , second] = await Promise.all([story(one!), story(other!), story(two!)]);
    expect(second).toBe(first);
    expect(await other!.events()).not.toEqual(await one!.events());
    expect(await other!.issueToken({ scopes: ['wallets:read'] })).not.toBe(other!.token);
  });

  test('share nothing; one that was stopped says so, whatever was open', async () => {
    const [one, other] = [await made('one'), await made('other')];
    const stranger = { authorization: `Bearer ${await other.issueToken({ tenant: 'tn_other' })}` };
    const { id } = await wallet(one);
    expect((await other.fetch(`/v1/wallets/${id}`, { headers: stranger })).status).toBe(404);
    const stream = await one.fetch('/v1/events/stream', { headers: { authorization: `Bearer ${one.token}` } });
    const reader = stream.body!.getReader();
    await reader.read();
    const open = [
      reader.read(),
      one.events.next('vault.*'),
      one.fetch('/v1/health'),
      one.makeKey({ threshold: 2, totalNodes: 3 }),
    ];
    await one.stop();
    const ends = await Promise.allSettled(open);
    expect(ends.map((end) => end.status === 'rejected' && end.reason instanceof ClusterStopped)).toEqual([
      ...[true, true, true, true],
    ]);
    await expect(one.fetch('/v1/health')).rejects.toThrow('this cluster was stopped: make another one with cluster()');
    await expect(one.events()).rejects.toThrow(ClusterStopped);
    expect((await other.fetch('/v1/health')).status).toBe(200);
    await expect(other.issueToken({ scopes: ['walets:read'] })).rejects.toThrow('there is no scope walets:read');
  });
});

test('a snapshot holds wallets and balances, a reset removes them; tokens outlive both', async () => {
  const custody = await made('snapshot');
  const { client, id, pay } = await wallet(custody);
  const snapshot = await custody.takeSnapshot();
  const intent = await pay();
  await custody.waitFor(intent);
  await custody.restoreSnapshot(snapshot);
  await expect(client.intents.get(id, intent.id)).rejects.toMatchObject({ status: 404 });
  await custody.waitFor(await pay());
  expect((await custody.events.next('transaction_intent.completed')).data.object.id).not.toBe(intent.id);
  await custody.reset();
  await expect(client.wallets.get(id)).rejects.toMatchObject({ status: 404 });
  await custody.makeKey({ threshold: 2, totalNodes: 3 });
  expect((await custody.events.next('*')).type).toBe('dkg.session.accepted');
});
