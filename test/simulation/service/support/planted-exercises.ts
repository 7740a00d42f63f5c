/**
 * Known flaws of the control plane, drawn at random, that the exercises at the end of a run find, and two that need favoured steps.
 * As in planted.ts, each names the invariants of which one must be found violated, within so many seeds.
 */
import type { PlantedFlaw } from '../../cluster/support/program-copy.ts';

export const exercisedFlaws: readonly PlantedFlaw[] = [
  {
    name: 'order-stranger-votes',
    flaw: 'an actor whom the policy does not name votes on an order',
    edits: [
      {
        file: 'wallets/companions/tokens/decide.js',
        from: 'order.approvers.length > 0 && !order.approvers.includes(by)',
        to: 'false',
      },
    ],
    invariants: ['votes-as-required'],
    profile: 'calm',
    favoured: ['issue', 'mint', 'order_vote', 'policy'],
    seeds: 60,
  },
  {
    name: 'voters-off-by-one',
    flaw: 'a quorum that lacks one voter is not denied',
    edits: [
      {
        file: 'wallets/policy/policies/combine.js',
        from: 'voters >= approvals.quorum',
        to: 'voters + 1 >= approvals.quorum',
      },
    ],
    invariants: ['decided-as-written'],
    profile: 'calm',
    favoured: ['policy', 'transfer'],
    seeds: 30,
  },
  {
    name: 'policy-unknown',
    flaw: 'a new wallet names a policy that does not exist',
    edits: [
      { file: 'wallets/custody/wallets/create.js', from: 'await assertPolicy(deps, context, body.policy);', to: '' },
    ],
    invariants: ['answers-as-modelled'],
    profile: 'calm',
    seeds: 40,
  },
  {
    name: 'rotated-token-sees-all',
    flaw: 'a rotated token is not limited to its connections any more',
    edits: [
      {
        file: 'gateway/auth/token-store.js',
        from: '...ends, providerConnectionIds }',
        to: '...ends }',
      },
    ],
    invariants: ['pages-complete'],
    profile: 'calm',
    seeds: 15,
  },
  {
    name: 'archive-reason-lost',
    flaw: 'an archived wallet does not show the reason',
    edits: [
      {
        file: 'wallets/custody/wallets/lifecycle.js',
        from: 'archiveReason: reason ?? null',
        to: 'archiveReason: null',
      },
    ],
    invariants: ['answers-as-modelled'],
    profile: 'calm',
    seeds: 40,
  },
  {
    name: 'reports-of-scores-lost',
    flaw: 'the screening of a risk evaluation has no report',
    edits: [{ file: 'wallets/policy/compliance/routes.js', from: ", sibling(id, 'rsk')]", to: ']' }],
    invariants: ['answers-as-modelled'],
    profile: 'calm',
    seeds: 10,
  },
  {
    name: 'shadow-rule-acts',
    flaw: 'the action of a risk rule in shadow counts',
    edits: [
      {
        file: 'wallets/policy/risk/score.js',
        from: "if (mode !== 'enforce' || action === null",
        to: 'if (action === null',
      },
    ],
    invariants: ['answers-as-modelled', 'decided-as-written'],
    profile: 'calm',
    seeds: 20,
  },
  {
    name: 'duplicates-of-two-pass',
    flaw: "a provider's two movements for one of ours are no difference",
    edits: [{ file: 'wallets/companions/recon/compare.js', from: 'theirs.length > 1', to: 'theirs.length > 2' }],
    invariants: ['answers-as-modelled'],
    profile: 'calm',
    seeds: 20,
  },
  {
    name: 'empty-window-taken',
    flaw: 'a job takes a window that ends when it begins',
    edits: [{ file: 'wallets/companions/recon/jobs.js', from: 'fromMs >= toMs', to: 'fromMs > toMs' }],
    invariants: ['answers-as-modelled'],
    profile: 'calm',
    seeds: 6,
  },
  {
    name: 'one-job-at-a-time',
    flaw: 'a job that waits for its provider keeps the others waiting',
    edits: [
      { file: 'wallets/companions/recon/runner.js', from: 'max: runningJobsMax - 1', to: 'max: runningJobsMax - 2' },
    ],
    invariants: ['orders-end'],
    profile: 'calm',
    seeds: 8,
  },
  {
    name: 'delta-of-failed-left-out',
    flaw: 'the delta of an exception lacks the amount of a movement that we booked',
    edits: [
      {
        file: 'wallets/companions/recon/own-side.js',
        from: "state !== 'completed' && state !== 'pending'",
        to: "state !== 'completed' || state !== 'pending'",
      },
    ],
    invariants: ['providers-agree'],
    profile: 'calm',
    seeds: 8,
  },
  {
    name: 'sent-again-too-late',
    flaw: 'a delivery that is sent again does not begin the schedule anew',
    edits: [{ file: 'wallets/delivery/deliveries/attempt.js', from: 'failedTries: 0', to: 'failedTries: 1' }],
    invariants: ['hooks-get-events'],
    profile: 'calm',
    seeds: 12,
  },
];
