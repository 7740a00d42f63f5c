/** A tenant under change control, with two gateways: its rules change by proposals that others approve, and in no other way. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { Client, ClientAnswer } from '../../../simulation/service/client.ts';
import { CustodyWorld } from '../../../simulation/service/custody-world.ts';
import type { PortPlan } from '../../../simulation/service/process-life.ts';
import { restRoutes } from '../../../tools/docs/rest-routes.ts';
import { runs } from '../../support/thorough.ts';

const tenant = 'tn_changes';
let world: CustodyWorld;
let alice: Client;
let bob: Client;
let carol: Client;
let alicesActor: string;
let bobsActor: string;

async function open(plan?: PortPlan, seed = 'changes'): Promise<void> {
  world = new CustodyWorld({ seed, cryptography: 'model', codec: 'none', gateways: 2, ...(plan && { plan }) });
  const issued = [];
  for (const name of ['alice', 'bob', 'carol']) {
    issued.push(await world.run(world.issue({ tenant, environment: 'sandbox', name })));
  }
  [alice, bob, carol] = issued.map(({ token }) => world.client(token)) as [Client, Client, Client];
  [alicesActor, bobsActor] = issued.map(({ record }) => record.actorId) as [string, string];
}

beforeEach(() => open());

function call(by: Client, method: string, target: string, body?: object): Promise<ClientAnswer> {
  return world.run(by.call(method, target, body));
}

const control = (body: object) => call(alice, 'POST', '/v1/change-control', body);

async function propose(operation: string, body?: object, params?: object, by = alice): Promise<ClientAnswer> {
  return call(by, 'POST', '/v1/change-proposals', { operation, ...(body && { body }), ...(params && { params }) });
}

const approve = (by: Client, id: string, body: object = {}) =>
  call(by, 'POST', `/v1/change-proposals/${id}/approve`, body);

async function told(): Promise<readonly { type: string; data: { object: { id: string; changed_by?: string } } }[]> {
  return (await call(alice, 'GET', '/v1/events?limit=100')).body.events;
}

const types = async () => (await told()).map(({ type }) => type);

const refusedFor = (issue: string, status = 409) => ({ status, body: { error: { details: [{ issue }] } } });

const policy = (quorum = 0) => ({
  name: 'default',
  rules: [
    { id: 'all', effect: 'require_approval', when: 'true', approvals: { quorum: quorum + 1 } },
    { id: 'none', effect: 'deny', when: 'false' },
  ],
});

interface Change {
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  /** Before control is on: the id of what it changes. */
  readonly first?: () => Promise<ClientAnswer>;
  readonly event: string;
}

const rule = { name: 'large', when: 'tx.amount > units("10")', points: 25 };
const hook = { url: 'https://hooks.example.com/one?key=hidden', events: ['*'] };
const makeRule = () => call(alice, 'POST', '/v1/risk/rules', rule);
const makeHook = () => call(alice, 'POST', '/v1/webhooks', hook);

const changes: readonly Change[] = [
  { operation: 'putPolicy', method: 'POST', path: '/v1/policies', body: policy(), event: 'policy.updated' },
  { operation: 'putRiskRule', method: 'POST', path: '/v1/risk/rules', body: rule, event: 'risk.rule.created' },
  {
    ...{ operation: 'changeRiskRule', method: 'PATCH', path: '/v1/risk/rules/:id', body: { points: 3 } },
    ...{ first: makeRule, event: 'risk.rule.updated' },
  },
  {
    ...{ operation: 'deleteRiskRule', method: 'DELETE', path: '/v1/risk/rules/:id' },
    ...{ first: makeRule, event: 'risk.rule.deleted' },
  },
  {
    ...{ operation: 'putComplianceList', method: 'POST', path: '/v1/compliance/lists' },
    ...{ body: { name: 'bad', kind: 'deny', entries: [{ name: 'Mallory' }] }, event: 'compliance.list.created' },
  },
  { operation: 'createWebhook', method: 'POST', path: '/v1/webhooks', body: hook, event: 'webhook.created' },
  {
    ...{ operation: 'updateWebhook', method: 'PATCH', path: '/v1/webhooks/:id' },
    ...{ body: { url: 'https://hooks.example.com/two' }, first: makeHook, event: 'webhook.updated' },
  },
  {
    ...{ operation: 'deleteWebhook', method: 'DELETE', path: '/v1/webhooks/:id' },
    ...{ first: makeHook, event: 'webhook.deleted' },
  },
  {
    ...{ operation: 'unfreezeTenant', method: 'POST', path: '/v1/tenant/unfreeze', body: {} },
    ...{ first: () => call(alice, 'POST', '/v1/tenant/freeze', {}), event: 'tenant.unfrozen' },
  },
  {
    ...{ operation: 'putChangeControl', method: 'POST', path: '/v1/change-control', body: { quorum: 0 } },
    event: 'change_control.updated',
  },
];

