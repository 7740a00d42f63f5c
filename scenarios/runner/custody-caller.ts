/**
 * Runs the wallet API's steps: fills in the answers of earlier steps, calls, and reports the result. A step that insists repeats
 * its call with the same idempotency key while it has no answer, as a patient client does.
 */
import type { CustodyBook } from './custody-book.ts';
import { type CustodyCall, type CustodyStepOf, owner } from './custody-format.ts';
import { asTexts } from './custody-meaning.ts';
import { type CustodyAnswer, type CustodyOutcome, isSuccess, mayRepeat, repeatAfterMs } from './custody-outcome.ts';
import { operations } from './generated-operations.ts';
import { type CallEnd, failureOf } from './outcome.ts';
import { fieldOf, ReferenceMissing, resolved } from './references.ts';
import type { ScenarioWorld } from './world.ts';

type CustodyEnded = CallEnd<CustodyOutcome>;

/** A call of the API, with every reference resolved. */
interface Call {
  readonly name: string;
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: object | undefined;
  readonly key?: string;
}

type End = (ended: CustodyEnded) => void;

interface IntentNamed {
  readonly id: string;
  readonly wallet_id: string;
}

const repeatMs = 100;
/** It repeats at least this often: two unanswered calls take a minute. */
const attemptsMin = 4;
const pollMs = { simulated: 100, live: 50 } as const;
/** Statuses in which an intent waits: it has ended, or needs a person. */
const rests = new Set([...['pending_approval', 'completed', 'denied', 'rejected', 'expired', 'cancelled', 'failed']]);
/** Credentials that simulated providers accept. */
const credentials = {
  self_hosted: {},
  sandbox: {},
  fireblocks: { api_key: 'scenario', private_key: 'scenario' },
  bitgo: { api_key: 'scenario' },
  copper: { api_key: 'scenario', api_secret: 'scenario' },
} as const;
const coins: Readonly<Record<string, string>> = { eip155: 'ETH', bip122: 'BTC', solana: 'SOL' };

export class CustodyCaller {
  readonly #world: ScenarioWorld;
  readonly #book: CustodyBook;
  readonly #insistMs: number;

  constructor(world: ScenarioWorld, book: CustodyBook, insistMs: number) {
    this.#world = world;
    this.#book = book;
    this.#insistMs = insistMs;
  }

