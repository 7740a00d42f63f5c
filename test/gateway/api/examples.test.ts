/**
 * Every example body of the OpenAPI document, sent to a sandbox over HTTP: an embedded one, in a thorough run one of processes
 * (`signmesh up`). Each is accepted as it stands, once the placeholders for the caller's own ids are replaced. What happened
 * meanwhile is told in events that the document types.
 *
 * Every operation that takes an idempotency key loses its first answer on the way, after its effect: the same request again finds
 * the one answer. Operations are read from the routes, so a new one is covered, or named by a test that lacks what it needs.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startLiveProcess } from '../../../clients/testing/live-process.ts';
import type { ReadyLine } from '../../../clients/testing/ready-line.ts';
import { exampleIds } from '../../../gateway/api/examples.ts';
import type { Route } from '../../../gateway/api/route.ts';
import { isIdempotent } from '../../../gateway/api/route-table.ts';
import { compileSchema } from '../../../gateway/api/validate.ts';
import { restRoutes } from '../../../tools/docs/rest-routes.ts';
import { eventTypes } from '../../../wallets/delivery/events/types.ts';
import { startService } from '../../simulation/embedded/support/service.ts';
import { RestClient, type RestMethod } from '../../support/rest.ts';
import { isThorough } from '../../support/thorough.ts';
import { until } from '../../support/until.ts';
import { bodyExamples } from './support/body-examples.ts';
import { type Document, inline, resolve } from './support/document.ts';

type Body = Record<string, unknown>;

interface Answer {
  readonly status: number;
  readonly body: Body;
  readonly replayed: boolean;
}

/** What both sandboxes tell of themselves. */
type Sandbox = Pick<ReadyLine, 'http' | 'token' | 'approver_token'>;

let ready: Sandbox;
let stop: (() => Promise<void>) | undefined;
let document: Document;

async function call(
  method: string,
  path: string,
  body?: unknown,
  token = ready.token,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const api = new RestClient(ready.http, token);
  const answer = await api.call<Body>(method as RestMethod, path, body as object | undefined, { headers });
  const replayed = answer.headers.get('idempotent-replayed') === 'true';
  return { status: answer.status, body: answer.body, replayed };
}

/** The operation's answer is lost after its effect; the client asks again, twice, and gets that answer. */
async function callAfterLoss(
  { method, path, operationId }: Pick<Route, 'method' | 'path' | 'operationId'>,
  url: string,
  body: unknown,
  token = ready.token,
): Promise<Answer> {
  const key = { 'idempotency-key': `lost-${operationId}` };
  await made('/v1/sandbox/faults', { fault: 'answer_lost', route: `${method} ${path}`, count: 1 });
  await expect(call(method, url, body, token, key)).rejects.toThrow('fetch failed');
  const first = await call(method, url, body, token, key);
  expect(first.replayed, JSON.stringify(first.body)).toBe(true);
  expect(keptOf(await call(method, url, body, token, key))).toEqual(keptOf(first));
  return first;
}

/** A refusal names the request that it answers: this alone differs when a kept one is repeated. */
function keptOf(answer: Answer): unknown {
  return JSON.parse(JSON.stringify(answer), (name, value) => (name === 'request_id' ? undefined : value));
}

async function made(path: string, body: object): Promise<Body> {
  const answer = await call('POST', path, body);
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body;
}

/** What takes the place of the placeholders, and of the parameters of the path. */
interface Real {
  readonly path?: Readonly<Record<string, string>>;
  readonly body?: Readonly<Record<string, string>>;
  readonly token?: string;
}

async function openSandbox(): Promise<void> {
  if (isThorough) {
    const environment = { SIGNMESH_DOOR_FAULTS: 'on', SIGNMESH_RATE_LIMIT: 'off', SIGNMESH_NODES_PER_PROCESS: '5' };
    const live = await startLiveProcess({ environment });
    ready = live.ready;
    stop = () => live.stop();
  } else {
    const { service, token, approverToken } = await startService();
    ready = { http: `http://${service.httpAddress}`, token, approver_token: approverToken };
    stop = () => service.stop();
  }
}

beforeAll(async () => {
  await openSandbox();
  document = (await call('GET', '/v1/openapi.json')).body;
});
afterAll(() => stop?.());

async function connection(): Promise<string> {
  const { id } = await made('/v1/provider-connections', bodyExamples.createProviderConnection!);
  return String(id);
}

