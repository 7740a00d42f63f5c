/**
 * Deliberate drift, for a sandbox: a provider's report differs from its actions. A drift overlays the statements and
 * balances of one wallet and changes neither its custodian's book nor its chain.
 */
import type { ProviderKind } from '../port/kinds.ts';
import { type CallMeta, type HeldWallet, ProviderUnavailable } from '../port/port.ts';
import {
  effectOf,
  type Movement,
  type ProviderStatements,
  placeOf,
  readPlace,
  type StatementPage,
  type StatementQuery,
  type StatementsByKind,
} from '../port/statement.ts';

export const driftKinds = ['missing', 'extra', 'duplicate', 'amount', 'status', 'late', 'silent'] as const;
export type DriftKind = (typeof driftKinds)[number];

export interface Drift {
  readonly id: string;
  readonly kind: DriftKind;
  readonly connectionId: string;
  readonly walletId: string;
  /** The movement that it changes, by its name in statements; of `extra` and `silent`: its own. */
  readonly direction: Movement['direction'];
  readonly key: string;
  readonly asset: string;
  /** Smallest units, a decimal integer: of an extra movement, or what `amount` adds. */
  readonly units: string;
  /** Of `late`: the time from which statements show the movement. */
  readonly untilMs: number | null;
  readonly createdAtMs: number;
}

/** Throws ProviderUnavailable. */
export interface Drifts {
  put(tenant: string, drift: Drift): Promise<void>;
  list(tenant: string): Promise<readonly Drift[]>;
  remove(tenant: string, ids: readonly string[]): Promise<void>;
}

export function withDrifts(statements: StatementsByKind, drifts: Drifts): StatementsByKind {
  return new Map(
    [...statements].map(([kind, each]): [ProviderKind, ProviderStatements] => [kind, drifted(each, drifts)]),
  );
}

function drifted(base: ProviderStatements, drifts: Drifts): ProviderStatements {
  const of = async ({ tenant }: CallMeta, { id }: HeldWallet) => {
    const own = (await drifts.list(tenant)).filter(({ walletId }) => walletId === id);
    if (own.some(({ kind }) => kind === 'silent')) throw new ProviderUnavailable('the provider gives no statement');
    return own;
  };
  return {
    joinsBy: base.joinsBy,
    async page(meta, wallet, query) {
      const [page, own] = await Promise.all([base.page(meta, wallet, query), of(meta, wallet)]);
      if (own.length === 0) return page;
      const shown = page.movements.flatMap((movement) => seen(movement, own, meta.nowMs));
      return { movements: inOrder([...shown, ...extras(own, page, query)]), next: page.next };
    },
    async find(meta, wallet, direction, keys) {
      const [found, own] = await Promise.all([base.find(meta, wallet, direction, keys), of(meta, wallet)]);
      if (own.length === 0) return found;
      return found.map((movements, index) => [
        ...movements.flatMap((movement) => seen(movement, own, meta.nowMs)),
        ...own
          .filter((drift) => drift.kind === 'extra' && drift.direction === direction && drift.key === keys[index])
          .map(extraMovement),
      ]);
    },
    async balances(meta, wallet) {
      const [balances, own] = await Promise.all([base.balances(meta, wallet), of(meta, wallet)]);
      const sums = new Map(balances);
      const add = (sign: bigint) => (movement: Movement) => {
        for (const { asset, units } of effectOf(movement)) sums.set(asset, (sums.get(asset) ?? 0n) + sign * units);
      };
      for (const drift of own) {
        if (drift.kind === 'extra') {
          add(1n)(extraMovement(drift));
          continue;
        }
        const [movements = []] = await base.find(meta, wallet, drift.direction, [drift.key]);
        movements.forEach(add(-1n));
        movements.flatMap((movement) => seen(movement, [drift], meta.nowMs)).forEach(add(1n));
      }
      return sums;
    },
  };
}

/** A movement as statements show it. */
function seen(movement: Movement, drifts: readonly Drift[], nowMs: number): readonly Movement[] {
  const drift = drifts.find(
    ({ kind, direction, key }) => kind !== 'extra' && direction === movement.direction && key === movement.key,
  );
  switch (drift?.kind) {
    case 'missing':
      return [];
    case 'late':
      return nowMs < (drift.untilMs ?? 0) ? [] : [movement];
    case 'duplicate':
      return [movement, { ...movement, id: `${movement.id}-again` }];
    case 'amount':
      return [{ ...movement, units: movement.units + BigInt(drift.units) }];
    case 'status':
      return [reversed(movement)];
    default:
      return [movement];
  }
}

function reversed(movement: Movement): Movement {
  const state = movement.state === 'failed' ? 'completed' : 'failed';
  return { ...movement, state, hasMoved: state === 'completed', providerStatus: 'REVERSED' };
}

function extraMovement({ id, direction, key, asset, units, createdAtMs }: Drift): Movement {
  return {
    ...{ id: `drift-${id}`, key, direction, reference: null, txId: direction === 'in' ? key : null, asset },
    ...{ units: BigInt(units), fee: { asset, units: 0n }, counterparty: null, state: 'completed' },
    ...{ providerStatus: 'MANUAL', bookedAtMs: createdAtMs, settledAtMs: createdAtMs, hasMoved: true },
  };
}

/** Extra movements that belong between the start of the page and its last movement. */
function extras(drifts: readonly Drift[], { movements, next }: StatementPage, query: StatementQuery): Movement[] {
  const first = query.after === undefined ? undefined : readPlace(query.after);
  const last = next === undefined ? undefined : movements.at(-1);
  return drifts
    .filter(({ kind }) => kind === 'extra')
    .map(extraMovement)
    .filter(
      (movement) =>
        movement.bookedAtMs >= query.fromMs &&
        movement.bookedAtMs < query.toMs &&
        (first === undefined || compare(readPlace(placeOf(movement)), first) > 0) &&
        (last === undefined || compare(readPlace(placeOf(movement)), readPlace(placeOf(last))) < 0),
    );
}

function inOrder(movements: Movement[]): Movement[] {
  return movements.sort((one, other) => compare(readPlace(placeOf(one)), readPlace(placeOf(other))));
}

function compare(one: ReturnType<typeof readPlace>, other: ReturnType<typeof readPlace>): number {
  if (one.atMs !== other.atMs) return one.atMs - other.atMs;
  return one.name < other.name ? -1 : one.name > other.name ? 1 : 0;
}
