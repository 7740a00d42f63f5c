/** Stepping from the page, and the tokens that it holds: the calls that it makes, and what it refuses to step. */
import { describe, expect, test } from 'vitest';
import type { Client, SandboxSession, SandboxStreamSession } from '../../../clients/client/index.ts';
import {
  beginKey,
  beginSignature,
  exchange,
  partial,
  verifiedBy,
  whyNotStepped,
} from '../../../clients/console/browser/ceremonies/steps.ts';
import { makeTenants, strangers } from '../../../clients/console/browser/shared/tenants.ts';

const read = (more: Partial<SandboxSession>): SandboxSession =>
  ({
    ...{ id: 'k', kind: 'dkg', requested_by: 'client', state: 'RECEIPT_STATE_ACCEPTED', resume_token: null },
    ...more,
  }) as SandboxSession;

/** A client whose signing API answers with `receipt`, and what it was asked. */
function answering(receipt: object, more: object = {}) {
  const asked: object[] = [];
  const answer = async (body: object) => {
    asked.push(body);
    return { receipt: { reason_code: 'CODE', message: 'in words', ...receipt }, ...more };
  };
  const signing = {
    initiateDkg: answer,
    exchangeDkgShares: answer,
    initiateSigning: answer,
    submitSignatureShare: answer,
  };
  return { asked, client: { signing } as unknown as Client };
}

describe('a step', () => {
  test('names its nodes, and leaves out those that stand for all', async () => {
    const { asked, client } = answering({ state: 'RECEIPT_STATE_ACCEPTED' }, { verified: true });
    const steps = [
      exchange('k', 1, 2),
      exchange('k', 3, 0),
      exchange('k', 0, 0),
      partial('sig_1', 4),
      partial('sig_1', 0),
    ];
    for (const step of steps) expect(await step.send(client)).toBe('CODE: in words');
    expect(asked).toEqual([
      { session_id: 'k', sender_node_id: 1, recipient_node_id: 2 },
      { session_id: 'k', sender_node_id: 3 },
      { session_id: 'k' },
      { signing_session_id: 'sig_1', node_id: 4 },
      { signing_session_id: 'sig_1' },
    ]);
    // What is shown is what was sent.
    expect(steps.map(({ call }) => call.requests[0]!.body)).toEqual(asked);
    expect(steps.map(({ name }) => name)).toEqual([
      'node 1 deals to node 2',
      'node 3 deals to every node',
      'every node deals to every node',
      'node 4 answers',
      'every node answers',
    ]);
  });

  test('that the service refuses says why', async () => {
    const { client } = answering({ state: 'RECEIPT_STATE_DENIED' }, { verified: false });
    for (const step of [
      exchange('k', 1, 2),
      partial('s', 1),
      beginKey('k', 5),
      beginSignature('k', 'i', 'AA==', () => {}),
    ])
      await expect(step.send(client)).rejects.toThrow('CODE: in words');
  });

  test('opens a session and steps nothing', async () => {
    const { asked, client } = answering({ state: 'RECEIPT_STATE_ACCEPTED' }, { signing_session_id: 'sig_9' });
    const began: string[] = [];
    await beginKey('k', 2).send(client);
    await beginSignature('k', 'i', 'AA==', (session) => began.push(session)).send(client);
    expect(asked).toEqual([
      { session_id: 'k', threshold: 2, total_nodes: 2 },
      { transaction_intent_id: 'i', wallet_id: 'k', message_hash: 'AA==' },
    ]);
    expect(began).toEqual(['sig_9']);
  });

  test('is offered in an open session of a client alone; the others say why not', () => {
    expect(whyNotStepped(read({}))).toBe('');
    expect(whyNotStepped(undefined)).toBeUndefined();
    expect(whyNotStepped(read({ state: 'RECEIPT_STATE_BACKEND_COMPLETED' }))).toBeUndefined();
    expect(whyNotStepped(null)).toContain('another tenant’s');
    expect(whyNotStepped(read({ requested_by: 'wallet_service' }))).toContain(
      'makes this key, for a wallet or a vault',
    );
    expect(whyNotStepped(read({ requested_by: 'wallet_service', kind: 'signing' }))).toContain(
      'asked for this signature',
    );
    expect(whyNotStepped(read({ state: 'RECEIPT_STATE_BACKEND_FAILED', resume_token: 'rt1_' }))).toContain('resume it');
  });

  test('knows which pairs have verified', () => {
    const verified = verifiedBy({ verified_pairs: ['1>2', '1>3', '4>1'] });
    expect([...verified].map(([dealer, nodes]) => [dealer, [...nodes]])).toEqual([
      [1, [2, 3]],
      [4, [1]],
    ]);
  });
});

