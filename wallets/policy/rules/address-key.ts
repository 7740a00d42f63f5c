/**
 * The canonical spelling of an address, so that another spelling cannot bypass rules and lists. It does not validate addresses;
 * wallets/networks/addresses.ts does.
 */

const evm = /^0x[0-9a-fA-F]{40}$/i;
/** Bech32 may be in upper or lower case with the same meaning (BIP-173). */
const bech32 = /^(?:bc|tb|bcrt)1[0-9a-z]{6,88}$/i;

/** EVM and bech32 addresses in lowercase; base58, where case carries meaning, as it is. Outer spaces go. */
export function addressKey(text: string): string {
  const trimmed = text.trim();
  return evm.test(trimmed) || bech32.test(trimmed) ? trimmed.toLowerCase() : trimmed;
}
