/**
 * The invariants of every tenant of a scenario at the end of its run, simulated or live, as its clients read them from the API:
 * money, intents, events, webhooks. Each violation is a line of text.
 */
import type { CustodyBook } from '../../../scenarios/runner/custody-book.ts';
import type { QuestionName, Questions, ScenarioWorld } from '../../../scenarios/runner/world.ts';
import { releasedVerifier, type SignatureVerifier } from '../../cluster/invariants/verifier.ts';
import { type BookedIntent, checkMoney, checkWebhook } from '../invariants/books.ts';
import { type BroadcastIntent, checkBroadcast, type SigningWallet } from '../invariants/broadcasts.ts';
import type { ToldEvent, ToldWallet } from '../invariants/documented-ledger.ts';

export interface ScenarioBooks {
  readonly world: ScenarioWorld;
  readonly book: CustodyBook;
  /** One principal of each tenant. */
  readonly readers: readonly string[];
  /** Verifies signatures of transactions; @noble/curves by default. */
  readonly verify?: SignatureVerifier;
  /** The time limit for unfinished work. */
  readonly settleMs: number;
}

const pollMs = 250;
const resting = new Set([...['pending_approval', 'completed', 'denied', 'rejected', 'expired', 'cancelled', 'failed']]);

/** Waits until intents rest and webhooks have all their events, and returns the violations. */
export async function brokenBooks({
  world,
  book,
  readers,
  verify = releasedVerifier,
  settleMs,
}: ScenarioBooks): Promise<string[]> {
  const faults: string[] = [];
  const beganMs = world.nowMs();
  const isLate = (limitMs = settleMs) => world.nowMs() - beganMs >= limitMs;
  // What is completed alone waits for blocks, and ends.
  const patienceMs = ({ status }: BookedIntent) => (status === 'completed' ? 2 * settleMs : settleMs);
  for (const by of readers) {
    let intents = await readAll<BookedIntent & BroadcastIntent>(
      world,
      by,
      '/v1/transaction-intents',
      'transaction_intents',
    );
    while (intents.some((intent) => isOpen(intent) && !isLate(patienceMs(intent)))) {
      await paused(world);
      intents = await readAll(world, by, '/v1/transaction-intents', 'transaction_intents');
    }
    const events = await readAll<ToldEvent>(world, by, '/v1/events', 'events');
    const wallets = await readAll<ToldWallet & SigningWallet>(world, by, '/v1/wallets', 'wallets');
    for (const intent of intents) {
      const wallet = wallets.find(({ id }) => id === intent.wallet_id);
      if (wallet !== undefined) faults.push(...checkBroadcast(intent, wallet, verify));
    }
    // Reads changed resources again: all work has ended by now.
    const again = await readAll<ToldEvent>(world, by, '/v1/events', 'events');
    if (again.length === events.length) faults.push(...checkMoney({ wallets, intents, events }));
    faults.push(...(await webhookFaults(world, book, by, isLate)));
  }
  return faults;
}

/** Webhooks that get every event, are enabled, and whose receiver accepts deliveries. */
async function webhookFaults(
  world: ScenarioWorld,
  book: CustodyBook,
  by: string,
  isLate: () => boolean,
): Promise<string[]> {
  const faults: string[] = [];
  for (const [name, note] of book.webhooks) {
    if (tenantNameOf(note.by) !== tenantNameOf(by) || !note.events.includes('*')) continue;
    for (;;) {
      const told = await asked(world, 'request', { by, method: 'GET', target: `/v1/webhooks/${note.id}` });
      if (!('status' in told) || told.status !== 200 || !isEnabled(told.body)) break;
      const events = await readAll<ToldEvent>(world, by, '/v1/events', 'events');
      const received = await asked(world, 'received', { name });
      const requests = received.map((one) => ({ atMs: 0, sentMs: 0, url: note.url, ...one }));
      const [secret = '', ...earlier] = note.secrets;
      const found = checkWebhook({ id: note.id, url: note.url, secret, earlier }, events, requests);
      const last = received.at(-1)?.status ?? 204;
      if (found.length === 0 || last < 200 || last > 299) break;
      if (isLate()) {
        faults.push(...found);
        break;
      }
      await paused(world);
    }
  }
  return faults;
}

/** Also one that is completed in a block that may still be undone: its deposits are pending. */
function isOpen({ status, sub_status: subStatus }: BookedIntent): boolean {
  return !resting.has(status) || (status === 'completed' && subStatus === 'NOT_FINAL');
}

function isEnabled(webhook: unknown): boolean {
  return (webhook as { readonly status: string }).status === 'enabled';
}

/** The first principal of each tenant. */
export function readersOf(principals: readonly string[]): readonly string[] {
  const first = new Map<string, string>();
  for (const by of principals) if (!first.has(tenantNameOf(by))) first.set(tenantNameOf(by), by);
  return [...first.values()];
}

function tenantNameOf(by: string): string {
  return by.split('@')[1] ?? '';
}

async function readAll<T>(world: ScenarioWorld, by: string, path: string, list: string): Promise<T[]> {
  const items: T[] = [];
  let cursor: string | null = null;
  do {
    const target: string = `${path}?limit=100${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`;
    const gets = await patiently(world, by, target);
    items.push(...(gets[list] as T[]));
    cursor = gets.next_cursor as string | null;
  } while (cursor !== null);
  return items;
}

/** The gateway may still be starting. */
async function patiently(world: ScenarioWorld, by: string, target: string): Promise<Readonly<Record<string, unknown>>> {
  for (let tries = 0; ; tries += 1) {
    const gets = await asked(world, 'request', { by, method: 'GET', target });
    if ('status' in gets && gets.status === 200) return gets.body as Readonly<Record<string, unknown>>;
    if (tries === 200) throw new Error(`GET ${target} has no answer: ${JSON.stringify(gets)}`);
    await paused(world);
  }
}

function paused(world: ScenarioWorld): Promise<undefined> {
  return asked(world, 'wait', { ms: pollMs });
}

function asked<Q extends QuestionName>(
  world: ScenarioWorld,
  question: Q,
  asks: Questions[Q]['asks'],
): Promise<Questions[Q]['gets']> {
  return new Promise((resolve, reject) => world.ask(question, asks, resolve, reject));
}
