/** The wallet API as the recipes of `signmesh trigger` call it: what goes wrong is a Failure with the service's words. */
import { randomBytes } from 'node:crypto';
import { errorText, Failure } from '../failure.ts';
import { messageOf } from './follow.ts';
import type { Target } from './target.ts';

const callTimeoutMs = 30_000;
const waitMs = 30_000;
const lookEveryMs = 100;

export const evmNetwork = 'eip155:11155111';

export interface Made {
  readonly id: string;
  // biome-ignore lint/suspicious/noExplicitAny: the service's own JSON, of which a recipe reads a field or two
  readonly [field: string]: any;
}

export class RecipeApi {
  readonly #target: Target;
  /** In every name that is made, so that runs do not meet. */
  readonly suffix = randomBytes(3).toString('hex');
  #connection: Promise<Made> | undefined;

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

  /** A connection to the simulated provider, one for a recipe. */
  connection(): Promise<Made> {
    this.#connection ??= this.post('/v1/provider-connections', {
      provider: 'sandbox',
      name: `trigger ${this.suffix}`,
      credentials: {},
    });
    return this.#connection;
  }

  /** A wallet with test money. */
  async wallet(name = 'one'): Promise<Made> {
    const { id } = await this.connection();
    return this.post('/v1/wallets', {
      name: `trigger ${name} ${this.suffix}`,
      provider_connection_id: id,
      network: evmNetwork,
    });
  }

  /** A transfer to a wallet of one's own, or to `address`. */
  async intent(amount: string, address?: string): Promise<Made & { readonly path: string }> {
    const wallet = await this.wallet();
    const to = address ?? addressOf(await this.wallet('two'));
    const path = `/v1/wallets/${wallet.id}/transaction-intents`;
    const made = await this.post(path, { asset: 'ETH', amount, destination: { address: to } });
    return { ...made, path: `${path}/${made.id}` };
  }

  /** A vote of another person: nobody approves an intent of one's own. */
  async vote(path: string, decision: 'approve' | 'reject'): Promise<Made> {
    const { approverToken } = this.#target;
    if (approverToken === undefined) {
      throw new Failure('This needs a second person: name the sandbox’s data directory instead of --token.');
    }
    const reason = decision === 'reject' ? { reason: 'signmesh trigger' } : {};
    return this.call('POST', `${path}/approve`, { decision, ...reason }, approverToken);
  }

  async until(path: string, what: string, holds: (body: Made) => boolean): Promise<Made> {
    const deadlineMs = performance.now() + waitMs;
    for (;;) {
      const body = await this.call('GET', path);
      if (holds(body)) return body;
      if (performance.now() > deadlineMs) throw new Failure(`not within ${waitMs / 1000} s: ${what}`);
      await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    }
  }
}

export function addressOf(wallet: Made): string {
  return (wallet.addresses as { address: string }[])[0]!.address;
}
