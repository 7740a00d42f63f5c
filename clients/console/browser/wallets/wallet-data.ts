/**
 * What the page knows of the wallets and intents of whom acts: read once, then followed by the tenant's own event stream, so that
 * nothing is polled. Runs in the browser.
 */
import type {
  ComplianceReport,
  Event,
  Intent,
  PolicyDecision,
  RiskScore,
  Wallet,
} from '../../../client/generated-api.ts';
import { ApiError, type Client } from '../../../client/index.ts';
import type { ConsoleBrowser } from '../shared/dom.ts';
import { makePageRead, type PageRead } from '../shared/page-read.ts';

/** What decided about an intent; each is undefined where this token may not read it, or the service has none. */
export interface IntentGrounds {
  readonly decision: PolicyDecision | undefined;
  readonly risk: RiskScore | undefined;
  readonly report: ComplianceReport | undefined;
}

export interface WalletData {
  readonly wallets: PageRead<readonly Wallet[]>;
  /** The newest first. */
  readonly intents: readonly Intent[];
  readonly isLoaded: boolean;
  readonly problem: string;
  grounds(intent: Intent): PageRead<IntentGrounds>;
  /** An intent that a call has given. */
  see(intent: Intent): void;
  stop(): void;
}

const walletsMax = 200;
const intentsMax = 500;
const firstIntents = 100;
/** Balances are read again at most so often. */
const balancesMs = 1_000;
const settledMs = 2_000;

export function followWallets(
  page: Pick<ConsoleBrowser, 'setTimeout'>,
  client: Client,
  changed: () => void,
): WalletData {
  const scope = new AbortController();
  const known = new Map<string, Intent>();
  const grounds = new Map<string, PageRead<IntentGrounds>>();
  let sorted: readonly Intent[] | undefined;
  let isLoaded = false;
  let problem = '';
  let isDue = false;
  const wallets = makePageRead(() => client.wallets.list({ limit: 100 }).toArray(walletsMax), changed);
  const see = (intent: Intent) => {
    const before = known.get(intent.id);
    if (before !== undefined && before.version > intent.version) return;
    known.set(intent.id, intent);
    for (const id of known.keys()) {
      if (known.size <= intentsMax) break;
      known.delete(id);
      grounds.delete(id);
    }
    sorted = undefined;
    changed();
  };
  const balancesLater = () => {
    if (isDue) return;
    isDue = true;
    page.setTimeout(() => {
      isDue = false;
      if (!scope.signal.aborted) void wallets.refresh();
    }, balancesMs);
  };
  const take = (event: Event) => {
    if (event.resource.type === 'transaction_intent') see((event.data as { readonly object: Intent }).object);
    balancesLater();
  };
  const list = async () => {
    const listed = await client.intents.listAll({ limit: firstIntents }).toArray(firstIntents);
    if (!scope.signal.aborted) for (const intent of listed.reverse()) see(intent);
  };
  const run = async () => {
    try {
      const events = client.events.follow({ types: ['wallet.*', 'transaction_intent.*'], signal: scope.signal });
      const iterator = events[Symbol.asyncIterator]();
      let next = iterator.next();
      next.catch(() => undefined);
      await list();
      await wallets.refresh();
      isLoaded = true;
      changed();
      // What changed while the stream connected: an older version replaces no newer one.
      page.setTimeout(() => void list().catch(() => undefined), settledMs);
      for (;;) {
        const { done, value } = await next;
        if (done === true) return;
        take(value);
        next = iterator.next();
      }
    } catch (error) {
      if (scope.signal.aborted) return;
      problem = error instanceof Error ? error.message : String(error);
      changed();
    }
  };
  void run();
  return {
    wallets,
    get intents() {
      sorted ??= [...known.values()].sort((a, b) => (a.created_at < b.created_at ? 1 : -1));
      return sorted;
    },
    get isLoaded() {
      return isLoaded;
    },
    get problem() {
      return problem || wallets.problem;
    },
    grounds: (intent) => {
      const found = grounds.get(intent.id);
      if (found !== undefined) return found;
      const made = makePageRead(() => readGrounds(client, intent), changed);
      grounds.set(intent.id, made);
      void made.refresh();
      return made;
    },
    see,
    stop: () => scope.abort(),
  };
}

async function readGrounds(client: Client, { id, policy, decision_id: decisionId }: Intent): Promise<IntentGrounds> {
  const [decision, risk] = await Promise.all([
    orNone(async () => {
      for await (const one of client.policies.decisions(policy.id, { limit: 100 }))
        if (one.id === decisionId) return one;
      return undefined;
    }),
    orNone(() => client.risk.score(id)),
  ]);
  const report = decision && (await orNone(() => client.compliance.report(decision.compliance.report_id)));
  return { decision, risk, report };
}

/** A refusal says that there is none for this token. */
async function orNone<T>(read: () => Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) return undefined;
    throw error;
  }
}
