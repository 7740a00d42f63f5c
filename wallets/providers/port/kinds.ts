/** The kinds of provider: three hosted custodians, our own signer cluster, and the sandbox. */
export const providerKinds = ['fireblocks', 'bitgo', 'copper', 'self_hosted', 'sandbox'] as const;
export type ProviderKind = (typeof providerKinds)[number];

/**
 * What an intent is for: it moves an asset, makes a token's contract, makes and destroys units of it, or takes the place of a
 * transaction that waits below its market: with the same effect and a higher fee, or with none. Or it is a message,
 * a text or typed data; or it is a call of a token's contract, as its caller encoded it.
 */
export const intentKinds = [
  'transfer',
  'deploy',
  'mint',
  'burn',
  'speed_up',
  'cancel',
  'message',
  'typed_data',
  'contract_call',
] as const;
export type IntentKind = (typeof intentKinds)[number];

/** What is signed and sent nowhere: it has no number, pays no fee and moves nothing. */
const messageKinds: readonly string[] = ['message', 'typed_data'];

export function isMessage(kind: string): boolean {
  return messageKinds.includes(kind);
}

/** The kinds that only a rule which names them allows. */
export function mustBeNamed(kind: string): boolean {
  return isMessage(kind) || kind === 'contract_call';
}

export const feeLevels = ['low', 'medium', 'high'] as const;
export type FeeLevel = (typeof feeLevels)[number];
