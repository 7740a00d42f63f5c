/** The transfers of a random run: once, twice at a time, and two under one idempotency key. */

import type { ClientAnswer } from '../../service/client.ts';
import { decimal } from '../../service/invariants/documented-ledger.ts';
import { found } from '../../service/invariants/finding.ts';
import { issuesOf } from './answer-invariants.ts';
import { faultsOf, respelled } from './forms.ts';
import type { Operator } from './operator.ts';
import { RunClient } from './run-client.ts';
import { namedPolicies, networks, type OwnWallet, type RequestedTransfer } from './tenancy.ts';

/** Besides plain ones: refused, refused after the approval, mined and failed, unreachable three times, slow, risky. */
const testAmounts = ['0.004221', '0.004222', '0.004421', '0.00441', '0.004403', '0.004408', '0.00477', '0.004799'];
const refusedAmounts = new Set(testAmounts.slice(0, 2));
export const watched = '0x000000000000000000000000000000000000bEEF';
const sanctioned = '0x000000000000000000000000000000000000dEaD';

/** Without faults a key that is free answers within this time. */
const freeWithinMs = 4_000;

export class TransferClient extends RunClient {
  /** The id of its intent; undefined: refused. `copies`: so many equal requests at once. */
  async make(wallet: OwnWallet, copies = 1): Promise<string | undefined> {
    if (this.draw.chance(0.1)) await this.#oneMoreAddress(wallet);
    const label = this.tenancy.key('pay');
    const body = this.#body(wallet, label);
    const target = targetOf(wallet);
    const key = this.#keyOfAnother(target) ?? label;
    const askedMs = this.operator.nowMs;
    const answers = await Promise.all(Array.from({ length: copies }, () => this.operator.post(target, body, key)));
    const made = new Set(answers.map(madeBy));
    if (made.size !== 1) found('one-answer-a-key', `${target} ${key} made ${[...made].join(' and ')}`);
    return this.#submitted(label, wallet, this.operator, body, askedMs, answers[0]!);
  }

