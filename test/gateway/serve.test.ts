/**
 * `serve` without a door and the HTTP door answer alike: every route of the registry, the signing calls, health and the
 * document, with good and bad requests each. Two gateways with equal ports, each over a Redis of its own in memory, get
 * the same requests in the same order, one through `serve`, the other through Fastify's `inject`; every answer is equal
 * in status, headers and bytes.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { MachineMs, Ports } from '../../core/actors/contract.ts';
import { silentLog, systemTimers } from '../../core/actors/live/ports.ts';
import { plannedModules } from '../../gateway/api/modules.ts';
import type { Route } from '../../gateway/api/route.ts';
import { isStreaming } from '../../gateway/api/route-table.ts';
import { signingMethods } from '../../gateway/api/signing-methods.ts';
import { TokenStore } from '../../gateway/auth/token-store.ts';
import { liveWalletPorts } from '../../gateway/live-wallet-ports.ts';
import { openapiPath } from '../../gateway/openapi/document.ts';
import { Inboxes } from '../../gateway/sandbox/inboxes.ts';
import { RequestLog } from '../../gateway/sandbox/request-log.ts';
import { type PlainRequest, plainRequest } from '../../gateway/serve/plain-request.ts';
import { composeWalletApi, type WalletApi } from '../../gateway/wallet-api.ts';
import { httpBodyBytesMax } from '../../proto/limits.ts';
import { MemoryRedis } from '../../simulation/redis/memory-redis.ts';
import { FakeControl, FakeSessions } from '../support/fake-control.ts';
import { openGateway, type TestGateway, tokenKey } from '../support/gateway.ts';
import { testRecordKey } from '../support/store-ports.ts';
import { LocalSigner, LocalVaultCluster, noSessions } from '../support/wallet-service.ts';
import { bodyExamples } from './api/support/body-examples.ts';

/** The same bytes again in every world. */
function seeded(): Ports['random'] {
  let draws = 0;
  return (length) => {
    draws += 1;
    const block = (at: number) => createHash('sha256').update(`${draws}/${at}`).digest();
    return Buffer.concat(Array.from({ length: Math.ceil(length / 32) }, (_, at) => block(at))).subarray(0, length);
  };
}

const noWakes = { listen() {}, follow() {}, unfollow() {}, close() {} };
const owner = 'svc_sk_test_ownerOfEverything';
const poor = 'svc_sk_test_hasNoScopeAtAll';
const nowMs = Date.UTC(2026, 0, 2, 3, 4, 5);

const keysDir = mkdtempSync(join(tmpdir(), 'signmesh-serve-'));
writeFileSync(join(keysDir, '1.key'), `${'05'.repeat(32)}\n`);

/** BIP-340 signatures draw randomness of their own. */
class SameVaultCluster extends LocalVaultCluster {
  override async sign(...[meta, order]: Parameters<LocalVaultCluster['sign']>) {
    return { ...(await super.sign(meta, order)), signature: new Uint8Array(64).fill(1) };
  }
}

interface World {
  readonly gateway: TestGateway;
  readonly api: WalletApi;
}

async function openWorld(): Promise<World> {
  const clock = { nowMs: () => nowMs };
  const random = seeded();
  const redis = new MemoryRedis(clock).client();
  const timers = { elapsedMs: () => 0, epochMs: () => nowMs as MachineMs };
  const inboxes = new Inboxes({ random, timers });
  inboxes.reachedAt('127.0.0.1:8080');
  let api: WalletApi | undefined;
  const gateway = await openGateway({
    limits: {
      consume: async (_tenant, limitClass) => {
        return { allowed: true, policy: `"${limitClass}";q=9;w=10`, state: `"${limitClass}";r=8;t=10`, resetS: 10 };
      },
    },
    rest: ({ admission }) => {
      const clusters = { signer: new LocalSigner(), vaultCluster: new SameVaultCluster(), sessions: noSessions };
      const ports = liveWalletPorts({
        ...{
          redis,
          credentialKeysDir: keysDir,
          recordKey: testRecordKey,
          clock,
          timers: systemTimers,
          random,
          log: silentLog,
        },
        ...clusters,
      });
      api = composeWalletApi(
        { ...ports, wakes: noWakes },
        {
          config: { environment: 'sandbox', tokenKey, receiptSeed: new Uint8Array(32).fill(9), chainBlockMs: 1_000 },
          admission,
          tokens: new TokenStore(redis, tokenKey, { clock, random }),
          sandbox: {
            ...{ version: '0.0.0-test', control: new FakeControl(), sessions: new FakeSessions(), inboxes },
            requests: new RequestLog(timers),
          },
        },
      );
      return { routes: api.routes, deps: api.deps, wallets: api.store };
    },
  });
  gateway.tokens.put(owner, { id: 'tok_owner', tenant: 'tn_same' });
  gateway.tokens.put(poor, { id: 'tok_poor', tenant: 'tn_same', scopes: [] });
  return { gateway, api: api! };
}

