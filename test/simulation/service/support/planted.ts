/**
 * Known flaws of the control plane, planted into the compiled program: each replaces pieces of text in compiled files, and
 * names the invariants of which one must be found violated by `signmesh sim --world wallets`, within so many seeds.
 */
import type { PlantedFlaw } from '../../cluster/support/program-copy.ts';
import { auditedFlaws } from './planted-audit.ts';
import { exercisedFlaws } from './planted-exercises.ts';

export const plantedFlaws: readonly PlantedFlaw[] = [
  {
    name: 'initiator-votes',
    flaw: 'who made an intent may approve it',
    edits: [
      {
        file: 'wallets/custody/intents/approval.js',
        from: "if (by === initiator)\n        return 'initiator_may_not_approve';",
        to: '',
      },
    ],
    invariants: ['votes-as-required'],
    profile: 'calm',
    seeds: 30,
  },
  {
    name: 'classes-share-a-counter',
    flaw: 'every class of calls counts in one window',
    edits: [
      {
        file: 'gateway/limits/rate-limits.js',
        from: 'await this.#count({ counterKey }',
        to: "await this.#count({ counterKey: counterKey.replace(limitClass, 'all') }",
      },
    ],
    invariants: ['answers-as-modelled'],
    profile: 'calm',
    seeds: 30,
  },
  {
    name: 'one-vote-is-enough',
    flaw: 'one approval is enough, whatever the quorum',
    edits: [
      {
        file: 'wallets/custody/intents/machine.js',
        from: 'approversOf(voted).size < record.approvalsRequired',
        to: 'approversOf(voted).size < 1',
      },
    ],
    invariants: ['votes-as-required'],
    profile: 'calm',
    seeds: 60,
  },
  {
    name: 'deny-beaten',
    flaw: 'a rule that denies alone is passed over',
    edits: [
      { file: 'wallets/policy/policies/evaluate.js', from: 'if (denying.length > 0)', to: 'if (denying.length > 1)' },
    ],
    invariants: ['decided-as-written'],
    profile: 'calm',
    seeds: 30,
  },
  {
    name: 'approval-not-asked',
    flaw: 'a rule that asks for approval is passed over',
    edits: [
      { file: 'wallets/policy/policies/evaluate.js', from: 'if (asking.length > 0)', to: 'if (asking.length > 1)' },
    ],
    invariants: ['decided-as-written'],
    profile: 'calm',
    seeds: 30,
  },
  {
    name: 'frozen-takes-intents',
    flaw: 'a frozen wallet takes new intents',
    edits: [
      {
        file: 'wallets/custody/intents/evaluation.js',
        from: 'if (!isAllowedIn(walletStates.transfer, wallet.status))\n        throw walletNotActive(wallet.status);',
        to: '',
      },
    ],
    invariants: ['decided-as-written'],
    profile: 'calm',
    seeds: 30,
  },
  {
    name: 'reserve-kept',
    flaw: 'what an intent set aside is not given back at its end',
    edits: [
      {
        file: 'wallets/custody/intents/ledger.js',
        from: 'reserveOf(before).map(reversed)',
        to: '[]',
      },
    ],
    invariants: ['books-as-documented', 'no-internal-error', 'no-bugs', 'orders-end'],
    profile: 'calm',
    seeds: 10,
  },
  {
    name: 'fee-forgotten',
    flaw: 'the fee that was paid stays in the ledger',
    edits: [
      {
        file: 'wallets/custody/intents/ledger.js',
        from: "const fee = BigInt(feePaid?.units ?? '0');",
        to: 'const fee = 0n;',
      },
    ],
    invariants: ['books-as-documented', 'providers-agree'],
    profile: 'calm',
    seeds: 10,
  },
  {
    name: 'deposit-forgotten',
    flaw: 'a transfer to another wallet is not credited there',
    edits: [
      {
        file: 'wallets/custody/intents/provider-step.js',
        from: 'await creditReceiver(this.#context.deps, task, progress.providerTxId, standing);',
        to: '',
      },
    ],
    invariants: ['providers-agree'],
    profile: 'calm',
    seeds: 10,
  },
  {
    name: 'redirect-delivers',
    flaw: 'a redirect counts as a delivery',
    edits: [
      { file: 'wallets/delivery/deliveries/retry-schedule.js', from: 'result.status < 300', to: 'result.status < 400' },
    ],
    invariants: ['hooks-get-events'],
    profile: 'hostile',
    seeds: 200,
  },
  {
    name: 'signature-of-another-message',
    flaw: 'a webhook is signed over the time before the id',
    edits: [
      {
        file: 'wallets/delivery/deliveries/webhook-signature.js',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: it is planted as it stands.
        from: 'update(`${messageId}.${timestamp}.`)',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: it is planted as it stands.
        to: 'update(`${timestamp}.${messageId}.`)',
      },
    ],
    invariants: ['hooks-signed'],
    profile: 'calm',
    seeds: 10,
  },
  {
    name: 'event-left-out',
    flaw: 'an intent that is broadcast has no event of it',
    edits: [
      {
        file: 'wallets/custody/intents/effects.js',
        from: 'if (record.status !== previous?.status)',
        to: "if (record.status !== previous?.status && record.status !== 'broadcasting')",
      },
    ],
    invariants: ['books-as-documented', 'events-complete'],
    profile: 'calm',
    seeds: 10,
  },
  {
    name: 'secret-in-clear',
    flaw: 'the secret of a webhook is stored in clear beside the sealed one',
    edits: [
      {
        file: 'wallets/delivery/webhooks/secrets.js',
        from: 'endsAtMs: null } };',
        to: 'endsAtMs: null, plain } };',
      },
    ],
    invariants: ['no-secret-in-clear'],
    profile: 'calm',
    seeds: 10,
  },
  {
    name: 'receipt-of-another-transfer',
    flaw: 'a receipt names the sender as destination',
    edits: [{ file: 'wallets/policy/receipts/claims.js', from: 'to: facts.toAddress', to: 'to: facts.fromAddress' }],
    invariants: ['decided-as-written'],
    profile: 'calm',
    seeds: 10,
  },
  {
    name: 'fee-not-set-aside',
    flaw: 'the largest fee of an intent is not set aside',
    edits: [
      {
        file: 'wallets/custody/intents/ledger.js',
        from: ', heldOf(feeReserve.asset, BigInt(feeReserve.units))]',
        to: ']',
      },
    ],
    invariants: ['books-as-documented'],
    profile: 'calm',
    seeds: 10,
  },
  {
    name: 'spent-twice',
    flaw: 'the ledger takes a completed transfer twice',
    edits: [
      {
        file: 'wallets/custody/intents/ledger.js',
        from: 'return [{ asset, available: -units, reserved: 0n, movement }, spent];',
        to: 'return [{ asset, available: -2n * units, reserved: 0n, movement }, spent];',
      },
    ],
    invariants: ['books-as-documented', 'providers-agree'],
    profile: 'calm',
    seeds: 10,
  },
  {
    name: 'policies-unguarded',
    flaw: 'a decision is committed although a policy has changed since',
    edits: [{ file: 'wallets/policy/policies/decide.js', from: ', await catalogGuard(context)]', to: ']' }],
    invariants: ['decided-as-written'],
    profile: 'hostile',
    seeds: 60,
  },
  {
    name: 'deny-list-ignored',
    flaw: 'an address on a deny list is clear',
    edits: [
      {
        file: 'wallets/policy/compliance/match.js',
        from: "if (found('deny'))",
        to: "if (found('deny') && found('sanctions'))",
      },
    ],
    invariants: ['decided-as-written'],
    profile: 'calm',
    seeds: 30,
  },
  {
    name: 'frozen-signs',
    flaw: 'an approved intent is signed while its wallet is frozen',
    edits: [
      {
        file: 'wallets/custody/intents/claim-step.js',
        from: "{ kind: 'version', id: wallet.id, version: wallet.version },",
        to: '',
      },
    ],
    invariants: ['decided-as-written'],
    profile: 'hostile',
    favoured: ['race', 'freeze', 'transfer'],
    seeds: 129,
  },
  {
    name: 'job-lost',
    flaw: 'a reconciliation job is never handed to a worker',
    edits: [
      {
        file: 'wallets/companions/recon/jobs.js',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: it is planted as it stands.
        from: 'due: [{ member: `${jobDuePrefix}${id}`, atMs: nowMs }],',
        to: '',
      },
    ],
    invariants: ['orders-end'],
    profile: 'calm',
    seeds: 30,
  },
  {
    name: 'vote-without-event',
    flaw: 'the vote that approves an intent has no event',
    edits: [
      {
        file: 'wallets/custody/intents/effects.js',
        from: "events.push(intentEvent(reporter, 'approval_recorded', record));",
        to: "if (record.status === previous?.status) events.push(intentEvent(reporter, 'approval_recorded', record));",
      },
    ],
    invariants: ['votes-as-required', 'events-complete'],
    profile: 'calm',
    seeds: 20,
  },
  {
    name: 'key-takes-any-body',
    flaw: 'an idempotency key answers a request with another body',
    edits: [
      {
        file: 'gateway/api/idempotency.js',
        from: 'canonicalJson([body, query, who])',
        to: 'canonicalJson([query, who])',
      },
    ],
    invariants: ['one-answer-a-key'],
    profile: 'calm',
    seeds: 20,
  },
  {
    name: 'key-takes-any-caller',
    flaw: 'an idempotency key answers another caller',
    edits: [
      {
        file: 'gateway/api/idempotency.js',
        from: 'canonicalJson([body, query, who])',
        to: 'canonicalJson([body, query])',
      },
    ],
    invariants: ['one-answer-a-key'],
    profile: 'calm',
    seeds: 20,
  },
  {
    name: 'page-skips',
    flaw: 'a page that is not the last one leaves out its last item',
    edits: [
      {
        file: 'gateway/api/pages.js',
        from: '[key]: items.map(',
        to: '[key]: items.slice(0, hasMore && items.length > 1 ? -1 : undefined).map(',
      },
    ],
    invariants: ['pages-complete', 'hooks-get-events'],
    profile: 'calm',
    seeds: 10,
  },
  {
    name: 'order-made-twice',
    flaw: 'a mint that is repeated after a lost answer is another mint',
    edits: [
      {
        file: 'gateway/api/idempotency.js',
        from: 'canonicalJson([tenant, method, path, params, key])',
        to: "canonicalJson([tenant, method, path, params, path.endsWith('/mint') ? process.hrtime() : key])",
      },
    ],
    invariants: ['one-answer-a-key', 'one-effect-a-key'],
    profile: 'calm',
    favoured: ['mint'],
    seeds: 30,
  },
  {
    name: 'history-unguarded',
    flaw: 'a decision is committed although the history that it read has changed since',
    edits: [
      {
        file: 'wallets/policy/policies/decide.js',
        from: '[...stateGuards(facts, readsOf(enforced, facts, risk)), await catalogGuard(context)]',
        to: '[await catalogGuard(context)]',
      },
    ],
    invariants: ['decided-as-written'],
    profile: 'calm',
    seeds: 40,
  },
  {
    name: 'limit-off-by-one',
    flaw: 'a limit on the history admits one transfer more when transfers meet',
    edits: [{ file: 'wallets/policy/rules/state-reads.js', from: 'max = point - 1n', to: 'max = point' }],
    invariants: ['decided-as-written'],
    profile: 'stormy',
    seeds: 40,
  },
  {
    name: 'wallet-policy-ignored',
    flaw: 'the policy of the wallet does not decide',
    edits: [
      {
        file: 'wallets/custody/intents/evaluation.js',
        from: '[wallet.policy, operation.policy]',
        to: '[operation.policy]',
      },
    ],
    invariants: ['decided-as-written'],
    profile: 'calm',
    seeds: 20,
  },
  {
    name: 'human-not-asked',
    flaw: 'a wallet that always asks a human does not',
    edits: [
      {
        file: 'wallets/policy/policies/decide.js',
        from: 'const together = withHuman(facts, withRiskRules(risk, strictestOf(decisions)));',
        to: 'const together = withRiskRules(risk, strictestOf(decisions));',
      },
    ],
    invariants: ['decided-as-written'],
    profile: 'hostile',
    seeds: 20,
  },
  {
    name: 'stranger-votes',
    flaw: 'an actor that the policy does not name may approve',
    edits: [
      {
        file: 'wallets/custody/intents/approval.js',
        from: "return approvers.length > 0 && !approvers.includes(by) ? 'not_an_approver' : undefined;",
        to: 'return undefined;',
      },
    ],
    invariants: ['votes-as-required'],
    profile: 'hostile',
    seeds: 20,
  },
  {
    name: 'expired-vote',
    flaw: 'a vote counts after the time for it is over',
    edits: [
      {
        file: 'wallets/custody/intents/approval.js',
        from: 'if (isAllowed && nowMs < intent.expiresAtMs)',
        to: 'if (isAllowed)',
      },
    ],
    invariants: ['votes-as-required'],
    profile: 'calm',
    seeds: 10,
  },
  {
    name: 'approval-expires',
    flaw: 'an approved transfer keeps the time that its approvals had',
    edits: [
      {
        file: 'wallets/custody/intents/machine.js',
        from: '{ ...approved, expiresAtMs: vote.atMs + approvedLifetimeMs }',
        to: 'approved',
      },
    ],
    invariants: ['decided-as-written'],
    profile: 'calm',
    favoured: ['vote', 'policy'],
    seeds: 10,
  },
  {
    name: 'key-of-any-path',
    flaw: 'an idempotency key is used up on every path',
    edits: [
      {
        file: 'gateway/api/idempotency.js',
        from: 'canonicalJson([tenant, method, path, params, key])',
        to: 'canonicalJson([tenant, method, key])',
      },
    ],
    invariants: ['one-answer-a-key'],
    profile: 'calm',
    seeds: 10,
  },
  {
    name: 'running-key-takes-any-body',
    flaw: 'an idempotency key answers another request while its first one runs',
    edits: [
      { file: 'gateway/api/idempotency.js', from: 'if (local?.bodyHash === bodyHash)', to: 'if (local !== undefined)' },
    ],
    invariants: ['one-answer-a-key', 'answers-as-modelled'],
    profile: 'calm',
    favoured: ['race'],
    seeds: 20,
  },
  {
    name: 'stream-skips',
    flaw: 'a stream of events leaves one out after each page of several',
    edits: [
      {
        file: 'wallets/delivery/events/event-stream.js',
        from: 'this.#position = page.nextAfterSequence;',
        to: 'this.#position = page.nextAfterSequence + (page.events.length > 1 ? 1 : 0);',
      },
    ],
    invariants: ['pages-complete'],
    profile: 'calm',
    favoured: ['follow'],
    seeds: 10,
  },
  {
    name: 'venue-debit-missing',
    flaw: 'the venue keeps what it has sold',
    edits: [
      {
        file: 'wallets/companions/treasury/execution.js',
        from: '{ walletId: from.id, asset: sell.asset, available: -soldUnits, reserved: 0n, movement },',
        to: '',
      },
    ],
    invariants: ['books-as-documented', 'providers-agree'],
    profile: 'calm',
    favoured: ['rebalance', 'execute'],
    seeds: 30,
  },
  {
    name: 'reserve-kept-pending',
    flaw: 'the reserve of a token stays pending after its last order',
    edits: [
      {
        file: 'wallets/companions/tokens/reserve-hold.js',
        from: "const heldUnits = processing === 0 ? '0' : record.heldUnits;",
        to: 'const heldUnits = record.heldUnits;',
      },
    ],
    invariants: ['books-as-documented', 'providers-agree'],
    profile: 'calm',
    favoured: ['issue', 'mint', 'redeem'],
    seeds: 30,
  },
  {
    name: 'previous-secret-dropped',
    flaw: 'after a rotation deliveries are not signed under the previous secret',
    edits: [
      {
        file: 'wallets/delivery/webhooks/secrets.js',
        from: 'if (!retainPrevious)',
        to: 'if (true)',
      },
    ],
    invariants: ['hooks-signed'],
    profile: 'calm',
    favoured: ['rotate'],
    seeds: 20,
  },
  {
    name: 'gives-up-early',
    flaw: 'a delivery is tried three times',
    edits: [
      {
        file: 'wallets/delivery/deliveries/retry-schedule.js',
        from: 'scheduleMs[triesBefore]',
        to: 'scheduleMs[triesBefore + 3]',
      },
    ],
    invariants: ['hooks-get-events'],
    profile: 'calm',
    favoured: ['flaky'],
    seeds: 30,
  },
  {
    name: 'token-cached-long',
    flaw: 'a gateway takes a revoked token for ten minutes',
    edits: [
      {
        file: 'gateway/auth/authenticator.js',
        from: 'export const freshMs = 5_000;',
        to: 'export const freshMs = 600_000;',
      },
    ],
    invariants: ['tenants-apart'],
    profile: 'calm',
    favoured: ['probe'],
    seeds: 30,
  },
  {
    name: 'connections-apart',
    flaw: 'a token sees the records of connections that are not its own',
    edits: [
      {
        file: 'gateway/api/visibility.js',
        from: 'return ids === undefined || ids.includes(connectionId);',
        to: 'return true;',
      },
    ],
    invariants: ['tenants-apart'],
    profile: 'calm',
    favoured: ['probe'],
    seeds: 30,
  },
  {
    name: 'signing-api-open',
    flaw: 'a client signs with the key of a wallet that is for intents only',
    edits: [
      {
        file: 'gateway/signing/wallet-terms.js',
        from: "intentsOnly: signingApi === 'intents_only' || status !== 'active' || isDisconnected,",
        to: "intentsOnly: status !== 'active' || isDisconnected,",
      },
    ],
    invariants: ['answers-as-modelled'],
    profile: 'calm',
    favoured: ['wallet_sign', 'patch'],
    seeds: 40,
  },
  {
    name: 'duplicates-unseen',
    flaw: 'reconciliation does not see that a provider shows a movement twice',
    edits: [
      {
        file: 'wallets/companions/recon/compare.js',
        from: 'if (theirs.length > 1) {',
        to: 'if (theirs.length > 9) {',
      },
    ],
    invariants: ['providers-agree'],
    profile: 'calm',
    favoured: ['drift', 'recon'],
    seeds: 40,
  },
  {
    name: 'missing-unseen',
    flaw: 'reconciliation does not see that a provider lacks a movement',
    edits: [
      {
        file: 'wallets/companions/recon/compare.js',
        from: 'if (!isExpected || !isOld(own.changedAtMs))',
        to: 'if (true)',
      },
    ],
    invariants: ['providers-agree'],
    profile: 'calm',
    favoured: ['drift', 'recon'],
    seeds: 40,
  },
  {
    name: 'exceptions-reopen',
    flaw: 'each job reopens a resolved exception',
    edits: [
      {
        file: 'wallets/companions/recon/findings.js',
        from: "(newest.status === 'resolved' && !saysTheSame(newest, finding))",
        to: "newest.status === 'resolved'",
      },
    ],
    invariants: ['providers-agree'],
    profile: 'calm',
    favoured: ['drift', 'resolve', 'recon'],
    seeds: 40,
  },
  {
    name: 'vote-on-any-version',
    flaw: 'a vote on one version counts on another',
    edits: [
      {
        file: 'wallets/custody/intents/approval.js',
        from: "assertVersion('the intent', intent, request.expected_version);",
        to: '',
      },
    ],
    invariants: ['answers-as-modelled'],
    profile: 'calm',
    favoured: ['vote'],
    seeds: 30,
  },
  {
    name: 'calls-go-to-any-cluster',
    flaw: 'a gateway that did not make a key does not look for its cluster',
    edits: [
      {
        file: 'gateway/signing/cluster-calls.js',
        from: 'this.#send(found ?? (makesKey ? this.#place(call) : this.#any()), call, done)',
        to: 'this.#send(makesKey ? this.#place(call) : this.#any(), call, done)',
      },
    ],
    invariants: ['changes-take-effect', 'answered-in-time', 'orders-end'],
    profile: 'calm',
    seeds: 80,
  },
  ...auditedFlaws,
  ...exercisedFlaws,
];
