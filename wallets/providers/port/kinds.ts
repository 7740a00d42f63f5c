/** The kinds of provider: three hosted custodians, our own signer cluster, and the sandbox. */
export const providerKinds = ['fireblocks', 'bitgo', 'copper', 'self_hosted', 'sandbox'] as const;
export type ProviderKind = (typeof providerKinds)[number];

/** The effect of an intent: moves an asset, makes a token's contract, or makes and destroys units of it. */
export const intentKinds = ['transfer', 'deploy', 'mint', 'burn'] as const;
export type IntentKind = (typeof intentKinds)[number];
