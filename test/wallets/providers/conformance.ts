/**
 * What the control plane relies on, whichever provider holds the keys. Run for every adapter there is: the function takes
 * a way to make one and defines the tests.
 */
import { describe, expect, it } from 'vitest';
import { newId } from '../../../proto/ids.ts';
import type { ClusterEnvironment } from '../../../proto/roster.ts';
import { intentStatuses } from '../../../wallets/custody/intents/states.ts';
import type { WalletRecord } from '../../../wallets/custody/wallets/record.ts';
import { addressOfKey, addressProblem } from '../../../wallets/networks/addresses.ts';
import { formatAmount, parseAmount } from '../../../wallets/networks/amounts.ts';
import { assetOf, assetsOn } from '../../../wallets/networks/assets.ts';
import { networkOf } from '../../../wallets/networks/networks.ts';
import {
  type ProviderAdapter,
  ProviderRejected,
  ProviderUnavailable,
  type TransferDraft,
  type TransferProgress,
} from '../../../wallets/providers/port/port.ts';
import { type TestOutcome, testAmounts } from '../../../wallets/providers/port/test-triggers.ts';
import { type ApprovedIntent, connection, intentOf, makeWallet, metaAt, startMs } from './self-hosted/support.ts';

export interface Subject {
  readonly adapter: ProviderAdapter;
  /** Everything that the provider keeps, as text. */
  dump(): Promise<string>;
}

const wellKnownSecret = 'extremely-secret-value-never-to-show';

export function providerConformance(name: string, subject: () => Subject): void {
  describe(`${name} as a provider`, () => {
    wallets(subject);
    credentials(subject);
    transfers(subject);
    trigger(subject);
  });
}

function wallets(subject: () => Subject): void {
  it('makes the same wallet for the same id, and another one for another', async () => {
    const { adapter } = subject();
    for (const network of adapter.info.networks) {
      const order = { walletId: `wal_${network}`, name: 'One', network };
      const first = await adapter.createWallet(metaAt(startMs), connection(), order);
      const again = await adapter.createWallet(metaAt(startMs + 5_000), connection(), order);
      const other = await adapter.createWallet(metaAt(startMs), connection(), {
        ...order,
        walletId: `other_${network}`,
      });
      expect(again).toEqual(first);
      expect(other.addresses).not.toEqual(first.addresses);
      expect(other.providerWalletId).not.toBe(first.providerWalletId);
    }
  });

  it('gives wallets addresses that are valid and follow from their public keys', async () => {
    const { adapter } = subject();
    for (const network of adapter.info.networks) {
      const made = await adapter.createWallet(metaAt(startMs), connection(), {
        walletId: `w${network}`,
        name: 'n',
        network,
      });
      const [first] = made.addresses;
      expect(first?.network).toBe(network);
      expect(addressProblem(network, first!.address)).toBeUndefined();
      expect(addressOfKey(network, Buffer.from(made.publicKey!, 'hex'))).toBe(first!.address);
      expect(made.balances.map(({ asset }) => asset)).toEqual(assetsOn(network).map(({ symbol }) => symbol));
      for (const { units } of made.balances) expect(units).toBeGreaterThan(0n);
    }
  });
}

