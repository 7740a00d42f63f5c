/**
 * A ledger of wallets, written from docs/wallet-api.md; its only input is the event log from the API. It shares no code with the
 * product: it parses amounts itself, and reserves, spends and releases the amounts of intents as the page says. Every
 * contradiction to the page is a line in `faults`.
 */

export interface ToldEvent {
  readonly id: string;
  readonly type: string;
  readonly sequence: number;
  readonly timestamp: string;
  readonly resource: { readonly type: string; readonly id: string; readonly version: number };
  // biome-ignore lint/suspicious/noExplicitAny: every resource has another shape; each is read by its documented fields.
  readonly data: { readonly object: any };
}

export interface ToldWallet {
  readonly id: string;
  readonly version: number;
  readonly status: string;
  readonly assets: readonly {
    readonly symbol: string;
    readonly balance: string;
    readonly available: string;
    readonly pending: string;
  }[];
}

/** In units of 10^-18 of the asset. */
export interface BookedEntry {
  readonly walletId: string;
  readonly asset: string;
  readonly available: bigint;
  readonly pending: bigint;
}

export interface ModuleBooks {
  /** The entries of an event. */
  entriesOf(event: ToldEvent): readonly BookedEntry[];
}

interface Account {
  version: number;
  status: string;
  /** By symbol. */
  readonly available: Map<string, bigint>;
  readonly pending: Map<string, bigint>;
  /**
   * "`available` is 0, and `pending` less than what is reserved": the assets of which an allowance has taken more than was
   * available.
   */
  readonly overdrawn: Set<string>;
  /** Every past state of the wallet, in the format of `stateOf`. */
  readonly states: Set<string>;
}

interface Intent {
  status: string;
  version: number;
  isHolding: boolean;
  /** What is set aside for it, by asset. */
  readonly held: Map<string, bigint>;
  /** "": none. */
  replaces: string;
  readonly votes: number;
}

const scale = 18;
/** "While the intent is open, amount and largest fee are set aside." A message takes nothing; see `amountTaken`. */
const open = new Set(['pending_approval', 'approved', 'signing', 'broadcasting', 'confirming']);
const final = new Set(['completed', 'denied', 'rejected', 'expired', 'cancelled', 'failed']);
/** The table of states of the page. */
const next: Readonly<Record<string, readonly string[]>> = {
  created: ['screening', 'denied'],
  screening: ['pending_approval', 'approved', 'denied', 'failed'],
  pending_approval: ['approved', 'rejected', 'expired', 'cancelled'],
  approved: ['signing', 'cancelled', 'expired', 'failed'],
  signing: ['broadcasting', 'completed', 'failed'],
  broadcasting: ['confirming', 'failed'],
  confirming: ['completed', 'failed'],
  completed: ['confirming'],
};
const messages: readonly string[] = ['message', 'typed_data'];
const walletStatus: Readonly<Record<string, string>> = {
  'wallet.frozen': 'frozen',
  'wallet.unfrozen': 'active',
  'wallet.archived': 'archived',
};

/** A decimal string as units of 10^-18. */
export function decimal(text: string): bigint {
  const match = /^(\d+)(?:\.(\d{1,18}))?$/.exec(text);
  if (match === null) throw new Error(`no decimal: ${text}`);
  return BigInt(match[1]!) * 10n ** BigInt(scale) + BigInt((match[2] ?? '').padEnd(scale, '0'));
}

/** The same of an amount that may be below zero. */
export function signed(text: string): bigint {
  return text.startsWith('-') ? -decimal(text.slice(1)) : decimal(text);
}

/** A line that is equal for equal states. */
export function stateOf({ version, status, assets }: ToldWallet): string {
  const held = assets.map((asset) => {
    const [balance, available, pending] = [asset.balance, asset.available, asset.pending].map(decimal) as [
      bigint,
      bigint,
      bigint,
    ];
    if (balance !== available + pending) return `${asset.symbol} adds up wrongly`;
    return `${asset.symbol} ${available}+${pending}`;
  });
  return `${version} ${status} ${held.join(' ')}`;
}

