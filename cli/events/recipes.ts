/**
 * Causes each type of event: by calls of the public API, in order. Created resources remain, except webhooks, which the service
 * would call.
 */
import { systemTimers } from '../../core/actors/live/ports.ts';
import { pause } from '../../core/actors/waiting.ts';
import { eventTypes } from '../../wallets/delivery/events/public.ts';
import { type TestOutcome, testAmounts } from '../../wallets/providers/port/test-triggers.ts';
import { sandboxSessions } from '../cluster-files/sandbox.ts';
import { evmNetwork, type Made, type RecipeApi } from './api.ts';

export type Recipe = (api: RecipeApi) => Promise<unknown>;

const amountFor = (outcome: TestOutcome): string => testAmounts.find((each) => each.outcome === outcome)!.amount;
const plain = '0.01';
const pollMs = 100;
/** The service asks a provider for its statement for a minute. */
const failedWithinMs = 120_000;
/** The shortest time limit for approvers. */
const shortestApprovalS = 60;
/** No process listens there. */
const nowhere = 'http://127.0.0.1:9/signmesh-trigger';
/** On the list of sanctioned test addresses. */
const sanctioned = '0x000000000000000000000000000000000000dEaD';

const connections: Readonly<Record<string, Recipe>> = {
  created: (api) => api.connection(),
  updated: async (api) =>
    api.call('PATCH', `/v1/provider-connections/${(await api.connection()).id}`, { name: `renamed ${api.suffix}` }),
  tested: async (api) => api.post(`/v1/provider-connections/${(await api.connection()).id}/test`),
  disconnected: async (api) => api.post(`/v1/provider-connections/${(await api.connection()).id}/disconnect`),
};

const wallets: Readonly<Record<string, Recipe>> = {
  created: (api) => api.wallet(),
  updated: async (api) => api.call('PATCH', walletPath(await api.wallet()), { name: `renamed ${api.suffix}` }),
  frozen: async (api) => api.post(`${walletPath(await api.wallet())}/freeze`),
  unfrozen: async (api) => {
    const path = walletPath(await api.wallet());
    await api.post(`${path}/freeze`);
    await api.post(`${path}/unfreeze`);
  },
  archived: async (api) => api.post(`${walletPath(await api.wallet())}/archive`),
  deposit_received: (api) => api.intent(plain),
  balance_corrected: async (api) => resolve(api, await differs(api), 'adjusted'),
};

const intents: Readonly<Record<string, Recipe>> = {
  ...Object.fromEntries(
    ['created', 'screening', 'approved', 'signing', 'confirming', 'completed'].map((status): [string, Recipe] => [
      status,
      (api) => api.intent(plain),
    ]),
  ),
  // Of the providers, only the cluster signs and broadcasts in two steps.
  broadcasting: (api) => api.intent(plain, { provider: 'self_hosted' }),
  pending_approval: (api) => api.intent(amountFor('risk_high')),
  approval_recorded: async (api) => api.vote((await api.intent(amountFor('risk_high'))).path, 'approve'),
  // Its sub-status says that it is queued.
  updated: (api) => api.intent(amountFor('slow_queue')),
  rejected: async (api) => api.vote((await api.intent(amountFor('risk_high'))).path, 'reject'),
  denied: (api) => api.intent(plain, { address: sanctioned }),
  cancelled: async (api) => api.post(`${(await api.intent(amountFor('risk_high'))).path}/cancel`),
  failed: (api) => api.intent(amountFor('submit_rejected')),
  expired: async (api) => {
    const policy = await api.post('/v1/policies', {
      name: `trigger-${api.suffix}`,
      rules: [
        { id: 'ask', effect: 'require_approval', when: 'true', approvals: { quorum: 1, timeout_s: shortestApprovalS } },
      ],
    });
    const wallet = await api.wallet();
    await api.post(`${walletPath(wallet)}/transaction-intents`, {
      asset: 'ETH',
      amount: plain,
      destination: { address: (wallet.addresses as { address: string }[])[0]!.address },
      policy: policy.name as string,
    });
  },
};

