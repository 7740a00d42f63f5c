/** Calls of the wallet API that must succeed. */
import type { HttpClient } from '../../../clients/load/calls/http.ts';

export const evm = 'eip155:11155111';

export interface Made {
  readonly id: string;
  // biome-ignore lint/suspicious/noExplicitAny: the service's own JSON, of which a field or two is read
  readonly [field: string]: any;
}

export async function post(client: HttpClient, path: string, body: string): Promise<Made> {
  const { status, text } = await client.send('POST', path, body);
  if (status !== 201) throw new Error(`POST ${path}: HTTP ${status} ${text.slice(0, 300)}`);
  return JSON.parse(text) as Made;
}

export async function get(client: HttpClient, path: string): Promise<Made> {
  const { status, text } = await client.send('GET', path);
  if (status !== 200) throw new Error(`GET ${path}: HTTP ${status} ${text.slice(0, 300)}`);
  return JSON.parse(text) as Made;
}
