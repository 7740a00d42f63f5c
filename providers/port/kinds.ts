/** The kinds of provider: three hosted custodians, our own signer cluster, and the sandbox. */
export const providerKinds = ['fireblocks', 'bitgo', 'copper', 'self_hosted', 'sandbox'] as const;
export type ProviderKind = (typeof providerKinds)[number];