function credentials(subject: () => Subject): void {
  const connectWith = async (apiKey: string, id = 'pcn_1', isTest = false) => {
    const { adapter } = subject();
    const given = Object.fromEntries(adapter.info.credentialFields.map(({ name }) => [name, wellKnownSecret]));
    const takesKey = adapter.info.credentialFields.some(({ name }) => name === 'api_key');
    const outcome = await adapter
      .connect(metaAt(startMs), id, takesKey ? { ...given, api_key: apiKey } : given, 'sandbox', isTest)
      .catch((error: unknown) => error);
    return { takesKey, outcome };
  };

  it('takes credentials that nothing is wrong with', async () => {
    const { outcome } = await connectWith(wellKnownSecret);
    expect(outcome).toMatchObject({ testWallets: expect.any(Array) });
  });

  it('refuses invalid credentials in its own words, which hold none of them', async () => {
    const { takesKey, outcome } = await connectWith(`invalid-${wellKnownSecret}`);
    if (!takesKey) return expect(outcome).not.toBeInstanceOf(Error);
    if (!(outcome instanceof ProviderRejected)) throw new Error('it was not refused');
    expect(outcome).toMatchObject({ field: 'credentials.api_key', issue: 'invalid_credentials' });
    expect(outcome.providerCode).not.toBe('');
    expect(JSON.stringify([outcome.message, outcome.stack, { ...outcome }])).not.toContain(wellKnownSecret);
  });

  it('says when it does not answer', async () => {
    const { takesKey, outcome } = await connectWith(`unavailable-${wellKnownSecret}`);
    if (takesKey) expect(outcome).toBeInstanceOf(ProviderUnavailable);
    expect(await subject().dump()).not.toContain(wellKnownSecret);
  });

  it.each([
    ['lapsing', ProviderRejected],
    ['flaky', ProviderUnavailable],
  ])('takes %s credentials however old the connection is, and finds them wanting in a test', async (word, error) => {
    const id = newId('pcn', startMs - 60_000, (length) => new Uint8Array(length));
    expect((await connectWith(`${word}-key`, id)).outcome).toMatchObject({ testWallets: expect.any(Array) });
    const { takesKey, outcome } = await connectWith(`${word}-key`, id, true);
    if (takesKey) expect(outcome).toBeInstanceOf(error);
  });
}

function transfers(subject: () => Subject): void {
  it('quotes a fee and leaves nothing behind', async () => {
    const wallet = await walletOf(subject(), 'wal_quote');
    const before = await subject().dump();
    const { fee } = await subject().adapter.quote(metaAt(startMs), draftOf(wallet, 'txi_quote', '0.5'));
    expect(fee.asset).toBe(networkOf(wallet.network).nativeAsset);
    expect(fee.units).toBeGreaterThanOrEqual(0n);
    expect(await subject().dump()).toBe(before);
  });

  it('carries a transfer of every asset through its stages to the end, and never back', async () => {
    for (const network of subject().adapter.info.networks) {
      for (const { symbol, decimals } of assetsOn(network)) {
        const wallet = await walletOf(subject(), `wal_${symbol}`, 'sandbox', network);
        const amount = formatAmount(10n ** BigInt(decimals) / 4n, decimals);
        const { fee } = await subject().adapter.quote(
          metaAt(startMs),
          draftOf(wallet, `txi_${symbol}`, amount, symbol),
        );
        const run = await follow(subject(), wallet, `txi_${symbol}`, amount, { asset: symbol });
        if (run.last.stage !== 'completed') throw new Error(JSON.stringify(run.last, bigintText));
        expect(run.last.feePaid.asset).toBe(fee.asset);
        expect(run.last.feePaid.units).toBeLessThanOrEqual(fee.units);
        const places = run.stages.map((stage) => intentStatuses.indexOf(stage));
        expect(places).toEqual([...places].sort((one, other) => one - other));
        expect(run.txIds.size).toBe(1);
      }
    }
  });

  it('is asked every step twice and does each once', async () => {
    const wallet = await walletOf(subject(), 'wal_twice');
    const plain = await follow(subject(), wallet, 'txi_once', '0.25');
    const doubled = await follow(subject(), wallet, 'txi_twice', '0.25', { repeat: true });
    expect(doubled.last.stage).toBe('completed');
    expect(doubled.txIds.size).toBe(1);
    expect([...doubled.txIds]).not.toEqual([...plain.txIds]);
  });

  it('takes up a transfer again whose first answer was lost', async () => {
    const wallet = await walletOf(subject(), 'wal_lost');
    const first = await subject().adapter.advance(
      metaAt(startMs),
      transferOf(subject(), wallet, 'txi_lost', '0.25', 0),
    );
    const run = await follow(subject(), wallet, 'txi_lost', '0.25', { number: 0, fromMs: startMs + 5_000 });
    expect(run.last.stage).toBe('completed');
    expect(run.txIds).toEqual(new Set([first.providerTxId]));
  });
}

