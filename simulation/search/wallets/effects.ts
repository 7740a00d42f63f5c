/**
 * What a call may do to the record that it is about, by docs/wallet-api.md, docs/tokens.md, docs/vaults.md and docs/treasury.md: the
 * states in which an operation succeeds, and the state that it leaves. For calls at rest, when nothing else changes the record.
 */

/** "a>b": from a to b. "a=": a stays. "a!": never in a. "*": any state. Operations that are not listed leave the state as it is. */
const successes: Readonly<Record<string, string>> = {
  // A repeated vote changes nothing.
  approveTransactionIntent: '*= pending_approval>*',
  approveTokenOrder: '*= pending_approval>*',
  cancelTransactionIntent: 'pending_approval>cancelled approved>cancelled',
  cancelTokenOrder: 'pending_approval>rejected',
  createTransactionIntent: 'active=',
  updateWallet: 'active= frozen=',
  archiveWallet: 'active>archived frozen>archived archived=',
  freezeWallet: 'active>frozen frozen=',
  unfreezeWallet: 'frozen>active active=',
  archiveVault: 'active>archived archived=',
  createVaultKey: 'active=',
  signVaultMessage: 'active=',
  archiveStrategy: 'active>archived archived=',
  putStrategyVersion: 'active=',
  executePlan: 'cancelled! completed! failed! *>*',
  cancelPlan: 'proposed>cancelled pending_approval>cancelled cancelled=',
  mintToken: 'active=',
  redeemToken: 'active=',
  freezeToken: 'active>frozen frozen=',
  unfreezeToken: 'frozen>active active=',
  disconnectProvider: '*>disconnected',
  testProviderConnection: 'disconnected! *>*',
  updateProviderConnection: '*= *>connected',
  pingWebhook: 'enabled=',
  redeliver: '*>*',
  redeliverRange: 'enabled=',
  updateWebhook: '*>enabled *>disabled *=',
  deleteWebhook: '*>-',
  deleteRiskRule: '*>-',
  cancelReconJob: 'queued>cancelled running>cancelled cancelled=',
  resolveReconException: 'open>resolved',
};

/** Whether the operation may succeed in the state `from`, and leave `to`. */
export function maySucceed(operationId: string, from: string, to: string): boolean {
  for (const one of (successes[operationId] ?? '*=').split(' ')) {
    const [, before = '', sign, after] = /^(.+?)([>=!])(.*)$/.exec(one) ?? [];
    if (before !== '*' && before !== from) continue;
    if (sign === '!') return false;
    if (sign === '=' ? from === to : after === '*' || after === to) return true;
  }
  return false;
}

const states = new Set(['frozen', 'archived', 'cancelled', 'completed', 'rejected', 'denied', 'expired', 'failed']);

/**
 * Whether a refusal that names a state names the one in which the record is. A clock may have passed before it shows; a redemption
 * may be refused for its wallet.
 */
export function mayRefuse(operationId: string, from: string, issue: string): boolean {
  if (operationId === 'redeemToken' && (issue === 'frozen' || issue === 'archived')) return true;
  const named = issue.replace(/^(?:wallet|vault|connection)_/, '');
  return !states.has(named) || named === 'expired' || named === from;
}
