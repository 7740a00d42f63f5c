/**
 * Which addresses the service may connect to on a caller's behalf (webhooks). The decision depends only on the resolved
 * address, in normal form: IPv4 inside IPv6 (mapped, compatible, NAT64, 6to4) counts as the IPv4 address that the packet would
 * reach.
 *
 * Production: global unicast only. A sandbox is for one's own machine: loopback and private networks are fine too, but
 * never link-local addresses, since cloud machines serve their own credentials there (169.254.169.254 and its kin).
 */
import ipaddr from 'ipaddr.js';
import type { ClusterEnvironment } from '../../../proto/roster.ts';

export type AddressVerdict =
  | { readonly allowed: true }
  /** `range`: what the address is, e.g. "linkLocal"; for the message. */
  | { readonly allowed: false; readonly range: string };

/** Services of cloud machines outside of the link-local ranges: Alibaba, Oracle, Azure, Google. */
const metadataAddresses = new Set(['100.100.100.200', '192.0.0.192', '168.63.129.16', 'fd20:ce::254']);
/** Those of AWS: metadata, credentials of pods, time, names. */
const awsServices = ipaddr.IPv6.parseCIDR('fd00:ec2::/32');
/** All IPv6 addresses that are assigned as global unicast (RFC 4291 §2.4); ipaddr.js calls the unassigned ones unicast too. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');
const sandboxRanges = new Set(['unicast', 'loopback', 'private', 'uniqueLocal']);

/** `address` as a resolver gives it, IPv4 or IPv6, without brackets. Anything unreadable is refused. */
export function evaluateAddress(address: string, environment: ClusterEnvironment): AddressVerdict {
  if (!ipaddr.isValid(address)) return { allowed: false, range: 'unreadable' };
  const bare = reached(ipaddr.parse(address));
  const range = rangeOf(bare);
  const allowed = environment === 'sandbox' ? sandboxRanges.has(range) : range === 'unicast';
  return allowed ? { allowed } : { allowed, range };
}

function rangeOf(address: Parsed): string {
  if (metadataAddresses.has(address.toString())) return 'metadata';
  const range = address.range();
  if (address.kind() === 'ipv4') return range;
  const v6 = address as ipaddr.IPv6;
  if (v6.match(awsServices)) return 'metadata';
  return range === 'unicast' && !v6.match(globalUnicast) ? 'unassigned' : range;
}

type Parsed = ipaddr.IPv4 | ipaddr.IPv6;

/** The address that a packet would reach: the IPv4 address inside, where there is one. */
function reached(address: Parsed): Parsed {
  if (address.kind() === 'ipv4') return address;
  const v6 = address as ipaddr.IPv6;
  if (v6.isIPv4MappedAddress()) return v6.toIPv4Address();
  const bytes = v6.toByteArray();
  const at = (offset: number) => ipaddr.fromByteArray(bytes.slice(offset, offset + 4));
  // ::a.b.c.d (deprecated), but not :: and ::1.
  if (bytes.slice(0, 12).every((byte) => byte === 0) && (bytes[12] !== 0 || bytes[13] !== 0)) return at(12);
  // RFC 6052: 64:ff9b::/96. RFC 3056: 2002::/16.
  if (v6.match(ipaddr.IPv6.parse('64:ff9b::'), 96)) return at(12);
  if (v6.match(ipaddr.IPv6.parse('2002::'), 16)) return at(2);
  return v6;
}