describe('the tokens of a tab', () => {
  const owners: Readonly<Record<string, { tenant: string; actor: string; scopes: readonly string[] }>> = {
    own: { tenant: 'tn_1', actor: 'tok_own', scopes: ['sandbox:admin'] },
    approver: { tenant: 'tn_1', actor: 'tok_approver', scopes: [] },
    other: { tenant: 'tn_2', actor: 'tenant:tn_2', scopes: [] },
  };
  const tab = (kept = new Map<string, string>()) => {
    const sandbox = {
      tokenOwner: async ({ token }: { readonly token: string }) => {
        const owner = owners[token];
        if (owner === undefined) throw new Error('no such token');
        return owner;
      },
    };
    const client = { sandbox } as unknown as Client;
    const sessionStorage = {
      getItem: (name: string) => kept.get(name) ?? null,
      setItem: (name: string, value: string) => void kept.set(name, value),
    };
    const page = { location: { hash: '', origin: 'http://h', reload: () => undefined }, sessionStorage, fetch };
    return {
      tenants: makeTenants(
        page,
        client,
        () => 'own',
        () => undefined,
      ),
      client,
      kept,
    };
  };

  test('act for one of their people, and read what their tenants own', async () => {
    const { tenants, client } = tab();
    // Until the service says whose the own one is, it reads as before.
    expect([tenants.client, tenants.clientOf('tn_1'), tenants.acting]).toEqual([client, client, undefined]);
    await tenants.own();
    expect(tenants.acting).toMatchObject({ actor: 'tok_own', tenant: 'tn_1' });
    expect(tenants.clientOf('tn_2')).toBeUndefined();
    await tenants.add('approver');
    await tenants.add('other');
    await expect(tenants.add('wrong')).rejects.toThrow('no such token');
    expect(tenants.held.map(({ actor }) => actor)).toEqual(['tok_own', 'tok_approver', 'tenant:tn_2']);
    tenants.act('tok_approver');
    expect([tenants.client, tenants.clientOf('tn_1')].includes(client)).toBe(false);
    expect(tenants.clientOf('tn_2')).toBeDefined();
    tenants.forget('tok_approver');
    expect([tenants.acting?.actor, tenants.client]).toEqual(['tok_own', client]);
  });

  test('outlive a reload of the tab, and no longer; what is stored there by others is not believed', async () => {
    const { tenants, kept } = tab();
    await tenants.own();
    await tenants.add('other');
    expect([...kept.keys()]).toEqual(['signmesh-tokens']);
    expect(tab(kept).tenants.held.map(({ tenant }) => tenant)).toEqual(['tn_2']);
    for (const text of ['{', '7', '[{}]']) expect(tab(new Map([['signmesh-tokens', text]])).tenants.held).toEqual([]);
  });

  test('lack those of tenants that act meanwhile', () => {
    const session = (tenant: string, id: string) => ({ tenant, session: id }) as SandboxStreamSession;
    const seen = [session('tn_1', 'a'), session('tn_2', 'b'), session('tn_3', 'c'), session('tn_3', 'd')];
    const sessions = new Map(seen.map((one) => [`${one.tenant}/${one.session}`, one]));
    expect(strangers({ sessions }, [{ tenant: 'tn_1' }])).toEqual([
      { tenant: 'tn_3', ceremonies: 2 },
      { tenant: 'tn_2', ceremonies: 1 },
    ]);
  });
});