const rule = { id: 'all', effect: 'allow', when: 'true' };

const controls: Readonly<Record<string, Recipe>> = {
  'policy.created': (api) => api.post('/v1/policies', { name: `trigger-${api.suffix}`, rules: [rule] }),
  'policy.updated': async (api) => {
    await api.post('/v1/policies', { name: `trigger-${api.suffix}`, rules: [rule] });
    await api.post('/v1/policies', { name: `trigger-${api.suffix}`, rules: [{ ...rule, id: 'everything' }] });
  },
  'compliance.screening.completed': (api) =>
    api.post('/v1/compliance/screen', { subject: { type: 'address', address: sanctioned, network: evmNetwork } }),
  'compliance.list.created': (api) => list(api, []),
  'compliance.list.updated': async (api) => {
    await list(api, []);
    await list(api, [{ name: 'A Person' }]);
  },
  'risk.rule.created': (api) => riskRule(api),
  'risk.rule.updated': async (api) => api.call('PATCH', `/v1/risk/rules/${(await riskRule(api)).id}`, { points: 2 }),
  'risk.rule.deleted': async (api) => api.call('DELETE', `/v1/risk/rules/${(await riskRule(api)).id}`),
};

const vaults: Readonly<Record<string, Recipe>> = {
  created: (api) => vault(api),
  key_created: (api) => vault(api),
  archived: async (api) => api.post(`/v1/vaults/${(await vault(api)).id}/archive`),
  key_deleted: async (api) => api.post(`/v1/vaults/${(await vault(api)).id}/archive`),
  signature_completed: async (api) => signMessage(api, await vault(api)),
  signature_pending: async (api) => signMessage(api, await vault(api, { approval_mode: 'human_required' })),
  signature_denied: async (api) => {
    const name = `trigger-${api.suffix}`;
    await api.post('/v1/policies', { name, rules: [{ id: 'none', effect: 'deny', when: 'true' }] });
    await signMessage(api, await vault(api, { policy: name }));
  },
};

const moduleAccess: Readonly<Record<string, Recipe>> = {
  requested: (api) => api.post('/v1/modules/vaults/access-requests', { reason: 'signmesh trigger' }),
  granted: (api) => api.post('/v1/modules/vaults/access-requests', { reason: 'signmesh trigger' }),
};

/** A strategy of a wallet that holds three quarters ETH at these prices, and is to hold half. */
async function strategy(api: RecipeApi, over: object = {}): Promise<Made> {
  await api.post('/v1/modules/treasury/access-requests');
  const wallet = await api.wallet();
  return api.post('/v1/treasury/strategies', {
    name: `trigger ${api.suffix}`,
    wallet_ids: [wallet.id],
    targets: [
      { asset: 'ETH', weight_bps: 5_000, band_bps: 100 },
      { asset: 'USDC', weight_bps: 5_000, band_bps: 100 },
    ],
    autonomy: 'within_policy',
    ...over,
  });
}

async function plan(api: RecipeApi, { id }: Made, isDryRun = true): Promise<Made> {
  return api.post('/v1/treasury/rebalance', { strategy_id: id, dry_run: isDryRun });
}

/** A policy denies its transfers. */
async function deniedPlan(api: RecipeApi): Promise<Made> {
  const { name } = await api.post('/v1/policies', {
    name: `trigger-${api.suffix}`,
    rules: [{ id: 'no', effect: 'deny', when: 'true' }],
  });
  return plan(api, await strategy(api, { policy: name }), false);
}

const strategies: Readonly<Record<string, Recipe>> = {
  created: (api) => strategy(api),
  updated: async (api) => {
    const { id, wallet_ids, targets } = await strategy(api);
    const terms = { name: `trigger ${api.suffix} again`, wallet_ids, targets, autonomy: 'advisory' };
    await api.post(`/v1/treasury/strategies/${id}/versions`, terms);
  },
  archived: async (api) => api.post(`/v1/treasury/strategies/${(await strategy(api)).id}/archive`),
};

