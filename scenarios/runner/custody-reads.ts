/** Reads of the wallet API for waits and final expectations. A read without an answer counts as an absent resource. */
import type { CustodyBook } from './custody-book.ts';
import { owner } from './custody-format.ts';
import type { ScenarioWorld } from './world.ts';

export interface LoggedOfTenant {
  readonly type: string;
  readonly sequence: number;
  readonly resource: { readonly type: string; readonly id: string };
}

/** The status of the intent that a step made; undefined: there is none, or no answer. */
export function readIntent(
  world: ScenarioWorld,
  book: CustodyBook,
  step: string,
  see: (status: string | undefined) => void,
): void {
  const known = book.answer(step) as { readonly id: string; readonly wallet_id: string } | undefined;
  if (known === undefined) see(undefined);
  else {
    read<{ status: string }>(world, `/v1/wallets/${known.wallet_id}/transaction-intents/${known.id}`, (intent) =>
      see(intent?.status),
    );
  }
}

/** Balances of a wallet by asset; undefined likewise. */
export function readBalances(
  world: ScenarioWorld,
  book: CustodyBook,
  step: string,
  see: (balances: Readonly<Record<string, string>> | undefined) => void,
): void {
  const id = book.idOf(step);
  if (id === undefined) see(undefined);
  else {
    read<{ assets: readonly { symbol: string; balance: string }[] }>(world, `/v1/wallets/${id}`, (wallet) =>
      see(wallet && Object.fromEntries(wallet.assets.map(({ symbol, balance }) => [symbol, balance]))),
    );
  }
}

/** The tenant's event log so far, oldest first. */
export function readEvents(world: ScenarioWorld, see: (events: readonly LoggedOfTenant[]) => void): void {
  const all: LoggedOfTenant[] = [];
  const page = (after: number): void =>
    read<{ events: readonly LoggedOfTenant[]; has_more: boolean }>(
      world,
      `/v1/events?limit=100&after_sequence=${after}`,
      (found) => {
        all.push(...(found?.events ?? []));
        const last = all.at(-1);
        if (found?.has_more === true && last !== undefined) page(last.sequence);
        else see(all);
      },
    );
  page(0);
}

function read<T>(world: ScenarioWorld, target: string, see: (body: T | undefined) => void): void {
  world.ask('request', { by: owner, method: 'GET', target }, (gets) =>
    see('status' in gets && gets.status === 200 ? (gets.body as T) : undefined),
  );
}
