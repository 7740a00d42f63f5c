/**
 * One spelling per address, so that rules and lists cannot be passed by another one. Only the spelling is settled here;
 * whether an address is valid on its network is for the chain room to say.
 */

const evm = /^0x[0-9a-fA-F]{40}$/i;
/** Bech32 is written in one case or the other, and means the same (BIP-173). */
const bech32 = /^(?:bc|tb|bcrt)1[0-9a-z]{6,88}$/i;

/** EVM and bech32 addresses in lowercase; base58, where case carries meaning, as it is. Outer spaces go. */
export function addressKey(text: string): string {
  const trimmed = text.trim();
  return evm.test(trimmed) || bech32.test(trimmed) ? trimmed.toLowerCase() : trimmed;
}
