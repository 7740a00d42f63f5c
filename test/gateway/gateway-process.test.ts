/** The gateway as it runs: real ports, a real link to a coordinator's link server, a real Redis. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { Client, credentials, status } from '@grpc/grpc-js';
import { Redis } from 'ioredis';
import { request } from 'undici';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Envelope } from '../../core/actors/contract.ts';
import { identityFromSeed } from '../../core/actors/live/handshake-crypto.ts';
import { LinkServer } from '../../core/actors/live/link-server.ts';
import { assertGatewayConfig, type GatewayConfig } from '../../gateway/config.ts';
import { type RunningGateway, runGateway } from '../../gateway/main.ts';
import { type Call, CallReplySchema, ClusterStatusSchema } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import {
  decodeFrames,
  decodeHandshake,
  encodeFrame,
  encodeHandshake,
  type WireMessage,
  wireProtocolVersions,
} from '../../proto/wire.ts';
import { healthyCluster, proof } from '../support/fake-coordinator.ts';
import { grpcCall } from '../support/gateway.ts';
import { startRedis } from '../support/redis.ts';
import { openDatabase, type RedisDatabase } from '../support/redis-database.ts';
import { testRecordKey } from '../support/store-ports.ts';

const gatewaySeed = new Uint8Array(32).fill(1);
const coordinatorSeed = new Uint8Array(32).fill(2);
const joinSecret = new Uint8Array(32).fill(3);
const roster = {
  clusterId: 'test-cluster',
  nodes: [],
  coordinator: identityFromSeed(coordinatorSeed).publicKey,
  gateway: identityFromSeed(gatewaySeed).publicKey,
};
const bannerToken = { token: 'svc_sk_test_bannertoken01', tenant: 'sandbox' };
const headers = { authorization: `Bearer ${bannerToken.token}`, 'content-type': 'application/json' };
const share = '/svc.mesh.v1.MpcWalletService/SubmitSignatureShare';

/** A coordinator that holds every call until it is told to answer. */
class HeldCoordinator {
  readonly server: LinkServer<WireMessage>;
  readonly held: Envelope<WireMessage>[] = [];
  hold = false;
  url = '';

  constructor(port = 0) {
    this.server = new LinkServer<WireMessage>({
      host: '127.0.0.1',
      port,
      codec: { encodeFrame, decodeFrames, encodeHandshake, decodeHandshake },
      handshake: {
        protocolVersions: wireProtocolVersions,
        clusterId: roster.clusterId,
        coordinatorBoot: 'boot',
        joinSecret,
        identity: identityFromSeed(coordinatorSeed),
        peerKey: (role) => (role === 'gateway' ? roster.gateway : undefined),
      },
      deliver: (envelope) => {
        if (this.hold) this.held.push(envelope);
        else this.answer(envelope);
        return undefined;
      },
      onPeerUp: ({ address }) => {
        this.#send(address, { case: 'clusterStatus', value: create(ClusterStatusSchema, healthyCluster) });
      },
    });
  }

  async start(): Promise<this> {
    this.url = (await this.server.start()).url;
    return this;
  }

  answer(envelope: Envelope<WireMessage>): void {
    const { callId, request } = envelope.message.body.value as Call;
    const value = create(CallReplySchema, { callId, outcome: { case: request.case, value: proof } as never });
    this.#send(envelope.from, { case: 'callReply', value });
  }

  #send(to: string, body: WireMessage['body']): void {
    const trace = { correlationId: '', traceparent: '' };
    this.server.send({ from: 'coordinator', to, message: { tenant: '', session: '', attempt: 0, body }, trace });
  }
}

let redis: RedisDatabase;
let coordinator: HeldCoordinator;
let config: GatewayConfig;
const credentialKeysDir = mkdtempSync(join(tmpdir(), 'signmesh-keys-'));
writeFileSync(join(credentialKeysDir, '1.key'), '06'.repeat(32));
const cleanUps: (() => unknown)[] = [];
beforeAll(async () => {
  redis = await openDatabase();
  coordinator = await new HeldCoordinator().start();
  config = {
    environment: 'sandbox',
    httpHost: '127.0.0.1',
    httpPort: 0,
    grpcHost: '127.0.0.1',
    grpcPort: 0,
    coordinatorUrl: coordinator.url,
    redisUrl: redis.url,
    roster,
    identitySeed: gatewaySeed,
    joinSecret,
    tokenKey: new Uint8Array(32).fill(4),
    receiptSeed: new Uint8Array(32).fill(5),
    credentialKeysDir,
    recordKey: testRecordKey,
    chainBlockMs: 1_000,
    rateLimit: { windowS: 10, reads: 300, writes: 100, signing: 2_000 },
    acceptAnyTestToken: false,
    bannerToken,
    accessLog: true,
    logLevel: 'silent',
  };
});
afterEach(async () => {
  coordinator.hold = false;
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});
afterAll(async () => {
  await coordinator.server.stop();
  await redis.stop();
  rmSync(credentialKeysDir, { recursive: true, force: true });
});

