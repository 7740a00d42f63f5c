/**
 * "A plan is stale, and 409, when what a wallet can spend has changed": a plan is executed on the balances that it was made of. Some
 * state between the call and its commit must have had them.
 */
import type { DocumentedLedger, ToldEvent } from '../world/invariants/documented-ledger.ts';
import { decimal } from '../world/invariants/documented-ledger.ts';
import { found } from './finding.ts';
import type { ModuleFacts } from './tenancy.ts';
import { Timeline } from './timeline.ts';

interface Held {
  readonly status: string;
  readonly available: ReadonlyMap<string, bigint>;
}

interface Position {
  readonly asset: string;
  readonly amount: string;
}

export class Holdings {
  readonly #modules: ModuleFacts | undefined;
  readonly #ledger: DocumentedLedger;
  readonly #wallets = new Map<string, Timeline<Held>>();

  constructor(modules: ModuleFacts | undefined, ledger: DocumentedLedger) {
    this.#modules = modules;
    this.#ledger = ledger;
    for (const { walletId } of modules?.strategies ?? []) this.#wallets.set(walletId, new Timeline());
  }

  /** After the ledger has followed it. */
  take({ type, sequence, resource, data }: ToldEvent): void {
    if (this.#modules === undefined || this.#wallets.size === 0) return;
    if (type === 'treasury.plan.executing') this.#executing(sequence, resource.id, data.object);
    for (const [id, timeline] of this.#wallets) {
      const account = this.#ledger.accounts.get(id);
      if (account === undefined) continue;
      const { status, available } = account;
      if (isSame(timeline.last, { status, available })) continue;
      timeline.set(sequence, { status, available: new Map(available) });
    }
  }

  #executing(sequence: number, planId: string, plan: { strategy_id: string; positions: readonly Position[] }): void {
    const strategy = this.#modules?.strategies.find(({ id }) => id === plan.strategy_id);
    // A plan that is executed as it is made has no call of its own.
    const from = this.#modules?.executions.get(planId);
    if (strategy === undefined || from === undefined || from >= sequence) return;
    const states = this.#wallets.get(strategy.walletId)!.during({ from, to: sequence });
    const isOf = ({ status, available }: Held) =>
      plan.positions.every(
        ({ asset, amount }) => (status === 'active' ? (available.get(asset) ?? 0n) : 0n) === decimal(amount),
      );
    if (states.some(isOf)) return;
    const made = plan.positions.map(({ asset, amount }) => `${amount} ${asset}`);
    found('plans-keep-rules', `event ${sequence}: ${planId} is executed on ${made}, which its wallet has no more`);
  }
}

function isSame(one: Held | undefined, other: Held): boolean {
  if (one?.status !== other.status || one.available.size !== other.available.size) return false;
  return [...other.available].every(([asset, units]) => one.available.get(asset) === units);
}
