/**
 * An example for every operation with a body: the document shows it, the page at /v1/docs sends it. A sandbox accepts each
 * unchanged, except for the ids of the caller's own resources: those below are placeholders. A test sends them all
 * (test/gateway/api/examples.test.ts).
 */
import type { JsonObject } from './parts.ts';

/** Placeholders, by their prefixes. */
export const exampleIds = {
  connection: 'pcn_01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e',
  wallet: 'wal_01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e',
  vaultKey: 'vky_01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e',
  intent: 'txi_01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e',
  strategy: 'stg_01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e',
  token: 'tkn_01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e',
  order: 'ord_01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e',
  signingSession: 'sig_01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e',
  resumeToken: 'the resume_token of the last answer',
} as const;

const sepolia = 'eip155:11155111';
/** The second account of the usual test mnemonic. */
const receiver = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const strategy = {
  name: 'half and half',
  wallet_ids: [exampleIds.wallet],
  targets: [
    { asset: 'ETH', weight_bps: 5000, band_bps: 300 },
    { asset: 'USDC', weight_bps: 5000, band_bps: 300 },
  ],
  constraints: { min_trade_usd: '100', cash_floor: { asset: 'USDC', amount: '2000' }, cooldown_s: 3600 },
  autonomy: 'human_approval',
};
const reserve = { type: 'wallet', asset: 'USDC', wallet_id: exampleIds.wallet };
const transfer = { asset: 'ETH', amount: '0.01', destination: { address: receiver } };

/** One body for each operation. */
export const bodyExamples: Readonly<Record<string, JsonObject>> = {
  createProviderConnection: { provider: 'self_hosted', name: 'our own nodes', credentials: {} },
  connectProvider: { type: 'sandbox', name: 'a mock custodian', credentials: { api_key: 'any text' } },
  updateProviderConnection: { name: 'renamed', metadata: { team: 'treasury' } },
  createWallet: { name: 'treasury', provider_connection_id: exampleIds.connection, network: sepolia },
  updateWallet: { name: 'cold treasury', metadata: { desk: 'emea' } },
  createVault: { name: 'settlement', keystore_type: 'mpc_frost', curve: 'secp256k1', threshold: 3, total_nodes: 5 },
  createVaultKey: { name: 'second' },
  signVaultMessage: { key_id: exampleIds.vaultKey, message: 'aGVsbG8=', message_type: 'raw' },
  archiveVault: { reason: 'no longer used' },
  requestModuleAccess: { reason: 'keys for the settlement service' },
  archiveWallet: { reason: 'no longer used' },
  createTransactionIntent: { ...transfer, metadata: { invoice: 'INV-2026-0117' } },
  approveTransactionIntent: { decision: 'approve', comment: 'matches the invoice' },
  cancelTransactionIntent: { reason: 'paid by other means' },
  createToken: {
    symbol: 'GOLD',
    name: 'Vaulted gold',
    network: sepolia,
    decimals: 6,
    supply_cap: '1000000',
    issuer_wallet_id: exampleIds.wallet,
  },
  mintToken: { amount: '250', destination: { address: receiver }, reserve_reference: reserve },
  redeemToken: { amount: '1', source: { wallet_id: exampleIds.wallet }, reserve_reference: reserve },
  approveTokenOrder: { decision: 'approve', comment: 'the reserve statement is in' },
  cancelTokenOrder: { reason: 'ordered twice' },
  freezeToken: { reason: 'the custodian of the gold is being replaced' },
  unfreezeToken: { reason: 'replaced' },
  createWebhook: { url: 'https://example.com/hooks', events: ['transaction_intent.*', 'wallet.*'] },
  updateWebhook: { events: ['*'], description: 'everything' },
  rotateWebhookSecret: { revoke_previous: false },
  redeliverRange: { status: 'failed', types: ['transaction_intent.*'] },
  putPolicy: {
    name: 'large-transfers',
    rules: [
      { id: 'large', effect: 'require_approval', when: 'tx.amount > units("10")', approvals: { quorum: 1 } },
      { id: 'rest', effect: 'allow', when: 'true' },
    ],
  },
  evaluatePolicy: { transaction: { wallet_id: exampleIds.wallet, ...transfer } },
  evaluateRisk: { transaction: { wallet_id: exampleIds.wallet, ...transfer } },
  putRiskRule: { name: 'large-transfer', when: 'tx.asset == "ETH" && tx.amount > units("10")', points: 25 },
  changeRiskRule: { mode: 'shadow' },
  screenSubject: { subject: { type: 'address', address: receiver, network: sepolia } },
  putComplianceList: { name: 'known-bad', kind: 'deny', entries: [{ name: 'Mallory Malone', note: 'an example' }] },
  createStrategy: strategy,
  putStrategyVersion: { ...strategy, autonomy: 'within_policy' },
  rebalance: { strategy_id: exampleIds.strategy, dry_run: true },
  setMarket: { prices: [{ asset: 'ETH', price_usd: '3000' }], venue: { mode: 'normal' } },
  addReconDrift: { kind: 'extra', wallet_id: exampleIds.wallet, amount: '0.5' },
  createReconJob: { kind: 'transactions', scope: { asset: 'ETH' }, tolerance: { absolute: '0', bps: 0 } },
  resolveReconException: { resolution: 'false_positive', note: 'the provider has answered by phone' },
  createSandboxFault: { fault: 'drop', target: 'node/2', expires_in_s: 5 },
  beginSandboxStep: { step: 'pay' },
  issueSandboxToken: { name: 'alice', tenant: 'suppliers' },
  beginSandboxKey: { session_id: 'my-safe', keystore_type: 'MULTISIG_EVM_WALLET', threshold: 2, total_nodes: 3 },
  crashSandboxNode: { restart_after_ms: 100 },
  advanceSandboxClock: { advance_s: 60 },
  takeSandboxSnapshot: { name: 'before-the-test' },
  initiateDkg: { session_id: 'my-key', threshold: 3, total_nodes: 5, derivation: { curve: 'secp256k1' } },
  exchangeDkgShares: { session_id: 'my-key' },
  initiateSigning: {
    transaction_intent_id: 'invoice-0117',
    wallet_id: 'sandbox-secp256k1',
    message_hash: 'LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=',
  },
  submitSignatureShare: { signing_session_id: exampleIds.signingSession },
  resumeSession: {
    session_id: exampleIds.signingSession,
    resume_token: exampleIds.resumeToken,
    human_approval_witness: 'YXBwcm92ZWQgYnkgYWxpY2U=',
  },
};
