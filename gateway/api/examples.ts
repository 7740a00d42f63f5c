/**
 * What examples of bodies share. A sandbox accepts each example unchanged, except for the ids of the caller's own resources: those
 * below are placeholders. A test sends them all (test/gateway/api/examples.test.ts).
 */

/** Placeholders, by their prefixes. */
export const exampleIds = {
  connection: 'pcn_01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e',
  wallet: 'wal_01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e',
  vaultKey: 'vky_01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e',
  strategy: 'stg_01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e',
  signingSession: 'sig_01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e',
  resumeToken: 'the resume_token of the last answer',
} as const;

export const exampleNetwork = 'eip155:11155111';
/** The second account of the usual test mnemonic. */
export const exampleReceiver = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
export const exampleTransfer = { asset: 'ETH', amount: '0.01', destination: { address: exampleReceiver } };
