/**
 * A provider for tests: a little chain that outlives the gateways, takes every intent once, and completes a numbered
 * transfer only after all lower numbers of its wallet. Plans make single transfers go another way.
 */

import type { WalletRecord } from '../../../../../wallets/custody/wallets/record.ts';
import {
  type CallMeta,
  type FilledGap,
  type ProviderAdapter,
  ProviderUnavailable,
  type Transfer,
  type TransferProgress,
} from '../../../../../wallets/providers/port/port.ts';

export interface OnChain {
  readonly intentId: string;
  readonly walletId: string;
  readonly number: number | undefined;
  readonly units: string;
  /** Calls of `advance` that tried to submit it. */
  attempts: number;
}

export type Plan = (
  transfer: Transfer,
  meta: CallMeta,
) => TransferProgress | 'away' | 'goes' | Promise<TransferProgress | 'away' | 'goes'>;

export const feeReserve = 1_000n;
export const feePaid = 600n;
export const fillFee = 400n;

export class FakeProvider {
  readonly chain = new Map<string, OnChain>();
  /** Who used which number, by wallet: an intent, or "filler". */
  readonly used = new Map<string, Map<number, string>>();
  plan: Plan = () => 'goes';
  numbered = true;
  confirmAfterMs = 0;
  fillerAway = 0;
  /** While it says so, fillers are mined and the answers are lost. */
  loseFillers: () => boolean = () => false;
  advances = 0;
  /** Times that a gap was to be filled. */
  fills = 0;
  inHand = 0;
  inHandMost = 0;

  adapter(): ProviderAdapter {
    return {
      info: {
        kind: 'self_hosted',
        displayName: 'Fake',
        hosting: 'self_hosted',
        environments: ['sandbox'],
        capabilities: [],
        credentialFields: [],
        networks: ['eip155:11155111'],
      },
      connect: async () => ({ testWallets: [] }),
      createWallet: () => Promise.reject(new Error('tests seed their wallets')),
      quote: async () => ({ fee: { asset: 'ETH', units: feeReserve } }),
      sequenceCounter: (wallet) => (this.numbered ? `nonce:${wallet.id}` : undefined),
      advance: (meta, transfer) => this.#advance(meta, transfer),
    };
  }

  fillGap = async (_meta: CallMeta, wallet: WalletRecord, number: number): Promise<FilledGap> => {
    this.fills += 1;
    if (this.fillerAway > 0) {
      this.fillerAway -= 1;
      throw new ProviderUnavailable('no quorum', 1);
    }
    this.#use(wallet.id, number, 'filler');
    if (this.loseFillers()) throw new ProviderUnavailable('no answer', 1);
    return {
      fee: { asset: 'ETH', units: fillFee },
      transaction: { id: `0xfill${number}`, rawTransaction: '0x02', signingSessionIds: [`sig_fill${number}`] },
    };
  };

  usedBy(walletId: string): Map<number, string> {
    const used = this.used.get(walletId) ?? new Map<number, string>();
    this.used.set(walletId, used);
    return used;
  }

  async #advance(meta: CallMeta, transfer: Transfer): Promise<TransferProgress> {
    this.advances += 1;
    this.inHand += 1;
    this.inHandMost = Math.max(this.inHandMost, this.inHand);
    try {
      // As a call over a network would, it comes back later.
      await new Promise((resolve) => setImmediate(resolve));
      const { wallet, number, intent } = transfer;
      const planned = await this.plan(transfer, meta);
      if (planned === 'away') throw new ProviderUnavailable('no quorum', 1);
      if (planned !== 'goes') {
        if (planned.stage === 'failed' && planned.numberUsed) this.#use(wallet.id, number, intent.id);
        return planned;
      }
      return this.#takes(meta, transfer);
    } finally {
      this.inHand -= 1;
    }
  }

  #takes(meta: CallMeta, transfer: Transfer): TransferProgress {
    const { intent, wallet, number } = transfer;
    const providerTxId = `tx-${intent.id}`;
    const known = this.chain.get(intent.id);
    if (intent.submission === null || known === undefined) {
      if (known === undefined) {
        this.#use(wallet.id, number, intent.id);
        this.chain.set(intent.id, {
          intentId: intent.id,
          walletId: wallet.id,
          number,
          units: intent.units,
          attempts: 1,
        });
      } else {
        if (known.number !== number)
          throw new Error(`${intent.id} came with the numbers ${known.number} and ${number}`);
        known.attempts += 1;
      }
      return {
        stage: 'confirming',
        providerTxId,
        providerStatus: 'MINED',
        subStatus: null,
        submission: { takenAtMs: meta.nowMs },
        againAtMs: meta.nowMs + this.confirmAfterMs,
      };
    }
    if (number !== undefined && !this.#isReached(wallet.id, number)) {
      return {
        stage: 'confirming',
        providerTxId,
        providerStatus: 'QUEUED',
        subStatus: 'AWAITING_EARLIER_TRANSACTION',
        submission: intent.submission,
        againAtMs: meta.nowMs + 10,
      };
    }
    return { stage: 'completed', providerTxId, providerStatus: 'DONE', feePaid: { asset: 'ETH', units: feePaid } };
  }

  #use(walletId: string, number: number | undefined, user: string): void {
    if (number === undefined) return;
    const used = this.usedBy(walletId);
    const before = used.get(number) ?? user;
    if (before !== user) throw new Error(`${user} came with number ${number}, which ${before} has used`);
    used.set(number, user);
  }

  #isReached(walletId: string, number: number): boolean {
    const used = this.usedBy(walletId);
    for (let lower = 0; lower < number; lower += 1) if (!used.has(lower)) return false;
    return true;
  }
}

export function failedUnsent(): TransferProgress {
  return {
    stage: 'failed',
    providerTxId: null,
    providerStatus: 'REJECTED',
    subStatus: 'REJECTED_BY_PROVIDER',
    error: { code: 'TRANSFER_REFUSED', message: 'the provider refuses this transfer' },
    feePaid: { asset: 'ETH', units: 0n },
    numberUsed: false,
  };
}

export function failedOnChain(): TransferProgress {
  return {
    stage: 'failed',
    providerTxId: 'tx-reverted',
    providerStatus: 'REVERTED',
    subStatus: 'FAILED_ON_CHAIN',
    error: { code: 'REVERTED', message: 'mined and failed' },
    feePaid: { asset: 'ETH', units: feePaid },
    numberUsed: true,
  };
}
