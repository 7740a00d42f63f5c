/** A frozen tenant, with two gateways: nothing of it is initiated, approved or signed, whichever of them is asked. */
import { createHash } from 'node:crypto';
import { create, toBinary } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { beforeEach, expect, test } from 'vitest';
import { signingMethods } from '../../../gateway/api/signing-methods.ts';
import { InitiateSigningRequestSchema } from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { Fault } from '../../../scenarios/faults/vocabulary/fault.ts';
import type { ClientAnswer } from '../../../simulation/service/client.ts';
import { CustodyWorld } from '../../../simulation/service/custody-world.ts';
import type { PortCall } from '../../../simulation/service/process-life.ts';
import { runs } from '../../support/thorough.ts';
import { openTenant, pay, type Tenant } from './support/payments.ts';

let world: CustodyWorld;
let tenant: Tenant;
let path: string;

async function open(provider?: 'fireblocks'): Promise<void> {
  world = new CustodyWorld({ seed: 'frozen', cryptography: 'model', codec: 'none', gateways: 2 });
  tenant = await openTenant(world, 'tn_frozen', provider);
  path = `/v1/wallets/${tenant.wallets[0]!.id}/transaction-intents`;
}

beforeEach(() => open());

/** In a frozen tenant no commit of these is possible. */
const stopped = new Set(
  ['created', 'approval_recorded', 'approved', 'signing'].map((word) => `transaction_intent.${word}`),
);

function call(target: string, body?: object, by = tenant.client): Promise<ClientAnswer> {
  return world.run(by.call(body === undefined ? 'GET' : 'POST', target, body));
}

const set = (action: 'freeze' | 'unfreeze') => call(`/v1/tenant/${action}`, { reason: 'a lost laptop' });

const transfer = (amount: string) => ({ asset: 'ETH', amount, destination: { address: tenant.wallets[1]!.address } });

const frozen = { status: 409, body: { error: { details: [{ field: 'tenant.status', issue: 'frozen' }] } } };

function until(id: string, condition: (body: { status: string; sub_status: string }) => boolean) {
  return world.run(tenant.client.until(`${path}/${id}`, ({ body }) => condition(body)));
}

async function told(): Promise<readonly string[]> {
  const { body } = await call('/v1/events?limit=100');
  return body.events.map(({ type }: { type: string }) => type);
}

test('takes no transfer and no approval; a rejection ends what waits', async () => {
  const waiting = [];
  for (let index = 0; index < 2; index += 1) waiting.push((await call(path, transfer('0.2'))).body.id);
  expect((await set('freeze')).body).toMatchObject({ id: 'tn_frozen', status: 'frozen', reason: 'a lost laptop' });
  const again = await call('/v1/tenant/freeze', { reason: 'another' }, tenant.approver);
  expect(again.body).toMatchObject({ status: 'frozen', reason: 'a lost laptop' });
  for (let gateway = 0; gateway < 2; gateway += 1) {
    expect(await call(path, transfer('0.1'))).toMatchObject(frozen);
    expect(await call(`${path}?dry_run=true`, transfer('0.1'))).toMatchObject(frozen);
    expect(await call(`${path}/${waiting[0]}/approve`, { decision: 'approve' }, tenant.approver)).toMatchObject(frozen);
  }
  const rejected = { decision: 'reject', reason: 'unknown' };
  expect((await call(`${path}/${waiting[1]}/approve`, rejected, tenant.approver)).body.status).toBe('rejected');
  expect((await set('unfreeze')).body).toMatchObject({ status: 'active' });
  await call(`${path}/${waiting[0]}/approve`, { decision: 'approve' }, tenant.approver);
  await until(waiting[0]!, ({ status: now }) => now === 'completed');
  expect((await told()).filter((type) => type.startsWith('tenant.'))).toEqual(['tenant.frozen', 'tenant.unfrozen']);
});

const digest = createHash('sha256').update('frozen').digest('base64');

async function overGrpc() {
  const asked = create(InitiateSigningRequestSchema, { transactionIntentId: 'y', walletId: 'key' });
  const method = signingMethods.find((one) => one.method === 'initiateSigning')!;
  const token = await world.token({ tenant: 'tn_frozen', environment: 'sandbox', name: 'grpc' });
  const metadata = { authorization: `Bearer ${token}` };
  const message = toBinary(InitiateSigningRequestSchema, asked);
  return world.run(world.callRpc('gateway/2', { method, message, metadata }));
}

