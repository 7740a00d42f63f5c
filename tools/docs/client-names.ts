/**
 * The method of `signmesh/client` for each operation: `group.method`, or `group.group.method`. All other parts of the client's
 * calls come from the OpenAPI document (client-api.ts). An operation without a name, or a name without an operation, fails the
 * page.
 */
export const clientNames: Readonly<Record<string, string>> = {
  createProviderConnection: 'connections.create',
  connectProvider: 'connections.connect',
  listProviders: 'connections.providers',
  listProviderConnections: 'connections.list',
  getProviderConnection: 'connections.get',
  updateProviderConnection: 'connections.update',
  testProviderConnection: 'connections.test',
  disconnectProvider: 'connections.disconnect',

  createWallet: 'wallets.create',
  listWallets: 'wallets.list',
  updateWallet: 'wallets.update',
  getWallet: 'wallets.get',
  archiveWallet: 'wallets.archive',
  freezeWallet: 'wallets.freeze',
  unfreezeWallet: 'wallets.unfreeze',

  createTransactionIntent: 'intents.create',
  listTransactionIntents: 'intents.list',
  listAllTransactionIntents: 'intents.listAll',
  getTransactionIntent: 'intents.get',
  approveTransactionIntent: 'intents.approve',
  cancelTransactionIntent: 'intents.cancel',

  listSessions: 'sessions.list',
  getSession: 'sessions.get',

  listEvents: 'events.list',

  createWebhook: 'webhooks.create',
  listWebhooks: 'webhooks.list',
  getWebhook: 'webhooks.get',
  updateWebhook: 'webhooks.update',
  deleteWebhook: 'webhooks.delete',
  rotateWebhookSecret: 'webhooks.rotateSecret',
  pingWebhook: 'webhooks.ping',
  listDeliveries: 'webhooks.deliveries',
  getDelivery: 'webhooks.delivery',
  redeliver: 'webhooks.redeliver',
  redeliverRange: 'webhooks.redeliverRange',

  putPolicy: 'policies.put',
  listPolicies: 'policies.list',
  getPolicy: 'policies.get',
  evaluatePolicy: 'policies.evaluate',
  listPolicyDecisions: 'policies.decisions',
  getPolicyReceiptKeys: 'policies.receiptKeys',

  evaluateRisk: 'risk.evaluate',
  getRiskScore: 'risk.score',
  putRiskRule: 'risk.putRule',
  listRiskRules: 'risk.rules',
  changeRiskRule: 'risk.changeRule',
  deleteRiskRule: 'risk.deleteRule',

  screenSubject: 'compliance.screen',
  getComplianceReport: 'compliance.report',
  listComplianceLists: 'compliance.lists',
  putComplianceList: 'compliance.putList',
  getComplianceList: 'compliance.getList',

  createStrategy: 'treasury.createStrategy',
  listStrategies: 'treasury.strategies',
  getStrategy: 'treasury.strategy',
  putStrategyVersion: 'treasury.putStrategyVersion',
  archiveStrategy: 'treasury.archiveStrategy',
  listPositions: 'treasury.positions',
  rebalance: 'treasury.rebalance',
  listPlans: 'treasury.plans',
  getPlan: 'treasury.plan',
  executePlan: 'treasury.executePlan',
  cancelPlan: 'treasury.cancelPlan',

  createVault: 'vaults.create',
  listVaults: 'vaults.list',
  createVaultKey: 'vaults.createKey',
  listVaultKeys: 'vaults.keys',
  getVault: 'vaults.get',
  signVaultMessage: 'vaults.sign',
  archiveVault: 'vaults.archive',

  createReconJob: 'recon.createJob',
  listReconJobs: 'recon.jobs',
  getReconJob: 'recon.job',
  cancelReconJob: 'recon.cancelJob',
  listReconExceptions: 'recon.exceptions',
  getReconException: 'recon.exception',
  resolveReconException: 'recon.resolveException',

  createToken: 'tokens.create',
  listTokens: 'tokens.list',
  getToken: 'tokens.get',
  freezeToken: 'tokens.freeze',
  unfreezeToken: 'tokens.unfreeze',
  mintToken: 'tokens.mint',
  redeemToken: 'tokens.redeem',
  listTokenOrders: 'tokens.orders',
  getTokenOrder: 'tokens.order',
  approveTokenOrder: 'tokens.approveOrder',
  cancelTokenOrder: 'tokens.cancelOrder',

  listModules: 'modules.list',
  requestModuleAccess: 'modules.requestAccess',

  initiateDkg: 'signing.initiateDkg',
  exchangeDkgShares: 'signing.exchangeDkgShares',
  initiateSigning: 'signing.initiateSigning',
  submitSignatureShare: 'signing.submitSignatureShare',
  resumeSession: 'signing.resumeSession',

  getHealth: 'service.health',

  createSandboxFault: 'sandbox.createFault',
  listSandboxFaults: 'sandbox.faults',
  getSandboxFault: 'sandbox.fault',
  deleteSandboxFault: 'sandbox.deleteFault',
  resetSandboxFaults: 'sandbox.resetFaults',
  beginSandboxStep: 'sandbox.beginStep',
  listSandboxNodes: 'sandbox.nodes',
  crashSandboxNode: 'sandbox.crashNode',
  restartSandboxNode: 'sandbox.restartNode',
  pauseSandboxNode: 'sandbox.pauseNode',
  resumeSandboxNode: 'sandbox.resumeNode',
  getSandboxSession: 'sandbox.session',
  previewSandboxPartial: 'sandbox.previewPartial',
  beginSandboxKey: 'sandbox.beginKey',
  getSandboxClock: 'sandbox.clock',
  advanceSandboxClock: 'sandbox.advanceClock',
  takeSandboxSnapshot: 'sandbox.takeSnapshot',
  listSandboxSnapshots: 'sandbox.snapshots',
  restoreSandboxSnapshot: 'sandbox.restoreSnapshot',
  deleteSandboxSnapshot: 'sandbox.deleteSnapshot',
  resetSandbox: 'sandbox.reset',
  readSandboxRecording: 'sandbox.recording',
  getSandboxReceiver: 'sandbox.receiver',
  issueSandboxToken: 'sandbox.issueToken',
  getMarket: 'sandbox.market',
  setMarket: 'sandbox.setMarket',
  addReconDrift: 'sandbox.addDrift',
  listReconDrifts: 'sandbox.drifts',
  removeReconDrifts: 'sandbox.removeDrifts',
};

/** Operations without a generated method: the stream has its own iterator, the rest are duplicates. */
export const unnamed: ReadonlySet<string> = new Set(['streamEvents', 'getOpenapi', 'getWellKnownKeys']);

/** Operations with a dry run: its method, the query that requests it, and the title of its answer. */
export const dryRuns: Readonly<
  Record<string, { readonly name: string; readonly query: string; readonly answer: string }>
> = {
  createTransactionIntent: { name: 'intents.dryRun', query: 'dry_run=true', answer: 'IntentDryRun' },
  signVaultMessage: { name: 'vaults.dryRun', query: 'dry_run=true', answer: 'VaultSignatureDryRun' },
};
