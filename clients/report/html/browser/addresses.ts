/** What a name tells: the process of an address, its cluster, and the family of a fault. Runs in the browser. */

export const families = ['process', 'link', 'byzantine', 'clock', 'store', 'queue', 'receipt'] as const;
export type FaultFamily = (typeof families)[number];

const linkFaults = 'delay drop duplicate reorder partition hold half_open corrupt truncate'.split(' ');

export function familyOf(fault: string): FaultFamily {
  if (fault === 'crash' || fault === 'pause' || fault === 'slow') return 'process';
  if (linkFaults.includes(fault)) return 'link';
  if (fault.startsWith('clock_')) return 'clock';
  if (fault.startsWith('store_') || fault === 'redis_gone') return 'store';
  if (/^(worker_|receiver_|double_delivery|poison_job)/.test(fault)) return 'queue';
  return fault === 'force_receipt' ? 'receipt' : 'byzantine';
}

/** The prefix of a further cluster's names, "cluster/2/"; empty for the first, and for names outside clusters. */
export function clusterOf(address: string): string {
  return /^cluster\/\d+\//.exec(address)?.[0] ?? '';
}

export function processOf(address: string): string {
  const cluster = clusterOf(address);
  const parts = address.slice(cluster.length).split('/');
  if (parts[0] === 'node' && parts.length > 1) return `${cluster}node/${parts[1]}`;
  return ['gateway', 'worker', 'receiver', 'redis'].includes(parts[0]!) ? parts[0]! : `${cluster}coordinator`;
}