const plans: Readonly<Record<string, Recipe>> = {
  proposed: async (api) => plan(api, await strategy(api)),
  pending_approval: async (api) => plan(api, await strategy(api, { autonomy: 'human_approval' }), false),
  ...Object.fromEntries(
    ['executing', 'updated', 'completed'].map((status): [string, Recipe] => [
      status,
      async (api) => plan(api, await strategy(api), false),
    ]),
  ),
  failed: deniedPlan,
  cancelled: async (api) => api.post(`/v1/treasury/plans/${(await plan(api, await strategy(api))).id}/cancel`),
};

/** A token whose deployment is in progress. */
async function issuing(api: RecipeApi, over: object = {}): Promise<Made> {
  await api.post('/v1/modules/tokens/access-requests');
  const wallet = await api.wallet('issuer', 'self_hosted');
  return api.post('/v1/tokens', {
    symbol: `T${api.suffix.toUpperCase()}`,
    name: `trigger ${api.suffix}`,
    network: evmNetwork,
    decimals: 6,
    supply_cap: '1000',
    issuer_wallet_id: wallet.id,
    ...over,
  });
}

async function issued(api: RecipeApi): Promise<Made> {
  return api.reached(`/v1/tokens/${(await issuing(api)).id}`, 'active');
}

/** To the issuer itself, whose USDC are the reserve. */
async function mint(api: RecipeApi, over: object = {}): Promise<Made & { readonly path: string }> {
  const token = await issued(api);
  const wallet = await api.call('GET', `/v1/wallets/${token.issuer_wallet_id}`);
  const order = await api.post(`/v1/tokens/${token.id}/mint`, {
    amount: '5',
    destination: { address: (wallet.addresses as { address: string }[])[0]!.address },
    reserve_reference: { type: 'wallet', asset: 'USDC', wallet_id: wallet.id },
    ...over,
  });
  return { ...order, path: `/v1/tokens/${token.id}/orders/${order.id}` };
}

async function waitingMint(api: RecipeApi): Promise<Made & { readonly path: string }> {
  const { name } = await api.post('/v1/policies', {
    name: `trigger-${api.suffix}`,
    rules: [{ id: 'ask', effect: 'require_approval', when: 'true', approvals: { quorum: 1 } }],
  });
  return mint(api, { policy: name });
}

const tokens: Readonly<Record<string, Recipe>> = {
  created: (api) => issuing(api),
  deployed: (api) => issued(api),
  failed: async (api) => {
    const { name } = await api.post('/v1/policies', {
      name: `trigger-${api.suffix}`,
      rules: [{ id: 'no', effect: 'deny', when: 'true' }],
    });
    await issuing(api, { policy: name });
  },
  frozen: async (api) => api.post(`/v1/tokens/${(await issued(api)).id}/freeze`),
  unfrozen: async (api) => {
    const { id } = await issued(api);
    await api.post(`/v1/tokens/${id}/freeze`);
    await api.post(`/v1/tokens/${id}/unfreeze`);
  },
};

const orders: Readonly<Record<string, Recipe>> = {
  ...Object.fromEntries(
    ['created', 'reserve_check', 'processing', 'completed'].map((status): [string, Recipe] => [
      status,
      (api) => mint(api),
    ]),
  ),
  pending_approval: waitingMint,
  approval_recorded: async (api) => api.vote((await waitingMint(api)).path, 'approve'),
  rejected: (api) => mint(api, { amount: '1001' }),
  failed: (api) => mint(api, { amount: amountFor('fails_on_chain') }),
};

/** A webhook that gets only a ping, while `use` runs. */
async function withWebhook(api: RecipeApi, use: (path: string) => Promise<unknown>): Promise<void> {
  const { id } = await api.post('/v1/webhooks', { url: nowhere, events: ['webhook.ping'], description: 'trigger' });
  const path = `/v1/webhooks/${id}`;
  try {
    await use(path);
  } finally {
    await api.call('DELETE', path);
  }
}

