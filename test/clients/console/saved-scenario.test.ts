/** "Save as scenario": what a page did on an embedded service replays in virtual time, with the same verdict, and holds no secret. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Intent, SandboxSession, Wallet } from '../../../clients/client/index.ts';
import { beginSignature, partial } from '../../../clients/console/browser/ceremonies/steps.ts';
import { savedScenario } from '../../../clients/console/browser/scenario/saved-scenario.ts';
import {
  type ConsoleAction,
  makeInbox,
  makeKey,
  removeFault,
  resetFaults,
  resumeSession,
  sign,
} from '../../../clients/console/browser/shared/actions.ts';
import { type ConsoleRequest, recordRequests } from '../../../clients/console/browser/shared/console-requests.ts';
import type { ConsoleBrowser } from '../../../clients/console/browser/shared/dom.ts';
import { makeTenants, pageClient } from '../../../clients/console/browser/shared/tenants.ts';
import { newWallet, transfer, vote } from '../../../clients/console/browser/wallets/wallet-actions.ts';
import { loadScenario } from '../../../scenarios/runner/load.ts';
import { runSimulated } from '../../../scenarios/runner/simulated-world.ts';
import { runInCustodyWorld } from '../../../simulation/service/scenario/run.ts';
import { type Running, startService } from '../../simulation/embedded/support/service.ts';
import { until } from '../../support/until.ts';

let running: Running;
beforeAll(async () => {
  running = await startService();
});
afterAll(() => running?.service.stop());

const digest = Buffer.alloc(32, 7).toString('base64');
const load = (text: string) => loadScenario(text, { file: 'saved.yaml' });

/** What a page does without its browser. */
function openPage() {
  const origin = `http://${running.service.httpAddress}`;
  const stored = new Map<string, string>();
  const browser = {
    ...{ performance, location: { origin }, fetch: globalThis.fetch },
    sessionStorage: { getItem: (name: string) => stored.get(name) ?? null, setItem: stored.set.bind(stored) },
  } as unknown as ConsoleBrowser;
  const ownRequests = recordRequests(browser, () => tenants.held);
  const acting = { ...browser, fetch: ownRequests.fetch };
  const client = pageClient(acting, () => running.token);
  const tenants: ReturnType<typeof makeTenants> = makeTenants(
    acting,
    client,
    () => running.token,
    () => undefined,
  );
  const act = (action: ConsoleAction) => action.send(client);
  const session = (id: string) => client.sandbox.session(id);
  const save = async (intents: ReadonlyMap<string, string> = new Map()) => {
    const known = new Map<string, SandboxSession>();
    const ids = new Set(JSON.stringify(ownRequests.list).match(/sig_[\w-]+|key-mine|sandbox-ed25519/g) ?? []);
    for (const id of ids) {
      const found = await session(id).catch(() => undefined);
      if (found !== undefined) known.set(id, found);
    }
    return savedScenario({
      ...{ ownRequests: ownRequests.list, own: tenants.held[0], clusters: 1, nodes: 5, intents, only: new Map() },
      session: (id) => {
        const found = known.get(id);
        const isDone = found?.state === 'RECEIPT_STATE_BACKEND_COMPLETED';
        return found && { ...found, state: isDone ? 'completed' : 'failed' };
      },
    })!;
  };
  return { ownRequests, client, tenants, act, session, save };
}

test('keys, signatures, faults, processes and the clock replay with the same verdict', async () => {
  const { client, tenants, act, session, save } = openPage();
  await tenants.own();
  const armed = (fault: 'bad_share' | 'bad_partial', target: string) =>
    client.sandbox.createFault({ fault, target } as never);
  await armed('bad_share', 'node/2');
  await expect(act(makeKey('key-mine', 5))).rejects.toThrow();
  await act(resetFaults);
  await act(resumeSession('dkg', 'key-mine', (await session('key-mine')).resume_token ?? ''));
  const { id: liar } = await armed('bad_partial', 'node/3');
  const { id: other } = await armed('bad_partial', 'node/1');
  await act(removeFault(other));
  let opened = '';
  await act(
    beginSignature('key-mine', 'stepped', digest, (id) => {
      opened = id;
    }),
  );
  await expect(act(partial(opened, 3))).rejects.toThrow('INVALID_PARTIAL_SIGNATURE');
  await act(partial(opened, 0));
  await act(removeFault(liar));
  // The coordinator chooses this one sooner or later.
  const { id: next } = await armed('bad_partial', 'node/4');
  await until(async () => {
    const { sessionId } = (await act(sign('key-mine', `intent-${performance.now()}`, digest))) as { sessionId: string };
    return (await session(sessionId)).culprits.includes(4);
  }, 'a signature that blames node 4');
  await act(removeFault(next));
  await client.sandbox.crashNode('1', { restart_after_ms: null });
  await client.sandbox.pauseNode('2');
  await act(sign('key-mine', 'with-three', digest));
  await client.sandbox.restartNode('1');
  await client.sandbox.resumeNode('2');
  await client.sandbox.crashNode('4', { restart_after_ms: 50 });
  await client.sandbox.advanceClock({ advance_s: 60 });
  await client.sandbox.takeSnapshot({ name: 'no step' });
  await act(sign('sandbox-ed25519', 'ready-made', digest));
  const text = await save();

  const scenario = load(text);
  expect(scenario.worlds).toEqual(['simulated', 'live']);
  expect(text).toContain('# Not a step: sandbox.takeSnapshot: a scenario has no such step.');
  expect(text).toContain('# It stayed when the other fault ended.');
  expect(text).toContain('# This key existed before.');
  expect(text).toContain('call: make_key, session: key-5, curve: ed25519');
  expect(scenario.expect).toContainEqual({ session: 'key-1', state: 'BACKEND_COMPLETED' });
  expect(scenario.expect).toContainEqual({ session: 'signature-2', state: 'BACKEND_COMPLETED', culprits: [3] });
  expect(scenario.expect.flatMap(({ culprits }) => culprits ?? [])).toEqual([3, 4]);
  expect(runSimulated(scenario).verdict).toEqual({ kind: 'passed' });
  // A scenario of something else does not pass.
  const otherwise = load(text.replace('INVALID_PARTIAL_SIGNATURE', 'SIGNATURE_COMPLETED'));
  expect(runSimulated(otherwise).verdict.kind).toBe('failed');
  expect(text).not.toMatch(/svc_sk_|rt1_|whsec_/);
});

