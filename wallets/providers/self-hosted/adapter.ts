/**
 * The self-hosted provider: our own signer cluster holds the keys, and the simulated chains accept its transactions.
 *
 * A wallet is one key of one network, made by a real DKG, and begins with test money: the chains are simulated in every
 * environment. A transfer is one transaction, signed by the cluster in signing sessions named after the intent. See
 * line.ts for why every step may be repeated.
 */

import { addressOfKey } from '../../networks/addresses.ts';
import { assetsOn } from '../../networks/assets.ts';
import { type NetworkId, networkIds, networkOf } from '../../networks/networks.ts';
import { ChainRejected, type Chains, type ChainTransaction, ChainUnavailable } from '../chains/public.ts';
import { isMessage } from '../port/kinds.ts';
import {
  type CallMeta,
  type FeeTerms,
  type FilledGap,
  type HeldWallet,
  messagesCapability,
  NotDecided,
  type ProviderAdapter,
  type ProviderInfo,
  ProviderRejected,
  ProviderUnavailable,
  type Transfer,
  type TransferProgress,
  tokensCapability,
} from '../port/port.ts';
import { refuseAttempt, refuseQuote } from '../port/test-refusals.ts';
import { testOutcome } from '../port/test-triggers.ts';
import { bitcoinLine } from './bitcoin-line.ts';
import type { ClusterSigner } from './cluster-signer.ts';
import { evmLine, fillNonce } from './evm-line.ts';
import { addressOf, type Line, wrongSignature } from './line.ts';
import { signMessage } from './message.ts';
import { notSubmitted, onChain, readSubmission, type Submission } from './progress.ts';
import { solanaLine } from './solana-line.ts';

export interface SelfHostedDeps {
  readonly signer: ClusterSigner;
  readonly chains: Chains;
}

export interface SelfHostedAdapter extends ProviderAdapter {
  /**
   * For an allocated number whose transfer failed with `numberUsed: false`, and that later transfers of the wallet wait for: an
   * empty transaction of the wallet uses it, on the same terms. Repeatable. Returns that transaction and the fee, which the wallet has paid;
   * neither if the number is already used. Throws ProviderUnavailable, or ProviderRejected when the key is closed.
   */
  fillGap(meta: CallMeta, wallet: HeldWallet, number: number, fees?: FeeTerms): Promise<FilledGap>;
}

/** Smallest units that a new wallet gets: 10 ETH, 10,000 USDC, 1 BTC, 100 SOL. */
const testFunds: Readonly<Record<string, bigint>> = {
  ETH: 10n * 10n ** 18n,
  USDC: 10_000n * 10n ** 6n,
  BTC: 10n ** 8n,
  SOL: 100n * 10n ** 9n,
};

const slowQueueMs = 10_000;
const unsettledAgainMs = 60_000;

const info: ProviderInfo = {
  kind: 'self_hosted',
  displayName: 'Self-hosted signer cluster',
  hosting: 'self_hosted',
  environments: ['sandbox', 'production'],
  capabilities: [
    'wallets:create',
    'transfers',
    'policy_receipts',
    'threshold_signing',
    tokensCapability,
    messagesCapability,
  ],
  credentialFields: [],
  networks: networkIds,
};

const errors = {
  unavailable: () => new ProviderUnavailable('the cluster was asked not to answer'),
  quote: () =>
    new ProviderRejected('the cluster refuses this amount', {
      field: 'amount',
      issue: 'rejected_by_provider',
      providerCode: 'TRANSFER_REFUSED',
    }),
  funds: () =>
    new ProviderRejected('the wallet holds too little', {
      field: 'amount',
      issue: 'insufficient_funds',
      providerCode: 'INSUFFICIENT_FUNDS',
    }),
};

