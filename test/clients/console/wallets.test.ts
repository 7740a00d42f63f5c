/** What the console says of an intent: its steps, why it is as it is; and what it follows of the wallets of whom acts. */
import { describe, expect, test } from 'vitest';
import type { Client, Event, Intent, SandboxFault, Wallet } from '../../../clients/client/index.ts';
import { placeOfId } from '../../../clients/console/browser/shared/place.ts';
import { stepsOfIntent, whyOfIntent } from '../../../clients/console/browser/wallets/intent-timeline.ts';
import { followWallets, type IntentGrounds } from '../../../clients/console/browser/wallets/wallet-data.ts';
import { subStatusTexts } from '../../../proto/sub-statuses.ts';
import { until } from '../../support/until.ts';

type Status = Intent['status'];

function intent(passed: readonly Status[], more: Partial<Intent> = {}): Intent {
  return {
    ...{
      id: 'txi_1',
      kind: 'transfer',
      status: passed.at(-1)!,
      sub_status: null,
      amount: '1',
      asset: 'ETH',
      version: 1,
    },
    ...{ initiator: 'tok_1', approvals: [], approvals_required: 0, risk_score: 5, provider_tx_id: null },
    ...{ provider_status: null, provider_error: null, provider_details: null, cancellation: null, wallet_id: 'wal_1' },
    ...{ message: null, replaces: null, replaced_by: null },
    policy: { name: 'default', id: 'pol_1', version: 2 },
    status_history: passed.map((status, index) => ({ status, sub_status: null, at: `2026-01-01T00:00:0${index}Z` })),
    ...more,
  } as Intent;
}
const grounds = {
  decision: { decision: 'deny', reason: 'no', matched_rules: ['blocked'], trace: [] },
  risk: { score: 85, level: 'high', action: 'review', factors: [{ code: 'first', contribution: 10, evidence: 'new' }] },
  report: {
    decision: 'blocked',
    risk_score: 100,
    list_versions: { ofac: 1 },
    matches: [{ list_name: 'ofac', kind: 'sanctions', entry: '0x1' }],
  },
} as unknown as IntentGrounds;

const statesOf = (one: Intent) =>
  stepsOfIntent(one, undefined)
    .map(({ name, state }) => `${name.slice(0, 4)} ${state}`)
    .join(', ');
const whyOf = (one: Intent, faults: readonly SandboxFault[] = []) => whyOfIntent(one, grounds, subStatusTexts, faults);

describe('the steps of an intent', () => {
  test('are done, under way, ended or to come', () => {
    const approved: readonly Status[] = ['created', 'screening', 'approved'];
    const all = [...approved, 'signing', 'broadcasting', 'confirming', 'completed'] as const;
    expect(statesOf(intent(all))).toBe(
      'Subm done, Scre done, Risk done, Poli done, Appr none, Sign done, Broa done, Conf done, Comp done',
    );
    expect(statesOf(intent([...approved, 'signing']))).toContain('Sign now, Broa next, Conf next, Comp next');
    expect(statesOf(intent([...approved, 'failed']))).toContain('Poli done, Appr none, Sign bad, Broa none');
    expect(statesOf(intent([...all.slice(0, 6), 'failed']))).toContain('Sign done, Broa done, Conf bad, Comp none');
    const pending: readonly Status[] = ['created', 'screening', 'pending_approval'];
    expect(statesOf(intent(pending, { approvals_required: 1 }))).toContain('Appr now, Sign next');
    expect(statesOf(intent([...pending, 'rejected'], { approvals_required: 1 }))).toContain('Appr bad, Sign none');
    const denied = ['created', 'screening', 'denied'] as const;
    expect(statesOf(intent(denied, { sub_status: 'POLICY_DENIED' }))).toContain('Scre done, Risk done, Poli bad');
    expect(statesOf(intent(denied, { sub_status: 'SCREENING_BLOCKED' }))).toContain('Scre bad, Risk done, Poli none');
  });

  test('have no broadcast where a message is signed', () => {
    const message = { text: 'x', typed_data: null, hash: '0x', signature: '0x', signing_session_ids: ['sig_1'] };
    const steps = stepsOfIntent(
      intent(['created', 'screening', 'approved', 'signing', 'completed'], { message }),
      grounds,
    );
    expect(steps.slice(-2)).toMatchObject([
      { name: 'Signing', state: 'done', sessions: ['sig_1'] },
      { name: 'Completed', state: 'done' },
    ]);
  });

  test('say what decided, with the trace of the policy, and name the sessions that signed', () => {
    const details = { raw_transaction: '', signing_session_ids: ['sig_1'], receipt: null };
    const [, screening, risk, policy, , signing] = stepsOfIntent(
      intent(['created', 'screening', 'approved', 'signing'], { provider_details: details }),
      {
        ...grounds,
        decision: {
          ...grounds.decision!,
          trace: [{ rule: 'r', effect: 'require_approval', matched: true, result: 'true' }],
        },
      },
    );
    expect(screening!.words).toEqual(['blocked: score 100, lists ofac', '0x1 is on the sanctions list ofac']);
    expect(risk!.words).toEqual(['score 85, high: review', 'first +10: new']);
    expect(policy!.words).toEqual(['default, version 2: deny, no', '✓ r, require approval: true']);
    expect(signing!.sessions).toEqual(['sig_1']);
  });
});

