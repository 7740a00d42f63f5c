/**
 * Bitcoin: coins are reserved for the transfer before signing, so that two transfers never spend the same one;
 * then every input is signed in its own session, with the purpose `<intent id>:<input>`.
 */
import {
  type BitcoinChain,
  dustSats,
  inputsMax,
  largestFee,
  paymentFee,
  readUnsignedBitcoin,
  signedBitcoin,
  unsignedBitcoin,
} from '../chains/public.ts';
import { NotDecided, ProviderRejected, ProviderUnavailable } from '../port/port.ts';
import { assertDecided } from './decided.ts';
import { addressOf, type Line, publicKeyOf } from './line.ts';

export function bitcoinLine(chain: BitcoinChain): Line {
  return {
    chain,
    receives: chain,
    feeReserve({ units, toAddress, wallet }) {
      if (units < dustSats) {
        throw new ProviderRejected(`an output below ${dustSats} satoshi is not relayed`, {
          field: 'amount',
          issue: 'amount_too_small',
          providerCode: 'DUST',
        });
      }
      return largestFee(toAddress, addressOf(wallet));
    },
    /** The ledger checks the balance; this check: whether few enough outputs hold it. */
    async check({ units, toAddress, wallet }) {
      const { sats, hasMore } = await chain.spendable(addressOf(wallet));
      const most = sats - paymentFee(toAddress, addressOf(wallet), inputsMax).plain;
      if (!hasMore || units <= most) return;
      throw new ProviderRejected(
        `a transaction spends ${inputsMax} outputs at most, which carry ${most < 0n ? 0n : most} satoshi now: send it in parts`,
        { field: 'amount', issue: 'too_many_inputs', providerCode: 'TOO_MANY_INPUTS' },
      );
    },
    sequenceCounter: () => undefined,
    async submit(meta, signer, transfer, fails) {
      const { intent, wallet } = transfer;
      const payment = { to: intent.destination.address, sats: BigInt(intent.units) };
      const holding = await chain.hold(intent.id, addressOf(wallet), payment, meta.nowMs);
      if (holding.kind === 'wait') {
        return { kind: 'waits', providerStatus: 'QUEUED', subStatus: 'AWAITING_EARLIER_TRANSACTION' };
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
      const { receive = [] } = wallet;
      const addresses = receive.length === 0 ? [] : await chain.addressesOf(holding.coins);
      const children = holding.coins.map((_, at) => receive.find(({ address }) => address === addresses[at]));
      const own = publicKeyOf(wallet);
      const keys = children.map((child) => (child === undefined ? own : Buffer.from(child.publicKey, 'hex')));
      const unsigned = unsignedBitcoin(own, holding.coins, payment, keys);
      const { outputs, fee } = readUnsignedBitcoin(unsigned, holding.coins);
      const [paid, ...change] = outputs;
      if (change.length > 1 || change.some(({ address }) => address !== addressOf(wallet))) {
        throw new NotDecided('it pays others than its policy receipt names');
      }
      const units = paid?.sats ?? 0n;
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
      const transaction = await chain.submit(raw, meta.nowMs, { fails });
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
