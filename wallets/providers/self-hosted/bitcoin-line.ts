/**
 * Bitcoin: coins are reserved for the transfer before signing, so that two transfers never spend the same one;
 * then every input is signed in its own session, with the purpose `<intent id>:<input>`. A replacement spends the same coins.
 */
import {
  type BitcoinChain,
  type BitcoinPayment,
  ChainRejected,
  type Coin,
  dustSats,
  feeOfPayment,
  inputsMax,
  largestFee,
  paymentFee,
  paymentVbytes,
  readUnsignedBitcoin,
  signedBitcoin,
  unsignedBitcoin,
} from '../chains/public.ts';
import { NotDecided, ProviderRejected, ProviderUnavailable, type TransferDraft } from '../port/port.ts';
import { assertDecided } from './decided.ts';
import { bitcoinRateOf, chooseBitcoinRate } from './fee-choice.ts';
import { addressOf, type Line, publicKeyOf } from './line.ts';

const earlierFirst = { kind: 'waits', providerStatus: 'QUEUED', subStatus: 'AWAITING_EARLIER_TRANSACTION' } as const;
/** Retry time for coins that other transfers hold: those take a signing round. */
const waitForCoinsMs = 50;

export function bitcoinLine(chain: BitcoinChain): Line {
  return {
    chain,
    receives: chain,
    async quote(draft) {
      const { units, toAddress, wallet, fees: choice = {}, replaces } = draft;
      const market = await chain.market();
      if (replaces !== undefined) return replacementQuote(chain, draft, replaces.txId, market);
      if (units < dustSats) {
        throw new ProviderRejected(`an output below ${dustSats} satoshi is not relayed`, {
          field: 'amount',
          issue: 'amount_too_small',
          providerCode: 'DUST',
        });
      }
      const own = addressOf(wallet);
      const fees = chooseBitcoinRate(choice, market);
      const rate = bitcoinRateOf(fees);
      // The ledger checks the balance; this check: whether few enough outputs hold it.
      const { sats, hasMore } = await chain.spendable(own);
      const most = sats - paymentFee(toAddress, own, inputsMax, rate).plain;
      if (!hasMore || units <= most) return { units: largestFee(toAddress, own, rate), fees };
      throw new ProviderRejected(
        `a transaction spends ${inputsMax} outputs at most, which carry ${most < 0n ? 0n : most} satoshi now: send it in parts`,
        { field: 'amount', issue: 'too_many_inputs', providerCode: 'TOO_MANY_INPUTS' },
      );
    },
    sequenceCounter: () => undefined,
    async submit(meta, signer, transfer, fails) {
      const { intent, wallet } = transfer;
      const own = addressOf(wallet);
      const rate = bitcoinRateOf(intent.fees);
      const asked = { to: intent.destination.address, sats: BigInt(intent.units) };
      const holding = await chain.hold(intent.replaces?.root ?? intent.id, own, asked, rate, meta.nowMs);
      if (holding.kind === 'wait') {
        return { ...earlierFirst, forMs: waitForCoinsMs };
      }
      if (holding.kind === 'released') throw new ProviderUnavailable('the payment was given up');
      if (holding.kind !== 'held') {
        const tooMany = holding.kind === 'tooManyInputs';
        throw new ProviderRejected(
          tooMany ? `more than ${inputsMax} unspent outputs would be needed` : 'the unspent outputs do not cover it',
          {
            issue: tooMany ? 'too_many_inputs' : 'insufficient_funds',
            providerCode: tooMany ? 'TOO_MANY_INPUTS' : 'INSUFFICIENT_FUNDS',
          },
        );
      }
      const payment = asked.sats === 0n ? nothing(holding.coins, own, rate) : asked;
      const { receive = [] } = wallet;
      const addresses = receive.length === 0 ? [] : await chain.addressesOf(holding.coins);
      const children = holding.coins.map((_, at) => receive.find(({ address }) => address === addresses[at]));
      const ownKey = publicKeyOf(wallet);
      const keys = children.map((child) => (child === undefined ? ownKey : Buffer.from(child.publicKey, 'hex')));
      const unsigned = unsignedBitcoin(ownKey, holding.coins, payment, rate, keys);
      const { outputs, fee } = readUnsignedBitcoin(unsigned, holding.coins);
      const [paid, ...change] = outputs;
      if (change.length > 1 || change.some(({ address }) => address !== own)) {
        throw new NotDecided('it pays others than its policy receipt names');
      }
      // What a cancellation returns to the wallet moves nothing.
      const units = asked.sats === 0n && paid?.address === own ? 0n : (paid?.sats ?? 0n);
      assertDecided(transfer, { kind: 'transfer', contract: null, units, to: paid?.address, feeMax: fee });
      const signatures = await Promise.all(
        unsigned.digests.map((message, index) =>
          signer.sign(meta, {
            walletId: wallet.id,
            purpose: `${intent.id}:${index}`,
            message,
            networkId: wallet.network,
            ...(children[index] !== undefined && { path: children[index].path }),
            policyReceipt: intent.policyReceipt ?? '',
          }),
        ),
      );
      const raw = signedBitcoin(
        unsigned,
        signatures.map(({ signature }) => signature),
      );
      const transaction = await submitted(chain, raw, meta.nowMs, fails);
      if (transaction === undefined) return { ...earlierFirst, forMs: chain.blockMs };
      return {
        kind: 'taken',
        transaction,
        raw: Buffer.from(raw).toString('hex'),
        signingSessionIds: signatures.map(({ sessionId }) => sessionId),
      };
    },
    abandon: ({ intent }) => chain.release(intent.id),
  };
}