async function wallet(more: object = {}): Promise<string> {
  const body = { ...bodyExamples.createWallet, provider_connection_id: await connection(), ...more };
  return String((await made('/v1/wallets', body)).id);
}

async function waitingIntent(): Promise<Real> {
  const id = await wallet({ approval_mode: 'human_required' });
  const intent = await made(`/v1/wallets/${id}/transaction-intents`, bodyExamples.createTransactionIntent!);
  expect(intent.status).toBe('pending_approval');
  return { path: { id, txId: String(intent.id) } };
}

async function idOf(path: string, body: object): Promise<Real> {
  return { path: { id: String((await made(path, body)).id) } };
}

async function strategy(): Promise<Real> {
  return idOf('/v1/treasury/strategies', { ...bodyExamples.createStrategy, wallet_ids: [await wallet()] });
}

const terms = { type: 'self_hosted', name: 'our own nodes', credentials: {} };

async function issuerWallet(more: object = {}): Promise<string> {
  const { id } = await made('/v1/providers/connect', terms);
  return wallet({ provider_connection_id: id, ...more });
}

let symbols = 0;

/** A token of an issuer's wallet, deployed. */
async function token(): Promise<{ readonly id: string; readonly wallet: string }> {
  const wallet = await issuerWallet();
  symbols += 1;
  const body = { ...bodyExamples.createToken, symbol: `EX${symbols}`, issuer_wallet_id: wallet };
  const id = String((await made('/v1/tokens', body)).id);
  await until(async () => (await call('GET', `/v1/tokens/${id}`)).body.status === 'active', `${id} to be deployed`);
  return { id, wallet };
}

/** The path of a token, and its issuer's wallet in the body. */
async function issued(): Promise<Real> {
  const { id, wallet } = await token();
  return { path: { id }, body: { [exampleIds.wallet]: wallet } };
}

async function waitingOrder(): Promise<Real> {
  const { id, wallet } = await token();
  const rules = [{ id: 'ask', effect: 'require_approval', when: 'true', approvals: { quorum: 1 } }];
  const policy = String((await made('/v1/policies', { name: 'ask-for-mints', rules })).name);
  const reserve_reference = { type: 'wallet', asset: 'USDC', wallet_id: wallet };
  const order = await made(`/v1/tokens/${id}/mint`, { ...bodyExamples.mintToken, policy, reserve_reference });
  expect(order.status).toBe('pending_approval');
  return { path: { id, orderId: String(order.id) } };
}

/** It offers less than the market. */
async function stuckIntent(): Promise<Real> {
  const id = await issuerWallet();
  const fees = { max_fee_per_gas: '500000000' };
  const { id: txId } = await made(`/v1/wallets/${id}/transaction-intents`, {
    ...bodyExamples.createTransactionIntent,
    ...fees,
  });
  const read = () => call('GET', `/v1/wallets/${id}/transaction-intents/${txId}`);
  await until(async () => (await read()).body.sub_status === 'BELOW_MARKET_FEE', 'the transfer to wait');
  return { path: { id, txId: String(txId) } };
}

/** Units for the issuer to redeem. */
async function minted(): Promise<Real> {
  const real = await issued();
  const wallet = real.body![exampleIds.wallet]!;
  const { addresses } = (await call('GET', `/v1/wallets/${wallet}`)).body as { addresses: { address: string }[] };
  const path = `/v1/tokens/${real.path!.id}`;
  const order = await made(`${path}/mint`, {
    amount: '10',
    destination: { address: addresses[0]!.address },
    reserve_reference: { type: 'wallet', asset: 'USDC', wallet_id: wallet },
  });
  const isDone = async () => (await call('GET', `${path}/orders/${order.id}`)).body.status === 'completed';
  await until(isDone, 'the mint to be completed');
  return real;
}

async function signing(more: object = {}): Promise<Body> {
  const intent = { transaction_intent_id: `for-an-example-${Math.random()}` };
  return made('/v1/signing/initiate', { ...bodyExamples.initiateSigning, ...intent, ...more });
}

const vault = () => made('/v1/vaults', bodyExamples.createVault!);
const webhook = () => idOf('/v1/webhooks', bodyExamples.createWebhook!);
const inPath = async (id: Promise<string>): Promise<Real> => ({ path: { id: await id } });
const evaluated = async (): Promise<Real> => ({
  path: { id: String(((await call('GET', '/v1/policies')).body.policies as Body[])[0]!.id) },
  body: { [exampleIds.wallet]: await wallet() },
});