async function start(changes: Partial<GatewayConfig> = {}): Promise<RunningGateway> {
  const gateway = await runGateway({ ...config, ...changes });
  cleanUps.push(() => gateway.stop());
  return gateway;
}

/** Of a production. */
const withoutBanner = { bannerToken: undefined } as unknown as Partial<GatewayConfig>;

async function health(gateway: RunningGateway): Promise<{ code: number; status: string; coordinator: string }> {
  const { statusCode, body } = await request(`http://${gateway.httpAddress}/v1/health`);
  return { code: statusCode, ...((await body.json()) as { status: string; coordinator: string }) };
}

async function healthBody(gateway: RunningGateway): Promise<object> {
  const { statusCode, body } = await request(`http://${gateway.httpAddress}/v1/health`);
  return { code: statusCode, ...((await body.json()) as object) };
}

const post = (gateway: RunningGateway) =>
  request(`http://${gateway.httpAddress}/v1/signing/share`, { method: 'POST', headers, body: '{}' });

/** As the kernel lists them (proc(5), /proc/net/tcp): 01 is established, 02 has sent its first packet and has no answer. */
function connectionsTo(port: number): { established: number; waiting: number } {
  const to = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const states = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .flatMap(([, , remote = '', state]) => (remote.endsWith(to) ? [state] : []));
  const count = (state: string) => states.filter((each) => each === state).length;
  return { established: count('01'), waiting: count('02') };
}

