/**
 * Causes each type of event: by calls of the public API, in order. Created resources remain, except webhooks, which the service
 * would call.
 */
import type {
  AddReconDrift,
  Intent,
  ReconException,
  ReconJob,
  ResolveReconException,
  Strategy,
  Token,
  TokenOrder,
  TreasuryPlan,
  Vault,
  Wallet,
} from '../../clients/client/generated-api.ts';
import { eventTypes } from '../../wallets/delivery/events/public.ts';
import { type TestOutcome, testAmounts } from '../../wallets/providers/port/test-triggers.ts';
import { sandboxSessions } from '../cluster-files/sandbox.ts';
import { addressOf, evmNetwork, type RecipeApi } from './api.ts';

export type Recipe = (api: RecipeApi) => Promise<unknown>;

const amountFor = (outcome: TestOutcome): string => testAmounts.find((each) => each.outcome === outcome)!.amount;
const plain = '0.01';
/** The service asks a provider for its statement for a minute. */
const failedWithinMs = 120_000;
const activeWithinMs = 30_000;
/** The shortest time limit for approvers. */
const shortestApprovalS = 60;
/** No process listens there. */
const nowhere = 'http://127.0.0.1:9/signmesh-trigger';
/** On the list of sanctioned test addresses. */
const sanctioned = '0x000000000000000000000000000000000000dEaD';

const connections: Readonly<Record<string, Recipe>> = {
  created: (api) => api.connection(),
  updated: async (api) => api.client.connections.update((await api.connection()).id, { name: `renamed ${api.suffix}` }),
  tested: async (api) => api.client.connections.test((await api.connection()).id),
  disconnected: async (api) => api.client.connections.disconnect((await api.connection()).id),
};

const wallets: Readonly<Record<string, Recipe>> = {
  created: (api) => api.wallet(),
  updated: async (api) => api.client.wallets.update((await api.wallet()).id, { name: `renamed ${api.suffix}` }),
  frozen: async (api) => api.client.wallets.freeze((await api.wallet()).id),
  unfrozen: async (api) => {
    const { id } = await api.wallet();
    await api.client.wallets.freeze(id);
    await api.client.wallets.unfreeze(id);
  },
  archived: async (api) => api.client.wallets.archive((await api.wallet()).id),
  deposit_received: (api) => api.intent(plain),
  deposit_reverted: (api) => notFinal(api, { isUndone: true }),
  deposit_finalized: (api) => notFinal(api, { isUndone: false }),
  allowance_used: (api) => useAllowance(api),
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
  approval_recorded: async (api) => vote(api, await api.intent(amountFor('risk_high')), 'approve'),
  // Its sub-status says that it is queued.
  updated: (api) => api.intent(amountFor('slow_queue')),
  rejected: async (api) => vote(api, await api.intent(amountFor('risk_high')), 'reject'),
  denied: (api) => api.intent(plain, { address: sanctioned }),
  cancelled: async (api) => {
    const { id, wallet_id } = await api.intent(amountFor('risk_high'));
    await api.client.intents.cancel(wallet_id, id);
  },
  failed: (api) => api.intent(amountFor('submit_rejected')),
  reorged: (api) => notFinal(api, { isUndone: true }),
  expired: async (api) => {
    const policy = await api.policy({
      effect: 'require_approval',
      approvals: { quorum: 1, timeout_s: shortestApprovalS },
    });
    const wallet = await api.wallet();
    const destination = { address: addressOf(wallet) };
    await api.client.intents.create(wallet.id, { asset: 'ETH', amount: plain, destination, policy });
  },
};

/** A sandbox takes no more blocks. */
const finalityMax = 64;
/** Longer than a gateway takes to see that a transfer is completed. */
const notFinalMs = 5_000;
const undoTries = 5;