async function connectionOf(walletId: string): Promise<string> {
  return String((await call('GET', `/v1/wallets/${walletId}`)).body.provider_connection_id);
}

const prepare: Readonly<Record<string, () => Promise<Real>>> = {
  updateProviderConnection: () => inPath(connection()),
  createWallet: async () => ({ body: { [exampleIds.connection]: await connection() } }),
  createChangeProposal: ownProposal,
  approveChangeProposal: approvable,
  updateWallet: () => inPath(wallet()),
  archiveWallet: () => inPath(wallet()),
  createTransactionIntent: () => inPath(wallet()),
  approveTransactionIntent: async () => ({ ...(await waitingIntent()), token: ready.approver_token }),
  cancelTransactionIntent: waitingIntent,
  estimateTransactionIntent: () => inPath(wallet()),
  replaceTransactionIntent: stuckIntent,
  createMessageIntent: () => inPath(issuerWallet()),
  createContractCallIntent: () => inPath(issuerWallet()),
  moveSandboxFeeMarket: async () => ({ path: { network: 'eip155:11155111' } }),
  setSandboxConfirmations: async () => ({ path: { network: 'eip155:11155111' } }),
  reorganizeSandboxChain: async () => ({ path: { network: 'eip155:11155111' } }),
  createVaultKey: () => inPath(vault().then(({ id }) => String(id))),
  archiveVault: () => inPath(vault().then(({ id }) => String(id))),
  signVaultMessage: async () => {
    const { id, primary_key_id: key } = await vault();
    return { path: { id: String(id) }, body: { [exampleIds.vaultKey]: String(key) } };
  },
  requestModuleAccess: async () => ({ path: { module: 'vaults' } }),
  createStrategy: async () => ({ body: { [exampleIds.wallet]: await wallet() } }),
  putStrategyVersion: async () => ({ ...(await strategy()), body: { [exampleIds.wallet]: await wallet() } }),
  rebalance: async () => ({ body: { [exampleIds.strategy]: (await strategy()).path!.id! } }),
  createToken: async () => ({ body: { [exampleIds.wallet]: await issuerWallet() } }),
  mintToken: issued,
  redeemToken: minted,
  approveTokenOrder: async () => ({ ...(await waitingOrder()), token: ready.approver_token }),
  cancelTokenOrder: waitingOrder,
  freezeToken: async () => ({ path: { id: (await token()).id } }),
  unfreezeToken: async () => ({ path: { id: (await token()).id } }),
  updateWebhook: webhook,
  rotateWebhookSecret: webhook,
  redeliverRange: webhook,
  evaluatePolicy: evaluated,
  evaluateRisk: evaluated,
  changeRiskRule: () => idOf('/v1/risk/rules', { ...bodyExamples.putRiskRule, name: 'to-be-changed' }),
  addReconDrift: async () => {
    const id = await wallet();
    return { path: { id: await connectionOf(id) }, body: { [exampleIds.wallet]: id } };
  },
  resolveReconException: async () => {
    const id = await wallet();
    const drift = { ...bodyExamples.addReconDrift, wallet_id: id };
    await made(`/v1/sandbox/provider-connections/${await connectionOf(id)}/drift`, drift);
    const job = await made('/v1/recon/jobs', { kind: 'balances', scope: { wallet_id: id }, lag_s: 0 });
    await until(async () => (await call('GET', `/v1/recon/jobs/${job.id}`)).body.finished_at !== null, 'the job');
    const { exceptions } = (await call('GET', `/v1/recon/exceptions?wallet_id=${id}`)).body;
    return { path: { id: String((exceptions as Body[])[0]!.id) } };
  },
  refreshSandboxKey: async () => {
    // It must have signed: its session may be of an earlier example.
    const { signing_session_id } = await signing();
    await made('/v1/signing/share', { signing_session_id });
    return { path: { id: String((bodyExamples.initiateSigning as Body).wallet_id) } };
  },
  crashSandboxNode: async () => ({ path: { node: '2' } }),
  exchangeDkgShares: async () => {
    await made('/v1/dkg/initiate', bodyExamples.initiateDkg!);
    return {};
  },
  submitSignatureShare: async () => ({
    body: { [exampleIds.signingSession]: String((await signing()).signing_session_id) },
  }),
  resumeSession: async () => {
    const { signing_session_id: id, checkpoint } = await signing({ approval_mode: 'HUMAN_REQUIRED' });
    const { resume_token: token } = checkpoint as Record<string, string>;
    return { body: { [exampleIds.signingSession]: String(id), [exampleIds.resumeToken]: token! } };
  },
};