/** Lets other processes run, and nothing of this one. */
function blockFor(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

const untilHealthy = (gateway: RunningGateway) => expect.poll(async () => (await health(gateway)).status).toBe('ok');

describe('a gateway process', () => {
  it('serves HTTP and gRPC over a real link, with the banner’s token and counted calls', async () => {
    const gateway = await start();
    await untilHealthy(gateway);
    await expect.poll(async () => (await post(gateway)).statusCode).toBe(200);
    const answer = await post(gateway);
    expect(answer.headers.ratelimit).toMatch(/^"signing";r=\d+;t=\d+$/);
    expect(await answer.body.json()).toMatchObject({ receipt: { receipt_id: 'rcp_1' } });
    const client = new Client(gateway.grpcAddress, credentials.createInsecure());
    cleanUps.push(() => client.close());
    const { authorization } = headers;
    expect((await grpcCall(client, share, new Uint8Array(), { authorization })).error).toBeUndefined();
    expect((await grpcCall(client, share, new Uint8Array(), {})).error?.code).toBe(status.UNAUTHENTICATED);
  });

  it('has room for new connections by the thousand while it is busy: none has to send its first packet again', async () => {
    const gateway = await start();
    for (const address of [gateway.httpAddress, gateway.grpcAddress]) {
      const port = Number(address.split(':')[1]);
      const sockets = Array.from({ length: 1_500 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
      await new Promise((resolve) => process.nextTick(resolve));
      // The kernel answers, if late; the gateway, which is this process, accepts none meanwhile. So a first packet without room
      // stays without an answer.
      const endMs = performance.now() + 20_000;
      while (connectionsTo(port).established < 1_500 && performance.now() < endMs) blockFor(10);
      // Other connections to the gateway may stand beside them.
      const { established, waiting } = connectionsTo(port);
      expect([established >= 1_500, waiting]).toEqual([true, 0]);
      for (const socket of sockets) socket.destroy();
    }
  });

  it('starts without a coordinator and without Redis, says so, and answers 503', async () => {
    const gateway = await start({ coordinatorUrl: 'ws://127.0.0.1:1', redisUrl: 'redis://127.0.0.1:1' });
    expect(await health(gateway)).toMatchObject({ code: 503, status: 'unavailable', coordinator: 'disconnected' });
    const answer = await post(gateway);
    expect(answer.statusCode).toBe(503);
    expect(answer.headers['retry-after']).toBe('1');
    expect(await answer.body.json()).toMatchObject({ error: { code: 'provider_unavailable' } });
  });

  it('knows its banner’s token at once in a state that was put back or emptied', async () => {
    const gateway = await start();
    await untilHealthy(gateway);
    await expect.poll(async () => (await post(gateway)).statusCode).toBe(200);
    const client = new Redis(redis.url);
    cleanUps.push(async () => client.disconnect());
    await client.flushdb();
    await gateway.onRestored();
    expect((await post(gateway)).statusCode).toBe(200);
    expect(await client.keys('*')).not.toEqual([]);
  });

  it('registers its own tokens when Redis takes them, and until then opens no empty tenant with them', async () => {
    // It answers and refuses every write, as a replica does.
    const replica = await startRedis(undefined, ['--replicaof', '127.0.0.1', '1']);
    cleanUps.push(() => replica.stop());
    const approverToken = 'svc_sk_test_approvertoken01';
    const gateway = await start({ redisUrl: replica.url, approverToken, acceptAnyTestToken: true, rateLimit: false });
    const wallets = async (token: string) => {
      const headers = { authorization: `Bearer ${token}` };
      return (await request(`http://${gateway.httpAddress}/v1/wallets`, { headers })).statusCode;
    };
    const client = new Client(gateway.grpcAddress, credentials.createInsecure());
    cleanUps.push(() => client.close());
    // Another token is served: Redis answers, and the coordinator is there.
    await expect.poll(() => wallets('svc_sk_test_somebodyelse')).toBe(200);
    expect(await wallets(bannerToken.token)).toBe(503);
    expect(await wallets(approverToken)).toBe(503);
    const refused = await grpcCall(client, share, new Uint8Array(), { authorization: headers.authorization });
    expect(refused.error?.code).toBe(status.UNAVAILABLE);
    await expect
      .poll(() => healthBody(gateway))
      .toMatchObject({
        status: 'unavailable',
        reasons: [
          'the sandbox’s own tokens are not registered yet',
          expect.stringMatching(/^Redis is a read-only replica/),
        ],
      });
    const operator = new Redis(replica.url);
    cleanUps.push(() => operator.disconnect());
    await operator.replicaof('NO', 'ONE');
    await untilHealthy(gateway);
    expect([await wallets(bannerToken.token), await wallets(approverToken)]).toEqual([200, 200]);
    expect((await grpcCall(client, share, new Uint8Array(), { authorization: headers.authorization })).error).toBe(
      undefined,
    );
    expect(await healthBody(gateway)).toMatchObject({ status: 'ok', reasons: [] });
    // Whatever is lost later is registered again, and no call meets an empty tenant meanwhile.
    const known = await operator.keys('sm:tok:*');
    expect(known).toHaveLength(2);
    await operator.del(...known);
    await gateway.onRestored();
    expect(await wallets(bannerToken.token)).toBe(200);
  });

  it.each<[string, (client: Redis) => Promise<unknown>, (client: Redis) => Promise<unknown>]>([
    ['OOM', (client) => client.config('SET', 'maxmemory', '1'), (client) => client.config('SET', 'maxmemory', '0')],
    ['READONLY', (client) => client.replicaof('127.0.0.1', 1), (client) => client.replicaof('NO', 'ONE')],
    [
      'NOREPLICAS',
      (client) => client.config('SET', 'min-replicas-to-write', '1'),
      (client) => client.config('SET', 'min-replicas-to-write', '0'),
    ],
  ])('is degraded while Redis refuses its writes (%s), and says why', async (code, refuse, heal) => {
    const own = await startRedis();
    cleanUps.push(() => own.stop());
    const gateway = await start({ redisUrl: own.url });
    await untilHealthy(gateway);
    const operator = new Redis(own.url);
    cleanUps.push(() => operator.disconnect());
    await refuse(operator);
    const reason = expect.stringMatching(new RegExp(`^Redis .*\\(${code}\\)$`));
    await expect.poll(() => healthBody(gateway)).toMatchObject({ code: 200, status: 'degraded', reasons: [reason] });
    await heal(operator);
    await untilHealthy(gateway);
  });

  it('has the sandbox’s routes without a control of its processes, and says so', async () => {
    const gateway = await start();
    await untilHealthy(gateway);
    const path = `http://${gateway.httpAddress}/v1/sandbox/nodes`;
    await expect.poll(async () => (await request(path, { headers })).statusCode).toBe(503);
    const production = await start({ environment: 'production', acceptAnyTestToken: false, ...withoutBanner });
    expect((await request(path.replace(gateway.httpAddress, production.httpAddress), { headers })).statusCode).toBe(
      404,
    );
  });

  it('finds the coordinator again after it was away', async () => {
    const own = await new HeldCoordinator().start();
    const gateway = await start({ coordinatorUrl: own.url });
    await untilHealthy(gateway);
    await own.server.stop();
    await expect.poll(async () => (await health(gateway)).coordinator).toBe('disconnected');
    const again = await new HeldCoordinator(Number(new URL(own.url).port)).start();
    cleanUps.push(() => again.server.stop());
    await untilHealthy(gateway);
  });

  it('lets calls under way finish before it stops, and takes no more', async () => {
    const gateway = await start();
    await untilHealthy(gateway);
    await expect.poll(async () => (await post(gateway)).statusCode).toBe(200);
    coordinator.hold = true;
    const client = new Client(gateway.grpcAddress, credentials.createInsecure());
    cleanUps.push(() => client.close());
    const { authorization } = headers;
    const overHttp = post(gateway);
    const overGrpc = grpcCall(client, share, new Uint8Array(), { authorization });
    await expect.poll(() => coordinator.held.length).toBe(2);
    const stopped = gateway.stop();
    await expect.poll(() => request(`http://${gateway.httpAddress}/v1/health`).catch(() => 'refused')).toBe('refused');
    for (const envelope of coordinator.held.splice(0)) coordinator.answer(envelope);
    expect((await overHttp).statusCode).toBe(200);
    expect((await overGrpc).error).toBeUndefined();
    await stopped;
    await gateway.stop();
  });

  describe('whose port is taken', () => {
    let holder: Server;
    let port: number;
    beforeAll(async () => {
      holder = createServer();
      await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
      port = (holder.address() as AddressInfo).port;
    });
    afterAll(() => holder.close());

    it.each([
      ['httpPort', 'REST', 'SIGNMESH_HTTP_PORT'],
      ['grpcPort', 'gRPC', 'SIGNMESH_GRPC_PORT'],
    ] as const)('says so in one line that names port and variable (%s)', async (setting, door, variable) => {
      await expect(runGateway({ ...config, [setting]: port })).rejects.toThrow(
        `the ${door} server cannot listen on 127.0.0.1:${port} (${variable}): `,
      );
    });
  });

  it.each<[Partial<GatewayConfig>, string]>([
    [{ httpPort: -1 }, 'httpPort'],
    [{ grpcPort: 65_536 }, 'grpcPort'],
    [{ coordinatorUrl: 'http://x' }, 'coordinatorUrl'],
    [{ redisUrl: 'x' }, 'redisUrl'],
    [{ identitySeed: new Uint8Array(31) }, 'identitySeed'],
    [{ joinSecret: new Uint8Array(3) }, 'joinSecret'],
    [{ tokenKey: new Uint8Array() }, 'tokenKey'],
    [{ rateLimit: { windowS: 0, reads: 1, writes: 1, signing: 1 } }, 'rateLimit.windowS'],
    [{ environment: 'production' }, 'bannerToken'],
    [{ acceptAnyTestToken: true, environment: 'production' }, 'acceptAnyTestToken'],
    [{ bannerToken: { token: 'svc_sk_live_x', tenant: 't' } }, 'bannerToken.token'],
    [{ bannerToken: { ...bannerToken, tenant: 'a b' } }, 'bannerToken.tenant'],
    [{ approverToken: 'svc_sk_live_x' }, 'approverToken'],
    [{ approverToken: bannerToken.token }, 'approverToken'],
    [{ receiptSeed: new Uint8Array(31) }, 'receiptSeed'],
    [{ credentialKeysDir: '' }, 'credentialKeysDir'],
    [{ chainBlockMs: 9 }, 'chainBlockMs'],
    [{ chainBlockMs: 10.5 }, 'chainBlockMs'],
    [{ intentConcurrency: 0 }, 'intentConcurrency'],
  ])('refuses the setting in %j by name', (changes, name) => {
    expect(() => assertGatewayConfig({ ...config, ...changes })).toThrow(name);
  });
});