test.each(changes)('$operation takes a proposal, and its last approval makes the change', async (change) => {
  const { operation, method, path, body, first, event } = change;
  const id: string | undefined = (await first?.())?.body.id;
  expect((await control({ quorum: 1 })).body).toEqual({ quorum: 1, approvers: [], timeout_s: 86_400, version: 1 });
  for (let gateway = 0; gateway < 2; gateway += 1) {
    const direct = await call(alice, method, path.replace(':id', id ?? ''), body);
    expect(direct).toMatchObject(refusedFor('proposal_needed'));
    expect(direct.body.error.details[0].message).toContain(operation);
  }
  const before = (await types()).filter((type) => type === event).length;
  const proposal = (await propose(operation, body, path.includes(':id') ? { id } : undefined)).body;
  expect(proposal).toMatchObject({ status: 'pending', operation, approvals_required: 1, approvals: [] });
  expect(proposal.difference).not.toEqual([]);
  expect(proposal.request.body).toEqual(body);
  expect(JSON.stringify(await told())).not.toContain('hidden');
  const applied = await approve(bob, proposal.id);
  expect(applied).toMatchObject({ status: 200, body: { status: 'applied', resource: proposal.resource } });
  const events = await told();
  expect(events.filter(({ type }) => type === event)).toHaveLength(before + 1);
  expect(events.slice(-2).map(({ type }) => type)).toEqual([event, 'change_proposal.applied']);
  // What the proposal named is what was made.
  expect(events.at(-2)).toMatchObject({ resource: proposal.resource });
  expect(JSON.stringify([proposal, applied.body])).not.toContain('whsec_');
  if (operation === 'unfreezeTenant') expect(events.at(-2)?.data.object.changed_by).toBe(alicesActor);
  if (operation !== 'putChangeControl') return;
  expect((await call(alice, 'POST', '/v1/policies', policy())).status).toBe(201);
});

test('no other operation is under control', () => {
  const controlled = restRoutes().filter((route) => route.controlled !== undefined);
  expect(controlled.map(({ operationId }) => operationId).sort()).toEqual(changes.map((each) => each.operation).sort());
});

test('a proposal shows what would differ, and its request to its readers', async () => {
  await control({ quorum: 1 });
  const { id, difference } = (await propose('putPolicy', policy())).body;
  const differs = Object.fromEntries(difference.map((each: { field: string }) => [each.field, each]));
  expect(differs.version).toEqual({ field: 'version', before: 1, after: 2 });
  expect(differs.rules.after).toMatchObject(policy().rules);
  const read = (await call(bob, 'GET', `/v1/change-proposals/${id}`)).body;
  expect(read.request).toEqual({ body: policy() });
  const listed = (await call(bob, 'GET', '/v1/change-proposals?status=pending')).body.change_proposals;
  expect(listed).toHaveLength(1);
  expect(listed[0]).not.toHaveProperty('request');
});

describe('votes', () => {
  async function issuedBy(client: Client): Promise<Client> {
    const scopes = ['changes:approve', 'changes:read'];
    return world.client((await call(client, 'POST', '/v1/access-tokens', { scopes })).body.token);
  }

  test('none by the initiator’s line, and one line has one', async () => {
    await control({ quorum: 2 });
    const { id } = (await propose('putPolicy', policy())).body;
    const none = refusedFor('initiator_may_not_approve', 403);
    expect(await approve(alice, id)).toMatchObject(none);
    expect(await approve(await issuedBy(alice), id)).toMatchObject(none);
    expect((await approve(bob, id)).body.status).toBe('pending');
    expect((await approve(await issuedBy(bob), id)).body).toMatchObject({ status: 'pending', version: 2 });
    expect((await approve(carol, id)).body.status).toBe('applied');
    expect((await types()).filter((type) => type.startsWith('change_proposal.'))).toEqual(
      ['created', 'updated', 'applied'].map((word) => `change_proposal.${word}`),
    );
  });

  test('only by the named approvers', async () => {
    expect(await control({ quorum: 2, approvers: [bobsActor] })).toMatchObject(refusedFor('too_large', 400));
    await control({ quorum: 1, approvers: [bobsActor] });
    const { id } = (await propose('putPolicy', policy())).body;
    expect(await approve(carol, id)).toMatchObject(refusedFor('not_an_approver', 403));
    expect((await approve(bob, id)).body.status).toBe('applied');
  });

  test('one that rejects ends it, and so does its cancellation', async () => {
    await control({ quorum: 2 });
    const [first, second] = [
      (await propose('putPolicy', policy())).body.id,
      (await propose('putRiskRule', rule)).body.id,
    ];
    await approve(bob, first);
    expect((await approve(carol, first, { decision: 'reject', reason: 'no' })).body.status).toBe('rejected');
    expect((await call(carol, 'POST', `/v1/change-proposals/${second}/cancel`)).body.status).toBe('cancelled');
    expect(await approve(carol, first)).toMatchObject(refusedFor('rejected'));
    expect(await approve(carol, second)).toMatchObject(refusedFor('cancelled'));
    expect((await call(alice, 'GET', '/v1/policies')).body.policies[0].version).toBe(1);
  });

  test('none after its time', async () => {
    await control({ quorum: 1, timeout_s: 60 });
    const { id } = (await propose('putPolicy', policy())).body;
    await world.advance(70_000);
    expect((await call(alice, 'GET', `/v1/change-proposals/${id}`)).body.status).toBe('expired');
    expect(await approve(bob, id)).toMatchObject(refusedFor('expired'));
    expect((await types()).at(-1)).toBe('change_proposal.expired');
  });

  test('none once what it changes, or the control, is not as it was', async () => {
    await control({ quorum: 1 });
    const ids: string[] = [];
    for (let index = 0; index < 3; index += 1) ids.push((await propose('putPolicy', policy(index))).body.id);
    const other = (await propose('putRiskRule', rule)).body.id;
    await approve(bob, ids[0]!);
    expect(await approve(bob, ids[1]!)).toMatchObject(refusedFor('version_conflict'));
    // What it does not change may have changed.
    expect((await approve(bob, other)).body.status).toBe('applied');
    const { id: late } = (await propose('putPolicy', policy(5))).body;
    await approve(bob, (await propose('putChangeControl', { quorum: 2 })).body.id);
    expect(await approve(bob, late)).toMatchObject(refusedFor('version_conflict'));
    expect((await call(alice, 'GET', '/v1/policies')).body.policies[0].version).toBe(2);
  });
});