describe('why an intent is as it is', () => {
  const denied = ['created', 'screening', 'denied'] as const;
  const approved = ['created', 'screening', 'approved'] as const;
  const vote = { by: 'tok_2', comment: null, at: '' };
  const fault = { id: 'flt_1', state: 'armed', fault: { fault: 'crash', target: 'node/1' } } as unknown as SandboxFault;

  test.each<readonly [string, Intent, readonly SandboxFault[]]>([
    ['', intent([...approved, 'signing']), [fault]],
    [
      'The transfer of 1 ETH was denied: compliance blocks the destination; it is on the list ofac; send to another address.',
      intent(denied, { sub_status: 'SCREENING_BLOCKED' }),
      [fault],
    ],
    [
      'The transfer of 1 ETH was denied: by a rule, or because no rule allows it; policy default, rule blocked; change the policy, or the transfer.',
      intent(denied, { sub_status: 'POLICY_DENIED' }),
      [],
    ],
    [
      'The transfer of 1 ETH was rejected; tok_2 said: too much; submit a new one.',
      intent(['created', 'screening', 'pending_approval', 'rejected'], {
        approvals: [{ ...vote, decision: 'reject', reason: 'too much' }],
      }),
      [],
    ],
    [
      'The transfer of 1 ETH waits: votes are missing; 1 of 2 votes are in, and its initiator has none; approve it as another person.',
      intent(['created', 'screening', 'pending_approval'], {
        ...{ sub_status: 'AWAITING_APPROVAL', approvals_required: 2 },
        approvals: [{ ...vote, decision: 'approve', reason: null }],
      }),
      [],
    ],
    [
      'The transfer of 1 ETH is approved: the cluster has too few nodes to sign, or does not answer: retried; armed now: the fault crash of node/1 (flt_1); start the nodes that are down: it is retried.',
      intent(approved, { sub_status: 'AWAITING_QUORUM' }),
      [fault],
    ],
    [
      'The transfer of 1 ETH has failed: reverted; submit a new one.',
      intent([...approved, 'failed'], {
        sub_status: 'FAILED_ON_CHAIN',
        provider_error: { code: 'X', message: 'Reverted.' },
      }),
      [],
    ],
  ])('%s', (sentence, one, faults) => {
    expect(whyOf(one, faults)).toBe(sentence);
  });

  test('has a meaning for every sub status', () => {
    for (const sub of Object.keys(subStatusTexts)) {
      const said = whyOf(intent([...approved], { sub_status: sub }));
      expect(said).toMatch(/^The transfer of 1 ETH is approved: [^:;]+.*[.]$/);
      expect(said).not.toMatch(/[.;:]{2}|undefined/);
    }
  });
});