  /** "Other networks keep a balance under one address, and custodians give a wallet one: 422." */
  async #oneMoreAddress({ id, network, provider, receive }: OwnWallet): Promise<void> {
    const target = `/v1/wallets/${id}/addresses`;
    const { status, body } = await this.operator.call('POST', target, {}, this.tenancy.key('address'));
    const hasMore = provider === 'self_hosted' && network === networks.bitcoin;
    if (status === (hasMore ? 422 : 201)) found('changes-take-effect', `POST ${target} (${network}): ${status}`);
    if (status === 201) receive.push(body.address as string);
  }

  /** A dry run, and the request itself. */
  async dryRun(wallet: OwnWallet): Promise<void> {
    const label = this.tenancy.key('pay');
    const body = this.#body(wallet, label);
    const target = targetOf(wallet);
    const from = this.tenancy.sequence;
    const dry = await this.operator.call('POST', `${target}?dry_run=true`, body, this.tenancy.key('dry-run'));
    const askedMs = this.operator.nowMs;
    const answer = await this.operator.post(target, body, label);
    const intentId = this.#submitted(label, wallet, this.operator, body, askedMs, answer) ?? null;
    const isPoor = issuesOf(answer).includes('insufficient_funds');
    if (dry.status === 200 && (intentId !== null || isPoor)) {
      this.tenancy.dryRuns.push({ from, shown: dry.body, intentId, to: this.tenancy.sequence });
    }
  }

  /** A request that is not valid leaves its key free: the same key takes a valid one. */
  async malformed(wallet: OwnWallet): Promise<void> {
    const label = this.tenancy.key('pay');
    const drawn = this.#body(wallet, label);
    // The provider's refusal of an amount could come first.
    const body = refusedAmounts.has(drawn.amount) ? { ...drawn, amount: '0.01' } : drawn;
    const target = targetOf(wallet);
    const { change, status: wanted } = this.draw.pick(faultsOf(wallet));
    const given = { ...body, ...change };
    const { status, body: told } = await this.operator.call('POST', target, given, label);
    // The wallet may be frozen or disconnected.
    if (status !== wanted && status !== 409) {
      found(
        'changes-take-effect',
        `POST ${target} of ${JSON.stringify(given)}: ${status}, not ${wanted} ${JSON.stringify(told)}`,
      );
    }
    if (status !== 400) return;
    const askedMs = this.operator.nowMs;
    const answer = await this.operator.post(target, body, label);
    const tookMs = this.operator.nowMs - askedMs;
    // With faults the call that frees the key may be lost: then it stays with the first body.
    const isTaken = issuesOf(answer).includes('idempotency_key_reused') || tookMs > freeWithinMs;
    if (this.tenancy.isCalm && isTaken) {
      found('one-answer-a-key', `${target} ${label} is not free after a 400: ${answer.status} after ${tookMs} ms`);
    }
    this.#submitted(label, wallet, this.operator, body, askedMs, answer);
  }

  /** Two requests with one key at once, of this caller and of `other`: one of them is refused. */
  async collide(wallet: OwnWallet, other: Operator): Promise<void> {
    const target = targetOf(wallet);
    const key = this.tenancy.key('both');
    const askedMs = this.operator.nowMs;
    const calls = [this.operator, other].map(async (operator) => {
      const label = this.tenancy.key('pay');
      const body = this.#body(wallet, label);
      const answer = await operator.post(target, body, key);
      this.#submitted(label, wallet, operator, body, askedMs, answer);
      return answer;
    });
    const issues = (await Promise.all(calls)).flatMap(issuesOf);
    const refused = issues.filter((issue) => issue === 'idempotency_key_reused');
    // A request that the store was too busy for has freed the key.
    if (refused.length !== 1 && !issues.includes('version_conflict'))
      found('one-answer-a-key', `${target} ${key} refuses ${refused.length} of 2 requests`);
  }

  #submitted(
    key: string,
    { id: walletId }: OwnWallet,
    { actor: initiator, nowMs: answeredMs }: Operator,
    body: RequestedTransfer['body'],
    askedMs: number,
    answer: ClientAnswer,
  ): string | undefined {
    const { status } = answer;
    if (status !== 201 && status !== 409 && status !== 422) {
      found(
        'changes-take-effect',
        `POST of ${JSON.stringify(body)} by ${walletId}: ${status} ${JSON.stringify(answer.body)}`,
      );
    }
    const intentId = madeBy(answer);
    this.tenancy.submitted.push({ key, walletId, initiator, askedMs, answeredMs, body, intentId });
    return intentId ?? undefined;
  }

  /** Sometimes a key that was used for something else: a key belongs to one method and path. */
  #keyOfAnother(target: string): string | undefined {
    if (!this.draw.chance(0.06)) return undefined;
    const { posts } = this.tenancy;
    const used = new Set(posts.flatMap((post) => (post.target === target ? [post.key] : [])));
    const others = posts.filter(({ key }) => !used.has(key));
    return others.length === 0 ? undefined : this.draw.pick(others).key;
  }

  #body(wallet: OwnWallet, key: string) {
    const draw = this.draw;
    const near = [this.tenancy, ...this.others].flatMap(({ wallets }) => wallets);
    const same = near.filter(({ network, id }) => network === wallet.network && id !== wallet.id);
    const isEvm = wallet.network === networks.evm;
    const own = this.tenancy.lists.flatMap(({ content }) => content.addresses);
    const listed = isEvm && draw.chance(0.3) ? draw.pick([watched, sanctioned, ...own, ...own]) : undefined;
    const receiver = same.length === 0 ? wallet : draw.pick(same);
    const address = listed ?? draw.pick([receiver.address, ...receiver.receive]);
    const { symbol, began } = draw.chance(0.75) ? wallet.assets[0]! : draw.pick(wallet.assets);
    const policy = draw.chance(0.15) ? this.#known(draw.pick(namedPolicies)) : undefined;
    if (policy !== undefined) this.tenancy.namedPolicies.set(key, policy);
    return {
      asset: symbol,
      amount: this.#amount(began),
      destination: { address: draw.chance(0.1) ? respelled(address, wallet.network) : address },
      metadata: { key },
      ...(policy !== undefined && { policy }),
    };
  }

  /** Small ones, the amounts of a test trigger, and sometimes a large part of its first balance. */
  #amount(began: string): string {
    const draw = this.draw;
    if (draw.chance(0.15)) return draw.pick(testAmounts);
    if (draw.chance(0.08)) return `${(decimal(began) * BigInt(draw.pick([45, 60, 101]))) / 10n ** 20n}.5`;
    return `0.${draw.int(1, 4)}${draw.pick(['', '5'])}`;
  }

  /** A policy of this name, if there is one. */
  #known(name: string): string | undefined {
    return this.tenancy.policies.some((one) => one.name === name) ? name : undefined;
  }
}

function targetOf({ id }: OwnWallet): string {
  return `/v1/wallets/${id}/transaction-intents`;
}

/** null: nothing. */
function madeBy({ status, body }: ClientAnswer): string | null {
  return status === 201 ? (body.id as string) : null;
}