export class DocumentedLedger {
  readonly faults: string[] = [];
  readonly accounts = new Map<string, Account>();
  readonly intents = new Map<string, Intent>();
  /** How each stands. */
  readonly #deposits = new Map<string, string>();
  readonly #rule: (walletId: string, intent: IntentTold, available: bigint) => boolean | undefined;
  readonly #modules: ModuleBooks;
  #sequence = 0;
  #timestamp = '';

  /**
   * `modules`: what the companion modules book in wallets. `rule`: whether the tenant's policy must deny an intent, given the
   * balance available before it; undefined: unknown.
   */
  constructor(
    rule: (walletId: string, intent: IntentTold, available: bigint) => boolean | undefined = () => undefined,
    modules: ModuleBooks = { entriesOf: () => [] },
  ) {
    this.#modules = modules;
    this.#rule = rule;
  }

  /** All events of a tenant, from the first on, in their order. */
  follow(events: readonly ToldEvent[]): void {
    for (const event of events) {
      const { sequence, timestamp, type, resource } = event;
      this.#expect(sequence === this.#sequence + 1, event, `comes after sequence ${this.#sequence}`);
      this.#expect(timestamp >= this.#timestamp, event, `is stamped before ${this.#timestamp}`);
      this.#sequence = sequence;
      this.#timestamp = timestamp;
      if (resource.type === 'wallet') this.#wallet(event);
      if (type.startsWith('transaction_intent.')) this.#intent(event);
      for (const entry of this.#modules.entriesOf(event)) this.#book(event, entry);
    }
  }

  /** A read of a wallet, at any moment. */
  wasRead(wallet: ToldWallet): void {
    const account = this.accounts.get(wallet.id);
    if (account?.states.has(stateOf(wallet)) !== true) {
      this.faults.push(`wallet ${wallet.id} was shown as it never was: ${stateOf(wallet)}`);
    }
  }

  #wallet(event: ToldEvent): void {
    const { type, resource, data } = event;
    const shown = data.object as ToldWallet & {
      readonly deposit?: {
        readonly asset: string;
        readonly amount: string;
        readonly tx_id: string;
        readonly status: string;
      };
      readonly withdrawal?: { readonly asset: string; readonly amount: string };
      readonly correction?: { readonly entries: readonly { readonly asset: string; readonly amount: string }[] };
    };
    if (type === 'wallet.created') {
      const available = new Map(shown.assets.map(({ symbol, available: units }) => [symbol, decimal(units)]));
      this.accounts.set(resource.id, {
        version: 1,
        status: 'active',
        available,
        pending: new Map(),
        overdrawn: new Set(),
        states: new Set(),
      });
    }
    const account = this.accounts.get(resource.id);
    if (account === undefined) {
      this.#expect(false, event, 'is of a wallet that was never created');
      return;
    }
    if (shown.deposit !== undefined) {
      const { asset, amount, tx_id: txId, status } = shown.deposit;
      const name = `${resource.id} ${txId}`;
      const before = this.#deposits.get(name) ?? 'none';
      const told: Readonly<Record<string, string>> = {
        'none final': 'received',
        'none pending': 'received',
        'pending reverted': 'reverted',
        'reverted pending': 'received',
        'reverted final': 'received',
        'pending final': 'finalized',
      };
      const happened = told[`${before} ${status}`];
      this.#expect(type === `wallet.deposit_${happened}`, event, `makes a deposit ${status} that is ${before}`);
      this.#deposits.set(name, status);
      const wasListed = account.available.has(asset);
      if (!wasListed) account.version += 1;
      if (!wasListed) account.available.set(asset, 0n);
      if (before === 'pending') add(account.pending, asset, -decimal(amount));
      if (status === 'pending') add(account.pending, asset, decimal(amount));
      if (status === 'final') add(account.available, asset, decimal(amount));
    } else if (type === 'wallet.allowance_used') {
      const { asset, amount } = shown.withdrawal!;
      add(account.available, asset, -decimal(amount));
      if (account.available.get(asset)! < 0n) account.overdrawn.add(asset);
      this.#notBelowZero(event, account);
    } else if (type === 'wallet.balance_corrected') {
      for (const { asset, amount } of shown.correction?.entries ?? []) add(account.available, asset, signed(amount));
    } else if (type !== 'wallet.created') {
      account.version += 1;
      account.status = walletStatus[type] ?? account.status;
    }
    this.#note(account);
    this.#expect(
      stateOf(shown) === this.#current(account),
      event,
      `shows ${stateOf(shown)}, not ${this.#current(account)}`,
    );
    this.#expect(resource.version === account.version, event, `has version ${resource.version}`);
  }

  #intent(event: ToldEvent): void {
    const { type, resource } = event;
    const told = event.data.object as IntentTold;
    const said = type.slice('transaction_intent.'.length);
    const happened = said === 'reorged' ? 'confirming' : said;
    const account = this.accounts.get(told.wallet_id);
    if (account === undefined) {
      this.#expect(false, event, 'is of a wallet that was never created');
      return;
    }
    const before = this.intents.get(resource.id);
    const intent = before ?? {
      status: '',
      version: 0,
      isHolding: false,
      held: new Map(),
      replaces: told.replaces ?? '',
      votes: 0,
    };
    this.intents.set(resource.id, intent);
    this.#expect(
      resource.version === intent.version || resource.version === intent.version + 1,
      event,
      `has version ${resource.version} after ${intent.version}`,
    );
    intent.version = resource.version;
    this.#expect(told.version === resource.version, event, `shows version ${told.version}`);
    if (happened === 'approval_recorded') return;
    if (happened === 'updated') {
      this.#expect(told.status === intent.status, event, `changes ${intent.status} to ${told.status}`);
      return;
    }
    const isSent = !messages.includes(told.kind ?? '');
    const follows =
      intent.status === ''
        ? happened === 'created'
        : next[intent.status]?.includes(happened) === true &&
          (intent.status !== 'signing' || happened !== (isSent ? 'completed' : 'broadcasting'));
    this.#expect(follows && told.status === happened, event, `follows ${intent.status}, shows ${told.status}`);
    this.#expect((said === 'reorged') === (intent.status === 'completed'), event, `follows ${intent.status}`);
    intent.status = happened;
    this.#move(event, account, intent, told);
  }

  #move(event: ToldEvent, account: Account, intent: Intent, told: IntentTold): void {
    // A message moves nothing, and is sent nowhere.
    const [amount, reserved] = [amountTaken(told), decimal(told.fee.reserved)];
    if (event.type === 'transaction_intent.screening') {
      const mustDeny = this.#rule(told.wallet_id, told, account.available.get(told.asset) ?? 0n);
      if (mustDeny !== undefined) this.#verdicts.set(event.resource.id, mustDeny);
    }
    if (['approved', 'pending_approval', 'denied'].includes(intent.status)) {
      const mustDeny = this.#verdicts.get(event.resource.id);
      this.#verdicts.delete(event.resource.id);
      const isDenied = intent.status === 'denied';
      this.#expect(mustDeny === undefined || mustDeny === isDenied, event, 'is not what the policy says of its moment');
    }
    if (event.type === 'transaction_intent.reorged') {
      // "What it had spent is `pending`": `available` does not change.
      intent.isHolding = true;
      intent.held.clear();
      add(intent.held, told.asset, amount);
      add(intent.held, told.fee.asset, decimal(told.fee.paid ?? '0'));
      for (const [asset, units] of intent.held) add(account.pending, asset, units);
    } else if (open.has(intent.status) && !intent.isHolding) {
      intent.isHolding = true;
      const needs = new Map([[told.asset, amount]]);
      needs.set(told.fee.asset, (needs.get(told.fee.asset) ?? 0n) + reserved);
      for (const [asset, need] of needs) {
        // "What both move is reserved once": a replacement holds what those before it do not.
        let units = need;
        for (let at = this.intents.get(intent.replaces); at !== undefined; at = this.intents.get(at.replaces)) {
          this.#expect(at.status === 'broadcasting', event, `replaces an intent that is ${at.status}`);
          units -= at.held.get(asset) ?? 0n;
        }
        if (units <= 0n) continue;
        intent.held.set(asset, units);
        add(account.available, asset, -units);
        add(account.pending, asset, units);
      }
    }
    if (final.has(intent.status) && intent.isHolding) {
      intent.isHolding = false;
      for (const [asset, units] of intent.held) {
        add(account.available, asset, units);
        add(account.pending, asset, -units);
      }
      if (intent.status === 'completed') add(account.available, told.asset, -amount);
      add(account.available, told.fee.asset, -decimal(told.fee.paid ?? '0'));
    }
    this.#notBelowZero(event, account);
    this.#note(account);
  }

  /** What a module books in a wallet, without a change of the wallet itself. */
  #book(event: ToldEvent, { walletId, asset, available, pending }: BookedEntry): void {
    const account = this.accounts.get(walletId);
    if (account === undefined) {
      this.#expect(false, event, `books in ${walletId}, which was never created`);
      return;
    }
    add(account.available, asset, available);
    add(account.pending, asset, pending);
    this.#notBelowZero(event, account);
    this.#note(account);
  }

  #notBelowZero(event: ToldEvent, { available, pending, overdrawn }: Account): void {
    for (const [asset, units] of available) {
      const held = pending.get(asset) ?? 0n;
      if (units >= 0n) overdrawn.delete(asset);
      const mayBe = overdrawn.has(asset) ? units + held >= 0n : units >= 0n;
      this.#expect(mayBe && held >= 0n, event, `leaves ${units} and ${held} of ${asset}`);
    }
  }

  readonly #verdicts = new Map<string, boolean>();

  #note(account: Account): void {
    account.states.add(this.#current(account));
  }

  /** Assets in the order in which they were listed. */
  #current({ version, status, available, pending }: Account): string {
    const held = [...available].map(([asset, units]) => {
      const missing = units < 0n ? units : 0n;
      return `${asset} ${units - missing}+${(pending.get(asset) ?? 0n) + missing}`;
    });
    return `${version} ${status} ${held.join(' ')}`;
  }

  #expect(holds: boolean, { sequence, type, resource }: ToldEvent, what: string): void {
    if (!holds && this.faults.length < 50) this.faults.push(`event ${sequence} ${type} of ${resource.id} ${what}`);
  }
}

/**
 * What it takes from the wallet itself: a mint and `approve` their fee alone, and so `transferFrom` of what another account has.
 */
export function amountTaken({
  kind,
  amount,
  call,
  from_address: own,
}: Pick<IntentTold, 'kind' | 'amount' | 'call' | 'from_address'>): bigint {
  if (['mint', ...messages].includes(kind ?? '') || call?.function === 'approve') return 0n;
  const isOfAnother = call?.function === 'transferFrom' && call.arguments.from !== own?.toLowerCase();
  return isOfAnother ? 0n : decimal(amount);
}

/** A wallet lists an asset from the first time that it gets some. */
function add(side: Map<string, bigint>, asset: string, units: bigint): void {
  if (units === 0n) return;
  side.set(asset, (side.get(asset) ?? 0n) + units);
}

export interface IntentTold {
  readonly kind?: string;
  readonly from_address?: string;
  readonly call?: { readonly function: string; readonly arguments: Readonly<Record<string, string>> } | null;
  readonly wallet_id: string;
  readonly replaces?: string | null;
  readonly status: string;
  readonly version: number;
  readonly asset: string;
  readonly amount: string;
  readonly fee: { readonly asset: string; readonly reserved: string; readonly paid: string | null };
}