/** undefined: it descends from too many that are not mined yet. The same bytes are submitted again. */
async function submitted(chain: BitcoinChain, raw: Uint8Array, nowMs: number, fails: boolean) {
  try {
    return await chain.submit(raw, nowMs, { fails });
  } catch (error) {
    if (error instanceof ChainRejected && error.code === 'too_long_chain') return undefined;
    throw error;
  }
}

/** All of the coins go back to their wallet, less the fee. */
function nothing(coins: readonly Coin[], own: string, rate: bigint): BitcoinPayment {
  const { plain } = paymentFee(own, own, coins.length, rate);
  return { to: own, sats: coins.reduce((sum, { sats }) => sum + sats, 0n) - plain };
}

/** It spends the same coins, and its fee is that of the replaced one and what relaying it costs, at least. */
async function replacementQuote(
  chain: BitcoinChain,
  { units, toAddress, wallet, fees: choice = {} }: TransferDraft,
  txId: string,
  market: bigint,
): ReturnType<Line['quote']> {
  const replaced = await chain.waiting(txId);
  if (replaced === undefined) {
    throw new ProviderRejected('the transaction does not wait any more', {
      issue: 'not_stuck',
      providerCode: 'NOT_WAITING',
    });
  }
  const { coins, feeUnits } = replaced;
  const own = addressOf(wallet);
  const paymentAt = (rate: bigint) => (units === 0n ? nothing(coins, own, rate) : { to: toAddress, sats: units });
  const feeAt = (rate: bigint) => {
    const payment = paymentAt(rate);
    return payment.sats < dustSats ? undefined : feeOfPayment(coins, payment, own, rate);
  };
  const vbytes = paymentVbytes(toAddress, own, coins.length)[units === 0n ? 'plain' : 'change'];
  let least = (feeUnits + vbytes - 1n) / vbytes + 1n;
  // Change that is too small to keep is part of a fee.
  while ((feeAt(least) ?? feeUnits + vbytes) < feeUnits + vbytes) least += 1n;
  const fees = chooseBitcoinRate(choice, market, least);
  const rate = bitcoinRateOf(fees);
  const fee = feeAt(rate);
  if (fee !== undefined) return { units: fee, fees };
  throw new ProviderRejected(`the coins of the transaction do not cover a fee of ${rate} satoshi a virtual byte`, {
    field: fees.fee_level === null ? 'sats_per_vbyte' : 'fee_level',
    issue: 'insufficient_funds',
    providerCode: 'INSUFFICIENT_FUNDS',
  });
}
