/** The routes of the sandbox: bodies, answers and scopes, with a fake control of the processes. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemRandom } from '../../../core/actors/live/ports.ts';
import { allScopes, sandboxScopes } from '../../../gateway/api/scopes.ts';
import { newToken } from '../../../gateway/auth/token-format.ts';
import type { RunEvent } from '../../../scenarios/faults/recording.ts';
import { type RunEventJson, runEventOf } from '../../../scenarios/faults/recording-json.ts';
import { faultKinds } from '../../../scenarios/faults/vocabulary/fault.ts';
import { FakeControl, FakeSessions } from '../../support/fake-control.ts';
import { until } from '../../support/until.ts';
import { type CallOptions, startWalletService, type WalletService } from '../../support/wallet-service.ts';

const control = new FakeControl();
const sessions = new FakeSessions();
const admin = newToken('sandbox', systemRandom);
let service: WalletService;

beforeAll(async () => {
  service = await startWalletService({ control, sessions });
  service.tokens.put(admin, { tenant: 'tn_admin', id: 'tok_admin' });
  sessions.put('tn_admin', 'sig_known');
});
afterAll(() => service?.stop());
beforeEach(() => {
  control.faults = [];
  control.snapshots = [];
});

const call = (method: string, path: string, body?: unknown, options: CallOptions = {}) =>
  service.call(method, `/v1/sandbox/${path}`, { token: admin, ...(body !== undefined && { body }), ...options });

describe('load', () => {
  it('shows what waits, and null where no queue is known', async () => {
    expect(await call('GET', 'queues')).toMatchObject({
      status: 200,
      body: { calls: 0, deliveries: null, nonces: [] },
    });
  });

  it('takes what a generator intends, and refuses what is no load', async () => {
    expect((await call('POST', 'load', { load: 'l', stage: 's', rate: null })).status).toBe(204);
    const refused = await call('POST', 'load', { load: 'l', stage: 's', rate: -1 });
    expect([refused.status, refused.body.error.details[0].field]).toEqual([400, 'rate']);
  });
});

it('names of steps, loads and stages show as what they are', async () => {
  const load = { load: 'l', stage: 's', rate: null };
  for (const hidden of ['a\u0000', 'a\u202eb', ' ']) {
    for (const [path, body, field] of [
      ['steps', { step: hidden }, 'step'],
      ['load', { ...load, load: hidden }, 'load'],
      ['load', { ...load, stage: hidden }, 'stage'],
    ] as const) {
      const { status, body: answer } = await call('POST', path, body);
      expect([status, answer?.error.details[0].field]).toEqual([400, field]);
    }
  }
});

describe('the depths of blocks', () => {
  const path = 'chains/solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1/confirmations';

  it('are equal by default, and a transfer never completes after it is final', async () => {
    expect((await call('GET', path)).body).toMatchObject({ confirmations: 1, finality: 1 });
    const { status, body } = await call('POST', path, { confirmations: 2, finality: 5 });
    expect([status, body]).toMatchObject([200, { confirmations: 2, finality: 5 }]);
    const refused = await call('POST', path, { confirmations: 3, finality: 2 });
    expect(refused).toMatchObject({
      status: 400,
      body: { error: { details: [{ field: 'finality', issue: 'too_small' }] } },
    });
    expect((await call('GET', path)).body).toMatchObject({ confirmations: 2, finality: 5 });
    expect((await call('POST', path, { confirmations: 1 })).body).toMatchObject({ confirmations: 1, finality: 1 });
  });
});

describe('scenarios', () => {
  it('are started, read and ended, and the file enters no log', async () => {
    expect((await call('GET', 'scenarios')).body).toEqual({ scenario: null });
    const started = await call('POST', 'scenarios', { file: 'scenario: x' });
    expect(started).toMatchObject({ status: 202, body: { state: 'running', ended_at: null, begun: 0 } });
    expect(control.lastOf('scenarios.start')).toEqual({ file: 'scenario: x', reset: false });
    expect((await call('GET', 'scenarios')).body).toEqual({ scenario: started.body });
    expect((await call('DELETE', 'scenarios')).status).toBe(200);
    control.scenario = null;
    expect((await call('DELETE', 'scenarios')).status).toBe(404);
    expect((await call('POST', 'scenarios', { file: '' })).status).toBe(400);
  });
});

describe('faults', () => {
  it('are armed as the vocabulary has them, and expire by themselves', async () => {
    const fault = {
      fault: 'delay',
      target: ['node/1', 'node/2'],
      min_ms: 5,
      max_ms: 50,
      at: { point: 'call', nth: 2 },
    };
    const made = await call('POST', 'faults', { ...fault, id: 'slow', expires_in_s: 60 });
    expect(made).toMatchObject({
      status: 201,
      body: { id: 'slow', state: 'armed', trigger_count: 0, strikes: 0, ends_at: null },
    });
    expect(made.body.fault).toEqual({ ...fault, id: 'slow' });
    expect(control.lastOf('faults.create')).toEqual({ fault: { ...fault, id: 'slow' }, expiresInMs: 60_000 });
    expect(Date.parse(made.body.expires_at) - Date.parse(made.body.armed_at)).toBe(60_000);
    expect((await call('GET', 'faults')).body).toEqual({ faults: [made.body], has_more: false, next_cursor: null });
    expect((await call('GET', 'faults/slow')).body).toEqual(made.body);
    expect(await call('DELETE', 'faults/slow')).toMatchObject({ status: 204, body: undefined });
    expect((await call('GET', 'faults/slow')).status).toBe(404);
    expect((await call('DELETE', 'faults/slow')).status).toBe(404);
  });

  it('last five minutes unless told otherwise', async () => {
    await call('POST', 'faults', { fault: 'redis_gone', for_ms: 100 });
    expect(control.lastOf('faults.create')).toMatchObject({ expiresInMs: 300_000 });
  });

  it('are removed all at once', async () => {
    await call('POST', 'faults', { fault: 'poison_job' });
    await call('POST', 'faults', { fault: 'receiver_reset' });
    expect(await call('POST', 'faults/reset')).toMatchObject({ status: 200, body: { removed: 2 } });
  });

  it('are reported the steps of a scenario', async () => {
    expect((await call('POST', 'steps', { step: 'sign' })).status).toBe(204);
    expect(control.lastOf('faults.step')).toEqual({ step: 'sign' });
    expect((await call('POST', 'steps', {})).status).toBe(400);
  });

  it.each([
    [{}, 'fault', 'missing_required'],
    [{ fault: 'earthquake' }, 'fault', 'not_allowed_value'],
    [{ fault: 7 }, 'fault', 'wrong_type'],
    [{ fault: 'crash' }, 'target', 'missing_required'],
    [{ fault: 'crash', target: 'node/0' }, 'target', 'invalid_format'],
    [{ fault: 'crash', target: 'node/1', speed: 3 }, 'speed', 'unknown_field'],
    [{ fault: 'bad_partial', target: 'gateway' }, 'target', 'invalid_format'],
    [{ fault: 'pause', target: 'redis' }, 'for_ms', 'missing_required'],
    [{ fault: 'drop', target: 'node/1', probability: 1.5 }, 'probability', 'too_large'],
    [{ fault: 'drop', target: 'node/1', at: { point: 'lunch' } }, 'at.point', 'not_allowed_value'],
    [{ fault: 'drop', target: 'node/1', expires_in_s: 86_401 }, 'expires_in_s', 'too_large'],
    [{ fault: 'drop', target: 'node/1', expires_in_s: 0 }, 'expires_in_s', 'too_small'],
    [{ fault: 'drop', target: 'node/1', id: 'no spaces' }, 'id', 'invalid_format'],
  ])('refuses %j, and names the field', async (body, field, issue) => {
    const before = control.asked.length;
    const refused = await call('POST', 'faults', body);
    expect(refused).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_request', details: [{ field, issue }] } },
    });
    expect(control.asked).toHaveLength(before);
  });

  it('tells which kinds there are', async () => {
    const { body } = await call('POST', 'faults', { fault: 'earthquake' });
    for (const kind of faultKinds) expect(body.error.details[0].message).toContain(kind);
  });

  it('says 422 to what only simulated worlds have, and 409 to an id that is taken', async () => {
    const lost = await call('POST', 'faults', { fault: 'store_lost', target: 'node/1' });
    expect(lost).toMatchObject({ status: 422, body: { error: { details: [{ issue: 'not_supported' }] } } });
    await call('POST', 'faults', { fault: 'poison_job', id: 'once' });
    const again = await call('POST', 'faults', { fault: 'poison_job', id: 'once' });
    expect(again).toMatchObject({
      status: 409,
      body: { error: { code: 'conflict', details: [{ field: 'id', issue: 'state_conflict' }] } },
    });
  });
});

describe('nodes', () => {
  it('are listed with their health, and so are the other processes', async () => {
    const { body } = await call('GET', 'nodes');
    expect(body.nodes.map(({ id }: { id: string }) => id)).toEqual([
      '1',
      '2',
      '3',
      'coordinator',
      'gateway',
      'worker',
      'redis',
    ]);
    expect(body.nodes[0]).toMatchObject({ process: 'node/1', state: 'running', pid: 42, linked: true });
    expect(body.nodes[0].uptime_ms).toBeGreaterThanOrEqual(5_000);
    expect(body.nodes[3]).toMatchObject({ process: 'coordinator', linked: null });
  });

  it('measures uptimes by the machine’s clock, whatever its own shows', async () => {
    service.clock.offsetMs = 3_600_000;
    control.processes = control.processes.map((each) => ({ ...each, clockOffsetMs: 3_600_000 }));
    const { body } = await call('GET', 'nodes');
    service.clock.offsetMs = 0;
    control.processes = control.processes.map((each) => ({ ...each, clockOffsetMs: 0 }));
    expect(body.nodes[0].uptime_ms).toBeLessThan(1_800_000);
    expect(body.nodes[0].clock_offset_ms).toBe(3_600_000);
  });

  it('are crashed, restarted, paused and resumed', async () => {
    const crashed = await call('POST', 'nodes/2/crash', { lose_state: true, restart_after_ms: null });
    expect(crashed).toMatchObject({ status: 200, body: { id: '2', state: 'down', pid: null, uptime_ms: null } });
    const asked = { process: 'node/2', action: 'crash', loseState: true, restartAfterMs: null };
    expect(control.lastOf('processes.act')).toEqual(asked);
    expect((await call('POST', 'nodes/2/restart')).body.state).toBe('running');
    expect((await call('POST', 'nodes/coordinator/pause')).body.state).toBe('paused');
    expect((await call('POST', 'nodes/coordinator/resume')).body.state).toBe('running');
    expect((await call('POST', 'nodes/3/crash')).status).toBe(200);
    expect(control.lastOf('processes.act')).toEqual({ process: 'node/3', action: 'crash' });
  });

  it.each(['0', '101', 'node', 'receiver', '1x', '*'])('knows none that is called %s', async (node) => {
    expect((await call('POST', `nodes/${node}/pause`)).status).toBe(404);
    expect((await call('POST', 'nodes/9/restart')).status).toBe(404);
  });

  it('answers first what is to be done to the gateway itself, and does not pause it', async () => {
    expect(await call('POST', 'nodes/gateway/crash')).toMatchObject({
      status: 202,
      body: { id: 'gateway', state: 'running' },
    });
    expect(control.lastOf('processes.act')).not.toMatchObject({ process: 'gateway' });
    await until(() => control.processes.find(({ process }) => process === 'gateway')?.state === 'down', 'the crash');
    expect((await call('POST', 'nodes/gateway/pause')).status).toBe(422);
    expect((await call('POST', 'nodes/gateway/crash', { restart_after_ms: null })).status).toBe(422);
  });

  it.each([{ lose_state: 'yes' }, { restart_after_ms: -1 }, { when: 'now' }])('refuses the crash %j', async (body) => {
    expect((await call('POST', 'nodes/1/crash', body)).status).toBe(400);
  });
});

const frame: Extract<RunEvent, { kind: 'frame' }> = {
  kind: 'frame',
  atMs: 12,
  arrivesMs: [13, 15],
  from: 'node/2',
  to: 'signing/tn_admin/sig_known',
  point: 'partial_reply',
  tenant: 'tn_admin',
  session: 'sig_known',
  attempt: 1,
  bytes: 99,
  text: 'a partial',
  faults: ['twice'],
};

describe('sessions', () => {
  it('are shown with their transcript, newest last', async () => {
    control.frames = [frame, { ...frame, atMs: 14 }, { ...frame, atMs: 16 }];
    const seen = await call('GET', 'sessions/sig_known?limit=2');
    expect(seen).toMatchObject({
      status: 200,
      body: {
        id: 'sig_known',
        kind: 'signing',
        state: 'RECEIPT_STATE_ACCEPTED',
        reason_code: 'SESSION_ACCEPTED',
        epoch: 1,
        culprits: [],
        key_session: 'k',
        public_key: null,
        threshold: 3,
        created_at: '2023-11-14T22:13:20.000Z',
        transcript: [{ at_ms: 14 }, { at_ms: 16, arrives_ms: [13, 15] }],
        transcript_truncated: true,
      },
    });
    expect(control.lastOf('transcript.get')).toEqual({ tenant: 'tn_admin', session: 'sig_known', limit: 2 });
    expect((await call('GET', 'sessions/sig_known?limit=0')).status).toBe(400);
  });

  it('are shown without a transcript when there is none', async () => {
    control.refusal = { code: 'unavailable', message: 'faults are off' };
    expect(await call('GET', 'sessions/sig_known')).toMatchObject({ status: 200, body: { transcript: null } });
  });

  it('do not exist for another tenant', async () => {
    const stranger = newToken('sandbox', systemRandom);
    service.tokens.put(stranger, { tenant: 'tn_stranger', id: 'tok_stranger' });
    const options = { token: stranger };
    const seen = await call('GET', 'sessions/sig_known', undefined, options);
    const unknown = await call('GET', 'sessions/sig_unknown', undefined, options);
    expect([seen.status, seen.body.error.message]).toEqual([404, unknown.body.error.message]);
    expect((await call('POST', 'sessions/sig_known/nodes/2/partial', undefined, options)).status).toBe(404);
  });

  it('show what a node would submit, or say why not', async () => {
    const { status, body } = await call('POST', 'sessions/sig_known/nodes/2/partial');
    expect([status, body.attempt]).toEqual([200, 1]);
    expect(Buffer.from(body.partial, 'base64')).toEqual(Buffer.alloc(32, 2));
    expect(Buffer.from(body.nonce_point, 'base64')).toHaveLength(33);
    for (const name of ['node-2', 'node%2F2']) {
      expect((await call('POST', `sessions/sig_known/nodes/${name}/partial`)).body).toEqual(body);
    }
    const outside = await call('POST', 'sessions/sig_known/nodes/6/partial');
    expect(outside).toMatchObject({ status: 409, body: { error: { details: [{ issue: 'node_not_participant' }] } } });
    expect((await call('POST', 'sessions/sig_unknown/nodes/1/partial')).status).toBe(404);
    expect((await call('POST', 'sessions/sig_known/nodes/x/partial')).status).toBe(404);
    expect((await call('GET', 'sessions/sig_known/nodes/2/partial')).status).toBe(405);
  });
});

describe('time', () => {
  it('is advanced in milliseconds or seconds', async () => {
    control.offsetMs = 0;
    expect((await call('POST', 'clock', { advance_ms: 1_500 })).body.offset_ms).toBe(1_500);
    expect((await call('POST', 'clock', { advance_s: 900 })).body).toMatchObject({ offset_ms: 901_500 });
    expect((await call('GET', 'clock')).body).toEqual({ offset_ms: 901_500, now: '2023-11-14T22:28:21.500Z' });
  });

  it.each([
    [{}, ''],
    [{ advance_ms: 0 }, 'advance_ms'],
    [{ advance_s: -1 }, 'advance_s'],
    [{ advance_ms: 1.5 }, 'advance_ms'],
    [{ advance_ms: 31_536_000_001 }, 'advance_ms'],
    [{ advance_ms: 1, advance_s: 1 }, 'advance_s'],
  ])('is not advanced by %j', async (body, field) => {
    const refused = await call('POST', 'clock', body);
    expect(refused).toMatchObject({ status: 400, body: { error: { details: [{ field }] } } });
  });

  it('goes back to snapshots, and to the beginning', async () => {
    const taken = await call('POST', 'snapshots', { name: 'before' });
    expect(taken).toMatchObject({ status: 201, body: { id: 'snp-1', name: 'before', bytes: 1_024 } });
    expect((await call('POST', 'snapshots')).body).toMatchObject({ id: 'snp-2', name: '' });
    expect((await call('GET', 'snapshots')).body).toMatchObject({ snapshots: [taken.body, {}], has_more: false });
    const restored = await call('POST', 'snapshots/snp-1/restore');
    expect(restored).toMatchObject({ status: 200, body: { snapshot: taken.body, took_ms: 12.5 } });
    expect((await call('DELETE', 'snapshots/snp-1')).status).toBe(204);
    expect((await call('POST', 'snapshots/snp-1/restore')).status).toBe(404);
    expect(await call('POST', 'reset')).toMatchObject({ status: 200, body: { took_ms: 7 } });
  });
});

describe('the recording', () => {
  it('is read from a position on, and comes back as it was', async () => {
    const events: RunEvent[] = [
      frame,
      { kind: 'process', atMs: 20, process: 'node/1', what: 'linkDown', text: 'gone' },
      { kind: 'process', atMs: 21, process: 'node/1', what: 'up', text: '' },
      { kind: 'actor', atMs: 22, address: 'node/1', type: 'x', level: 'info', fields: { aB: 1, list: [1, 2] } },
      { kind: 'state', atMs: 23, address: 'node/1', state: 'open', fields: { ok: true } },
      { kind: 'fault', atMs: 24, id: 'f', fault: 'drop', targets: ['node/1'], what: 'fired', text: '' },
      { kind: 'step', atMs: 25, client: 'c', step: 's', what: 'began', session: '', text: '' },
      { kind: 'delivery', atMs: 26, event: 'evt_1', session: '', status: 200, text: '' },
      { kind: 'violation', atMs: 27, invariant: 'i', text: '' },
    ];
    control.events = events;
    const all = await call('GET', 'recording');
    expect(all.body).toMatchObject({ next: events.length, lost: false, began_at: '2023-11-14T22:13:20.000Z' });
    expect((all.body.events as RunEventJson[]).map(runEventOf)).toEqual(events);
    expect(all.body.events[1].what).toBe('link_down');
    const some = await call('GET', 'recording?after=2&limit=3');
    expect(some.body.next).toBe(5);
    expect(some.body.events).toEqual(all.body.events.slice(2, 5));
    for (const query of ['after=-1', 'limit=10001', 'limit=x']) {
      expect((await call('GET', `recording?${query}`)).status).toBe(400);
    }
  });

  it('tells a receiver how to behave', async () => {
    expect((await call('GET', 'receiver')).body).toEqual({ status: null, slow_ms: null, reset: false });
  });
});

describe('tokens', () => {
  const issue = (body: object, token = admin) => call('POST', 'tokens', body, { token });

  it('are of the caller’s tenant, or of one that only it can name', async () => {
    const own = (await issue({ name: 'alice', scopes: ['wallets:read'] })).body;
    expect(own).toMatchObject({ tenant: 'tn_admin', scopes: ['wallets:read'] });
    expect((await service.call('GET', '/v1/wallets', { token: own.token })).status).toBe(200);
    expect((await service.call('GET', '/v1/events', { token: own.token })).status).toBe(403);

    const [one, again, another] = await Promise.all(['a', 'a', 'b'].map((tenant) => issue({ tenant })));
    expect(one!.body.tenant).toBe(again!.body.tenant);
    expect(one!.body.id).not.toBe(again!.body.id);
    expect(another!.body.tenant).not.toBe(one!.body.tenant);
    const stranger = newToken('sandbox', systemRandom);
    service.tokens.put(stranger, { tenant: 'tn_stranger' });
    expect((await issue({ tenant: 'a' }, stranger)).body.tenant).not.toBe(one!.body.tenant);
    expect((await issue({ tenant: 'tn_admin' }, stranger)).body.tenant).not.toBe('tn_admin');
  });

  it('are told whose they are, made-up ones too', async () => {
    const { token, id, scopes } = (await issue({ tenant: 'a', scopes: ['wallets:read'] })).body;
    const owner = await call('POST', 'tokens/owner', { token });
    expect(owner).toMatchObject({ status: 200, body: { actor: id, scopes } });
    const own = await call('POST', 'tokens/owner', { token: admin });
    expect(own.body).toMatchObject({ tenant: 'tn_admin', actor: 'tok_admin' });
    const madeUp = (await call('POST', 'tokens/owner', { token: 'svc_sk_test_madeUpTokenOfAnotherTenant' })).body;
    expect([madeUp.actor, madeUp.scopes]).toEqual([`tenant:${madeUp.tenant}`, sandboxScopes]);
    for (const none of ['svc_sk_live_madeUpTokenOfAnotherTenant', 'nothing', `${token} x`])
      expect((await call('POST', 'tokens/owner', { token: none })).status).toBe(404);
    expect(JSON.stringify(service.lines)).not.toContain(token);
  });

  it('never act on the sandbox itself', async () => {
    expect((await issue({ scopes: ['sandbox:admin'] })).status).toBe(400);
    const { token } = (await issue({})).body;
    expect((await call('GET', 'nodes', undefined, { token })).status).toBe(403);
  });
});

describe('who may', () => {
  it('is told by sandbox:admin alone', async () => {
    service.tokens.putScoped(
      'svc_sk_test_everythingButAdmin0',
      allScopes.filter((scope) => scope !== 'sandbox:admin'),
    );
    const options = { token: 'svc_sk_test_everythingButAdmin0' };
    for (const route of service.api.routes.filter(({ tag }) => tag === 'Sandbox')) {
      // They read the caller's own tenant.
      if (['getSandboxSession', 'listSandboxKeyVersions'].includes(route.operationId)) continue;
      const path = route.path.replace('/v1/sandbox/', '').replace(':node', '1').replace(':id', 'x');
      const refused = await call(route.method, path, undefined, options);
      expect([route.operationId, refused.status]).toEqual([route.operationId, 403]);
    }
  });

  it('is written down with what was done', async () => {
    const before = service.lines.length;
    await call('POST', 'faults', { fault: 'poison_job' });
    control.refusal = { code: 'conflict', message: 'it is down' };
    await call('POST', 'nodes/1/pause');
    const said = service.lines.slice(before).filter(({ fields }) => fields.event === 'sandbox.admin');
    expect(said).toMatchObject([
      {
        level: 'info',
        fields: { action: 'faults.create', actor: 'tok_admin', tenant: 'tn_admin', token: 'tok_admin' },
      },
      { level: 'warn', fields: { action: 'processes.act', reason: 'it is down' } },
    ]);
  });
});

describe('a refusal', () => {
  it.each([
    ['invalid', 400, 'invalid_request', 'invalid_value'],
    ['conflict', 409, 'conflict', 'state_conflict'],
    ['unsupported', 422, 'provider_rejected', 'not_supported'],
  ] as const)('%s is a %s', async (code, status, name, issue) => {
    control.refusal = { code, message: 'so it is', field: 'target' };
    const refused = await call('POST', 'faults', { fault: 'poison_job' });
    expect(refused).toMatchObject({
      status,
      body: { error: { code: name, message: 'so it is', details: [{ field: 'target', issue }] } },
    });
  });

  it('of an unreachable control is a 503 that says when to retry', async () => {
    control.refusal = { code: 'unavailable', message: 'Redis is down' };
    const refused = await call('POST', 'snapshots');
    expect(refused).toMatchObject({
      status: 503,
      body: { error: { code: 'provider_unavailable', message: 'Redis is down' } },
    });
    expect(refused.headers['retry-after']).toBeDefined();
  });
});

describe('elsewhere', () => {
  it('without signmesh up every route says 503 and what to do, and sessions are shown', async () => {
    const alone = await startWalletService({ control: false, sessions });
    try {
      alone.tokens.put(admin, { tenant: 'tn_admin', id: 'tok_admin' });
      const refused = await alone.call('GET', '/v1/sandbox/nodes', { token: admin });
      expect(refused.status).toBe(503);
      expect(refused.body.error.message).toMatch(/signmesh up.*SIGNMESH_FAULTS/);
      const seen = await alone.call('GET', '/v1/sandbox/sessions/sig_known', { token: admin });
      expect(seen).toMatchObject({ status: 200, body: { transcript: null } });
    } finally {
      await alone.stop();
    }
  });

  it('in production there is no such path, and the document has none', async () => {
    const production = await startWalletService({ environment: 'production' });
    try {
      const token = newToken('production', systemRandom);
      production.tokens.put(token, { environment: 'production' });
      for (const route of service.api.routes.filter(({ path }) => path.startsWith('/v1/sandbox/'))) {
        const url = route.path.replace(/:\w+/g, '1');
        const known = await production.call(route.method, url, { token });
        const unknown = await production.call(route.method, '/v1/never', { token });
        expect([known.status, known.body.error.code]).toEqual([404, unknown.body.error.code]);
        expect(known.body.error.message).toContain(`no such path: ${route.method} ${url};`);
      }
      const document = await production.call('GET', '/v1/openapi.json', { token });
      expect(JSON.stringify(document.body)).not.toMatch(/sandbox\/|Sandbox/);
    } finally {
      await production.stop();
    }
  });
});