/** A transfer that completes before it is final; its block is undone then, unless it is to be final soon. */
async function notFinal(api: RecipeApi, { isUndone }: { readonly isUndone: boolean }): Promise<void> {
  const { sandbox } = api.client;
  const { confirmations, finality, block_ms } = await sandbox.confirmations(evmNetwork);
  const soon = Math.min(finalityMax, Math.max(3, Math.ceil(notFinalMs / block_ms)));
  try {
    const early = { confirmations: 1, finality: isUndone ? finalityMax : soon };
    const { block: last } = await sandbox.setConfirmations(evmNetwork, early);
    // The next block may have transactions from before, which are final earlier.
    const read = () => sandbox.confirmations(evmNetwork);
    let { block: below } = await api.client.waitUntil(read, ({ block }) => block > last);
    for (let tries = undoTries; tries > 0; tries -= 1) {
      await api.client.waitFor(await api.intent(plain, { provider: 'self_hosted' }));
      if (!isUndone) return;
      const { block } = await read();
      const depth = block - below;
      if (depth < finalityMax) return void (await sandbox.reorganize(evmNetwork, { depth }));
      // Its blocks came faster than its completion: it may be final.
      below = block;
    }
  } finally {
    await sandbox.setConfirmations(evmNetwork, { confirmations, finality });
  }
}

const usdc = '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238';

/** A wallet lets another one take a unit, which takes it. Meanwhile the policy `default` allows contract calls. */
async function useAllowance(api: RecipeApi): Promise<void> {
  const { policies, intents } = api.client;
  const [owner, spender] = [await api.wallet('one', 'self_hosted'), await api.wallet('two', 'self_hosted')];
  const call = async ({ id }: Wallet, selector: string, ...values: readonly string[]) => {
    const words = values.map((value) => value.replace('0x', '').toLowerCase().padStart(64, '0'));
    await api.client.waitFor(
      await intents.callContract(id, { contract: usdc, data: `0x${selector}${words.join('')}` }),
    );
  };
  const { rules } = (await policies.list().toArray()).find(({ name }) => name === 'default')!;
  const allowed = { id: `trigger-${api.suffix}`, effect: 'allow', when: 'tx.kind == "contract_call"' } as const;
  await policies.put({ name: 'default', rules: [...rules, allowed] });
  try {
    await call(owner, '095ea7b3', addressOf(spender), '1');
    await call(spender, '23b872dd', addressOf(owner), addressOf(spender), '1');
  } finally {
    await policies.put({ name: 'default', rules });
  }
}

function vote(api: RecipeApi, { id, wallet_id }: Intent, decision: 'approve' | 'reject'): Promise<Intent> {
  const reason = decision === 'reject' ? { reason: 'signmesh trigger' } : {};
  return api.approver.intents.approve(wallet_id, id, { decision, ...reason });
}

const controls: Readonly<Record<string, Recipe>> = {
  'policy.created': (api) => api.policy({}),
  'policy.updated': async (api) => {
    await api.policy({});
    await api.policy({ id: 'everything' });
  },
  'compliance.screening.completed': ({ client }) =>
    client.compliance.screen({ subject: { type: 'address', address: sanctioned, network: evmNetwork } }),
  'compliance.list.created': (api) => list(api, []),
  'compliance.list.updated': async (api) => {
    await list(api, []);
    await list(api, ['A Person']);
  },
  'risk.rule.created': (api) => riskRule(api),
  'risk.rule.updated': async (api) => api.client.risk.changeRule((await riskRule(api)).id, { points: 2 }),
  'risk.rule.deleted': async (api) => api.client.risk.deleteRule((await riskRule(api)).id),
};

const vaults: Readonly<Record<string, Recipe>> = {
  created: (api) => vault(api),
  key_created: (api) => vault(api),
  archived: async (api) => api.client.vaults.archive((await vault(api)).id),
  key_deleted: async (api) => api.client.vaults.archive((await vault(api)).id),
  signature_completed: async (api) => signMessage(api, await vault(api)),
  signature_pending: async (api) => signMessage(api, await vault(api, { approval_mode: 'human_required' })),
  signature_denied: async (api) => signMessage(api, await vault(api, { policy: await api.policy({ effect: 'deny' }) })),
};

const requestVaults: Recipe = ({ client }) => client.modules.requestAccess('vaults', { reason: 'signmesh trigger' });
const moduleAccess: Readonly<Record<string, Recipe>> = { requested: requestVaults, granted: requestVaults };

const targets = [
  { asset: 'ETH', weight_bps: 5_000, band_bps: 100 },
  { asset: 'USDC', weight_bps: 5_000, band_bps: 100 },
];

/** A strategy of a wallet that holds three quarters ETH at these prices, and is to hold half. */
async function strategy(api: RecipeApi, over: object = {}): Promise<Strategy> {
  await api.client.modules.requestAccess('treasury');
  const { id } = await api.wallet();
  const name = `trigger ${api.suffix}`;
  return api.client.treasury.createStrategy({
    ...{ name, wallet_ids: [id], targets, autonomy: 'within_policy' as const },
    ...over,
  });
}

