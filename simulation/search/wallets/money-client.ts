/**
 * A client of a random run that moves money: transfers, votes, cancellations, wallets that freeze and change, policies and lists
 * that change, idempotent retries, reads, and reads of another tenant's resources.
 */

import type { Draw } from '../../cluster/draw.ts';
import { found } from '../../service/invariants/finding.ts';
import { issuesOf } from './answer-invariants.ts';
import { respelled } from './forms.ts';
import type { Operator, Posted } from './operator.ts';
import { drawTerms } from './policies.ts';
import { ProbeClient } from './probe-client.ts';
import { race } from './races.ts';
import { changeRiskRules } from './risk-client.ts';
import { RunClient } from './run-client.ts';
import type { FamilyStep } from './steps.ts';
import { namedPolicies, networks, type OwnWallet, type Tenancy } from './tenancy.ts';
import { TransferClient, watched } from './transfer-client.ts';
import { VoteClient } from './vote-client.ts';

/** With as many wallets the newest may be archived. */
const walletsMin = 4;

export class MoneyClient extends RunClient {
  readonly #votes = new VoteClient(this.tenancy, this.operator, this.draw);
  readonly #transfers = new TransferClient(this.tenancy, this.operator, this.draw, this.others);

  async step(step: FamilyStep<'money'>): Promise<void> {
    switch (step) {
      case 'transfer':
        await this.transfer(this.#wallet());
        return;
      case 'race':
        return race(
          this.draw,
          this.#wallet(),
          this.operator,
          this.tenancy.operators.map((one) => new MoneyClient(this.tenancy, one, this.draw, this.others)),
        );
      case 'vote':
        return this.#votes.step();
      case 'cancel':
        return this.#cancel();
      case 'freeze':
        return this.#freeze();
      case 'patch':
        return this.#patch();
      case 'archive':
        return this.archiveOne();
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
        return new ProbeClient(this.tenancy, this.operator, this.draw, this.others).step();
      case 'replay':
        return this.replay();
      case 'dry_run':
        return this.#transfers.dryRun(this.#wallet());
      case 'malformed':
        return this.#transfers.malformed(this.#wallet());
      case 'risk_rule':
        return changeRiskRules(this.tenancy, this.operator, this.draw);
    }
  }

  #wallet(): OwnWallet {
    return this.draw.pick(this.tenancy.wallets);
  }

