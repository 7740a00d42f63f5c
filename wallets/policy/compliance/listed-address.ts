/** Validates addresses in lists and screenings: an invalid one would never match, and must not count as clear. */
import { type AddressProblem, addressProblem } from '../../networks/addresses.ts';
import { type NetworkId, networkIds } from '../../networks/networks.ts';

/**
 * The fault of an address of one network, or (null) of any. An address of another network of the same kind (a main network's)
 * is none of ours and may be listed for any.
 */
export function listedAddressProblem(network: NetworkId | null, address: string): AddressProblem | undefined {
  if (network !== null) return addressProblem(network, address);
  const problems = networkIds.map((id) => addressProblem(id, address));
  if (problems.some((problem) => problem === undefined || problem === 'wrong_network')) return undefined;
  return problems.find((problem) => problem === 'invalid_checksum') ?? 'invalid_format';
}