let served: World;
let injected: World;
beforeAll(async () => {
  // The fakes of the sandbox read the time themselves.
  vi.useFakeTimers({ toFake: ['Date'], now: nowMs });
  served = await openWorld();
  injected = await openWorld();
});
afterAll(async () => {
  vi.useRealTimers();
  for (const world of [served, injected]) {
    await world?.api.stop();
    await world?.gateway.stop();
  }
  rmSync(keysDir, { recursive: true, force: true });
});

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

async function ofServe(request: PlainRequest): Promise<Answer> {
  const received = plainRequest(request);
  const { status, headers, body, stream } = await served.gateway.serve(received);
  if (stream === undefined) return { status, headers, body: Buffer.from(body ?? '').toString('latin1') };
  const text = stream(() => undefined);
  const first = await text.next();
  await text.return?.();
  return { status, headers, body: firstBlock(String(first.value)) };
}

/** Of the connection, not of the answer. */
const hops = ['date', 'connection', 'keep-alive', 'transfer-encoding'];

async function ofApiServer({ method, target, headers = {}, body }: PlainRequest): Promise<Answer> {
  const payload = typeof body === 'string' ? body : body && Buffer.from(body);
  const asked = { method: method as 'GET', url: target, headers, ...(payload !== undefined && { payload }) };
  const answer = await injected.gateway.http.inject({ ...asked, payloadAsStream: true });
  const isStream = answer.headers['content-type']?.toString().startsWith('text/event-stream') === true;
  const chunks: Buffer[] = [];
  for await (const chunk of answer.stream()) {
    chunks.push(Buffer.from(chunk));
    if (isStream) break;
  }
  const text = Buffer.concat(chunks).toString('latin1');
  const own = Object.entries(answer.headers).filter(([name]) => !hops.includes(name));
  return {
    status: answer.statusCode,
    headers: Object.fromEntries(own),
    body: isStream ? firstBlock(text) : text,
  };
}

/** Of server-sent events: how many arrive together is the connection's. */
function firstBlock(text: string): string {
  return text.slice(0, text.indexOf('\n\n') + 2);
}

let requests = 0;
const statuses = new Map<number, number>();

