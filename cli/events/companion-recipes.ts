/** The recipes of `signmesh trigger` for events of companion modules: vaults, treasury, token operations, change control, reconciliation. */
import type {
  AddReconDrift,
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
import { addressOf, amountFor, evmNetwork, plain, type Recipe, type RecipeApi, shortestApprovalS } from './api.ts';

/** The service asks a provider for its statement for a minute. */
const failedWithinMs = 120_000;
const activeWithinMs = 30_000;

export const vaults: Readonly<Record<string, Recipe>> = {
  created: (api) => vault(api),
  key_created: (api) => vault(api),
  archived: async (api) => api.client.vaults.archive((await vault(api)).id),
  key_deleted: async (api) => api.client.vaults.archive((await vault(api)).id),
  signature_completed: async (api) => signMessage(api, await vault(api)),
  signature_pending: async (api) => signMessage(api, await vault(api, { approval_mode: 'human_required' })),
  signature_denied: async (api) => signMessage(api, await vault(api, { policy: await api.policy({ effect: 'deny' }) })),
};

const requestVaults: Recipe = ({ client }) => client.modules.requestAccess('vaults', { reason: 'signmesh trigger' });
export const moduleAccess: Readonly<Record<string, Recipe>> = { requested: requestVaults, granted: requestVaults };

function vault({ client, suffix }: RecipeApi, over: object = {}): Promise<Vault> {
  const name = `trigger ${suffix}`;
  return client.vaults.create({ name, keystore_type: 'mpc_frost', curve: 'ed25519', ...over });
}

function signMessage({ client, suffix }: RecipeApi, { id, primary_key_id }: Vault) {
  const message = Buffer.from(`trigger ${suffix}`).toString('base64');
  return client.vaults.sign(id, { key_id: primary_key_id, message, message_type: 'raw' });
}

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

export const strategies: Readonly<Record<string, Recipe>> = {
  created: (api) => strategy(api),
  updated: async (api) => {
    const { id, wallet_ids } = await strategy(api);
    const name = `trigger ${api.suffix} again`;
    await api.client.treasury.putStrategyVersion(id, { name, wallet_ids, targets, autonomy: 'advisory' });
  },
  archived: async (api) => api.client.treasury.archiveStrategy((await strategy(api)).id),
};

export const plans: Readonly<Record<string, Recipe>> = {
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

export const tokens: Readonly<Record<string, Recipe>> = {
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

export const orders: Readonly<Record<string, Recipe>> = {
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

export const proposals: Readonly<Record<string, Recipe>> = {
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

/** Reconciliation finds the provider's surplus in the balances. */
export const recon: Readonly<Record<string, Recipe>> = {
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

export async function differs(api: RecipeApi): Promise<Wallet> {
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

export async function resolve(
  { client }: RecipeApi,
  { id }: Wallet,
  resolution: ResolveReconException['resolution'],
): Promise<ReconException> {
  const [found] = await client.recon.exceptions({ wallet_id: id }).toArray(1);
  return client.recon.resolveException(found!.id, { resolution });
}