describe('the wallets of whom acts', () => {
  const event = (type: string, id: string, object: object) =>
    ({ type, resource: { type, id, version: 1 }, data: { object } }) as unknown as Event;

  /** A client of one wallet whose events are given by hand. */
  function served(intents: readonly Intent[]) {
    const waiting: Event[] = [];
    let wake = (): void => undefined;
    let walletReads = 0;
    const list = <T>(items: readonly T[]) => ({ toArray: async () => [...items] });
    const client = {
      wallets: {
        list: () => {
          walletReads += 1;
          return list([{ id: 'wal_1' } as Wallet]);
        },
      },
      intents: { listAll: () => list(intents) },
      events: {
        follow: async function* ({ signal }: { readonly signal: AbortSignal }) {
          signal.addEventListener('abort', () => wake());
          while (!signal.aborted) {
            while (waiting.length > 0) yield waiting.shift()!;
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
        },
      },
    } as unknown as Client;
    const timers: (() => void)[] = [];
    const page = { setTimeout: (task: () => void) => timers.push(task) };
    const give = (...more: readonly Event[]) => {
      waiting.push(...more);
      wake();
    };
    const data = followWallets(page, client, () => undefined);
    return { data, give, timers, reads: () => walletReads };
  }

  test('are read once, then follow the events; balances are read again once for many', async () => {
    const { data, give, timers, reads } = served([intent(['created'], { id: 'txi_1', created_at: '1' })]);
    await until(() => data.isLoaded, 'the lists');
    expect([data.wallets.value?.length, data.intents.length, reads()]).toEqual([1, 1, 1]);
    const later = intent(['created'], { id: 'txi_2', created_at: '2', version: 2 });
    give(
      event('transaction_intent', 'txi_2', later),
      event('transaction_intent', 'txi_2', { ...later, version: 1, asset: 'old' }),
    );
    await until(() => data.intents.length === 2, 'the event');
    give(
      event('wallet', 'wal_1', {}),
      event('transaction_intent', 'txi_1', intent(['created', 'screening'], { created_at: '1', version: 9 })),
    );
    await until(() => data.intents.some(({ version }) => version === 9), 'the change');
    // The newest first, and an older version never replaces a newer one.
    expect(data.intents.map(({ id, version, asset }) => `${id} ${version} ${asset}`)).toEqual([
      'txi_2 2 ETH',
      'txi_1 9 ETH',
    ]);
    // One reads the list again, for what changed while the stream connected.
    expect([timers.length, reads()]).toEqual([2, 1]);
    timers[0]!();
    timers[1]!();
    await until(() => reads() === 2, 'the balances');
    data.stop();
    for (const timer of timers) timer();
    expect(reads()).toBe(2);
  });
});

test('an id leads to the panel that shows it', () => {
  const places = [
    'wal_1',
    'txi_1',
    'flt_1',
    'node/2',
    'cluster/2/node/1',
    'redis',
    'req_1',
    'tn_1',
    'sig_1',
    'my-key',
    ' sig_1 ',
    'whk_1',
    'evt_1',
    'pol_1',
  ].map((id) => {
    const { panel, chosen, words } = placeOfId(id);
    return `${panel} ${chosen} ${words}`.trim().replace('  ', ' ?');
  });
  expect(places).toEqual([
    ...[
      'wallets wal_1',
      'wallets txi_1',
      'faults ?flt_1',
      'cluster node/2',
      'cluster cluster/2/node/1',
      'cluster redis',
    ],
    ...['requests ?req_1', 'ceremonies ?tn_1', 'ceremonies sig_1', 'ceremonies ?my-key', 'ceremonies sig_1'],
    ...['webhooks whk_1', 'webhooks ?evt_1', 'webhooks ?pol_1'],
  ]);
});
