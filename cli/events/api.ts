/** The wallet API for the recipes of `signmesh trigger`: an error is a Failure with the service's message. */
import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { errorText, Failure } from '../common/failure.ts';
import { messageOf } from './follow.ts';
import type { Target } from './target.ts';

const callTimeoutMs = 30_000;
const reachedEveryMs = 200;
const reachedWithinMs = 30_000;

export const evmNetwork = 'eip155:11155111';

export interface Made {
  readonly id: string;
  // biome-ignore lint/suspicious/noExplicitAny: the service's own JSON, of which a recipe reads a field or two
  readonly [field: string]: any;
}

/** A simulated provider, or the cluster’s own nodes. */
export type Provider = 'sandbox' | 'self_hosted';

export class RecipeApi {
  readonly #target: Target;
  /** Part of every created name, so that runs do not collide. */
  readonly suffix = randomBytes(3).toString('hex');
  readonly #connections = new Map<Provider, Promise<Made>>();

  constructor(target: Target) {
    this.#target = target;
  }

  async call(method: string, path: string, body?: object, token = this.#target.token): Promise<Made> {
    let response: Response;
    let text: string;
    try {
      response = await fetch(`${this.#target.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(callTimeoutMs),
      });
      text = await response.text();
    } catch (error) {
      throw new Failure(`${this.#target.url} does not answer: ${errorText(error)}`);
    }
    if (!response.ok) throw new Failure(`${method} ${path} answers ${response.status}: ${messageOf(text) ?? text}`);
    return (text === '' ? {} : JSON.parse(text)) as Made;
  }

  post(path: string, body: object = {}): Promise<Made> {
    return this.call('POST', path, body);
  }

  /** A connection, one for each recipe. */
  connection(provider: Provider = 'sandbox'): Promise<Made> {
    const known = this.#connections.get(provider);
    const connection =
      known ?? this.post('/v1/providers/connect', { type: provider, name: `trigger ${this.suffix}`, credentials: {} });
    this.#connections.set(provider, connection);
    return connection;
  }

  /** A wallet with test money. */
  async wallet(name = 'one', provider: Provider = 'sandbox'): Promise<Made> {
    const { id } = await this.connection(provider);
    return this.post('/v1/wallets', {
      name: `trigger ${name} ${this.suffix}`,
      provider_connection_id: id,
      network: evmNetwork,
    });
  }

  /** The answer of this path, as soon as it has this status. */
  async reached(path: string, status: string, withinMs = reachedWithinMs): Promise<Made> {
    for (let run = 0; run * reachedEveryMs < withinMs; run += 1) {
      const found = await this.call('GET', path);
      if (found.status === status) return found;
      await setTimeout(reachedEveryMs);
    }
    throw new Failure(`${path} is not ${status} after ${withinMs / 1000} s`);
  }

  /** A transfer to another of the tenant's wallets, or to `address`. */
  async intent(
    amount: string,
    { address, provider = 'sandbox' }: { readonly address?: string; readonly provider?: Provider } = {},
  ): Promise<Made & { readonly path: string }> {
    const wallet = await this.wallet('one', provider);
    const to = address ?? addressOf(await this.wallet('two', provider));
    const path = `/v1/wallets/${wallet.id}/transaction-intents`;
    const made = await this.post(path, { asset: 'ETH', amount, destination: { address: to } });
    return { ...made, path: `${path}/${made.id}` };
  }

  /** A vote of a second person: the initiator of an intent has no vote. */
  async vote(path: string, decision: 'approve' | 'reject'): Promise<Made> {
    const { approverToken } = this.#target;
    if (approverToken === undefined) {
      throw new Failure('This needs a second person’s token: give the sandbox’s data directory instead of --token.');
    }
    const reason = decision === 'reject' ? { reason: 'signmesh trigger' } : {};
    return this.call('POST', `${path}/approve`, { decision, ...reason }, approverToken);
  }
}

function addressOf(wallet: Made): string {
  return (wallet.addresses as { address: string }[])[0]!.address;
}
