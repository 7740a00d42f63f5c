/**
 * "A plan is stale, and 409, when what a wallet can spend has changed": a plan is executed on the balances that it was made of. Some
 * state between the call and its commit must have had them.
 */
import type { DocumentedLedger, ToldEvent } from '../../service/invariants/documented-ledger.ts';
import { decimal } from '../../service/invariants/documented-ledger.ts';
import { found } from '../../service/invariants/finding.ts';
import type { ModuleFacts } from './tenancy.ts';
import { Timeline } from './timeline.ts';

/** By asset: what the strategy's active wallets can spend together. */
type Spendable = ReadonlyMap<string, bigint>;

interface Position {
  readonly asset: string;
  readonly amount: string;
}

export class Holdings {
  readonly #modules: ModuleFacts | undefined;
  readonly #ledger: DocumentedLedger;
  /** By strategy. */
  readonly #spendable = new Map<string, Timeline<Spendable>>();

  constructor(modules: ModuleFacts | undefined, ledger: DocumentedLedger) {
    this.#modules = modules;
    this.#ledger = ledger;
    for (const { id } of modules?.strategies ?? []) this.#spendable.set(id, new Timeline());
  }

  /** After the ledger has followed it. */
  take({ type, sequence, resource, data }: ToldEvent): void {
    if (this.#modules === undefined) return;
    if (type === 'treasury.plan.executing') this.#executing(sequence, resource.id, data.object);
    for (const { id, walletIds } of this.#modules.strategies) {
      const timeline = this.#spendable.get(id)!;
      const now = this.#now(walletIds);
      if (!isSame(timeline.last, now)) timeline.set(sequence, now);
    }
  }

  #now(walletIds: readonly string[]): Spendable {
    const sum = new Map<string, bigint>();
    for (const id of walletIds) {
      const account = this.#ledger.accounts.get(id);
      if (account?.status !== 'active') continue;
      for (const [asset, units] of account.available) sum.set(asset, (sum.get(asset) ?? 0n) + units);
    }
    return sum;
  }

  #executing(sequence: number, planId: string, plan: { strategy_id: string; positions: readonly Position[] }): void {
    // A plan that is executed as it is made has no call of its own.
    const from = this.#modules?.executions.get(planId);
    const timeline = this.#spendable.get(plan.strategy_id);
    if (timeline === undefined || from === undefined || from >= sequence) return;
    const isOf = (spendable: Spendable) =>
      plan.positions.every(({ asset, amount }) => (spendable.get(asset) ?? 0n) === decimal(amount));
    if (timeline.during({ from, to: sequence }).some(isOf)) return;
    const made = plan.positions.map(({ asset, amount }) => `${amount} ${asset}`);
    found('plans-keep-rules', `event ${sequence}: ${planId} is executed on ${made}, which its wallets have no more`);
  }
}

function isSame(one: Spendable | undefined, other: Spendable): boolean {
  if (one?.size !== other.size) return false;
  return [...other].every(([asset, units]) => one.get(asset) === units);
}
