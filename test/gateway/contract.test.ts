/** What the service promises, what it serves and what its document says are the same list. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { root } from '../cli/support/up-process.ts';
import { startWalletService, type WalletService } from '../support/wallet-service.ts';

/** The wallet API of the contract, and its companion modules that are built. */
const promised = [
  'GET /v1/health',
  'POST /v1/provider-connections',
  'POST /v1/providers/connect',
  'GET /v1/providers',
  'POST /v1/wallets',
  'GET /v1/wallets',
  'GET /v1/wallets/:id',
  'POST /v1/wallets/:id/archive',
  'POST /v1/wallets/:id/transaction-intents',
  'GET /v1/wallets/:id/transaction-intents',
  'GET /v1/wallets/:id/transaction-intents/:txId',
  'POST /v1/wallets/:id/transaction-intents/:txId/approve',
  'POST /v1/wallets/:id/transaction-intents/:txId/cancel',
  'GET /v1/events',
  'GET /v1/events/stream',
  'POST /v1/webhooks',
  'GET /v1/webhooks',
  'GET /v1/webhooks/:id',
  'PATCH /v1/webhooks/:id',
  'DELETE /v1/webhooks/:id',
  'POST /v1/webhooks/:id/ping',
  'POST /v1/webhooks/:id/rotate-secret',
  'GET /v1/webhooks/:id/deliveries',
  'GET /v1/webhooks/:id/deliveries/:deliveryId',
  'POST /v1/webhooks/:id/deliveries/:deliveryId/redeliver',
  'POST /v1/webhooks/:id/redeliver',
  'POST /v1/compliance/screen',
  'GET /v1/compliance/lists',
  'POST /v1/compliance/lists',
  'GET /v1/compliance/reports/:id',
  'POST /v1/risk/evaluate',
  'GET /v1/risk/scores/:txId',
  'POST /v1/risk/rules',
  'GET /v1/risk/rules',
  'POST /v1/policies',
  'GET /v1/policies',
  'POST /v1/policies/:id/evaluate',
  'GET /v1/policies/:id/decisions',
  'POST /v1/sandbox/faults',
  'GET /v1/sandbox/faults',
  'GET /v1/sandbox/faults/:id',
  'DELETE /v1/sandbox/faults/:id',
  'POST /v1/sandbox/faults/reset',
  'POST /v1/sandbox/steps',
  'GET /v1/sandbox/nodes',
  'POST /v1/sandbox/nodes/:node/crash',
  'POST /v1/sandbox/nodes/:node/restart',
  'POST /v1/sandbox/nodes/:node/pause',
  'POST /v1/sandbox/nodes/:node/resume',
  'GET /v1/sandbox/sessions/:id',
  'POST /v1/sandbox/sessions/:id/nodes/:node/partial',
  'GET /v1/sandbox/clock',
  'POST /v1/sandbox/clock',
  'POST /v1/sandbox/snapshots',
  'GET /v1/sandbox/snapshots',
  'POST /v1/sandbox/snapshots/:id/restore',
  'DELETE /v1/sandbox/snapshots/:id',
  'POST /v1/sandbox/reset',
  'GET /v1/sandbox/recording',
  'GET /v1/sandbox/stream',
  'POST /v1/sandbox/scenarios',
  'GET /v1/sandbox/scenarios',
  'DELETE /v1/sandbox/scenarios',
  'GET /v1/sandbox/queues',
  'POST /v1/sandbox/load',
  'GET /v1/sandbox/receiver',
  'POST /v1/dkg/initiate',
  'POST /v1/dkg/shares',
  'POST /v1/signing/initiate',
  'POST /v1/signing/share',
  'POST /v1/sessions/resume',
];

interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, unknown>>;
  readonly security?: readonly unknown[];
}

let service: WalletService;
let document: Document;
beforeAll(async () => {
  service = await startWalletService();
  document = (await service.call('GET', '/v1/openapi.json')).body;
});
afterAll(() => service?.stop());

const documented = () =>
  Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`),
  );
const served = () => service.api.routes.map(({ method, path }) => `${method} ${path}`);

test('the document is OpenAPI 3.1', () => expect(document.openapi).toMatch(/^3\.1\./));

test('everything that was promised is in the document', () => {
  expect(promised.filter((operation) => !documented().includes(operation))).toEqual([]);
});

test('every route of the table is in the document, and the document has nothing else', () => {
  const beside = [
    'GET /v1/health',
    'GET /v1/openapi.json',
    ...promised.filter((each) => /^POST \/v1\/(dkg|signing|sessions)\//.test(each)),
  ];
  expect(documented().sort()).toEqual([...served(), ...beside].sort());
});

test('the reference pages name every route with its scope', () => {
  const read = (name: string) => readFileSync(join(root, 'docs', name), 'utf8');
  // Sandbox routes of a module stand with their module.
  const pages = [read('wallet-api.md'), read('signing-api.md'), read('sandbox-api.md')].join('\n');
  for (const { method, path, scope } of service.api.routes) {
    const row = pages
      .split('\n')
      .find((line) => line.startsWith(`| \`${method}`) && line.includes(`\`${method} ${path}\``));
    expect(row, `${method} ${path}`).toBeDefined();
    if (scope !== undefined) expect(row).toContain(scope === 'any' ? 'any token' : `\`${scope}\``);
  }
});

describe('every promised operation is really there', () => {
  test.each(promised)('%s', async (operation) => {
    const [method, path] = operation.split(' ') as [string, string];
    const anonymous = await service.call(method, path.replaceAll(/:\w+/g, 'x'), { headers: { authorization: '' } });
    // Without a token: known paths refuse it, unknown ones would say 404.
    expect(anonymous.status).toBe(path === '/v1/health' ? 200 : 401);
  });
});
