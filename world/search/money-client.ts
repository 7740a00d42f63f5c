/**
 * A client of a random run that moves money: transfers, votes, cancellations, wallets that freeze and change, policies and lists
 * that change, idempotent retries, reads, and reads of another tenant's resources.
 */
import type { Answer } from '../client.ts';
import { decimal } from '../invariants/documented-ledger.ts';
import { issuesOf } from './answers.ts';
import type { Draw } from './draw.ts';
import { found } from './finding.ts';
import type { Operator } from './operator.ts';
import { drawTerms } from './policies.ts';
import { race } from './races.ts';
import type { StepOf } from './steps.ts';
import { networks, type OwnWallet, type Posted, type Tenancy } from './tenancy.ts';

/** Besides plain ones: refused, refused after the approval, mined and failed, unreachable three times, slow. */
const testAmounts = ['0.004221', '0.004222', '0.004421', '0.00441', '0.004403', '0.004408'];
/** Policies that a wallet or a transfer may name beside `default`. */
const namedPolicies = ['second', 'third'] as const;
const watched = '0x000000000000000000000000000000000000bEEF';
const sanctioned = '0x000000000000000000000000000000000000dEaD';

export class MoneyClient {
  readonly #tenancy: Tenancy;
  readonly #operator: Operator;
  readonly #draw: Draw;
  readonly #others: readonly Tenancy[];

  constructor(tenancy: Tenancy, operator: Operator, draw: Draw, others: readonly Tenancy[]) {
    this.#tenancy = tenancy;
    this.#operator = operator;
    this.#draw = draw;
    this.#others = others;
  }

  async step(step: StepOf<'money'>): Promise<void> {
    switch (step) {
      case 'transfer':
        await this.transfer(this.#wallet());
        return;
      case 'race':
        return race(
          this.#draw,
          this.#wallet(),
          this.#operator,
          this.#tenancy.operators.map((one) => new MoneyClient(this.#tenancy, one, this.#draw, this.#others)),
        );
      case 'vote':
        return this.#vote();
      case 'cancel':
        return this.#cancel();
      case 'freeze':
        return this.#freeze();
      case 'patch':
        return this.#patch();
      case 'archive':
        return this.archive();
      case 'policy':
        return this.#policy();
      case 'list':
        return this.list();
      case 'pages':
        return this.#pages();
      case 'read':
        return this.#read();
      case 'twice':
        return this.#twice();
      case 'reuse':
        return this.#reuse();
      case 'probe':
        return this.#probe();
      case 'replay':
        return this.replay();
    }
  }

  #wallet(): OwnWallet {
    return this.#draw.pick(this.#tenancy.wallets);
  }

  #transferBody(wallet: OwnWallet, key: string) {
    const draw = this.#draw;
    const near = [this.#tenancy, ...this.#others].flatMap(({ wallets }) => wallets);
    const same = near.filter(({ network, id }) => network === wallet.network && id !== wallet.id);
    const isEvm = wallet.network === networks.evm;
    const own = this.#tenancy.lists.flatMap(({ content }) => content.addresses);
    const listed = isEvm && draw.chance(0.3) ? draw.pick([watched, sanctioned, ...own, ...own]) : undefined;
    const address = listed ?? (same.length === 0 ? wallet.address : draw.pick(same).address);
    const { symbol, began } = draw.chance(0.75) ? wallet.assets[0]! : draw.pick(wallet.assets);
    const policy = draw.chance(0.15) ? this.#known(draw.pick(namedPolicies)) : undefined;
    if (policy !== undefined) this.#tenancy.namedPolicies.set(key, policy);
    return {
      asset: symbol,
      amount: this.#amount(began),
      destination: { address },
      metadata: { key },
      ...(policy !== undefined && { policy }),
    };
  }

