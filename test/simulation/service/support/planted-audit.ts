/**
 * Known flaws of the control plane that an audit planted: in reads, rights, connections, deliveries, modules and Redis scripts. As in
 * planted.ts, each names the invariants of which one must be found violated, within so many seeds.
 */
import type { PlantedFlaw } from '../../cluster/support/program-copy.ts';

export const auditedFlaws: readonly PlantedFlaw[] = [
  {
    name: 'not-found-not-stored',
    flaw: 'an idempotency key does not store that something was not found',
    edits: [
      {
        file: 'gateway/api/stored-answers.js',
        from: 'status === 404 || status === 409',
        to: 'status === 409',
      },
    ],
    invariants: ['one-answer-a-key'],
    profile: 'calm',
    seeds: 30,
  },
  {
    name: 'inbox-after-vote',
    flaw: 'an inbox still shows an intent on which the caller has voted',
    edits: [{ file: 'wallets/custody/intents/approval.js', from: " && !hasVoted(intent, by, 'approve');", to: ';' }],
    invariants: ['votes-as-required'],
    profile: 'calm',
    favoured: ['vote', 'policy'],
    seeds: 20,
  },
  {
    name: 'disconnect-with-open-intents',
    flaw: 'a connection is disconnected while intents of its wallets are open',
    edits: [
      {
        file: 'wallets/custody/connections/lifecycle.js',
        from: "guards: [{ kind: 'emptyIndex', index: openIntentsOfConnectionIndex(id) }],",
        to: '',
      },
    ],
    invariants: ['decided-as-written'],
    profile: 'calm',
    favoured: ['disconnect'],
    seeds: 20,
  },
  {
    name: 'archive-while-pending',
    flaw: 'a wallet is archived while an intent awaits approval',
    edits: [
      {
        file: 'wallets/custody/intents/record.js',
        from: '...(isSettled({ status, subStatus })',
        to: "...(isSettled({ status, subStatus }) || status === 'pending_approval'",
      },
    ],
    invariants: ['decided-as-written'],
    profile: 'calm',
    favoured: ['archive', 'race'],
    seeds: 30,
  },
  {
    name: 'allow-list-ignored',
    flaw: 'an allow list does not lift a watch list',
    edits: [
      {
        file: 'wallets/policy/compliance/match.js',
        from: "if (found('watch') && !found('allow'))",
        to: "if (found('watch'))",
      },
    ],
    invariants: ['decided-as-written'],
    profile: 'calm',
    favoured: ['list'],
    seeds: 30,
  },
  {
    name: 'failing-forever',
    flaw: 'a webhook whose delivery arrived still counts as failing',
    edits: [
      {
        file: 'wallets/delivery/deliveries/move.lua',
        from: "if endpoint == 'answered' then redis.call('HDEL', state, 'f') end",
        to: '',
      },
    ],
    invariants: ['hooks-get-events'],
    profile: 'calm',
    favoured: ['flaky'],
    seeds: 10,
  },
  {
    name: 'redeliver-range-before',
    flaw: 'a redelivery of a range takes the event at its end, too',
    edits: [
      { file: 'wallets/delivery/deliveries/routes.js', from: 'toSequence: before - 1', to: 'toSequence: before' },
    ],
    invariants: ['hooks-get-events'],
    profile: 'calm',
    favoured: ['redeliver'],
    seeds: 20,
  },
  {
    name: 'last-event-id-ignored',
    flaw: 'a stream begins at after_sequence in spite of Last-Event-ID',
    edits: [
      {
        file: 'wallets/delivery/events/stream-routes.js',
        from: 'const start = lastId ?? query.after_sequence;',
        to: 'const start = query.after_sequence ?? lastId;',
      },
    ],
    invariants: ['pages-complete'],
    profile: 'calm',
    favoured: ['follow'],
    seeds: 10,
  },
  {
    name: 'taken-not-leased',
    flaw: 'due work is taken without a lease',
    edits: [
      {
        file: 'wallets/store/take-due.lua',
        from: "for _, member in ipairs(members) do redis.call('ZADD', key, again, member) end",
        to: '',
      },
    ],
    invariants: ['orders-end'],
    profile: 'calm',
    seeds: 10,
  },
  {
    name: 'one-filter-of-three',
    flaw: 'a list checks the last of its filters alone',
    edits: [
      { file: 'wallets/store/list.lua', from: 'if not score then out[k] = true end', to: 'out[k] = not score or nil' },
    ],
    invariants: ['pages-complete'],
    profile: 'calm',
    seeds: 88,
  },
  {
    name: 'unsold-rest-kept',
    flaw: 'the unsold rest of a trade stays at the venue',
    edits: [
      {
        file: 'wallets/companions/treasury/execution.js',
        from: '...(left === 0n ? [] : [{ ...trade.sell, units: left }]),',
        to: '',
      },
    ],
    invariants: ['plans-keep-rules'],
    profile: 'calm',
    favoured: ['rebalance', 'execute', 'market'],
    seeds: 40,
  },
  {
    name: 'stale-balance-executes',
    flaw: 'a plan is executed although a balance has grown since it was made',
    edits: [
      {
        file: 'wallets/companions/treasury/situation.js',
        from: 'if (available !== BigInt(units)) {',
        to: 'if (available < BigInt(units)) {',
      },
    ],
    invariants: ['plans-keep-rules'],
    profile: 'calm',
    favoured: ['rebalance', 'execute'],
    seeds: 50,
  },
  {
    name: 'late-vote-on-order',
    flaw: 'a vote on an order counts after its time',
    edits: [
      {
        file: 'wallets/companions/tokens/decide.js',
        from: "status === 'pending_approval' && nowMs >= expiresAtMs",
        to: 'false',
      },
    ],
    invariants: ['votes-as-required'],
    profile: 'calm',
    favoured: ['issue', 'mint'],
    seeds: 60,
  },
  {
    name: 'cursor-of-any-filter',
    flaw: 'a list takes a cursor of other filters',
    edits: [
      {
        file: 'gateway/api/pages.js',
        from: 'canonicalJson([tenant, list, filters])',
        to: 'canonicalJson([tenant, list])',
      },
    ],
    invariants: ['pages-complete'],
    profile: 'calm',
    seeds: 10,
  },
  {
    name: 'only-first-connection',
    flaw: 'a token of two connections sees the first one alone',
    edits: [{ file: 'gateway/api/visibility.js', from: 'ids.map(indexOf)', to: 'ids.slice(0, 1).map(indexOf)' }],
    invariants: ['pages-complete'],
    profile: 'calm',
    favoured: ['probe'],
    seeds: 20,
  },
  {
    name: 'refused-key-stays-taken',
    flaw: 'a key whose answer is not stored stays taken',
    edits: [{ file: 'gateway/api/idempotency.js', from: 'await settle(undefined).catch(() => false);', to: '' }],
    invariants: ['one-answer-a-key'],
    profile: 'calm',
    favoured: ['malformed'],
    seeds: 10,
  },
  {
    name: 'rotated-token-votes-again',
    flaw: 'a rotated token is another actor',
    edits: [
      {
        file: 'gateway/auth/token-store.js',
        from: 'actorId: old.actorId, ',
        to: '',
      },
    ],
    invariants: ['votes-as-required', 'one-answer-a-key', 'answers-as-modelled'],
    profile: 'calm',
    favoured: ['rotate_token', 'vote'],
    seeds: 10,
  },
];
