/**
 * Clients of the wallet API that pay while processes die: each sends its order under an idempotency key of its own and
 * repeats it under that key, through any gateway, until it is answered. The answers are stored for the checks that follow.
 */
import { type RestAnswer, RestClient } from '../../support/rest.ts';
import { patienceMs } from '../../support/until.ts';
import { type PaymentFixtures, testFunds } from './payment-fixtures.ts';
import type { Seeded } from './seeded.ts';

/** How an order must end; it follows from its amount and its client's decision. */
export const endings = {
  completed: { status: 'completed', error: null },
  approved: { status: 'completed', error: null },
  rejected: { status: 'rejected', error: null },
  cancelled: { status: 'cancelled', error: null },
  refusedLate: { status: 'failed', error: 'refused' },
  reverted: { status: 'failed', error: 'reverted' },
} as const;
export type Ending = keyof typeof endings;

export interface Order {
  readonly key: string;
  readonly walletId: string;
  readonly asset: string;
  readonly amount: string;
  readonly to: string;
  readonly ending: Ending;
}

export interface Answered {
  readonly order: Order;
  readonly intentId: string;
}

/** Test amounts (wallets/providers/port/test-triggers.ts); all others are drawn below them. */
const triggers = {
  pending: '0.00477',
  refusedLate: '0.004421',
  unavailableThrice: '0.004403',
  reverted: '0.00441',
} as const;

/** Some of the orders wait for a human, some fail, and some find their provider unreachable at first. */
export function drawOrder(key: string, chance: Seeded, { wallets, foreign }: PaymentFixtures): Order {
  const from = chance.pick(wallets);
  const asset = chance.pick(Object.keys(testFunds[from.network]!));
  const ours = wallets.filter(({ network }) => network === from.network).map(({ address }) => address);
  // A sandbox custodian does not move money on a chain: it cannot pay a wallet that is on one.
  const staysHere = from.hosting === 'self_hosted' && chance.fraction() < 0.6;
  const to = chance.pick(staysHere ? ours : foreign[from.network]!);
  const order = { key, walletId: from.id, asset, to };
  const dice = chance.fraction();
  if (dice < 0.08) return { ...order, amount: triggers.refusedLate, ending: 'refusedLate' };
  if (dice < 0.16) return { ...order, amount: triggers.reverted, ending: 'reverted' };
  if (dice < 0.2) return { ...order, amount: triggers.unavailableThrice, ending: 'completed' };
  if (dice < 0.35) {
    return {
      ...order,
      amount: triggers.pending,
      ending: chance.pick(['approved', 'approved', 'rejected', 'cancelled']),
    };
  }
  // Without a zero at the end: the API writes amounts as short as they are.
  return { ...order, amount: `0.00${chance.integer(100, 399)}${chance.integer(1, 9)}`, ending: 'completed' };
}

interface IntentAnswer {
  readonly id: string;
  readonly status: string;
}

export interface PaymentClientOptions {
  /** Of the gateways: any of them takes any call. */
  readonly urls: readonly string[];
  readonly token: string;
  readonly approverToken: string;
  readonly chance: Seeded;
}

export class PaymentClient {
  readonly answered: Answered[] = [];
  /** Calls that got no answer, or one that asks to repeat the request. */
  repeats = 0;
  readonly #doors: readonly RestClient[];
  readonly #options: PaymentClientOptions;

  constructor(options: PaymentClientOptions) {
    this.#options = options;
    this.#doors = options.urls.map((url) => new RestClient(url, options.token));
  }

  /** Makes the intent, sometimes twice at once, and decides on it if it waits for that. Throws on any answer but the right one. */
  async pay(order: Order): Promise<void> {
    const copies = this.#options.chance.fraction() < 0.25 ? 2 : 1;
    const answers = await Promise.all(Array.from({ length: copies }, () => this.create(order)));
    for (const { id } of answers) this.answered.push({ order, intentId: id });
    await this.#decide(order, answers[0]!.id);
  }

  /** The intent of an order; again: the same. */
  create({ key, walletId, asset, amount, to }: Order): Promise<IntentAnswer> {
    const body = { asset, amount, destination: { address: to }, metadata: { order: key } };
    return this.#answered(`/v1/wallets/${walletId}/transaction-intents`, body, key, 201);
  }

  async #decide({ key, walletId, ending }: Order, intentId: string): Promise<void> {
    const path = `/v1/wallets/${walletId}/transaction-intents/${intentId}`;
    const { approverToken } = this.#options;
    if (ending === 'approved') await this.#answered(`${path}/approve`, {}, key, 200, approverToken);
    if (ending === 'cancelled') await this.#answered(`${path}/cancel`, {}, key, 200);
    if (ending !== 'rejected') return;
    await this.#answered(`${path}/approve`, { decision: 'reject', reason: 'no' }, key, 200, approverToken);
  }

  async #answered(path: string, body: object, key: string, status: number, token?: string): Promise<IntentAnswer> {
    const beganMs = performance.now();
    for (;;) {
      const answer = await this.#tried(path, body, key, token);
      if (answer?.status === status) return answer.body;
      const text = `${path} under ${key}: ${answer?.status ?? 'no answer'} ${JSON.stringify(answer?.body)}`;
      if (answer !== undefined && !mayBeRepeated(answer)) throw new Error(text);
      if (performance.now() - beganMs > patienceMs()) throw new Error(`not answered in time, last ${text}`);
      this.repeats += 1;
      // No gateway answers: a pause keeps the client from spinning.
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** undefined: no answer came, or not all of it. */
  async #tried(path: string, body: object, key: string, token?: string): Promise<RestAnswer<IntentAnswer> | undefined> {
    const headers = { 'idempotency-key': key };
    const door = this.#options.chance.pick(this.#doors);
    try {
      return await door.post<IntentAnswer>(path, body, { headers, ...(token !== undefined && { token }) });
    } catch {
      return undefined;
    }
  }
}

function mayBeRepeated({ status, body }: RestAnswer<unknown>): boolean {
  // 429: refused for load, before any effect.
  return status === 503 || status === 429 || (status === 409 && JSON.stringify(body).includes('"request_in_progress"'));
}