  /** A policy of this name, if there is one. */
  #known(name: string): string | undefined {
    return this.tenancy.policies.some((one) => one.name === name) ? name : undefined;
  }

  transfer(wallet: OwnWallet): Promise<string | undefined> {
    return this.#transfers.make(wallet);
  }

  collide(wallet: OwnWallet, other: Operator): Promise<void> {
    return this.#transfers.collide(wallet, other);
  }

  async #cancel(): Promise<void> {
    const made = this.tenancy.submitted.filter(({ intentId }) => intentId !== null);
    if (made.length === 0) return;
    const { walletId, intentId } = this.draw.pick(made.slice(-4));
    await this.cancelOne(walletId, intentId!);
  }

  async cancelOne(walletId: string, intentId: string): Promise<void> {
    const target = `/v1/wallets/${walletId}/transaction-intents/${intentId}/cancel`;
    const { status, body } = await this.operator.post(target, {}, this.tenancy.key('cancel'));
    if (status === 200 && body.status !== 'cancelled') found('changes-take-effect', `${target} leaves ${body.status}`);
    if (status !== 200 && status !== 409) found('changes-take-effect', `${target}: ${status} ${JSON.stringify(body)}`);
  }

  async #freeze(): Promise<void> {
    await this.setFrozen(this.#wallet().id, this.draw.chance(0.4));
  }

  async setFrozen(id: string, isFrozen: boolean): Promise<void> {
    const what = isFrozen ? 'freeze' : 'unfreeze';
    const { status, body } = await this.operator.post(`/v1/wallets/${id}/${what}`, {}, this.tenancy.key(what));
    const after = what === 'freeze' ? 'frozen' : 'active';
    if (status === 200 && body.status !== after) found('changes-take-effect', `${what} of ${id} leaves ${body.status}`);
    if (status !== 200 && status !== 409)
      found('changes-take-effect', `${what} of ${id}: ${status} ${JSON.stringify(body)}`);
  }

  async #patch(): Promise<void> {
    const { id } = this.#wallet();
    const isConditional = this.draw.chance(0.4);
    const read = isConditional ? (await this.operator.call('GET', `/v1/wallets/${id}`)).body.version : undefined;
    await this.change(id, this.settings(), read);
  }

  settings(): object {
    const draw = this.draw;
    const policy = draw.chance(0.3) ? (this.#known(draw.pick(namedPolicies)) ?? null) : undefined;
    return {
      name: this.tenancy.key('named'),
      ...(draw.chance(0.3) && { approval_mode: draw.pick(['human_required', 'unspecified']) }),
      ...(draw.chance(0.2) && { signing_api: draw.pick(['allowed', 'intents_only']) }),
      ...(policy !== undefined && { policy }),
    };
  }

  /** Whether it succeeded. `expected`: only on this version. */
  async change(id: string, settings: object, expected?: number): Promise<boolean> {
    const body = { ...settings, ...(expected !== undefined && { expected_version: expected }) };
    const { status, body: wallet } = await this.operator.call('PATCH', `/v1/wallets/${id}`, body);
    if (status === 409) return false;
    if (status !== 200) found('changes-take-effect', `PATCH of ${id}: ${status} ${JSON.stringify(wallet)}`);
    // A repeat after a lost answer finds it unchanged, or changed again by another.
    if (expected !== undefined && wallet.version === expected) {
      found('changes-take-effect', `PATCH of ${id} to ${JSON.stringify(settings)} makes no version`);
    }
    return true;
  }

  /** The newest, if enough are left. */
  async archiveOne(): Promise<void> {
    const { wallets } = this.tenancy;
    const isEnough = wallets.length >= walletsMin || (await this.#open());
    if (isEnough) await this.archive(wallets.at(-1)!);
  }

  /** Whether there is one more. Its connection may be disconnected. */
  async #open(): Promise<boolean> {
    const tenancy = this.tenancy;
    const { connectionId, network } = this.#wallet();
    const body = { name: tenancy.key('later wallet'), provider_connection_id: connectionId, network };
    const { status, body: wallet } = await this.operator.call('POST', '/v1/wallets', body, tenancy.key('wallet'));
    if (![201, 409, 422].includes(status))
      found('changes-take-effect', `a wallet: ${status} ${JSON.stringify(wallet)}`);
    if (status === 201) tenancy.adopt(wallet);
    return status === 201;
  }

  /** One of the first wallets stays. */
  async archive(wallet: OwnWallet): Promise<void> {
    if (this.tenancy.wallets.indexOf(wallet) < walletsMin - 1) return;
    const { id } = wallet;
    const { status, body } = await this.operator.post(
      `/v1/wallets/${id}/archive`,
      { reason: 'drawn' },
      this.tenancy.key('archive'),
    );
    if (status === 200 && body.status !== 'archived')
      found('changes-take-effect', `archive of ${id} leaves ${body.status}`);
    if (status !== 200 && status !== 409)
      found('changes-take-effect', `archive of ${id}: ${status} ${JSON.stringify(body)}`);
  }

  async #policy(): Promise<void> {
    const { operators, modules } = this.tenancy;
    const actors = operators.map(({ actor }) => actor);
    const name = this.draw.chance(0.6) ? 'default' : this.draw.pick(namedPolicies);
    await this.tenancy.setPolicy(this.operator, name, drawTerms(this.draw, actors, modules !== undefined));
  }

  /** The next version of `default` decides small transfers differently from the one before. */
  async turn(): Promise<void> {
    const { policies } = this.tenancy;
    const terms = policies.findLast(({ name }) => name === 'default')!.content;
    const denyFrom = terms.denyFrom === '0.01' ? undefined : '0.01';
    await this.tenancy.setPolicy(this.operator, 'default', { ...terms, denyFrom, isDryRun: false });
  }

  async limit(wallet: OwnWallet): Promise<void> {
    const { policies, submitted, modules } = this.tenancy;
    const terms = policies.findLast(({ name }) => name === 'default')!.content;
    const plain = { ...terms, isDryRun: false, denyFrom: undefined, denyAfter: undefined, denyBelow: undefined };
    const made = submitted.filter(({ walletId, intentId }) => walletId === wallet.id && intentId !== null).length;
    const { body } = await this.operator.call('GET', `/v1/wallets/${wallet.id}`);
    const available = Number(body.assets[0].available) - 0.2;
    const isOfBalance = modules === undefined && available > 0 && this.draw.chance(0.4);
    const limit = isOfBalance ? { denyBelow: available.toFixed(1) } : { denyAfter: made + this.draw.int(1, 2) };
    await this.tenancy.setPolicy(this.operator, 'default', { ...plain, ...limit });
  }

  async list(): Promise<void> {
    const { lists } = this.tenancy;
    const draw = this.draw;
    const kind = draw.pick(['deny', 'deny', 'watch', 'allow'] as const);
    const listed = lists.flatMap(({ content }) => content.addresses);
    // An allow list lifts a watch list.
    const known = kind === 'allow' || listed.length === 0 ? [...listed, watched] : listed;
    const fresh = `0x${Array.from({ length: 40 }, () => draw.int(1, 9)).join('')}`;
    const chosen = draw.chance(kind === 'allow' ? 0.8 : 0.4) ? draw.pick(known) : fresh;
    const address = draw.chance(0.2) ? respelled(chosen, networks.evm) : chosen;
    const append = draw.chance(0.8);
    const name = `ours-${kind}`;
    const body = { name, kind, entries: [{ address, network: networks.evm }], append };
    const askedMs = this.operator.nowMs;
    const made = await this.operator.made('/v1/compliance/lists', body, this.tenancy.key('list'));
    const content = { kind, addresses: [address], append };
    lists.push({ id: made.id, name, version: made.version, askedMs, madeMs: this.operator.nowMs, content });
  }

  async tryVote(walletId: string, intentId: string, approves: boolean): Promise<void> {
    await this.#votes.tryVote(walletId, intentId, approves ? 'approve' : 'reject');
  }

  /** Reads a list in small pages while it grows: each item once, and every item that existed before and after. */
  async #pages(): Promise<void> {
    const wallet = this.#wallet();
    const [target, name] = this.draw.pick([
      [`/v1/wallets/${wallet.id}/transaction-intents`, 'transaction_intents'],
      ['/v1/transaction-intents', 'transaction_intents'],
      ['/v1/wallets', 'wallets'],
      ['/v1/policies', 'policies'],
      ['/v1/webhooks', 'webhooks'],
      ['/v1/events', 'events'],
      ['/v1/provider-connections', 'provider_connections'],
    ] as const);
    const known = this.tenancy.submitted.filter(
      ({ intentId, walletId }) => intentId !== null && (target.startsWith('/v1/transaction') || walletId === wallet.id),
    );
    const items = await this.operator.list<{ id: string; sequence?: number }>(target, name, this.draw.int(1, 7));
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
    const { status, body } = await this.operator.call('GET', `/v1/wallets/${id}`);
    if (status !== 200) found('changes-take-effect', `GET of ${id}: ${status} ${JSON.stringify(body)}`);
    const made = this.tenancy.submitted.filter(({ intentId }) => intentId !== null);
    if (made.length === 0) return;
    const { walletId, intentId } = this.draw.pick(made);
    const answer = await this.operator.call('GET', `/v1/wallets/${walletId}/transaction-intents/${intentId}`);
    if (answer.status !== 200) found('changes-take-effect', `GET of ${intentId}: ${answer.status}`);
  }

  async #twice(): Promise<void> {
    await this.#transfers.make(this.#wallet(), 2);
  }

  /** The service refuses a key with another body, or from another caller. */
  async #reuse(): Promise<void> {
    const used = this.tenancy.posts.filter(({ target }) => target.endsWith('/transaction-intents'));
    if (used.length === 0) return;
    await reuse(this.draw, this.tenancy, this.draw.pick(used));
  }

  /** An earlier request, with its key: its first answer, and no second effect. */
  async replay(): Promise<void> {
    const { posts } = this.tenancy;
    if (posts.length === 0) return;
    const { operator, target, body, key } = this.draw.pick(posts);
    await operator.call('POST', target, body, key);
  }
}

/** A key with an answer: the service refuses another body, and another caller; the same request gets its answer again. */
export async function reuse(draw: Draw, { operators }: Tenancy, posted: Posted): Promise<void> {
  const { operator, target, body, key, status: first } = posted;
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
