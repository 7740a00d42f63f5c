/**
 * Bitcoin transactions that spend P2WPKH outputs of one key: builds and parses them; the caller signs. Pure.
 *
 * Each input has its own digest (BIP-143, SIGHASH_ALL) and its own witness: DER signature ‖ 0x01, public key. Inputs are in the
 * order of the coins, outputs are the payment and then the change, so the same coins and payment always give the same
 * transaction.
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { Address, OutScript, TEST_NETWORK, Transaction } from '@scure/btc-signer';
import { concatBytes, fromHex, toHex } from '../../../core/crypto/bytes.ts';
import { verifyEcdsa } from '../../../core/crypto/mock-ecdsa.ts';
import { bitcoinTestnetAddress, publicKeyHash } from '../../networks/addresses.ts';
import { ChainRejected } from './chain.ts';

/** An output below this costs more to spend than its value, so no node relays it. */
export const dustSats = 294n;
export const inputsMax = 16;
/**
 * Of a transaction and those that it descends from, while they are not mined (Bitcoin Core's `-limitancestorcount`,
 * `-limitancestorsize`).
 */
export const ancestorsMax = 25;
export const ancestorVbytesMax = 101_000;
/** Virtual bytes: version, lock time, counts, marker and flag; a P2WPKH input with the longest signature. */
export const overheadVbytes = 11n;
export const inputVbytes = 68n;

const sighashAll = 1;
const testnet = Address(TEST_NETWORK);

/** An unspent output. */
export interface Coin {
  /** In the form of explorers: the hash in reverse byte order, hex. */
  readonly txid: string;
  readonly index: number;
  readonly sats: bigint;
}

export interface BitcoinPayment {
  readonly to: string;
  readonly sats: bigint;
}

/** Without the change output, and with it. */
interface WithChange {
  readonly plain: bigint;
  readonly change: bigint;
}

/** At most: its signatures may be shorter. */
export function paymentVbytes(to: string, from: string, inputs: number): WithChange {
  const plain = overheadVbytes + inputVbytes * BigInt(inputs) + outputVbytes(to);
  return { plain, change: plain + outputVbytes(from) };
}

/** The amount that coin selection has to cover in addition to the payment. `rate`: satoshi a virtual byte. */
export function paymentFee(to: string, from: string, inputs: number, rate: bigint): WithChange {
  const { plain, change } = paymentVbytes(to, from, inputs);
  return { plain: rate * plain, change: rate * change };
}

/** The highest cost of a payment to this address, with change that is too small to keep. */
export function largestFee(to: string, from: string, rate: bigint): bigint {
  return paymentFee(to, from, inputsMax, rate).change + dustSats;
}

/** What a payment of these coins costs, with change or without; undefined: they do not cover it. */
export function feeOfPayment(
  coins: readonly Pick<Coin, 'sats'>[],
  { to, sats }: BitcoinPayment,
  from: string,
  rate: bigint,
): bigint | undefined {
  const fee = paymentFee(to, from, coins.length, rate);
  const rest = coins.reduce((sum, coin) => sum + coin.sats, 0n) - sats;
  if (rest < fee.plain) return undefined;
  return rest - fee.change >= dustSats ? fee.change : rest;
}

/** Amount, length and script. */
export function outputVbytes(address: string): bigint {
  return BigInt(8 + 1 + scriptOf(address).length);
}

export interface UnsignedBitcoin {
  readonly transaction: Transaction;
  /** One per coin. */
  readonly publicKeys: readonly Uint8Array[];
  /** One per coin: 32 bytes. */
  readonly digests: readonly Uint8Array[];
}

/** What a transaction pays, from the bytes that its digests commit to, and what it costs. `coins`: those that it spends. */
export function readUnsignedBitcoin(
  { transaction }: UnsignedBitcoin,
  coins: readonly Coin[],
): { readonly outputs: DecodedBitcoin['outputs']; readonly fee: bigint } {
  const outputs = outputsOf(parsed(transaction.toBytes()));
  const sum = (of: readonly { readonly sats: bigint }[]) => of.reduce((all, { sats }) => all + sats, 0n);
  return { outputs, fee: sum(coins) - sum(outputs) };
}

/**
 * Spends all `coins`, each of its key (by default the wallet's), and returns the rest to the wallet's. They must cover payment and
 * fee.
 */