function trigger(subject: () => Subject): void {
  const rejected = async (outcome: TestOutcome) => {
    const wallet = await walletOf(subject(), `wal_${outcome}`);
    const draft = draftOf(wallet, `txi_${outcome}`, amountFor(outcome));
    return subject()
      .adapter.quote(metaAt(startMs), draft)
      .then(
        () => undefined,
        (error: unknown) => error,
      );
  };

  it.each([
    ['quote_rejected', 'rejected_by_provider'],
    ['quote_insufficient', 'insufficient_funds'],
  ] as const)('%s: refuses at once, with its own code', async (outcome, issue) => {
    const error = await rejected(outcome);
    if (!(error instanceof ProviderRejected)) throw new Error('it was not refused');
    expect(error.issue).toBe(issue);
    expect(error.providerCode).not.toBe('');
    expect(error.message).not.toBe('');
    if (outcome === 'quote_insufficient') expect(error.field).toBe('amount');
  });

  it('quote_unavailable: does not answer', async () => {
    expect(await rejected('quote_unavailable')).toBeInstanceOf(ProviderUnavailable);
  });

  it('submit_rejected: the transfer fails, with nothing spent', async () => {
    const { last, txIds } = await followMagic(subject(), 'submit_rejected');
    expect(last).toMatchObject({ stage: 'failed', providerTxId: null, numberUsed: false });
    if (last.stage !== 'failed') throw new Error('it did not fail');
    expect(last.feePaid.units).toBe(0n);
    expect(last.error.code).not.toBe('');
    expect(txIds.size).toBe(0);
  });

  it('submit_unavailable_thrice: is away three times, then goes its way', async () => {
    const { last, refusals } = await followMagic(subject(), 'submit_unavailable_thrice');
    expect(last.stage).toBe('completed');
    expect(refusals).toBe(3);
  });

  it('slow_queue: waits ten seconds, then goes its way', async () => {
    const slow = await followMagic(subject(), 'slow_queue');
    const wallet = await walletOf(subject(), 'wal_usual');
    const usual = await follow(subject(), wallet, 'txi_usual', '0.25');
    expect(slow.last.stage).toBe('completed');
    expect(slow.tookMs).toBeGreaterThanOrEqual(10_000);
    expect(slow.tookMs - usual.tookMs).toBeGreaterThanOrEqual(5_000);
    expect(slow.subStatuses).toContain('QUEUED_AT_PROVIDER');
  });

  it('stuck_confirming: is confirming an hour later too', async () => {
    const { last, txIds } = await followMagic(subject(), 'stuck_confirming', 3_600_000);
    expect(last.stage).toBe('confirming');
    expect(txIds.size).toBe(1);
  });

  it('fails_on_chain: fails with the fee spent', async () => {
    const { last, txIds, stages } = await followMagic(subject(), 'fails_on_chain');
    if (last.stage !== 'failed') throw new Error(`it is ${last.stage}`);
    expect(last.feePaid.units).toBeGreaterThan(0n);
    expect(last.error.code).not.toBe('');
    expect(new Set([last.providerTxId])).toEqual(txIds);
    expect(stages).toContain('confirming');
  });

  it('knows no trigger in production', async () => {
    const wallet = await walletOf(subject(), 'wal_production', 'production');
    for (const { amount, outcome } of testAmounts) {
      const draft = draftOf(wallet, `txi_live_${outcome}`, amount);
      await expect(subject().adapter.quote(metaAt(startMs), draft)).resolves.toBeDefined();
    }
    const usual = await follow(subject(), wallet, 'txi_live', '0.25');
    for (const { outcome } of testAmounts) {
      const run = await follow(subject(), wallet, `txi_live_${outcome}`, amountFor(outcome));
      expect([outcome, run.last.stage, run.refusals, run.stages]).toEqual([outcome, 'completed', 0, usual.stages]);
      expect(run.tookMs).toBe(usual.tookMs);
    }
  });
}

const sepolia = 'eip155:11155111';

export async function walletOf(
  { adapter }: Subject,
  id: string,
  environment: ClusterEnvironment = 'sandbox',
  network: WalletRecord['network'] = sepolia,
): Promise<WalletRecord> {
  return makeWallet(adapter, id, network, environment);
}

export function amountFor(outcome: TestOutcome): string {
  const { amount } = testAmounts.find((trigger) => trigger.outcome === outcome)!;
  return formatAmount(parseAmount(amount, 18) as bigint, 18);
}

const destinations: Readonly<Record<string, string>> = {
  [sepolia]: '0x000000000000000000000000000000000000dEaD',
  'bip122:000000000933ea01ad0ee984209779ba': 'tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx',
  'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1': '4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T',
};