test('wallets, transfers, approvals and inboxes replay with the same verdict, without secrets', async () => {
  const { ownRequests, client, tenants, act, save } = openPage();
  await tenants.own();
  const secret = 'a very private key';
  await client.connections.create({
    ...{ provider: 'fireblocks', name: 'custodian' },
    credentials: { api_key: 'key-of-mine-1234', private_key: secret },
  });
  let wallet: Wallet | undefined;
  await act(newWallet({ name: 'Treasury', network: 'eip155:11155111' }, (made) => (wallet = made)));
  const made: Intent[] = [];
  const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
  const send = (amount: string, address = to) =>
    act(transfer(wallet!.id, { asset: 'ETH', amount, destination: { address } }, (intent) => made.push(intent)));
  const statusOf = async ({ id }: Intent) => (await client.intents.get(wallet!.id, id)).status;
  const comesTo = (intent: Intent, status: string) => until(async () => (await statusOf(intent)) === status, status);
  await send('0.00477');
  await comesTo(made[0]!, 'pending_approval');
  const { token } = await client.sandbox.issueToken({ name: 'approver' });
  const approver = await tenants.add(token);
  await vote(made[0]!, 'approve', () => undefined).send(tenants.clientAs(approver));
  await comesTo(made[0]!, 'completed');
  await send('0.1', '0x000000000000000000000000000000000000dEaD');
  await comesTo(made[1]!, 'denied');
  await expect(client.wallets.create({ network: 'nowhere' } as never)).rejects.toThrow();
  const inbox = (await act(makeInbox)) as { readonly id: string; readonly secret: string };
  await client.webhooks.ping(inbox.id);
  const statuses = await Promise.all(made.map(async (intent) => [intent.id, await statusOf(intent)] as const));
  const text = await save(new Map(statuses));

  const kept = JSON.stringify(ownRequests.list) + text;
  for (const hidden of [secret, 'key-of-mine-1234', token, running.token, inbox.secret])
    expect(kept).not.toContain(hidden);
  expect(text).toMatch(/api: intents[.]approve,? *\n? *params: [^}]+},? *\n?.*\n? *by: person-1/);
  expect((await runInCustodyWorld(load(text))).verdict).toEqual({ kind: 'passed' });
  const otherwise = load(text.replace('until: { status: denied }', 'until: { status: completed }'));
  expect((await runInCustodyWorld(otherwise)).verdict.kind).not.toBe('passed');
});

test('what another page made is said in a comment, and after a reset the file begins anew', () => {
  const call = (method: string, target: string, more: Partial<ConsoleRequest> = {}): ConsoleRequest => ({
    ...{ beganMs: 0, method, target, by: undefined, key: undefined, body: {}, isRepeated: false },
    ...{ status: 200, answer: {}, ...more },
  });
  const saved = (...ownRequests: ConsoleRequest[]) =>
    savedScenario({
      ...{ ownRequests, own: undefined, clusters: 1, nodes: 5, intents: new Map(), only: new Map() },
      session: () => undefined,
    });
  expect(saved()).toBeUndefined();
  expect(saved(call('POST', '/v1/sandbox/snapshots'))).toBeUndefined();
  const theirs = 'wal_019b1c2d-0000-7000-8000-000000000000';
  const text = saved(
    call('POST', '/v1/sandbox/nodes/1/pause'),
    call('POST', '/v1/sandbox/reset'),
    call('POST', `/v1/wallets/${theirs}/freeze`),
    call('POST', '/v1/unknown?token=hidden'),
    call('DELETE', '/v1/sandbox/faults/flt_9', { status: 204 }),
    call('POST', '/v1/sandbox/clock', { body: { advance_s: 1 } }),
    call('POST', '/v1/dkg/shares', { body: { session_id: 'theirs' } }),
  )!;
  expect(text).not.toMatch(/pause|hidden/);
  expect(text.split('\n').filter((line) => line.includes('#') && !line.includes('yaml-language-server'))).toEqual([
    '  # The sandbox was reset or restored here: what was done before is not in this file.',
    `  # Not a step: wallets.freeze: ${theirs} was not made by this page.`,
    '  # Not a step: POST /v1/unknown: the page knows no such operation.',
    '  # Not a step: sandbox.deleteFault: this page has not armed it, or it is over.',
    '# Not a step: signing.exchangeDkgShares: it was refused with 200.',
  ]);
  expect(Object.values(load(text).clients).flat()).toEqual([{ step: 'advance-1', advance_ms: 1_000 }]);
});
