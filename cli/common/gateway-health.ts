/** The health of the gateway and of the cluster behind it, as any probe reads it. */
import { callHttp } from './http.ts';

/** "Every address" is for listening; loopback is enough for calls. IPv6 gets brackets. */
export function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

export interface Health {
  readonly status: string;
  readonly nodes_ready: number;
  readonly nodes_total: number;
  /** Why `status` is not "ok". */
  readonly reasons: readonly string[];
}

export const noHealth: Health = { status: 'unreachable', nodes_ready: 0, nodes_total: 0, reasons: [] };

export async function askHealth(url: string, timeoutMs = 2000): Promise<Health> {
  try {
    const { text } = await callHttp(url, { timeoutMs });
    return { ...noHealth, ...(JSON.parse(text) as Partial<Health>) };
  } catch {
    return noHealth;
  }
}
