/** What `serve` decides before any route runs: the endpoint of a request, its body, the health of the clusters. Pure. */
import { create } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../gateway/api/errors/service-error.ts';
import { readJsonBody, readNeededJsonBody } from '../../gateway/serve/bodies.ts';
import type { Endpoint, ServeRequest } from '../../gateway/serve/contract.ts';
import { endpointFinder, noSuchPath } from '../../gateway/serve/endpoints.ts';
import { healthEndpoint } from '../../gateway/serve/health.ts';
import { ClusterView } from '../../gateway/signing/cluster-view.ts';
import { ClusterStatusSchema } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { httpBodyBytesMax } from '../../proto/limits.ts';

async function failureOf(work: () => unknown): Promise<ServiceError> {
  try {
    await work();
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('an endpoint', () => {
  const endpoint = (method: string, path: string, answersHead = false): Endpoint => ({
    ...{ method, path, answersHead },
    run: () => Promise.resolve({ status: 204, headers: {} }),
  });
  const list = endpoint('GET', '/v1/wallets', true);
  const make = endpoint('POST', '/v1/wallets');
  const one = endpoint('GET', '/v1/wallets/:id');
  const find = endpointFinder([list, make, one]);

  test('is that of the method and path; HEAD is GET’s where it answers HEAD; parts of the path are decoded', () => {
    expect(find('GET', '/v1/wallets?limit=2').endpoint).toBe(list);
    expect({ ...find('GET', '/v1/wallets?limit=2&a=%20').query }).toEqual({ limit: '2', a: ' ' });
    expect(find('HEAD', '/v1/wallets').endpoint).toBe(list);
    expect(find('POST', '/v1/wallets').endpoint).toBe(make);
    expect({ ...find('GET', '/v1/wallets/a%2Fb').params }).toEqual({ id: 'a/b' });
  });

  test.each([
    ['DELETE', '/v1/wallets', 'GET, HEAD, POST'],
    ['OPTIONS', '/v1/wallets', 'GET, HEAD, POST'],
    ['BREW', '/v1/wallets', 'GET, HEAD, POST'],
    ['HEAD', '/v1/wallets/a', 'GET'],
    ['POST', '/v1/wallets/a', 'GET'],
  ])('%s %s takes %s alone', async (method, path, allow) => {
    const refusing = find(method, path).endpoint;
    expect([refusing.path, refusing.requirement]).toEqual([
      path === '/v1/wallets' ? path : '/v1/wallets/:id',
      undefined,
    ]);
    const error = await failureOf(() => refusing.run(undefined as never));
    expect([error.kind, error.message, error.headers]).toEqual([
      ...['methodNotAllowed', `this path takes ${allow}`, { allow }],
    ]);
  });

  const listed = '; GET /v1/openapi.json lists all paths, and /v1/docs shows them in a browser';

  test.each([
    ['GET', '/v1/wallet', 'notFound', `no such path: GET /v1/wallet${listed}`],
    ['GET', '/v1/wallets/%', 'invalidRequest', 'the path is not a valid URL'],
    ['GET', `/v1/wallets/${'x'.repeat(101)}`, 'notFound', 'no such resource'],
  ])('%s %s is none: %s', async (method, target, kind, message) => {
    const error = await failureOf(() => find(method, target).endpoint.run(undefined as never));
    expect([error.kind, error.message]).toEqual([kind, message]);
  });

  test.each([
    ['external_id=%ff', 'external_id'],
    ['limit=2&a=%ED%A0%80', 'a'],
    ['a=%E2%82', 'a'],
    ['a=%', 'a'],
    ['a=%zz&b=1', 'a'],
    ['%ff=1', '%ff'],
  ])('a query whose escapes are no UTF-8 is refused by its field: %s', async (query, field) => {
    const error = await failureOf(async () => find('GET', `/v1/wallets?${query}`));
    expect([error.kind, error.details]).toEqual([
      ...['invalidRequest', [{ field, issue: 'invalid_utf8', message: 'takes percent-encoded UTF-8' }]],
    ]);
  });

  test('a refusal quotes no query, and 200 characters of a path at most', () => {
    expect(noSuchPath('GET', '/a?token=b').message).toBe(`no such path: GET /a${listed}`);
    expect(noSuchPath('GET', `/${'x'.repeat(300)}`).message).toBe(`no such path: GET /${'x'.repeat(199)}${listed}`);
  });

  test('two that are the same are a bug', () => {
    expect(() => endpointFinder([make, endpoint('POST', '/v1/wallets')])).toThrow('POST /v1/wallets is served twice');
    expect(() => endpointFinder([list, endpoint('HEAD', '/v1/wallets')])).toThrow('HEAD /v1/wallets is served twice');
  });
});

describe('a body', () => {
  const json = { 'content-type': 'application/json' };
  const request = (text: string | Uint8Array, headers: Record<string, string> = json) => {
    let limit: number | undefined;
    const body = (bytesMax: number) => {
      limit = bytesMax;
      return Promise.resolve(typeof text === 'string' ? Buffer.from(text) : text);
    };
    return { request: { headers, body } as unknown as ServeRequest, limit: () => limit };
  };
  const largest = `{"a":"${'x'.repeat(httpBodyBytesMax - 8)}"}`;

  test('of 256 KiB is read, with the limit asked of the connection', async () => {
    const given = request(largest);
    expect((await readJsonBody(given.request))?.value).toMatchObject({ a: expect.any(String) });
    expect(given.limit()).toBe(262_144);
    expect((await readJsonBody(request('{}', { ...json, 'content-length': '2' }).request))?.value).toEqual({});
  });

  test('there is none without a type, a length and a byte; an empty one is none either, unless it is needed', async () => {
    for (const headers of [{}, { 'content-length': '0' }] as Record<string, string>[]) {
      expect(await readJsonBody(request('', headers).request)).toBeUndefined();
      expect((await failureOf(() => readNeededJsonBody(request('', headers).request))).message).toMatch(
        /^the body is empty/,
      );
    }
    expect(await readJsonBody(request('').request)).toBeUndefined();
    expect((await failureOf(() => readNeededJsonBody(request('').request))).kind).toBe('invalidRequest');
  });

  test.each<[string, string, Record<string, string>, string, boolean]>([
    ['one byte too long', `${largest} `, json, 'bodyTooLarge', true],
    ['declared too long', '{}', { ...json, 'content-length': '262145' }, 'bodyTooLarge', false],
    ['longer than declared', '{ }', { ...json, 'content-length': '2' }, 'invalidRequest', true],
    ['shorter than declared', '{}', { ...json, 'content-length': '3' }, 'invalidRequest', true],
    ['of another type', '{}', { 'content-type': 'text/plain' }, 'unsupportedMediaType', false],
    ['without a type', '{}', { 'content-length': '2' }, 'unsupportedMediaType', false],
    ['in chunks without a type', '{}', { 'transfer-encoding': 'chunked' }, 'unsupportedMediaType', false],
    ['compressed', '{}', { ...json, 'content-encoding': 'gzip' }, 'unsupportedMediaType', true],
  ])('%s is refused', async (_what, text, headers, kind, isRead) => {
    const given = request(text, headers);
    expect((await failureOf(() => readJsonBody(given.request))).kind).toBe(kind);
    expect(given.limit() !== undefined).toBe(isRead);
  });
});

describe('health', () => {
  const status = (ready: number, more: object = {}) =>
    create(ClusterStatusSchema, {
      ...{ nodesTotal: 5, nodesReady: Array.from({ length: ready }, (_, index) => index + 1), quorum: 3 },
      ...{ storeReady: true, cryptoBackend: 'native', ...more },
    });
  const bodyOf = async (view: ClusterView) => {
    const endpoint = healthEndpoint({ environment: 'sandbox', version: '1.2.3', cluster: view });
    const { status: code, headers = {}, body } = await endpoint.run(undefined as never);
    return { code, headers, body: JSON.parse(String(body)) };
  };

  test.each<[number, object, string, readonly string[]]>([
    [5, {}, 'ok', []],
    [4, {}, 'degraded', ['4 of 5 nodes are ready']],
    [3, {}, 'degraded', ['3 of 5 nodes are ready']],
    [2, {}, 'unavailable', ['2 of 5 nodes are ready']],
    [5, { storeReady: false }, 'unavailable', ['the session store does not answer']],
    [0, { quorum: 0 }, 'unavailable', ['0 of 5 nodes are ready']],
    [1, { quorum: 0 }, 'degraded', ['1 of 5 nodes are ready']],
  ])('of %i ready nodes, with %j, is %s', async (ready, more, health, reasons) => {
    const view = new ClusterView();
    view.onLink(true);
    view.onStatus(status(ready, more));
    expect([view.health, view.reasons]).toEqual([health, reasons]);
    const { code, headers, body } = await bodyOf(view);
    expect([code, headers['retry-after']]).toEqual(health === 'unavailable' ? [503, '1'] : [200, undefined]);
    expect(body).toEqual({
      ...{ status: health, environment: 'sandbox', version: '1.2.3', coordinator: 'connected', reasons },
      session_store: 'storeReady' in more ? 'unavailable' : 'ready',
      ...{ nodes_ready: ready, nodes_total: 5, quorum: 'quorum' in more ? 0 : 3, crypto: 'native' },
    });
  });

  test('without a coordinator nothing is known, and a lost link voids what was', async () => {
    const view = new ClusterView();
    const heard: string[] = [];
    view.onHealth((health) => heard.push(health));
    expect(view.reasons).toEqual(['no coordinator is connected']);
    view.onLink(true);
    expect(view.reasons).toEqual(['the coordinator has not spoken yet']);
    view.onStatus(status(5));
    view.onStatus(status(5));
    view.onLink(false);
    expect(heard).toEqual(['unavailable', 'ok', 'unavailable']);
    expect((await bodyOf(view)).body).toMatchObject({
      ...{
        coordinator: 'disconnected',
        session_store: 'unavailable',
        nodes_ready: 0,
        nodes_total: 0,
        quorum: 0,
        crypto: '',
      },
    });
  });

  test('the worst of a gateway’s own problems counts, until it is over', () => {
    const view = new ClusterView();
    view.onStatus(status(4));
    view.hinder('redis', { health: 'degraded', reason: 'Redis refuses writes' });
    view.hinder('start', { health: 'unavailable', reason: 'starting' });
    const whole = ['4 of 5 nodes are ready', 'Redis refuses writes', 'starting'];
    expect([view.health, view.reasons]).toEqual(['unavailable', whole]);
    view.hinder('start', undefined);
    expect([view.health, view.reasons]).toEqual(['degraded', whole.slice(0, 2)]);
    view.onStatus(status(5));
    expect(view.health).toBe('degraded');
    view.hinder('redis', undefined);
    expect(view.health).toBe('ok');
  });

  test('several clusters are ok or unavailable together, else degraded; each is named', async () => {
    const view = new ClusterView([1, 2]);
    expect(view.health).toBe('unavailable');
    view.onLink(true, 2);
    view.onStatus(status(5), 2);
    expect([view.health, view.reasons, view.coordinatorConnected, view.isConnected(1)]).toEqual([
      ...['degraded', ['cluster 1: no coordinator is connected'], true, false],
    ]);
    expect((await bodyOf(view)).body).toMatchObject({
      ...{ status: 'degraded', nodes_ready: 5, nodes_total: 5, quorum: 3, session_store: 'ready' },
      clusters: [
        { cluster: 1, status: 'unavailable', coordinator: 'disconnected', nodes_ready: 0, nodes_total: 0, quorum: 0 },
        { cluster: 2, status: 'ok', coordinator: 'connected', nodes_ready: 5, nodes_total: 5, quorum: 3 },
      ],
    });
    view.onLink(true, 1);
    view.onStatus(status(5), 1);
    expect([view.health, view.reasons]).toEqual(['ok', []]);
    view.onStatus(status(4), 1);
    expect([view.health, view.statusOf(1)?.nodesReady.length, view.statusOf(3)]).toEqual(['degraded', 4, undefined]);
  });
});
