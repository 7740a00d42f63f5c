/** The page of the API: a form for every operation, which sends what the operation takes; and no text of it is markup. */
import { describe, expect, it } from 'vitest';
import { callOf, curlLine, idsIn } from '../../gateway/docs-page/browser/request.ts';
import { type DescribedApi, operationsOf } from '../../gateway/docs-page/document.ts';
import { ownLists } from '../../gateway/docs-page/own-lists.ts';
import { docsPageFiles } from '../../gateway/docs-page/page.ts';
import { openapiDocument } from '../../gateway/openapi/document.ts';
import { restRoutes } from '../../tools/docs/rest-routes.ts';

const api = openapiDocument(restRoutes(), '1.2.3') as unknown as DescribedApi;
const options = { at: '/v1/docs', script: '/* the script */' };
const files = docsPageFiles(api, options);

describe('the files', () => {
  it.each(operationsOf(api).map((operation) => [operation.operationId, operation] as const))(
    '%s has a page with its fields, its body and its answers',
    (id, { method, path, parameters = [], requestBody, responses }) => {
      const { text } = files(id)!;
      expect(text).toContain(`data-method="${method}" data-path="${path}"`);
      const fields = text.match(/data-in="(path|query|header)"/g) ?? [];
      expect(fields).toHaveLength(parameters.length);
      expect(text.includes('<textarea id="sent"')).toBe(requestBody !== undefined);
      for (const status of Object.keys(responses)) expect(text).toContain(`<strong>${status}</strong>`);
      expect(text).not.toMatch(/(src|href)="(https?:)?\/\//);
      expect(text).not.toMatch(/undefined|\[object/);
    },
  );

  it('lists every operation on the first page, and has no other file', () => {
    const { text } = files('')!;
    for (const { operationId } of operationsOf(api)) expect(text).toContain(`href="/v1/docs/${operationId}"`);
    for (const path of ['nothing', '../page.js', 'page.js/', 'constructor', '__proto__'])
      expect(files(path)).toBeUndefined();
  });

  it('writes a public token, and no other', () => {
    expect(files('createWallet')!.text).not.toContain('name="token"');
    const shown = docsPageFiles(api, { ...options, publicToken: 'svc_sk_test_0' })('createWallet')!;
    expect(shown.text).toContain('<meta name="token" content="svc_sk_test_0">');
  });

  it('escapes every text of the document', () => {
    const sign = '"><img src=x>`<b>`**<i>**';
    const marked = JSON.parse(
      JSON.stringify(api, (key, value) =>
        typeof value === 'string' && (key === 'description' || key === 'summary') ? sign : value,
      ),
    ) as DescribedApi;
    const marks = docsPageFiles(
      { ...marked, info: { ...marked.info, title: sign } },
      { ...options, publicToken: sign },
    );
    for (const { operationId } of operationsOf(api)) expect(marks(operationId)!.text).not.toMatch(/<(img|b|i)[ >]/);
    expect(marks('')!.text).not.toMatch(/<(img|b|i)[ >]/);
  });
});

describe('the form', () => {
  const filled = {
    ...{ method: 'POST', path: '/v1/wallets/{id}/transaction-intents', isPublic: false, token: 'svc_sk_test_0' },
    fields: [
      { in: 'path', name: 'id', value: 'wal_1/..?' },
      { in: 'query', name: 'dry_run', value: 'true' },
      { in: 'query', name: 'limit', value: '' },
      { in: 'header', name: 'Idempotency-Key', value: 'k 1' },
    ],
    body: '{"memo":"it\'s"}',
  };

  it('sends what is filled in, and nothing else', () => {
    expect(callOf(filled)).toEqual({
      method: 'POST',
      target: '/v1/wallets/wal_1%2F..%3F/transaction-intents?dry_run=true',
      headers: { authorization: 'Bearer svc_sk_test_0', 'content-type': 'application/json', 'idempotency-key': 'k 1' },
      body: '{"memo":"it\'s"}',
    });
  });

  it('sends no token where none is asked for', () => {
    expect(callOf({ ...filled, isPublic: true, body: undefined, fields: [] }).headers).toEqual({});
  });

  it('shows the same for a shell, without the token', () => {
    const line = curlLine('http://127.0.0.1:8080', callOf(filled));
    expect(line).toContain(`-H "authorization: Bearer $SIGNMESH_TOKEN"`);
    expect(line).toContain(`--data-raw '{"memo":"it'\\''s"}'`);
    expect(line).not.toContain('svc_sk_test_0');
  });

  it('knows where the caller’s own ids are listed', () => {
    const { ofParameter, byPrefix } = ownLists(api);
    expect(ofParameter('/v1/wallets/{id}/archive', 'id')).toBe('/v1/wallets');
    expect(ofParameter('/v1/tokens/{id}/orders/{orderId}/cancel', 'orderId')).toBe('/v1/tokens/{id}/orders');
    expect(ofParameter('/v1/risk/scores/{txId}', 'txId')).toBeUndefined();
    expect(Object.fromEntries(byPrefix)).toMatchObject({ pcn: '/v1/provider-connections', wal: '/v1/wallets' });
    expect(idsIn({ wallets: [{ id: 'wal_1' }, { id: 'wal_2' }], next_cursor: null })).toEqual(['wal_1', 'wal_2']);
    expect([idsIn(null), idsIn([]), idsIn({ wallets: [] })]).toEqual([[], [], []]);
  });
});