test('a proposal needs control, a change, a good request and the scope of its operation', async () => {
  expect(await propose('putPolicy', policy())).toMatchObject(refusedFor('state_conflict'));
  await control({ quorum: 1 });
  expect(await propose('putChangeControl', { quorum: 1 })).toMatchObject(refusedFor('state_conflict'));
  expect(await propose('putPolicy', { name: 'default' })).toMatchObject(refusedFor('missing_required', 400));
  expect(await propose('deleteRiskRule', undefined, { id: 'rul_none' })).toMatchObject({ status: 404 });
  expect(await propose('createWallet', {})).toMatchObject({ status: 400 });
  const scopes = ['changes:write', 'risk:write'] as const;
  const token = await world.run(world.token({ tenant, environment: 'sandbox', name: 'dan', scopes }));
  const dan = world.client(token);
  expect(await propose('putPolicy', policy(), undefined, dan)).toMatchObject({
    status: 403,
    body: { error: { details: [{ field: 'operation', message: expect.stringContaining('policies:write') }] } },
  });
  expect((await propose('putRiskRule', rule, undefined, dan)).status).toBe(201);
});

// The last vote makes some ten calls; a thorough run has each of them.
const last = runs(16, Number.POSITIVE_INFINITY);

test('the gateway dies at any call of the last vote: the change is made once, with its proposal', {
  timeout: 3_600_000,
}, async () => {
  let deaths = 0;
  for (const phase of ['before', 'after'] as const) {
    for (let at = 1; at <= last; at += 1) {
      let first = Number.POSITIVE_INFINITY;
      let died = false;
      const isTarget = ({ number, process }: { number: number; process: string }) =>
        process.startsWith('gateway') && number === first + at;
      await open((portCall) => {
        if (!isTarget(portCall)) return undefined;
        died = true;
        return { dies: phase };
      }, `dies-${phase}-${at}`);
      await control({ quorum: 1 });
      const { id } = (await propose('putPolicy', policy())).body;
      first = world.portCalls;
      const vote = await approve(bob, id);
      expect(vote, `${phase} call ${at}`).toMatchObject({ status: 200, body: { status: 'applied' } });
      expect((await types()).slice(-3)).toEqual([
        'change_proposal.created',
        'policy.updated',
        'change_proposal.applied',
      ]);
      if (died) deaths += 1;
      else if (last === Number.POSITIVE_INFINITY) break;
    }
  }
  expect(deaths).toBeGreaterThan(8);
});

test('from the commit of the control on, at any call of a change, none is made directly', {
  timeout: 3_600_000,
}, async () => {
  let refused = 0;
  for (let at = 1; at <= last; at += 1) {
    let first = Number.POSITIVE_INFINITY;
    let turnedOn: Promise<ClientAnswer> | undefined;
    await open(({ number }) => {
      if (number === first + at) turnedOn = bob.call('POST', '/v1/change-control', { quorum: 1 });
      return undefined;
    }, `on-${at}`);
    first = world.portCalls;
    const direct = await call(alice, 'POST', '/v1/policies', policy());
    if (turnedOn === undefined) break;
    expect((await world.run(turnedOn)).status).toBe(200);
    const [on, made] = ['change_control.updated', 'policy.updated'].map(
      (
        (seen) => (type) =>
          seen.indexOf(type)
      )(await types()),
    );
    if (direct.status === 201) expect(made).toBeLessThan(on!);
    else expect([direct.status, made]).toEqual([409, -1]);
    if (direct.status === 409) refused += 1;
  }
  expect(refused).toBeGreaterThan(0);
});
