/** The steps of random runs, by family. The client of a family implements its steps. */
export const families = {
  money: [
    'transfer',
    'race',
    'vote',
    'cancel',
    'freeze',
    'patch',
    'archive',
    'policy',
    'list',
    'pages',
    'read',
    'twice',
    'reuse',
    'probe',
    'replay',
    'dry_run',
    'malformed',
    'risk_rule',
  ],
  hooks: ['register', 'subscribe', 'rotate', 'ping', 'remove', 'gone', 'toggle', 'flaky', 'follow', 'redeliver'],
  signing: ['dkg', 'client_sign', 'wallet_sign', 'pending_sign', 'again', 'sessions'],
  tokens: ['issue', 'mint', 'redeem', 'order_vote', 'order_cancel', 'token_freeze'],
  treasury: ['strategy', 'rebalance', 'execute', 'plan_cancel', 'market'],
  vaults: ['vault', 'vault_key', 'vault_sign', 'vault_archive'],
  access: ['rotate_token'],
  connections: ['connection_test', 'connection_name', 'disconnect', 'connection_refused'],
  recon: ['recon', 'recon_cancel', 'drift', 'resolve'],
} as const;
export type Family = keyof typeof families;
export type FamilyStep<F extends Family> = (typeof families)[F][number];