/** Asks both, and expects the same of both. */
async function same(request: PlainRequest): Promise<Answer> {
  requests += 1;
  const numbered = { ...request, headers: { 'x-request-id': `request-${requests}`, ...request.headers } };
  const [one, other] = [await ofServe(numbered), await ofApiServer(numbered)];
  expect(one, `${request.method} ${request.target} ${JSON.stringify(request.headers)} ${request.body}`).toEqual(other);
  statuses.set(one.status, (statuses.get(one.status) ?? 0) + 1);
  return one;
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const json = { ...bearer(owner), 'content-type': 'application/json' };

/** The last id that was shown, by the path under which such things are listed, and by its prefix. */
const shown = new Map([['/v1/sandbox/chains', 'eip155:11155111']]);

function learn(path: string, body: string): void {
  for (const [id, prefix] of body.matchAll(/\b([a-z]{3})_[0-9a-f-]{36}\b/g)) shown.set(prefix!, id);
  if (!body.startsWith('{')) return;
  const { id, ...rest } = JSON.parse(body) as Record<string, unknown>;
  const [first] = (Object.values(rest).find(Array.isArray) ?? []) as { readonly id?: unknown }[];
  for (const known of [id, first?.id]) if (typeof known === 'string') shown.set(path, known);
}

/** With the ids that are known, under its path and in its body. */
function good({ method, path, operationId }: Pick<Route, 'method' | 'path' | 'operationId'>): PlainRequest {
  const target = path.replace(/:\w+/g, (_name, at: number) => shown.get(path.slice(0, at - 1)) ?? 'nothing');
  if (method === 'GET') return { method, target, headers: bearer(owner) };
  const example = JSON.stringify(bodyExamples[operationId] ?? {});
  const body = example.replace(/\b([a-z]{3})_[0-9a-f-]{36}\b/g, (id, prefix: string) => shown.get(prefix) ?? id);
  return { method, target, headers: json, body };
}

/** What a caller may do wrong with a route, or ask beside it. */
function others({ method, path, operationId }: Pick<Route, 'method' | 'path' | 'operationId'>): PlainRequest[] {
  const right = good({ method, path, operationId });
  const unknown = path.replace(/:\w+/g, 'wal_01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e');
  const every: PlainRequest[] = [
    { ...right, headers: { ...right.headers, ...bearer(poor) } },
    { ...right, target: unknown },
    { ...right, target: path.replace(/:\w+/g, '%zz') },
    { ...right, target: path.replace(/:\w+/g, 'x'.repeat(101)) },
    { ...right, target: `${right.target}?limit=-1&limit=2&nothing=%20+` },
    { ...right, headers: { ...right.headers, host: 'rebound.example' } },
    ...['HEAD', 'OPTIONS', 'PUT', 'PROPFIND'].map((other) => ({ ...right, method: other, body: undefined })),
  ];
  if (method === 'GET') return [...every, { ...right, body: '{}' }];
  const bodies = ['{', '[]', '', '{"nothing":1}', '{"name":{},"amount":"x"}', ' '.repeat(httpBodyBytesMax + 1)];
  return [
    ...every,
    ...bodies.map((body) => ({ ...right, body })),
    { ...right, body: Buffer.from([0x7b, 0xff, 0x7d]) },
    { ...right, body: undefined },
    { ...right, headers: bearer(owner) },
    ...['text/plain', 'nonsense', 'application/json; charset=utf-16'].map((type) => {
      return { ...right, headers: { ...right.headers, 'content-type': type } };
    }),
    { ...right, headers: { ...right.headers, 'content-encoding': 'gzip' } },
    { ...right, headers: { ...right.headers, 'idempotency-key': 'no visible key' } },
  ];
}

/** Things are made before they are listed, and listed before they are asked for, changed and archived. */
const inOrder = (one: Route, other: Route): number => rank(one) - rank(other);

function rank({ method, path, operationId }: Route): number {
  const first = ['connectProvider', 'createProviderConnection', 'listWallets', 'createWallet', 'createVault'];
  const at = first.indexOf(operationId);
  if (at >= 0) return at - first.length;
  const kinds = { POST: 1, GET: 2, PATCH: 3, DELETE: 4 };
  const ends = /archive|cancel|disable|revoke|restore|reset/i.test(operationId) ? 10 : 0;
  return ends + path.split('/:').length * 5 + kinds[method] + (method === 'GET' && !path.includes(':') ? -1 : 0);
}

it('a good request of each route is answered alike, and so is its repeat under an idempotency key', async () => {
  const routes = [...served.api.routes].sort(inOrder);
  for (const module of plannedModules) {
    await same({ method: 'POST', target: `/v1/modules/${module}/access-requests`, headers: json, body: '{}' });
  }
  const done = new Set<string>();
  for (const route of routes) {
    const request = good(route);
    const key = { 'idempotency-key': `key-of-${route.operationId}` };
    const asked = route.method === 'POST' ? { ...request, headers: { ...request.headers, ...key } } : request;
    const answer = await same(asked);
    if (answer.status < 300) done.add(route.operationId);
    if (!isStreaming(route)) learn(route.path, answer.body);
    if (route.method !== 'POST') continue;
    const again = await same(asked);
    if (answer.status < 300) expect(again.status, route.operationId).toBe(answer.status);
  }
  const failed = routes.filter(({ operationId }) => !done.has(operationId)).map(({ operationId }) => operationId);
  expect(failed.length, `too few succeed: ${failed}`).toBeLessThan(routes.length / 3);
});

it('a bad request of each route is answered alike', async () => {
  for (const route of served.api.routes) for (const request of others(route)) await same(request);
  for (const status of [200, 400, 403, 404, 405, 409, 413, 415])
    expect(statuses.get(status), `${status}`).toBeGreaterThan(0);
});

it('a request without a token is answered alike', async () => {
  await Promise.all(served.api.routes.map((route) => same({ ...good(route), headers: {} })));
  expect(statuses.get(401)).toBeGreaterThan(served.api.routes.length / 2);
});

it('signing calls, health, the document and paths that are none are answered alike', async () => {
  for (const { httpPath: path, request } of signingMethods) {
    const call = { method: 'POST', path, operationId: request.name } as const;
    await same(good(call));
    for (const bad of others(call)) await same(bad);
  }
  for (const path of ['/v1/health', openapiPath, '/none', '/v1/wallets/a/b/c/d', '//', '/v1/%77allets']) {
    const read = { method: 'GET', path, operationId: '' } as const;
    await same(good(read));
    for (const bad of others(read)) await same(bad);
  }
});

it('an answer that differs in one header is found', async () => {
  const { serve } = served.gateway;
  const wrong: typeof serve = async (request) => {
    const answer = await serve(request);
    return { ...answer, headers: { ...answer.headers, 'cache-control': 'public' } };
  };
  served = { ...served, gateway: { ...served.gateway, serve: wrong } };
  await expect(same({ method: 'GET', target: '/v1/health' })).rejects.toThrow('GET /v1/health');
});