async function plan(): Promise<Real> {
  return idOf('/v1/treasury/rebalance', { strategy_id: (await strategy()).path!.id! });
}

async function delivered(): Promise<Real> {
  const { id } = (await idOf('/v1/webhooks', { ...bodyExamples.createWebhook, events: ['*'] })).path!;
  await connection();
  const deliveries = async () => (await call('GET', `/v1/webhooks/${id}/deliveries`)).body.deliveries as Body[];
  const [first] = await until(async () => {
    const all = await deliveries();
    return all.length > 0 && all;
  }, 'a delivery');
  return { path: { id: id!, deliveryId: String(first!.id) } };
}

/** Of a tenant of its own. */
async function ownProposal(): Promise<Real> {
  const token = 'svc_sk_test_controlledTenantOfItsOwn';
  await call('POST', '/v1/change-control', { quorum: 1 }, token);
  const { body } = await call('POST', '/v1/change-proposals', bodyExamples.createChangeProposal, token);
  return { path: { id: String(body.id) }, token };
}

/** Approved, it turns the control off again. */
async function approvable(): Promise<Real> {
  await made('/v1/change-control', { quorum: 1 });
  return { ...(await idOf('/v1/change-proposals', bodyExamples.createChangeProposal!)), token: ready.approver_token };
}

/** Operations without a body. */
const prepareBodiless: Readonly<Record<string, () => Promise<Real>>> = {
  addReceiveAddress: () => inPath(issuerWallet({ network: 'bip122:000000000933ea01ad0ee984209779ba' })),
  executePlan: async () => ({ ...(await plan()), token: ready.approver_token }),
  // Not the tenant of the others.
  freezeTenant: async () => ({ token: 'svc_sk_test_frozenTenantOfItsOwn' }),
  unfreezeTenant: async () => ({ token: 'svc_sk_test_frozenTenantOfItsOwn' }),
  redeliver: delivered,
};

/** What an id at this place names, for operations that need nothing else. */
const resources: readonly (readonly [path: string, make: () => Promise<Real>])[] = [
  ['/v1/provider-connections/', () => inPath(connection())],
  ['/v1/wallets/', () => inPath(wallet())],
  ['/v1/vaults/', () => inPath(vault().then(({ id }) => String(id)))],
  ['/v1/change-proposals/', ownProposal],
  ['/v1/access-tokens/', () => idOf('/v1/access-tokens', bodyExamples.createAccessToken!)],
  ['/v1/webhooks/', webhook],
  ['/v1/policies/', evaluated],
  ['/v1/treasury/strategies/', strategy],
  ['/v1/treasury/plans/', plan],
  ['/v1/tokens/', async () => ({ path: { id: (await token()).id } })],
  ['/v1/recon/jobs/', () => idOf('/v1/recon/jobs', { kind: 'balances' })],
];

/** The door lets the sandbox's own routes pass. */
const keyed = new Map(
  restRoutes()
    .filter((route) => isIdempotent(route) && !route.path.startsWith('/v1/sandbox/'))
    .map((route) => [route.operationId, route]),
);

/** Reason codes of receipts: what the signing API answers with 200. */
const reasonCodes: Readonly<Record<string, readonly string[]>> = {
  // A repeated run of the page meets the key of the first one.
  initiateDkg: ['SESSION_ACCEPTED', 'DUPLICATE_SESSION'],
  exchangeDkgShares: ['DKG_COMPLETED'],
  initiateSigning: ['SESSION_ACCEPTED'],
  submitSignatureShare: ['SIGNATURE_COMPLETED'],
  resumeSession: ['SESSION_RESUMED'],
};

interface Operation {
  readonly operationId: string;
  readonly requestBody?: { readonly content: Record<string, { readonly example?: Body }> };
  readonly responses: Record<string, { readonly content?: Record<string, { schema?: object; example?: unknown }> }>;
}

