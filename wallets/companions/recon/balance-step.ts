/**
 * The step of a balances job on one wallet. The job cannot read both sides at one moment, and each learns of the other late. So
 * before comparing, it sets aside what only one side has booked within the lag; and a difference counts only if neither side
 * changed meanwhile. It reports a wallet that keeps changing as unsettled.
 */
import { assetOf } from '../../networks/assets.ts';
import { effectOf, type Movement } from '../../providers/port/statement.ts';
import type { Balances } from '../../store/contract.ts';
import { compareBalances } from './compare.ts';
import type { ComparisonFinding } from './exception-record.ts';
import { type OwnPhase, ownPhases } from './job-record.ts';
import { type OwnMovement, ownEffect } from './own-side.ts';
import type { OwnPage, WalletSources, Window } from './sources.ts';
import type { StepTerms } from './wallet-steps.ts';

const triesMax = 5;
/** The longest time from booking to settlement of a movement that the step finds by its settlement. */
const settlesWithinMs = 3_600_000;

export interface BalanceStep {
  readonly findings: readonly ComparisonFinding[];
  readonly assets: number;
  readonly isUnsettled: boolean;
}

export async function balanceStep(
  sources: WalletSources,
  readBalances: () => Promise<Balances>,
  terms: StepTerms,
): Promise<BalanceStep> {
  for (let attempt = 0; attempt < triesMax; attempt += 1) {
    const ours = totals(await readBalances());
    const theirs = await sources.balances();
    const assets = [...new Set([...sources.wallet.assets, ...theirs.keys()])].filter(
      (asset) => assetOf(asset) !== undefined && (terms.asset === null || terms.asset === asset),
    );
    const found = (settling: ReadonlyMap<string, bigint>): ComparisonFinding[] =>
      assets.flatMap((asset) => {
        const actual = (theirs.get(asset) ?? 0n) + (settling.get(asset) ?? 0n);
        return compareBalances(sources.wallet, asset, ours.get(asset) ?? 0n, actual, terms) ?? [];
      });
    if (found(new Map()).length === 0) return { findings: [], assets: assets.length, isUnsettled: false };
    const findings = found(await settlingUnits(sources, terms));
    if (findings.length === 0) return { findings, assets: assets.length, isUnsettled: false };
    const isStill = areSame(ours, totals(await readBalances())) && areSame(theirs, await sources.balances());
    if (isStill) return { findings, assets: assets.length, isUnsettled: false };
  }
  return { findings: [], assets: 0, isUnsettled: true };
}

/** The units to add to the provider's balances, by asset, so that both sides have booked the same. */
async function settlingUnits(
  sources: WalletSources,
  { nowMs, lagMs }: StepTerms,
): Promise<ReadonlyMap<string, bigint>> {
  const sums = new Map<string, bigint>();
  const add = (asset: string, units: bigint) => sums.set(asset, (sums.get(asset) ?? 0n) + units);
  const window = { fromMs: nowMs - lagMs - settlesWithinMs, toMs: Number.MAX_SAFE_INTEGER };
  const isRecent = (atMs: number): boolean => nowMs - atMs < lagMs;

  for await (const movements of statementPages(sources, window)) {
    const settled = movements.filter(({ settledAtMs }) => settledAtMs !== null && isRecent(settledAtMs));
    for (const direction of ['in', 'out'] as const) {
      const some = settled.filter((movement) => movement.direction === direction);
      const own = await sources.own(
        direction,
        some.map(({ key }) => key),
      );
      for (const [index, movement] of some.entries()) {
        if (own[index]?.isFinal === true) continue;
        for (const { asset, units } of effectOf(movement)) add(asset, -units);
      }
    }
  }
  for (const phase of ownPhases) {
    for await (const movements of ownPages(sources, phase, window)) {
      for (const direction of ['in', 'out'] as const) {
        const booked = movements.filter(
          (own) =>
            own.direction === direction && own.key !== null && own.state === 'completed' && isRecent(own.changedAtMs),
        );
        const theirs = await sources.theirs(
          direction,
          booked.map(({ key }) => key!),
        );
        for (const [index, own] of booked.entries()) {
          if (theirs[index]!.some(({ settledAtMs }) => settledAtMs !== null)) continue;
          for (const { asset, units } of ownEffect(own)) add(asset, units);
        }
      }
    }
  }
  return sums;
}

async function* statementPages(sources: WalletSources, window: Window): AsyncGenerator<readonly Movement[]> {
  let after: string | null = null;
  do {
    const page = await sources.statement(window, after);
    yield page.movements;
    after = page.next ?? null;
  } while (after !== null);
}

async function* ownPages(
  sources: WalletSources,
  phase: OwnPhase,
  window: Window,
): AsyncGenerator<readonly OwnMovement[]> {
  let after: string | null = null;
  do {
    const page: OwnPage = await sources[phase](window, after);
    yield page.movements;
    after = page.next;
  } while (after !== null);
}

function totals(balances: Balances): ReadonlyMap<string, bigint> {
  return new Map([...balances].map(([asset, { available, reserved }]) => [asset, available + reserved]));
}

function areSame(one: ReadonlyMap<string, bigint>, other: ReadonlyMap<string, bigint>): boolean {
  return [...new Set([...one.keys(), ...other.keys()])].every(
    (asset) => (one.get(asset) ?? 0n) === (other.get(asset) ?? 0n),
  );
}