const webhooks: Readonly<Record<string, Recipe>> = {
  created: (api) => withWebhook(api, async () => undefined),
  updated: (api) => withWebhook(api, (path) => api.call('PATCH', path, { description: 'trigger, renamed' })),
  deleted: (api) => withWebhook(api, async () => undefined),
  ping: (api) => withWebhook(api, (path) => api.post(`${path}/ping`)),
};

const signing: Readonly<Record<string, Recipe>> = {
  accepted: (api) => initiate(api),
  pending: (api) => initiate(api, { approval_mode: 'HUMAN_REQUIRED' }),
  completed: async (api) => share(api, await initiate(api)),
  denied: (api) => initiate(api, { mock_directive: 'MOCK_DIRECTIVE_FORCE_DENIED' }),
  revoked: (api) => initiate(api, { mock_directive: 'MOCK_DIRECTIVE_FORCE_REVOKED' }),
  expired: (api) => initiate(api, { mock_directive: 'MOCK_DIRECTIVE_FORCE_EXPIRED' }),
  failed: (api) => initiate(api, { mock_directive: 'MOCK_DIRECTIVE_FORCE_BACKEND_FAILED' }),
  resumed: async (api) => {
    const failed = await initiate(api, { mock_directive: 'MOCK_DIRECTIVE_FORCE_BACKEND_FAILED' });
    await api.post('/v1/sessions/resume', {
      session_id: failed.signing_session_id as string,
      resume_token: (failed.checkpoint as { resume_token: string }).resume_token,
    });
  },
};

const dkg: Readonly<Record<string, Recipe>> = {
  accepted: (api) => api.post('/v1/dkg/initiate', dkgSession(api)),
  completed: async (api) => {
    await api.post('/v1/dkg/initiate', dkgSession(api));
    await api.post('/v1/dkg/shares', { session_id: dkgSession(api).session_id });
  },
};

/** Reconciliation finds the provider's surplus in the balances. */
const recon: Readonly<Record<string, Recipe>> = {
  ...Object.fromEntries(
    ['created', 'started', 'completed'].map((happening): [string, Recipe] => [
      `job.${happening}`,
      async (api) => compare(api, await api.wallet()),
    ]),
  ),
  'job.progressed': (api) => withSilence(api, (job) => happens(api, job, 'recon.job.progressed')),
  // After five attempts: a minute.
  'job.failed': (api) => withSilence(api, ({ id }) => api.reached(`/v1/recon/jobs/${id}`, 'failed', failedWithinMs)),
  'job.cancelled': (api) => withSilence(api, ({ id }) => api.post(`/v1/recon/jobs/${id}/cancel`)),
  'exception.opened': (api) => differs(api),
  'exception.updated': async (api) => {
    const wallet = await differs(api);
    await drift(api, wallet);
    await compare(api, wallet);
  },
  'exception.resolved': async (api) => resolve(api, await differs(api), 'false_positive'),
};

/** With a job whose provider gives no statement, so that the service retries it. */
async function withSilence(api: RecipeApi, use: (job: Made) => Promise<unknown>): Promise<void> {
  const wallet = await api.wallet();
  await drift(api, wallet, { kind: 'silent' });
  try {
    await use(await api.post('/v1/recon/jobs', { kind: 'balances', scope: { wallet_id: wallet.id } }));
  } finally {
    await api.call('DELETE', driftPath(wallet));
  }
}

async function happens(api: RecipeApi, { id }: Made, type: string): Promise<void> {
  const path = `/v1/events?resource_id=${id}&type=${type}`;
  while ((await api.call('GET', path)).events.length === 0) await pause(systemTimers, pollMs);
}

async function differs(api: RecipeApi): Promise<Made> {
  const wallet = await api.wallet();
  await drift(api, wallet);
  await compare(api, wallet);
  return wallet;
}

function drift(api: RecipeApi, wallet: Made, how: object = { kind: 'extra', amount: plain }): Promise<Made> {
  return api.post(driftPath(wallet), { wallet_id: wallet.id, ...how });
}

function driftPath(wallet: Made): string {
  return `/v1/sandbox/provider-connections/${wallet.provider_connection_id}/drift`;
}