function operations(): { method: string; path: string; operation: Operation }[] {
  const paths = Object.entries(document.paths as Record<string, Record<string, Operation>>);
  return paths.flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

describe('the examples', () => {
  test('stand at every operation with a body, and nowhere else', () => {
    const withBody = operations().filter(({ operation }) => operation.requestBody !== undefined);
    const named = withBody.map(({ operation }) => operation.operationId).sort();
    expect(named).toEqual(Object.keys(bodyExamples).sort());
    for (const { operation } of withBody) {
      const example = operation.requestBody!.content['application/json']!.example;
      expect(example).toEqual(bodyExamples[operation.operationId]);
    }
  });

  test('of answers fit their schemas', () => {
    let examples = 0;
    for (const { operation } of operations()) {
      for (const [status, { content }] of Object.entries(operation.responses)) {
        const { schema, example } = content?.['application/json'] ?? {};
        if (schema === undefined || example === undefined) continue;
        examples += 1;
        const wrong = compileSchema(inline(schema, document) as never)(example);
        expect(wrong, `${operation.operationId} ${status}`).toBeUndefined();
      }
    }
    expect(examples).toBeGreaterThan(100);
  });

  // What disturbs the whole sandbox comes last.
  const order = Object.keys(bodyExamples)
    // Only `signmesh up` runs scenario files: test/cli/hosted-scenarios.test.ts.
    .filter((operationId) => operationId !== 'startSandboxScenario')
    .sort((one, other) => Number(/Sandbox/.test(one)) - Number(/Sandbox/.test(other)));
  test.each(order)('of %s is accepted', async (operationId) => {
    const { method, path } = operations().find(({ operation }) => operation.operationId === operationId)!;
    const real = (await prepare[operationId]?.()) ?? {};
    const url = path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = real.path?.[name];
      if (value === undefined) throw new Error(`${operationId}: what is ${name}?`);
      return value;
    });
    const text = JSON.stringify(bodyExamples[operationId]);
    const body = Object.entries(real.body ?? {}).reduce((so, [from, to]) => so.replaceAll(from, to), text);
    for (const placeholder of Object.values(exampleIds)) expect(body).not.toContain(placeholder);
    const route = keyed.get(operationId);
    const answer =
      route === undefined
        ? await call(method, url, JSON.parse(body), real.token)
        : await callAfterLoss(route, url, JSON.parse(body), real.token);
    expect(answer.status, JSON.stringify(answer.body)).toBeGreaterThanOrEqual(200);
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
    const allowed = reasonCodes[operationId];
    if (allowed === undefined) return;
    expect(allowed).toContain((answer.body.receipt as Body).reason_code);
  });
});

const bodiless = [...keyed.values()].filter(({ operationId }) => !(operationId in bodyExamples));

test.each(bodiless.map(({ operationId }) => operationId))(
  '%s has one effect, though its answer is lost',
  async (operationId) => {
    const route = keyed.get(operationId)!;
    const [, make] = resources.find(([path]) => route.path.startsWith(path)) ?? [];
    const prepared = prepareBodiless[operationId] ?? prepare[operationId] ?? make;
    if (prepared === undefined) throw new Error(`${operationId}: nothing makes what ${route.path} names`);
    const real = await prepared();
    const url = route.path.replace(/:(\w+)/g, (_, name: string) => real.path?.[name] ?? `no ${name}`);
    const answer = await callAfterLoss(route, url, undefined, real.token);
    // A job may end before it is cancelled.
    if (operationId === 'cancelReconJob' && answer.status === 409) return;
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  },
);

test('what happened is told in events as the document types them', async () => {
  const check = compileSchema(inline(resolve('#/components/schemas/Event', document), document) as never);
  const types = new Set<string>();
  let after = 0;
  for (;;) {
    const { body } = await call('GET', `/v1/events?limit=100&after_sequence=${after}`);
    const events = body.events as { type: string; sequence: number }[];
    if (events.length === 0) break;
    for (const event of events) {
      expect(check(event), JSON.stringify(event)).toBeUndefined();
      types.add(event.type);
      after = event.sequence;
    }
  }
  const familyOf = (type: string): string => type.split('.')[0]!;
  // No call of a client tampers with a record.
  const told = Object.keys(eventTypes).filter((type) => type !== 'record.tampered');
  expect(new Set([...types].map(familyOf))).toEqual(new Set(told.map(familyOf)));
});

test('the page begins with the public token', async () => {
  const page = await (await fetch(`${ready.http}/v1/docs`)).text();
  expect(page).toContain(`<meta name="token" content="${ready.token}">`);
  expect(JSON.stringify((document.components as Body).securitySchemes)).toContain(ready.token);
});
