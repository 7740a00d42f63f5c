/** A running cluster's event log: gateway and coordinator write it, clients read it in one order, without holes. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startCluster, type TestCluster } from '../support/cluster.ts';
import { type Made, RestClient } from '../support/rest.ts';
import { type BorrowedCluster, borrowCluster, borrowWithinMs } from '../support/shared-cluster.ts';
import { isThorough } from '../support/thorough.ts';
import { until } from '../support/until.ts';

const network = 'eip155:11155111';

interface Shown {
  readonly id: string;
  readonly type: string;
  readonly sequence: number;
  readonly environment: string;
  readonly resource: { readonly type: string; readonly id: string; readonly version: number };
  readonly correlation_id: string;
  readonly data: { readonly object: Readonly<Record<string, unknown>> };
}

let api: RestClient;

/** The whole log, page after page; fails on a hole. */
async function readLog(filter = ''): Promise<readonly Shown[]> {
  const log: Shown[] = [];
  let cursor = '';
  do {
    const page = await api.get<{ events: Shown[]; next_cursor: string | null }>(
      `/v1/events?limit=50${filter}${cursor === '' ? '' : `&cursor=${cursor}`}`,
    );
    expect(page.status).toBe(200);
    log.push(...page.body.events);
    cursor = page.body.next_cursor ?? '';
  } while (cursor !== '');
  if (filter === '') expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, index) => index + 1));
  return log;
}

async function typesOf(resourceId: string): Promise<string[]> {
  return (await readLog(`&resource_id=${resourceId}`)).map(({ type }) => type);
}

/** Begins a signature. */
async function sign(wallet_id: string, transaction_intent_id: string, more: object = {}): Promise<string> {
  const message_hash = Buffer.alloc(32, 7).toString('base64');
  const request = { wallet_id, transaction_intent_id, message_hash, ...more };
  const answer = await api.post<{ signing_session_id: string }>('/v1/signing/initiate', request);
  return answer.body.signing_session_id;
}

describe('the event log of a tenant', () => {
  let cluster: BorrowedCluster;
  beforeAll(async () => {
    cluster = await borrowCluster();
    api = new RestClient(cluster.httpUrl, cluster.token);
  }, borrowWithinMs);
  afterAll(() => cluster?.stop());

  test('has keys, signatures, wallets and transfers in one sequence without holes', async () => {
    await api.post('/v1/dkg/initiate', { session_id: 'my-key', threshold: 2, total_nodes: 3 });
    await api.post('/v1/dkg/shares', { session_id: 'my-key' });
    const signature = await sign('my-key', 'by hand');
    expect((await api.post('/v1/signing/share', { signing_session_id: signature })).body.is_complete).toBe(true);

    const connected = await api.made('/v1/provider-connections', {
      provider: 'self_hosted',
      name: 'ours',
      credentials: {},
    });
    // Wallets are made, transfers sent and messages signed side by side: both writers are at work.
    const signing = Array.from({ length: 20 }, async (_, index) => {
      const id = await sign('my-key', `aside ${index}`);
      await api.post('/v1/signing/share', { signing_session_id: id });
      return id;
    });
    const body = { name: 'w', provider_connection_id: connected.id, network };
    const wallet = await api.made<Made & { addresses: { address: string }[] }>('/v1/wallets', body);
    const path = `/v1/wallets/${wallet.id}/transaction-intents`;
    const transfer = { asset: 'ETH', amount: '0.1', destination: { address: wallet.addresses[0]!.address } };
    const intents = await Promise.all([1, 2, 3].map(() => api.made(path, transfer)));
    const signed = await Promise.all(signing);
    for (const { id } of intents) {
      await until(async () => (await api.get(`${path}/${id}`)).body.status === 'completed', `the end of ${id}`);
    }

    const log = await readLog();
    const whole = ['signing.session.accepted', 'signing.session.completed'];
    for (const id of [signature, ...signed]) expect(await typesOf(id)).toEqual(whole);
    expect(await typesOf('my-key')).toEqual(['dkg.session.accepted', 'dkg.session.completed']);
    expect((await typesOf(wallet.id)).slice(0, 3)).toEqual([
      'dkg.session.accepted',
      'dkg.session.completed',
      'wallet.created',
    ]);
    for (const { id } of intents) {
      const own = log.filter(({ resource, data }) => resource.id === id || data.object.transaction_intent_id === id);
      const types = own.map(({ type }) => type);
      expect(types.indexOf('transaction_intent.signing')).toBeLessThan(types.indexOf('signing.session.accepted'));
      expect(types.indexOf('signing.session.completed')).toBeLessThan(types.indexOf('transaction_intent.broadcasting'));
      expect(types.at(-1)).toBe('transaction_intent.completed');
    }
    const shown = log.find(({ resource }) => resource.id === signature)!;
    expect(shown).toMatchObject({
      environment: 'sandbox',
      resource: { type: 'signing_session', version: 1 },
      data: { object: { session_id: signature, state: 'RECEIPT_STATE_ACCEPTED', wallet_id: 'my-key' } },
    });
  });

  test('has the end of the sessions of an archived wallet', async () => {
    const [{ id: connection }] = (await api.get<{ provider_connections: [{ id: string }] }>('/v1/provider-connections'))
      .body.provider_connections;
    const body = { name: 'old', provider_connection_id: connection, network };
    const wallet = await until(async () => api.made('/v1/wallets', body), 'a wallet');
    // One that waits for a human outlives this test.
    const open = await sign(wallet.id, 'never signed', { approval_mode: 'HUMAN_REQUIRED' });
    expect((await api.post(`/v1/wallets/${wallet.id}/archive`, {})).status).toBe(200);
    await until(async () => (await typesOf(open)).length === 2, 'the end of the session');
    expect(await typesOf(open)).toEqual(['signing.session.pending', 'signing.session.revoked']);
  });
});

// Simulated: scenarios/expiry-during-round.yaml, and test/coordinator/session-events.test.ts.
describe.runIf(isThorough).sequential('a cluster of three nodes', () => {
  let cluster: TestCluster;
  beforeAll(async () => {
    // The clock of its sandbox ends the lifetime of a session.
    const settings = { SIGNMESH_CHAIN_BLOCK_MS: '100', SIGNMESH_FAULTS: 'on' };
    cluster = await startCluster({ nodes: 3, environment: settings });
    api = new RestClient(cluster.httpUrl, cluster.token);
  });
  afterAll(() => cluster?.stop());

  test('shares its ready-made keys among those, and they sign', async () => {
    expect(cluster.ready.keys.map(({ wallet_id }) => wallet_id)).toEqual([
      'sandbox-secp256k1',
      'sandbox-ed25519',
      'sandbox-bip340',
    ]);
    const session = await sign('sandbox-secp256k1', 'of three');
    expect((await api.post('/v1/signing/share', { signing_session_id: session })).body.is_complete).toBe(true);
  });

  test('has the end of a session that was left alone in its log, though the coordinator died meanwhile', async () => {
    const abandoned = await sign('sandbox-ed25519', 'abandoned');
    await cluster.kill('coordinator');
    const later = { advance_s: 3_600 };
    await until(async () => (await api.post('/v1/sandbox/clock', later)).status === 200, 'an hour to pass');
    await until(async () => (await typesOf(abandoned)).length === 2, 'the end of the session');
    expect(await typesOf(abandoned)).toEqual(['signing.session.accepted', 'signing.session.expired']);
    await readLog();
  });
});