export function unsignedBitcoin(
  publicKey: Uint8Array,
  coins: readonly Coin[],
  payment: BitcoinPayment,
  rate: bigint,
  publicKeys: readonly Uint8Array[] = coins.map(() => publicKey),
): UnsignedBitcoin {
  const own = bitcoinTestnetAddress(publicKey);
  const fee = feeOfPayment(coins, payment, own, rate);
  if (fee === undefined) throw new Error('the coins do not cover payment and fee');
  const change = coins.reduce((sum, { sats }) => sum + sats, 0n) - payment.sats - fee;
  const transaction = new Transaction();
  for (const [at, { txid, index, sats }] of coins.entries()) {
    const script = scriptOf(bitcoinTestnetAddress(publicKeys[at]!));
    transaction.addInput({ txid: fromHex(txid), index, witnessUtxo: { script, amount: sats } });
  }
  transaction.addOutputAddress(payment.to, payment.sats, TEST_NETWORK);
  if (change > 0n) transaction.addOutputAddress(own, change, TEST_NETWORK);
  const digests = coins.map(({ sats }, index) => digestOf(transaction, index, publicKeys[index]!, sats));
  return { transaction, publicKeys, digests };
}

/** `signatures`: r ‖ s, 64 bytes with low s, one per digest. */
export function signedBitcoin(unsigned: UnsignedBitcoin, signatures: readonly Uint8Array[]): Uint8Array {
  const { transaction, publicKeys } = unsigned;
  signatures.forEach((signature, index) => {
    const der = secp256k1.Signature.fromBytes(signature, 'compact').toBytes('der');
    const witness = [concatBytes(der, Uint8Array.of(sighashAll)), publicKeys[index]!];
    transaction.updateInput(index, { finalScriptWitness: witness }, true);
  });
  return transaction.toBytes(true, true);
}

export interface DecodedBitcoin {
  readonly txid: string;
  readonly inputs: readonly { readonly txid: string; readonly index: number }[];
  readonly outputs: readonly { readonly address: string; readonly sats: bigint }[];
  /** Virtual bytes (BIP-141). */
  readonly vbytes: bigint;
  readonly transaction: Transaction;
}

/** Reads a raw transaction; does not check its signatures. Throws ChainRejected. */
export function decodeBitcoin(raw: Uint8Array): DecodedBitcoin {
  try {
    const transaction = parsed(raw);
    return {
      txid: transaction.id,
      inputs: Array.from({ length: transaction.inputsLength }, (_, index) => {
        const input = transaction.getInput(index);
        return { txid: toHex(input.txid!), index: input.index! };
      }),
      outputs: outputsOf(transaction),
      vbytes: BigInt(transaction.vsize),
      transaction,
    };
  } catch {
    throw new ChainRejected('invalid_transaction', 'not a transaction of standard outputs');
  }
}

function parsed(raw: Uint8Array): Transaction {
  return Transaction.fromRaw(raw, { allowUnknownOutputs: true, disableScriptCheck: true });
}

function outputsOf(transaction: Transaction): DecodedBitcoin['outputs'] {
  return Array.from({ length: transaction.outputsLength }, (_, index) => {
    const output = transaction.getOutput(index);
    return { address: testnet.encode(OutScript.decode(output.script!)), sats: output.amount! };
  });
}

/** Whether each witness signs for the key of the output that it spends. `spent`: in the order of the inputs. */
export function witnessesSign(
  { transaction }: DecodedBitcoin,
  spent: readonly { readonly address: string; readonly sats: bigint }[],
): boolean {
  return spent.every(({ address, sats }, index) => {
    const [signature, publicKey, ...more] = transaction.getInput(index).finalScriptWitness ?? [];
    if (signature === undefined || publicKey?.length !== 33 || more.length > 0) return false;
    if (signature.at(-1) !== sighashAll || bitcoinTestnetAddress(publicKey) !== address) return false;
    try {
      const compact = secp256k1.Signature.fromBytes(signature.slice(0, -1), 'der').toBytes('compact');
      return verifyEcdsa({ signature: compact, digest: digestOf(transaction, index, publicKey, sats), publicKey });
    } catch {
      return false;
    }
  });
}

function digestOf(transaction: Transaction, index: number, publicKey: Uint8Array, sats: bigint): Uint8Array {
  // BIP-143: the script code of P2WPKH is the one of the same key's P2PKH output.
  const scriptCode = concatBytes(fromHex('76a914'), publicKeyHash(publicKey), fromHex('88ac'));
  return transaction.preimageWitnessV0(index, scriptCode, sighashAll, sats);
}

function scriptOf(address: string): Uint8Array {
  return OutScript.encode(testnet.decode(address));
}
