/**
 * Causes each type of event: by calls of the public API, in order. Created resources remain, except webhooks, which the service
 * would call.
 */
import type { Intent, Wallet } from '../../clients/client/generated-api.ts';
import { eventTypes } from '../../wallets/delivery/events/public.ts';
import { assetOf } from '../../wallets/networks/assets.ts';
import { type CallersCall, callData } from '../../wallets/networks/token-calls.ts';
import { sandboxSessions } from '../cluster-files/sandbox.ts';
import { addressOf, amountFor, evmNetwork, plain, type Recipe, type RecipeApi, shortestApprovalS } from './api.ts';
import {
  differs,
  moduleAccess,
  orders,
  plans,
  proposals,
  recon,
  resolve,
  strategies,
  tokens,
  vaults,
} from './companion-recipes.ts';

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

/** A wallet lets another one take a unit, which takes it. Meanwhile the policy `default` allows contract calls. */
async function useAllowance(api: RecipeApi): Promise<void> {
  const { policies, intents } = api.client;
  const [owner, spender] = [await api.wallet('one', 'self_hosted'), await api.wallet('two', 'self_hosted')];
  const call = async ({ id }: Wallet, called: CallersCall) => {
    const data = `0x${Buffer.from(callData(called)).toString('hex')}`;
    await api.client.waitFor(await intents.callContract(id, { contract: assetOf('USDC')!.contract!, data }));
  };
  const { rules } = (await policies.list().toArray()).find(({ name }) => name === 'default')!;
  const allowed = { id: `trigger-${api.suffix}`, effect: 'allow', when: 'tx.kind == "contract_call"' } as const;
  await policies.put({ name: 'default', rules: [...rules, allowed] });
  try {
    await call(owner, { kind: 'approve', spender: addressOf(spender), units: 1n });
    await call(spender, { kind: 'transferFrom', from: addressOf(owner), to: addressOf(spender), units: 1n });
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

function initiate({ client, suffix }: RecipeApi, over: object = {}) {
  return client.signing.initiateSigning({
    transaction_intent_id: `trigger-${suffix}`,
    wallet_id: sandboxSessions.secp256k1,
    message_hash: Buffer.alloc(32, suffix).toString('base64'),
    ...over,
  });
}