function plan({ client }: RecipeApi, { id }: Strategy, isDryRun = true): Promise<TreasuryPlan> {
  return client.treasury.rebalance({ strategy_id: id, dry_run: isDryRun });
}

const strategies: Readonly<Record<string, Recipe>> = {
  created: (api) => strategy(api),
  updated: async (api) => {
    const { id, wallet_ids } = await strategy(api);
    const name = `trigger ${api.suffix} again`;
    await api.client.treasury.putStrategyVersion(id, { name, wallet_ids, targets, autonomy: 'advisory' });
  },
  archived: async (api) => api.client.treasury.archiveStrategy((await strategy(api)).id),
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
  // A policy denies its transfers.
  failed: async (api) => plan(api, await strategy(api, { policy: await api.policy({ effect: 'deny' }) }), false),
  cancelled: async (api) => api.client.treasury.cancelPlan((await plan(api, await strategy(api))).id),
};

/** A token whose deployment is in progress. */
async function issuing(api: RecipeApi, over: object = {}): Promise<Token> {
  await api.client.modules.requestAccess('tokens');
  const wallet = await api.wallet('issuer', 'self_hosted');
  return api.client.tokens.create({
    symbol: `T${api.suffix.toUpperCase()}`,
    name: `trigger ${api.suffix}`,
    network: evmNetwork,
    decimals: 6,
    supply_cap: '1000',
    issuer_wallet_id: wallet.id,
    ...over,
  });
}

async function issued(api: RecipeApi): Promise<Token> {
  const { id } = await issuing(api);
  return api.client.waitUntil(
    () => api.client.tokens.get(id),
    ({ status }) => status === 'active',
    { deadlineMs: activeWithinMs },
  );
}

/** To the issuer itself, whose USDC are the reserve. */
async function mint(api: RecipeApi, over: object = {}): Promise<TokenOrder> {
  const token = await issued(api);
  const wallet = await api.client.wallets.get(token.issuer_wallet_id);
  return api.client.tokens.mint(token.id, {
    amount: '5',
    destination: { address: addressOf(wallet) },
    reserve_reference: { type: 'wallet', asset: 'USDC', wallet_id: wallet.id },
    ...over,
  });
}

async function waitingMint(api: RecipeApi): Promise<TokenOrder> {
  return mint(api, { policy: await api.policy({ effect: 'require_approval', approvals: { quorum: 1 } }) });
}