/** Resolves when the job is over. */
async function compare(api: RecipeApi, { id }: Made): Promise<void> {
  let job = await api.post('/v1/recon/jobs', { kind: 'balances', scope: { wallet_id: id }, lag_s: 0 });
  while (job.finished_at === null) {
    await pause(systemTimers, pollMs);
    job = await api.call('GET', `/v1/recon/jobs/${job.id}`);
  }
}

async function resolve(api: RecipeApi, wallet: Made, resolution: string): Promise<Made> {
  const { exceptions } = await api.call('GET', `/v1/recon/exceptions?wallet_id=${wallet.id}`);
  return api.post(`/v1/recon/exceptions/${(exceptions as Made[])[0]!.id}/resolve`, { resolution });
}

export const recipes: ReadonlyMap<string, Recipe> = new Map([
  ...under('provider_connection', connections),
  ...under('wallet', wallets),
  ...under('transaction_intent', intents),
  ...under('signing.session', signing),
  ...under('dkg.session', dkg),
  ...Object.entries(controls),
  ...under('vault', vaults),
  ...under('module_access', moduleAccess),
  ...under('treasury.strategy', strategies),
  ...under('treasury.plan', plans),
  ...under('token', tokens),
  ...under('token.order', orders),
  ...under('webhook', webhooks),
  ...under('recon', recon),
]);

/** Types that no call causes, with the reason. */
export const untriggered: ReadonlyMap<string, string> = new Map([
  ['module_access.denied', 'The operator causes it: `signmesh modules deny`.'],
  ['webhook.suspended', 'It needs five days of failed deliveries.'],
  ['record.tampered', 'It needs a record that was changed in Redis.'],
  ['dkg.session.resumed', 'It needs a node that fails during key generation.'],
  ['dkg.session.failed', 'It needs a node that fails during key generation.'],
  ['dkg.session.expired', 'It needs a session that expires (SIGNMESH_DKG_LIFETIME_MS).'],
]);

/** Every type, in the order of the registry. */
export const triggerTypes: readonly string[] = Object.keys(eventTypes);

function under(resource: string, of: Readonly<Record<string, Recipe>>): [string, Recipe][] {
  return Object.entries(of).map(([happening, recipe]) => [`${resource}.${happening}`, recipe]);
}

function walletPath({ id }: Made): string {
  return `/v1/wallets/${id}`;
}

function list(api: RecipeApi, entries: readonly object[]): Promise<Made> {
  return api.post('/v1/compliance/lists', { name: `trigger_${api.suffix}`, kind: 'watch', entries });
}

function riskRule(api: RecipeApi): Promise<Made> {
  return api.post('/v1/risk/rules', { name: `trigger ${api.suffix}`, when: 'false', points: 1, mode: 'shadow' });
}

function vault(api: RecipeApi, more: object = {}): Promise<Made> {
  return api.post('/v1/vaults', {
    name: `trigger ${api.suffix}`,
    keystore_type: 'mpc_frost',
    curve: 'ed25519',
    ...more,
  });
}

function signMessage(api: RecipeApi, { id, primary_key_id }: Made): Promise<Made> {
  const message = Buffer.from(`trigger ${api.suffix}`).toString('base64');
  return api.post(`/v1/vaults/${id}/sign`, { key_id: primary_key_id as string, message, message_type: 'raw' });
}

function initiate(api: RecipeApi, more: object = {}): Promise<Made> {
  return api.post('/v1/signing/initiate', {
    transaction_intent_id: `trigger-${api.suffix}`,
    wallet_id: sandboxSessions.secp256k1,
    message_hash: Buffer.alloc(32, api.suffix).toString('base64'),
    ...more,
  });
}

function share(api: RecipeApi, { signing_session_id: id }: Made): Promise<Made> {
  return api.post('/v1/signing/share', { signing_session_id: id as string });
}

function dkgSession({ suffix }: RecipeApi) {
  return { session_id: `trigger-${suffix}`, derivation: { curve: 'secp256k1' } };
}