  perform(step: CustodyCall, end: End): void {
    let filled: CustodyCall;
    try {
      const { step: name, expect, ...rest } = step;
      filled = { ...(resolved(rest, (other) => this.#book.answer(other)) as CustodyCall), step: name };
    } catch (error) {
      if (!(error instanceof ReferenceMissing)) throw error;
      end({ kind: 'impossible', why: error.message });
      return;
    }
    if ('api' in filled) this.#api(filled, end);
    else if (filled.call === 'make_wallet') this.#makeWallet(filled, end);
    else if (filled.call === 'transfer') this.#transfer(filled, end);
    else if (filled.call === 'vote') this.#vote(filled, end);
    else this.#registerWebhook(filled, end);
  }

  #api(step: CustodyStepOf<'api'>, end: End): void {
    const { api: name, params, query, body, until, patience_ms: patienceMs = 60_000 } = step;
    const call: Call = { name, ...this.#keyOf(step), ...(params && { params }), ...(query && { query }), body };
    if (until === undefined) {
      this.#call(step, call, end);
      return;
    }
    const isSo = ({ body: found }: CustodyAnswer) =>
      Object.entries(until).every(
        ([field, wanted]) => JSON.stringify(fieldOf(found, field.split('.'))) === JSON.stringify(wanted),
      );
    const wanted = Object.entries(until)
      .map(([field, value]) => `${field} ${JSON.stringify(value)}`)
      .join(', ');
    this.#poll(step, call, isSo, `${name} to give ${wanted}`, patienceMs, end);
  }

  #makeWallet(step: CustodyStepOf<'make_wallet'>, end: End): void {
    const { provider = 'self_hosted', network = 'eip155:11155111', policy, connection } = step;
    const create = (connectionId: string) => {
      const body = {
        name: step.step,
        provider_connection_id: connectionId,
        network,
        ...(policy !== undefined && { policy }),
      };
      this.#call(step, { name: 'wallets.create', body, key: this.#world.idOf(`${step.step}.wallet`) }, end);
    };
    if (connection !== undefined) {
      const known = fieldOf(this.#book.answer(connection), ['provider_connection_id']);
      if (typeof known === 'string') create(known);
      else end({ kind: 'impossible', why: `the wallet ${connection} was not made` });
      return;
    }
    const named = { name: step.step, credentials: credentials[provider] };
    const key = this.#world.idOf(`${step.step}.connection`);
    const connect: Call =
      provider === 'sandbox'
        ? { name: 'connections.connect', body: { type: provider, ...named }, key }
        : { name: 'connections.create', body: { provider, ...named }, key };
    this.#call(step, connect, (ended) => {
      const made = ended.kind === 'answered' && isSuccess(ended.outcome);
      if (!made) end(ended);
      else create((ended.outcome.answer!.body as { readonly id: string }).id);
    });
  }

  #transfer(step: CustodyStepOf<'transfer'>, end: End): void {
    const wallet = this.#book.answer(step.from) as { readonly id: string; readonly network: string } | undefined;
    const to = this.#addressOf(step.to);
    if (wallet === undefined || to === undefined) {
      end({ kind: 'impossible', why: `the wallet ${wallet === undefined ? step.from : step.to} was not made` });
      return;
    }
    const { key } = this.#keyOf(step);
    const body = {
      asset: step.asset ?? coins[wallet.network.split(':')[0]!] ?? '',
      amount: step.amount,
      destination: { address: to },
      ...(step.policy !== undefined && { policy: step.policy }),
      metadata: { key },
    };
    this.#call(step, { name: 'intents.create', params: { id: wallet.id }, body, key }, (ended) => {
      if (ended.kind === 'answered' && ended.outcome.answer?.http === 201) {
        const intent = ended.outcome.answer.body as IntentNamed;
        this.#book.told(step.by ?? owner, key, intent.id);
        if (step.follow !== false) return this.#follow(step, intent, end);
      }
      end(ended);
    });
  }

  #vote(step: CustodyStepOf<'vote'>, end: End): void {
    const intent = this.#book.answer(step.intent) as IntentNamed | undefined;
    if (intent === undefined) {
      end({ kind: 'impossible', why: `the intent ${step.intent} was not made` });
      return;
    }
    const { decision, reason } = step;
    const body = { ...(decision !== undefined && { decision }), ...(reason !== undefined && { reason }) };
    const params = { id: intent.wallet_id, txId: intent.id };
    this.#call(step, { name: 'intents.approve', params, body, ...this.#keyOf(step) }, (ended) => {
      const isCast = ended.kind === 'answered' && isSuccess(ended.outcome);
      if (!isCast || step.follow === false) end(ended);
      else this.#follow(step, intent, end);
    });
  }

  #registerWebhook(step: CustodyStepOf<'register_webhook'>, end: End): void {
    const { events = ['*'], answers = [204] } = step;
    this.#world.ask('receiver', { name: step.step, answers }, ({ url }) => {
      const call = { name: 'webhooks.create', body: { url, events }, key: this.#world.idOf(step.step) };
      this.#call(step, call, (ended) => {
        if (ended.kind === 'answered' && isSuccess(ended.outcome)) {
          const { id, secret } = ended.outcome.answer!.body as { readonly id: string; readonly secret: string };
          this.#book.webhooks.set(step.step, { id, url, secrets: [secret], events, by: step.by ?? owner });
        }
        end(ended);
      });
    });
  }

  #follow(step: CustodyCall, intent: IntentNamed, end: End): void {
    const params = { id: intent.wallet_id, txId: intent.id };
    const isAtRest = ({ body }: CustodyAnswer) => rests.has((body as { status: string }).status);
    const waitsFor = `the intent of ${step.step} to end or to wait for approval`;
    this.#poll(step, { name: 'intents.get', params }, isAtRest, waitsFor, this.#insistMs * 2, end);
  }

  /** Reads until the condition holds. A missing answer means another read. */
  #poll(
    step: CustodyCall,
    call: Call,
    isSo: (answer: CustodyAnswer) => boolean,
    waitsFor: string,
    patienceMs: number,
    end: End,
  ): void {
    const beganMs = this.#world.nowMs();
    const read = () =>
      this.#once(step, call, (outcome) => {
        const { answer } = outcome;
        if (answer !== undefined && isSuccess(outcome) && isSo(answer)) end({ kind: 'answered', outcome });
        else if (answer !== undefined && !isSuccess(outcome) && !mayRepeat(outcome)) end({ kind: 'answered', outcome });
        else if (this.#world.nowMs() - beganMs >= patienceMs) end({ kind: 'stuck', waitsFor, outcome });
        else this.#world.ask('wait', { ms: repeatAfterMs(outcome, pollMs[this.#world.kind]) }, read);
      });
    read();
  }

  /** One call; with `insist` as many as needed. */
  #call(step: CustodyCall, call: Call, end: End): void {
    const beganMs = this.#world.nowMs();
    let attempts = 0;
    const attempt = () => {
      attempts += 1;
      this.#once(step, call, (outcome) => {
        if (step.insist !== true || !mayRepeat(outcome)) return end({ kind: 'answered', outcome });
        if (attempts >= attemptsMin && this.#world.nowMs() - beganMs >= this.#insistMs) {
          return end({ kind: 'stuck', waitsFor: `an answer to ${call.name}`, outcome });
        }
        return this.#world.ask('wait', { ms: repeatAfterMs(outcome, repeatMs) }, attempt);
      });
    };
    attempt();
  }

  #once(step: CustodyCall, { name, params = {}, query, body, key }: Call, then: (outcome: CustodyOutcome) => void) {
    const { method, path } = operations[name]!;
    const words = new URLSearchParams(query === undefined ? {} : (asTexts(query) as Record<string, string>)).toString();
    const target = `${path.replace(/:([A-Za-z]+)/g, (_, word: string) => encodeURIComponent(params[word] ?? ''))}${words === '' ? '' : `?${words}`}`;
    const asks = {
      ...{ by: step.by ?? owner, method, target },
      ...(body !== undefined && { body }),
      ...(key !== undefined && operations[name]!.keyed === true && { key }),
    };
    this.#world.ask('request', asks, (gets) => {
      if ('failure' in gets) {
        then({ call: name, failure: failureOf(gets) });
        return;
      }
      const { status: http, body: answered, retryAfterS } = gets;
      const outcome = {
        call: name,
        answer: { http, body: answered, ...(retryAfterS !== undefined && { retryAfterS }) },
      };
      if (isSuccess(outcome)) this.#book.learn(step.step, gets.body);
      if (isSuccess(outcome) && name === 'webhooks.rotateSecret') {
        this.#book.rotated(params.id ?? '', (gets.body as { readonly secret: string }).secret);
      }
      then(outcome);
    });
  }

  #keyOf(step: { readonly step: string; readonly key?: string }): { readonly key: string } {
    return { key: this.#world.idOf(step.key ?? step.step) };
  }

  #addressOf(name: string): string | undefined {
    const wallet = this.#book.answer(name);
    if (wallet === undefined) return name.length >= 20 ? name : undefined;
    return fieldOf(wallet, ['addresses', '0', 'address']) as string | undefined;
  }
}