  /** Small ones, the amounts of a test trigger, and sometimes a large part of its first balance. */
  #amount(began: string): string {
    const draw = this.#draw;
    if (draw.chance(0.15)) return draw.pick(testAmounts);
    if (draw.chance(0.08)) return `${(decimal(began) * BigInt(draw.pick([45, 60, 101]))) / 10n ** 20n}.5`;
    return `0.${draw.integer(1, 4)}${draw.pick(['', '5'])}`;
  }

  /** A policy of this name, if there is one. */
  #known(name: string): string | undefined {
    return this.#tenancy.policies.some((one) => one.name === name) ? name : undefined;
  }

  async #post(target: string, body: unknown, key: string): Promise<Answer> {
    const answer = await this.#operator.call('POST', target, body, key);
    this.#tenancy.posts.push({ operator: this.#operator, target, body, key, status: answer.status });
    return answer;
  }

  async transfer(wallet: OwnWallet, copies = 1): Promise<string | undefined> {
    const key = this.#tenancy.key('pay');
    const body = this.#transferBody(wallet, key);
    const target = `/v1/wallets/${wallet.id}/transaction-intents`;
    const askedMs = this.#operator.nowMs;
    const answers = await Promise.all(Array.from({ length: copies }, () => this.#post(target, body, key)));
    const made = new Set(answers.map(({ status, body: intent }) => (status === 201 ? (intent.id as string) : null)));
    if (made.size !== 1) found('one-answer-a-key', `${target} ${key} made ${[...made].join(' and ')}`);
    const intentId = [...made][0] ?? null;
    const { status } = answers[0]!;
    if (status !== 201 && status !== 409 && status !== 422) {
      found(
        'changes-take-effect',
        `POST ${target} ${JSON.stringify(body)}: ${status} ${JSON.stringify(answers[0]!.body)}`,
      );
    }
    const { actor: initiator, nowMs: answeredMs } = this.#operator;
    this.#tenancy.submitted.push({ key, walletId: wallet.id, initiator, askedMs, answeredMs, body, intentId });
    return intentId ?? undefined;
  }

  async #vote(): Promise<void> {
    const inbox = await this.#operator.list<{ id: string; wallet_id: string; initiator: string }>(
      '/v1/transaction-intents?awaiting_my_vote=true',
      'transaction_intents',
    );
    const mine = inbox.find(({ initiator }) => initiator === this.#operator.actor);
    if (mine !== undefined) found('votes-as-required', `${mine.id} awaits the vote of its initiator`);
    if (inbox.length === 0) return this.#badVote();
    const { id, wallet_id: walletId } = this.#draw.pick(inbox);
    await this.vote(walletId, id, this.#draw.chance(0.8) ? 'approve' : 'reject');
  }

  async vote(walletId: string, intentId: string, decision: 'approve' | 'reject'): Promise<void> {
    const target = `/v1/wallets/${walletId}/transaction-intents/${intentId}/approve`;
    const body = { decision, ...(decision === 'reject' && { reason: 'drawn' }) };
    const { status, body: intent } = await this.#post(target, body, this.#tenancy.key('vote'));
    if (status === 409) return;
    if (status !== 200) found('votes-as-required', `POST ${target}: ${status} ${JSON.stringify(intent)}`);
    const recorded = (intent.approvals as { by: string; decision: string }[]).some(
      ({ by }) => by === this.#operator.actor,
    );
    if (!recorded) found('votes-as-required', `${intentId} does not show the vote of ${this.#operator.actor}`);
  }

  /** The initiator's own vote never counts. */
  async #badVote(): Promise<void> {
    const own = this.#tenancy.submitted.filter(
      ({ initiator, intentId }) => initiator === this.#operator.actor && intentId !== null,
    );
    if (own.length === 0) return;
    const { walletId, intentId } = this.#draw.pick(own);
    const target = `/v1/wallets/${walletId}/transaction-intents/${intentId}/approve`;
    const { status, body } = await this.#operator.call(
      'POST',
      target,
      { decision: 'approve' },
      this.#tenancy.key('own'),
    );
    if (status !== 403 && status !== 409)
      found('votes-as-required', `the initiator of ${intentId} votes: ${status} ${body.status}`);
  }

  async #cancel(): Promise<void> {
    const made = this.#tenancy.submitted.filter(({ intentId }) => intentId !== null);
    if (made.length === 0) return;
    const { walletId, intentId } = this.#draw.pick(made.slice(-4));
    await this.cancelOne(walletId, intentId!);
  }

  async cancelOne(walletId: string, intentId: string): Promise<void> {
    const target = `/v1/wallets/${walletId}/transaction-intents/${intentId}/cancel`;
    const { status, body } = await this.#post(target, {}, this.#tenancy.key('cancel'));
    if (status === 200 && body.status !== 'cancelled') found('changes-take-effect', `${target} leaves ${body.status}`);
    if (status !== 200 && status !== 409) found('changes-take-effect', `${target}: ${status} ${JSON.stringify(body)}`);
  }

  async #freeze(): Promise<void> {
    await this.setFrozen(this.#wallet().id, this.#draw.chance(0.4));
  }

  async setFrozen(id: string, isFrozen: boolean): Promise<void> {
    const what = isFrozen ? 'freeze' : 'unfreeze';
    const { status, body } = await this.#post(`/v1/wallets/${id}/${what}`, {}, this.#tenancy.key(what));
    const after = what === 'freeze' ? 'frozen' : 'active';
    if (status === 200 && body.status !== after) found('changes-take-effect', `${what} of ${id} leaves ${body.status}`);
    if (status !== 200 && status !== 409)
      found('changes-take-effect', `${what} of ${id}: ${status} ${JSON.stringify(body)}`);
  }

  async #patch(): Promise<void> {
    const { id } = this.#wallet();
    const isConditional = this.#draw.chance(0.4);
    const read = isConditional ? (await this.#operator.call('GET', `/v1/wallets/${id}`)).body.version : undefined;
    await this.change(id, this.settings(), read);
  }

  settings(): object {
    const draw = this.#draw;
    const policy = draw.chance(0.3) ? (this.#known(draw.pick(namedPolicies)) ?? null) : undefined;
    return {
      name: this.#tenancy.key('named'),
      ...(draw.chance(0.3) && { approval_mode: draw.pick(['human_required', 'unspecified']) }),
      ...(draw.chance(0.2) && { signing_api: draw.pick(['allowed', 'intents_only']) }),
      ...(policy !== undefined && { policy }),
    };
  }

  /** Whether it succeeded. `expected`: only on this version. */
  async change(id: string, settings: object, expected?: number): Promise<boolean> {
    const body = { ...settings, ...(expected !== undefined && { expected_version: expected }) };
    const { status, body: wallet } = await this.#operator.call('PATCH', `/v1/wallets/${id}`, body);
    if (status === 409) return false;
    if (status !== 200) found('changes-take-effect', `PATCH of ${id}: ${status} ${JSON.stringify(wallet)}`);
    // A repeat after a lost answer finds it unchanged, or changed again by another.
    if (expected !== undefined && wallet.version === expected) {
      found('changes-take-effect', `PATCH of ${id} to ${JSON.stringify(settings)} makes no version`);
    }
    return true;
  }

  async archive(): Promise<void> {
    const left = this.#tenancy.wallets.length;
    if (left < 4) return;
    const { id } = this.#tenancy.wallets[left - 1]!;
    const { status, body } = await this.#post(
      `/v1/wallets/${id}/archive`,
      { reason: 'drawn' },
      this.#tenancy.key('archive'),
    );
    if (status === 200 && body.status !== 'archived')
      found('changes-take-effect', `archive of ${id} leaves ${body.status}`);
    if (status !== 200 && status !== 409)
      found('changes-take-effect', `archive of ${id}: ${status} ${JSON.stringify(body)}`);
  }

  async #policy(): Promise<void> {
    const { operators, modules } = this.#tenancy;
    const actors = operators.map(({ actor }) => actor);
    const name = this.#draw.chance(0.6) ? 'default' : this.#draw.pick(namedPolicies);
    await this.#tenancy.setPolicy(this.#operator, name, drawTerms(this.#draw, actors, modules === undefined));
  }

  /** The next version of `default` decides small transfers differently from the one before. */
  async turn(): Promise<void> {
    const { policies } = this.#tenancy;
    const terms = policies.findLast(({ name }) => name === 'default')!.content;
    const denyFrom = terms.denyFrom === '0.01' ? undefined : '0.01';
    await this.#tenancy.setPolicy(this.#operator, 'default', { ...terms, denyFrom, isDryRun: false });
  }

  async list(): Promise<void> {
    const { lists } = this.#tenancy;
    const draw = this.#draw;
    const kind = draw.pick(['deny', 'deny', 'watch', 'allow'] as const);
    const known = lists.flatMap(({ content }) => content.addresses);
    const fresh = `0x${Array.from({ length: 40 }, () => draw.integer(1, 9)).join('')}`;
    const address = known.length > 0 && draw.chance(0.4) ? draw.pick(known) : fresh;
    const append = draw.chance(0.8);
    const name = `ours-${kind}`;
    const body = { name, kind, entries: [{ address, network: networks.evm }], append };
    const askedMs = this.#operator.nowMs;
    const made = await this.#operator.made('/v1/compliance/lists', body, this.#tenancy.key('list'));
    const content = { kind, addresses: [address], append };
    lists.push({ id: made.id, name, version: made.version, askedMs, madeMs: this.#operator.nowMs, content });
  }

  async tryVote(walletId: string, intentId: string, approves: boolean): Promise<void> {
    const { body } = await this.#operator.call('GET', `/v1/wallets/${walletId}/transaction-intents/${intentId}`);
    const { approvers, initiator } = body as { readonly approvers: readonly string[]; readonly initiator: string };
    const { actor } = this.#operator;
    if (initiator === actor || (approvers.length > 0 && !approvers.includes(actor))) return;
    await this.vote(walletId, intentId, approves ? 'approve' : 'reject');
  }

  /** Reads a list in small pages while it grows: each item once, and every item that existed before and after. */
  async #pages(): Promise<void> {
    const wallet = this.#wallet();
    const [target, name] = this.#draw.pick([
      [`/v1/wallets/${wallet.id}/transaction-intents`, 'transaction_intents'],
      ['/v1/transaction-intents', 'transaction_intents'],
      ['/v1/wallets', 'wallets'],
      ['/v1/policies', 'policies'],
      ['/v1/webhooks', 'webhooks'],
      ['/v1/events', 'events'],
      ['/v1/provider-connections', 'provider_connections'],
    ] as const);
    const known = this.#tenancy.submitted.filter(
      ({ intentId, walletId }) => intentId !== null && (target.startsWith('/v1/transaction') || walletId === wallet.id),
    );
    const items = await this.#operator.list<{ id: string; sequence?: number }>(target, name, this.#draw.integer(1, 7));
    const ids = items.map(({ id }) => id);
    const twice = ids.find((id, at) => ids.indexOf(id) !== at);
    if (twice !== undefined) found('pages-complete', `${target} lists ${twice} twice`);
    if (name === 'events') {
      const gap = items.findIndex(({ sequence }, at) => sequence !== at + 1);
      if (gap >= 0) found('pages-complete', `${target} has sequence ${items[gap]!.sequence} at ${gap + 1}`);
    }
    if (name === 'transaction_intents') {
      const missing = known.find(({ intentId }) => !ids.includes(intentId!));
      if (missing !== undefined) found('pages-complete', `${target} does not list ${missing.intentId}`);
    }
  }

  async #read(): Promise<void> {
    const { id } = this.#wallet();
    const { status, body } = await this.#operator.call('GET', `/v1/wallets/${id}`);
    if (status !== 200) found('changes-take-effect', `GET of ${id}: ${status} ${JSON.stringify(body)}`);
    const made = this.#tenancy.submitted.filter(({ intentId }) => intentId !== null);
    if (made.length === 0) return;
    const { walletId, intentId } = this.#draw.pick(made);
    const answer = await this.#operator.call('GET', `/v1/wallets/${walletId}/transaction-intents/${intentId}`);
    if (answer.status !== 200) found('changes-take-effect', `GET of ${intentId}: ${answer.status}`);
  }

  async #twice(): Promise<void> {
    await this.transfer(this.#wallet(), 2);
  }

  /** The service refuses a key with another body, or from another caller. */
  async #reuse(): Promise<void> {
    const used = this.#tenancy.posts.filter(({ target }) => target.endsWith('/transaction-intents'));
    if (used.length === 0) return;
    await reuse(this.#draw, this.#tenancy, this.#draw.pick(used));
  }

  async #probe(): Promise<void> {
    const theirs = this.#others.flatMap(({ wallets }) => wallets);
    if (theirs.length === 0) return;
    const { id } = this.#draw.pick(theirs);
    const calls: readonly (readonly [string, string, unknown])[] = [
      ['GET', `/v1/wallets/${id}`, undefined],
      ['PATCH', `/v1/wallets/${id}`, { name: 'stolen' }],
      ['POST', `/v1/wallets/${id}/freeze`, {}],
      ['GET', `/v1/wallets/${id}/transaction-intents`, undefined],
    ];
    const [method, target, body] = this.#draw.pick(calls);
    const key = method === 'POST' ? this.#tenancy.key('probe') : undefined;
    const { status } = await this.#operator.call(method, target, body, key);
    if (status !== 404) found('tenants-apart', `${method} ${target} of another tenant answers ${status}`);
  }

  /** An earlier request, with its key: its first answer, and no second effect. */
  async replay(): Promise<void> {
    const { posts } = this.#tenancy;
    if (posts.length === 0) return;
    const { operator, target, body, key } = this.#draw.pick(posts);
    await operator.call('POST', target, body, key);
  }
}

/** Answers that no key stores: a repeat is a new request. */
const unstored = new Set([400, 401, 403, 429, 500, 503]);

/** A key with an answer: the service refuses another body, and another caller; the same request gets its answer again. */
export async function reuse(draw: Draw, { operators }: Tenancy, posted: Posted): Promise<void> {
  const { operator, target, body, key, status: first } = posted;
  if (unstored.has(first)) return;
  const another = draw.pick(operators.filter((one) => one !== operator));
  const takesReason = /^\/v1\/wallets\/.*\/(?:approve|cancel|archive|transaction-intents)$/.test(target);
  const isOther = !takesReason || draw.chance(0.5);
  const changed = target.endsWith('/transaction-intents')
    ? { ...(body as object), amount: '0.123' }
    : { ...(body as object), reason: 'another one' };
  const answer = await (isOther
    ? another.call('POST', target, body, key)
    : operator.call('POST', target, changed, key));
  if (answer.status === 409 && issuesOf(answer).includes('idempotency_key_reused')) return;
  const who = isOther ? 'another caller' : 'another body';
  found('one-answer-a-key', `${target} ${key}, answered ${first}, gives ${who} ${answer.status} ${issuesOf(answer)}`);
}