test('signs nothing for its clients, and makes keys still', async () => {
  const started = (session: string) => call('/v1/dkg/initiate', { session_id: session, threshold: 2, total_nodes: 3 });
  await started('key');
  await call('/v1/dkg/shares', { session_id: 'key' });
  const initiate = () =>
    call('/v1/signing/initiate', { transaction_intent_id: 'x', wallet_id: 'key', message_hash: digest });
  const { signing_session_id: session } = (await initiate()).body;
  await set('freeze');
  const share = () => call('/v1/signing/share', { signing_session_id: session });
  for (let gateway = 0; gateway < 2; gateway += 1) {
    expect(await initiate()).toMatchObject(frozen);
    expect(await share()).toMatchObject(frozen);
    expect(await call('/v1/sessions/resume', { session_id: session })).toMatchObject(frozen);
    expect(await call(`/v1/sandbox/sessions/${session}/nodes/1/partial`, {})).toMatchObject(frozen);
  }
  expect((await overGrpc()).code).toBe(status.FAILED_PRECONDITION);
  expect((await started('another')).body.receipt.reason_code).toBe('SESSION_ACCEPTED');
  await set('unfreeze');
  expect((await share()).body.receipt.reason_code).toBe('SIGNATURE_COMPLETED');
});

test.each(['self_hosted', 'fireblocks'] as const)(
  'orders nothing of a transfer of %s that waits for its provider',
  async (provider) => {
    await open(provider === 'fireblocks' ? provider : undefined);
    const away: Fault =
      provider === 'fireblocks'
        ? ({ fault: 'provider_fails', by: 'lost', for_ms: 20_000 } as Fault)
        : ({ fault: 'pause', target: 'node/*', for_ms: 20_000 } as Fault);
    world.clusters.arm(away);
    const { id } = (await call(path, transfer('0.1'))).body;
    await until(id, ({ status: now }) => now === 'signing');
    await set('freeze');
    await world.advance(60_000);
    expect((await call(`${path}/${id}`)).body).toMatchObject({ status: 'signing', sub_status: 'TENANT_FROZEN' });
    const before = await told();
    await world.advance(60_000);
    expect(await told()).toEqual(before);
    await set('unfreeze');
    await until(id, ({ status: now }) => now === 'completed');
  },
);

// The transfer is created, approved and begun in its first calls; a thorough run follows it to its end.
const last = runs(36, Number.POSITIVE_INFINITY);
test('from the commit of its freeze on, at any call of a transfer, none is created, approved or begun', {
  timeout: 3_600_000,
}, async () => {
  const faults: string[] = [];
  let hits = 0;
  for (let at = 1; at <= last; at += 1) {
    let first = Number.POSITIVE_INFINITY;
    let freeze: Promise<ClientAnswer> | undefined;
    const plan = ({ number }: PortCall): undefined => {
      if (number === first + at) freeze = tenant.approver.call('POST', '/v1/tenant/freeze', {});
    };
    world = new CustodyWorld({ seed: `frozen-${at}`, cryptography: 'model', codec: 'none', gateways: 2, plan });
    tenant = await openTenant(world, 'tn_frozen');
    path = `/v1/wallets/${tenant.wallets[0]!.id}/transaction-intents`;
    first = world.portCalls;
    let end = '';
    const paid = pay(tenant, 'paid', '0.2').then(
      (how) => {
        end = how;
      },
      (error: Error) => {
        end = error.message;
      },
    );
    await world.advance(30_000);
    if (freeze === undefined) break;
    const types = await told();
    const after = types.slice(types.indexOf('tenant.frozen') + 1);
    const wrong = types.includes('tenant.frozen') ? after.filter((type) => stopped.has(type)) : ['not frozen'];
    faults.push(...wrong.map((type) => `${at}: ${type}`));
    if (end !== 'completed') hits += 1;
    await set('unfreeze');
    await world.run(paid);
    if (!/^completed$|tenant is frozen/.test(end)) faults.push(`${at}: ${end}`);
  }
  expect(faults).toEqual([]);
  expect(hits).toBeGreaterThan(1);
});