export function makeSelfHosted({ signer, chains }: SelfHostedDeps): SelfHostedAdapter {
  const lines = [evmLine(chains.evm), bitcoinLine(chains.bitcoin), solanaLine(chains.solana)];
  const lineOf = (network: NetworkId): Line => {
    const line = lines.find(({ chain }) => chain.network === network);
    if (line === undefined) throw new Error(`network ${network} has no chain`);
    return line;
  };

  return {
    info,
    connect: async () => ({ testWallets: [] }),

    async createWallet(meta, _connection, { walletId, network }) {
      const publicKey = await signer.createKey(meta, walletId, networkOf(network).curve, network);
      const address = addressOfKey(network, publicKey);
      const balances = assetsOn(network).map(({ symbol }) => ({ asset: symbol, units: testFunds[symbol] ?? 0n }));
      await chainAnswer(async () => {
        for (const { asset, units } of balances) await lineOf(network).chain.fund(walletId, address, asset, units);
      });
      return {
        providerWalletId: walletId,
        addresses: [{ network, address }],
        publicKey: Buffer.from(publicKey).toString('hex'),
        balances,
      };
    },

    async quote(_meta, draft) {
      const { network } = draft.wallet;
      if (isMessage(draft.kind)) return { fee: { asset: networkOf(network).nativeAsset, units: 0n } };
      refuseQuote(errors, testOutcome(draft.wallet.environment, draft.amount));
      const { units, ...terms } = await chainAnswer(() => lineOf(network).quote(draft));
      return { fee: { asset: networkOf(network).nativeAsset, units }, ...terms };
    },

    sequenceCounter: (wallet) => lineOf(wallet.network).sequenceCounter(wallet),

    async receiveAddress(meta, wallet, index) {
      const { network, id } = wallet;
      const { receives } = lineOf(network);
      if (receives === undefined) {
        const why = `${networkOf(network).name} keeps a wallet's balance under one address`;
        throw new ProviderRejected(why, { issue: 'not_supported', providerCode: 'ONE_ADDRESS' });
      }
      const path = `m/0/${index}`;
      const publicKey = await signer.childKey(meta, id, network, path);
      const address = addressOfKey(network, publicKey);
      await chainAnswer(() => receives.watch(address, addressOf(wallet)));
      return { address, path, publicKey: Buffer.from(publicKey).toString('hex') };
    },

    usedAddresses: async ({ network, receive = [] }) =>
      chainAnswer(async () => (await lineOf(network).receives?.used(receive.map(({ address }) => address))) ?? []),

    async allowances(wallet) {
      const { family, name } = networkOf(wallet.network);
      if (family !== 'evm') {
        const why = `wallets on ${name} let no other account move their units: EVM wallets do`;
        throw new ProviderRejected(why, { issue: 'not_supported', providerCode: 'NO_ALLOWANCES' });
      }
      return chainAnswer(() => chains.evm.allowances(addressOf(wallet)));
    },

    advance: (meta, transfer) =>
      isMessage(transfer.intent.kind)
        ? signMessage(meta, signer, transfer)
        : chainAnswer(() => advance(meta, signer, lineOf(transfer.wallet.network), transfer)),

    abandon: (_meta, transfer) =>
      chainAnswer(async () => {
        await lineOf(transfer.wallet.network).abandon?.(transfer);
      }),

    async fillGap(meta, wallet, number, fees) {
      const asset = networkOf(wallet.network).nativeAsset;
      try {
        const filled = await chainAnswer(() => fillNonce(meta, signer, chains.evm, wallet, number, fees));
        return { fee: { asset, units: filled.feeUnits }, transaction: filled.transaction };
      } catch (error) {
        if (!(error instanceof ChainRejected)) throw error;
        if (isUsed(error)) return { fee: { asset, units: 0n }, transaction: undefined };
        throw new ProviderRejected(error.message, { issue: error.code, providerCode: error.code.toUpperCase() });
      }
    },
  };
}