function draftOf(wallet: WalletRecord, intentId: string, amount: string, asset = 'ETH'): TransferDraft {
  const units = parseAmount(amount, assetOf(asset)!.decimals) as bigint;
  return { intentId, kind: 'transfer', wallet, asset, amount, units, toAddress: destinations[wallet.network]! };
}

const numbers = new Map<string, number>();

/** With a number of its own where the provider counts. */
function transferOf(
  { adapter }: Subject,
  wallet: WalletRecord,
  id: string,
  amount: string,
  number?: number,
  asset = 'ETH',
): { readonly intent: ApprovedIntent; readonly wallet: WalletRecord; readonly number: number | undefined } {
  const to = destinations[wallet.network]!;
  const intent = { ...intentOf(wallet, { id, asset, amount, to }), provider: adapter.info.kind };
  return { intent, wallet, number: adapter.sequenceCounter(wallet) === undefined ? undefined : (number ?? 0) };
}

export interface Run {
  readonly last: TransferProgress;
  readonly stages: readonly TransferProgress['stage'][];
  readonly subStatuses: readonly (string | null)[];
  /** Ids that the provider gave. */
  readonly txIds: ReadonlySet<string>;
  /** How often it did not answer. */
  readonly refusals: number;
  readonly tookMs: number;
}

interface Way {
  readonly asset?: string;
  /** Every step is asked for a second time, as after a crash before the first answer was written down. */
  readonly repeat?: boolean;
  readonly number?: number;
  readonly fromMs?: number;
  /** When to stop looking. */
  readonly forMs?: number;
}

/** Asks as the control plane would, by a clock of its own. */
export async function follow(
  subject: Subject,
  wallet: WalletRecord,
  id: string,
  amount: string,
  way: Way = {},
): Promise<Run> {
  const { asset = 'ETH', repeat = false, fromMs = startMs, forMs = 600_000 } = way;
  const counted = numbers.get(`${subject.adapter.info.kind}/${wallet.id}`) ?? 0;
  const number = way.number ?? counted;
  numbers.set(`${subject.adapter.info.kind}/${wallet.id}`, number + 1);
  let transfer = transferOf(subject, wallet, id, amount, number, asset);
  const stages: TransferProgress['stage'][] = [];
  const subStatuses: (string | null)[] = [];
  const txIds = new Set<string>();
  let refusals = 0;
  let nowMs = fromMs;
  for (let step = 0; step < 500; step += 1) {
    let progress: TransferProgress;
    try {
      progress = await subject.adapter.advance(metaAt(nowMs), transfer);
      if (repeat) progress = await subject.adapter.advance(metaAt(nowMs), transfer);
    } catch (error) {
      if (!(error instanceof ProviderUnavailable)) throw error;
      refusals += 1;
      nowMs += error.retryAfterMs;
      transfer = { ...transfer, intent: { ...transfer.intent, attempts: transfer.intent.attempts + 1 } };
      continue;
    }
    stages.push(progress.stage);
    if (progress.providerTxId !== null) txIds.add(progress.providerTxId);
    const run = { last: progress, stages, subStatuses, txIds, refusals, tookMs: nowMs - fromMs };
    if (progress.stage === 'completed' || progress.stage === 'failed') return run;
    subStatuses.push(progress.subStatus);
    if (nowMs - fromMs >= forMs) return run;
    expect(progress.againAtMs).toBeGreaterThan(nowMs);
    nowMs = progress.againAtMs;
    // What is written down is JSON.
    const submission: unknown = JSON.parse(JSON.stringify(progress.submission));
    const { providerTxId } = progress;
    transfer = {
      ...transfer,
      intent: { ...transfer.intent, status: progress.stage, submission, providerTxId, attempts: 0 },
    };
  }
  throw new Error(`no end after 500 steps: ${stages.slice(-5).join(', ')}`);
}

async function followMagic(subject: Subject, outcome: TestOutcome, forMs?: number): Promise<Run> {
  const wallet = await walletOf(subject, `wal_${outcome}`);
  return follow(subject, wallet, `txi_${outcome}`, amountFor(outcome), forMs === undefined ? {} : { forMs });
}

function bigintText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
