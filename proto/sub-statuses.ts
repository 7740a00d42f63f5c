/** What each `sub_status` of a transaction intent means: for the docs, and for the console. */
export const subStatusTexts: Readonly<Record<string, string>> = {
  AWAITING_APPROVAL: 'Votes are missing.',
  RECORD_TAMPERED:
    'Failed: what Redis holds of it or of its wallet is not what was decided, or an earlier version decided about it. Nothing was ordered for it since.',
  WALLET_NOT_ACTIVE: 'Approved, but the wallet is frozen: retried until the intent expires.',
  TENANT_FROZEN:
    'Approved, or not yet ordered, but the tenant is frozen: retried until it is unfrozen, or the intent expires.',
  TOKEN_FROZEN: 'Approved, but the token is frozen: retried until the intent expires.',
  AWAITING_QUORUM: 'The cluster has too few nodes to sign, or does not answer: retried.',
  PROVIDER_UNAVAILABLE: 'The provider does not answer: retried.',
  RETRYING: 'An internal step failed: retried; the log has the cause.',
  QUEUED_AT_PROVIDER: 'The provider has accepted it and has not begun.',
  SCREENING_AT_PROVIDER: 'The provider screens it itself.',
  APPROVAL_AT_PROVIDER: 'A person at the provider has to approve it.',
  AWAITING_EARLIER_TRANSACTION: 'An earlier transfer of the wallet comes first.',
  BELOW_MARKET_FEE:
    'Its network takes no transaction with so low a fee now: it waits until the market falls, or another transaction replaces it.',
  BEING_REPLACED:
    'The transaction of `replaced_by` has its place on the network: when that is mined, this intent fails.',
  REPLACED_IS_MINED: 'The transaction that it was to replace was mined first: this intent fails.',
  AWAITING_CONFIRMATIONS: 'It is in a block and waits for more blocks.',
  NOT_FINAL: 'Completed, and its block may still be undone.',
  REORGED: 'A reorganisation has undone its block: it is in a later one, and its confirmations count anew.',
  NOT_FOUND_ON_CHAIN: 'The chain no longer has it: the service searches for it again.',
  SCREENING_BLOCKED: 'Denied: compliance blocks the destination.',
  POLICY_DENIED: 'Denied by a rule, or because no rule allows it.',
  REJECTED_BY_PROVIDER: 'Failed: the provider refused it after it was approved.',
  PROVIDER_REJECTED: 'Failed: the provider refused the step.',
  REJECTED_BY_CHAIN: 'Failed: the chain refused the signed transaction.',
  REPLACED: 'Failed: another transaction was mined in its place; nothing was spent.',
  FAILED_ON_CHAIN: 'Failed: it was mined without effect, and its fee was paid.',
  OUT_OF_GAS: 'Failed: it was mined with a `gas_limit` below what it needs: all of that gas was paid, without effect.',
};