const tokens: Readonly<Record<string, Recipe>> = {
  created: (api) => issuing(api),
  deployed: (api) => issued(api),
  failed: async (api) => issuing(api, { policy: await api.policy({ effect: 'deny' }) }),
  frozen: async (api) => api.client.tokens.freeze((await issued(api)).id),
  unfrozen: async (api) => {
    const { id } = await issued(api);
    await api.client.tokens.freeze(id);
    await api.client.tokens.unfreeze(id);
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
  approval_recorded: async (api) => {
    const { id, token_id } = await waitingMint(api);
    await api.approver.tokens.approveOrder(token_id, id);
  },
  rejected: (api) => mint(api, { amount: '1001' }),
  failed: (api) => mint(api, { amount: amountFor('fails_on_chain') }),
};

const tenants: Readonly<Record<string, Recipe>> = {
  frozen: async ({ client }) => {
    await client.tenant.freeze({ reason: 'trigger' });
    await client.tenant.unfreeze();
  },
  unfrozen: async ({ client }) => {
    await client.tenant.freeze();
    await client.tenant.unfreeze();
  },
};

const accessTokens: Readonly<Record<string, Recipe>> = {
  issued: ({ client }) => client.accessTokens.create({ scopes: ['wallets:read'] }),
  revoked: async ({ client }) => {
    const { id } = await client.accessTokens.create({ scopes: ['wallets:read'] });
    await client.accessTokens.revoke(id);
  },
};

/** Turns change control on, lets `decide` end a proposal to turn it off, and has another one approved. */
async function underControl(api: RecipeApi, decide: (id: string) => Promise<unknown>): Promise<void> {
  const { changeControl, changeProposals } = api.client;
  const propose = () => changeProposals.create({ operation: 'putChangeControl', body: { quorum: 0 } });
  const approve = (id: string) => api.approver.changeProposals.approve(id);
  await changeControl.put({ quorum: 1, timeout_s: shortestApprovalS });
  try {
    await decide((await propose()).id);
  } finally {
    if ((await changeControl.get()).quorum > 0) await approve((await propose()).id);
  }
}

const proposals: Readonly<Record<string, Recipe>> = {
  created: (api) => underControl(api, async () => undefined),
  applied: (api) => underControl(api, async () => undefined),
  rejected: (api) =>
    underControl(api, (id) =>
      api.approver.changeProposals.approve(id, { decision: 'reject', reason: 'signmesh trigger' }),
    ),
  cancelled: (api) => underControl(api, (id) => api.client.changeProposals.cancel(id)),
  expired: (api) => {
    const { changeProposals } = api.client;
    const isOver = async (id: string) =>
      api.client.waitUntil(
        () => changeProposals.get(id),
        ({ status }) => status === 'expired',
      );
    return underControl(api, isOver);
  },
};

/** A webhook that gets only a ping, while `use` runs. */
async function withWebhook({ client }: RecipeApi, use: (id: string) => Promise<unknown>): Promise<void> {
  const { id } = await client.webhooks.create({ url: nowhere, events: ['webhook.ping'], description: 'trigger' });
  try {
    await use(id);
  } finally {
    await client.webhooks.delete(id);
  }
}

const webhooks: Readonly<Record<string, Recipe>> = {
  created: (api) => withWebhook(api, async () => undefined),
  updated: (api) => withWebhook(api, (id) => api.client.webhooks.update(id, { description: 'trigger, renamed' })),
  deleted: (api) => withWebhook(api, async () => undefined),
  ping: (api) => withWebhook(api, (id) => api.client.webhooks.ping(id)),
};

const signing: Readonly<Record<string, Recipe>> = {
  accepted: (api) => initiate(api),
  pending: (api) => initiate(api, { approval_mode: 'HUMAN_REQUIRED' }),
  completed: async (api) => {
    const { signing_session_id } = await initiate(api);
    await api.client.signing.submitSignatureShare({ signing_session_id });
  },
  denied: (api) => initiate(api, { mock_directive: 'MOCK_DIRECTIVE_FORCE_DENIED' }),
  revoked: (api) => initiate(api, { mock_directive: 'MOCK_DIRECTIVE_FORCE_REVOKED' }),
  expired: (api) => initiate(api, { mock_directive: 'MOCK_DIRECTIVE_FORCE_EXPIRED' }),
  failed: (api) => initiate(api, { mock_directive: 'MOCK_DIRECTIVE_FORCE_BACKEND_FAILED' }),
  resumed: async (api) => {
    const failed = await initiate(api, { mock_directive: 'MOCK_DIRECTIVE_FORCE_BACKEND_FAILED' });
    const { resume_token } = failed.checkpoint!;
    await api.client.signing.resumeSession({ session_id: failed.signing_session_id, resume_token });
  },
};

const dkg: Readonly<Record<string, Recipe>> = {
  accepted: ({ client, suffix }) => client.signing.initiateDkg({ session_id: `trigger-${suffix}` }),
  completed: ({ client, suffix }) => client.keys.create({ keyId: `trigger-${suffix}` }),
};

const keyVersions: Readonly<Record<string, Recipe>> = {
  // A key on secp256k1 is bound by its first signature, and a key that is not bound keeps its shares.
  committed: async ({ client, suffix }) => {
    const { keyId } = await client.keys.create({ keyId: `trigger-${suffix}`, curve: 'ed25519' });
    await client.sandbox.refreshKey(keyId, { version: 2 });
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
  'job.failed': (api) => withSilence(api, (job) => reached(api, job, ({ status }) => status === 'failed')),
  'job.cancelled': (api) => withSilence(api, ({ id }) => api.client.recon.cancelJob(id)),
  'exception.opened': (api) => differs(api),
  'exception.updated': async (api) => {
    const wallet = await differs(api);
    await drift(api, wallet);
    await compare(api, wallet);
  },
  'exception.resolved': async (api) => resolve(api, await differs(api), 'false_positive'),
};

/** With a job whose provider gives no statement, so that the service retries it. */
async function withSilence(api: RecipeApi, use: (job: ReconJob) => Promise<unknown>): Promise<void> {
  const wallet = await api.wallet();
  await drift(api, wallet, { kind: 'silent' });
  try {
    await use(await api.client.recon.createJob({ kind: 'balances', scope: { wallet_id: wallet.id } }));
  } finally {
    await api.client.sandbox.removeDrifts(wallet.provider_connection_id);
  }
}

async function happens({ client }: RecipeApi, { id }: ReconJob, type: string): Promise<void> {
  const read = () => client.events.list({ resource_id: id, type }).toArray(1);
  await client.waitUntil(read, (events) => events.length > 0, { deadlineMs: failedWithinMs });
}

function reached({ client }: RecipeApi, { id }: ReconJob, isReached: (job: ReconJob) => boolean): Promise<ReconJob> {
  return client.waitUntil(() => client.recon.job(id), isReached, { deadlineMs: failedWithinMs });
}

async function differs(api: RecipeApi): Promise<Wallet> {
  const wallet = await api.wallet();
  await drift(api, wallet);
  await compare(api, wallet);
  return wallet;
}

const surplus = { kind: 'extra', amount: plain } as const;

async function drift(
  { client }: RecipeApi,
  { id, provider_connection_id }: Wallet,
  how: Pick<AddReconDrift, 'kind' | 'amount'> = surplus,
): Promise<void> {
  await client.sandbox.addDrift(provider_connection_id, { wallet_id: id, ...how });
}

/** Resolves when the job is over. */
async function compare(api: RecipeApi, { id }: Wallet): Promise<void> {
  const job = await api.client.recon.createJob({ kind: 'balances', scope: { wallet_id: id }, lag_s: 0 });
  await reached(api, job, ({ finished_at }) => finished_at !== null);
}

async function resolve(
  { client }: RecipeApi,
  { id }: Wallet,
  resolution: ResolveReconException['resolution'],
): Promise<ReconException> {
  const [found] = await client.recon.exceptions({ wallet_id: id }).toArray(1);
  return client.recon.resolveException(found!.id, { resolution });
}

export const recipes: ReadonlyMap<string, Recipe> = new Map([
  ...under('provider_connection', connections),
  ...under('wallet', wallets),
  ...under('transaction_intent', intents),
  ...under('signing.session', signing),
  ...under('dkg.session', dkg),
  ...under('key.version', keyVersions),
  ...Object.entries(controls),
  ...under('vault', vaults),
  ...under('module_access', moduleAccess),
  ...under('treasury.strategy', strategies),
  ...under('treasury.plan', plans),
  ...under('token', tokens),
  ...under('token.order', orders),
  ...under('tenant', tenants),
  ['change_control.updated', proposals.applied!],
  ...under('change_proposal', proposals),
  ...under('access_token', accessTokens),
  ...under('webhook', webhooks),
  ...under('recon', recon),
]);

/** Types that no call causes, with the reason. */
export const untriggered: ReadonlyMap<string, string> = new Map([
  ['module_access.denied', 'The operator causes it: `signmesh modules deny`.'],
  ['change_proposal.updated', 'It needs a quorum of two, and so three persons.'],
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

function list({ client, suffix }: RecipeApi, names: readonly string[]) {
  const entries = names.map((name) => ({ name }));
  return client.compliance.putList({ name: `trigger_${suffix}`, kind: 'watch', entries });
}

function riskRule({ client, suffix }: RecipeApi) {
  return client.risk.putRule({ name: `trigger ${suffix}`, when: 'false', points: 1, mode: 'shadow' });
}

function vault({ client, suffix }: RecipeApi, over: object = {}): Promise<Vault> {
  const name = `trigger ${suffix}`;
  return client.vaults.create({ name, keystore_type: 'mpc_frost', curve: 'ed25519', ...over });
}

function signMessage({ client, suffix }: RecipeApi, { id, primary_key_id }: Vault) {
  const message = Buffer.from(`trigger ${suffix}`).toString('base64');
  return client.vaults.sign(id, { key_id: primary_key_id, message, message_type: 'raw' });
}

function initiate({ client, suffix }: RecipeApi, over: object = {}) {
  return client.signing.initiateSigning({
    transaction_intent_id: `trigger-${suffix}`,
    wallet_id: sandboxSessions.secp256k1,
    message_hash: Buffer.alloc(32, suffix).toString('base64'),
    ...over,
  });
}