async function advance(
  meta: CallMeta,
  signer: ClusterSigner,
  line: Line,
  transfer: Transfer,
): Promise<TransferProgress> {
  const { intent, wallet } = transfer;
  const { nowMs } = meta;
  const time = { nowMs, blockMs: line.chain.blockMs };
  const outcome = testOutcome(wallet.environment, intent.amount);
  const submission = readSubmission(intent.submission);
  if (submission !== undefined) {
    const transaction = await line.chain.transaction(submission.hash, nowMs);
    // The chain has dropped it: its fate is unknown, so it is not sent a second time.
    if (transaction === undefined) return unsettled(transfer, 'NOT_FOUND', 'NOT_FOUND_ON_CHAIN', nowMs);
    const { reorganizations } = submission;
    const made = {
      ...madeOf(submission, line, transaction),
      ...(reorganizations !== undefined && { reorganizations }),
    };
    const progress = onChain(transaction, made, time);
    const isOver = progress.stage === 'completed' || progress.stage === 'failed';
    return outcome === 'stuck_confirming' && isOver ? unsettled(transfer, 'CONFIRMING', null, nowMs) : progress;
  }

  const feeAsset = networkOf(wallet.network).nativeAsset;
  if (outcome === 'submit_rejected') {
    const { providerCode: code, message } = errors.quote();
    return notSubmitted(feeAsset, { code, message }, { subStatus: 'REJECTED_BY_PROVIDER' });
  }
  refuseAttempt(errors, outcome, intent.attempts);
  if (outcome === 'slow_queue') {
    const untilMs = queuedUntil(intent.submission) ?? nowMs + slowQueueMs;
    if (nowMs < untilMs) return waiting('QUEUED', 'QUEUED_AT_PROVIDER', { queuedUntilMs: untilMs }, untilMs);
  }

  try {
    const submitted = await line.submit(meta, signer, transfer, outcome === 'fails_on_chain');
    if (submitted.kind === 'waits') {
      return waiting(submitted.providerStatus, submitted.subStatus, intent.submission, nowMs + submitted.forMs);
    }
    const { transaction, signingSessionIds, raw } = submitted;
    return onChain(transaction, madeOf({ signingSessionIds, rawTransaction: raw }, line, transaction), time);
  } catch (error) {
    if (error instanceof NotDecided) await line.abandon?.(transfer);
    if (!(error instanceof ProviderRejected || error instanceof ChainRejected)) throw error;
    if (error instanceof ChainRejected && error.code === 'invalid_signature') throw wrongSignature();
    const { replaces } = intent;
    if (replaces === undefined) await line.abandon?.(transfer);
    else if ((await line.chain.transaction(replaces.txId, nowMs))?.minedAtMs !== undefined) {
      // The one that it was to replace was mined first, and ends both.
      return waiting('OUTRUN', 'REPLACED_IS_MINED', intent.submission, nowMs + line.chain.blockMs);
    }
    if (error instanceof ProviderRejected) {
      const { providerCode: code, message } = error;
      return notSubmitted(feeAsset, { code, message }, { subStatus: 'REJECTED_BY_PROVIDER' });
    }
    return notSubmitted(
      feeAsset,
      { code: error.code.toUpperCase(), message: error.message },
      { subStatus: 'REJECTED_BY_CHAIN', numberUsed: isUsed(error) },
    );
  }
}

function madeOf(
  { signingSessionIds, rawTransaction }: Omit<Submission, 'hash'>,
  line: Line,
  transaction: ChainTransaction,
): Omit<Submission, 'hash'> {
  const receipt = line.receiptOf?.(transaction);
  return { signingSessionIds, rawTransaction, ...(receipt !== undefined && { receipt }) };
}

/** Another transaction has used the number. */
function isUsed({ code }: ChainRejected): boolean {
  return code === 'nonce_too_low' || code === 'nonce_used';
}

/** The chain has it, in this state for now. */
function unsettled(
  { intent }: Transfer,
  providerStatus: string,
  subStatus: string | null,
  nowMs: number,
): TransferProgress {
  return {
    stage: 'confirming',
    providerTxId: readSubmission(intent.submission)?.hash ?? null,
    providerStatus,
    subStatus,
    submission: intent.submission,
    againAtMs: nowMs + unsettledAgainMs,
  };
}

function waiting(providerStatus: string, subStatus: string, submission: unknown, againAtMs: number): TransferProgress {
  return { stage: 'signing', providerTxId: null, providerStatus, subStatus, submission, againAtMs };
}

function queuedUntil(submission: unknown): number | undefined {
  const value = (submission as { readonly queuedUntilMs?: unknown } | null)?.queuedUntilMs;
  return typeof value === 'number' ? value : undefined;
}

/** An unreachable chain counts as an unreachable provider. */
async function chainAnswer<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof ChainUnavailable) throw new ProviderUnavailable(error.message);
    throw error;
  }
}
