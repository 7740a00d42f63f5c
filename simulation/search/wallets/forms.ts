/** Other spellings of valid transfers, and transfers that are not valid, by docs/wallet-api.md. */
import { networks, type OwnWallet } from './tenancy.ts';

/** "Addresses compare regardless of spelling": EVM's may be in lower case, Bitcoin's in capitals. */
export function respelled(address: string, network: string): string {
  if (network === networks.evm) return address.toLowerCase();
  return network === networks.bitcoin ? address.toUpperCase() : address;
}

export interface FormFault {
  /** Of a valid request. */
  readonly change: object;
  readonly status: 400 | 422;
}

/** Digits after the decimal point. */
const decimals: Readonly<Record<string, number>> = { ETH: 18, USDC: 6, BTC: 8, SOL: 9 };
const someAddress = {
  [networks.evm]: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  [networks.bitcoin]: 'tb1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqph4dfmk6ln',
  [networks.solana]: '111111111111111111111111111111Hwr',
};
/** Units of a token are lost at its contract, and a taproot key that is no point of the curve has no signature. */
const lost: Readonly<Record<string, readonly string[]>> = {
  [networks.evm]: [`0x${'0'.repeat(40)}`, '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238'],
  [networks.bitcoin]: ['tb1pllllllllllllllllllllllllllllllllllllllllllllllllllls5k48qr'],
  [networks.solana]: ['1'.repeat(32)],
};

export function faultsOf({ network, assets, address }: OwnWallet): readonly FormFault[] {
  const to = (destination: string) => ({ destination: { address: destination } });
  const [{ symbol }] = assets as readonly [OwnWallet['assets'][number]];
  const tooFine = `0.${'1'.padStart(decimals[symbol]! + 1, '0')}`;
  const amounts = ['0', '-1', '1e3', '.5', '00.5', '01', '1,5', '', tooFine];
  const elsewhere = Object.entries(someAddress).filter(([other]) => other !== network);
  const foreign = Object.keys(decimals).find((other) => !assets.some((asset) => asset.symbol === other))!;
  return [
    ...amounts.map((amount) => ({ change: { asset: symbol, amount }, status: 400 }) as const),
    { change: { amount: 1 }, status: 400 },
    { change: { asset: 'NOPE' }, status: 400 },
    { change: { asset: foreign }, status: 400 },
    { change: { unknown: true }, status: 400 },
    { change: { policy: 'no such policy' }, status: 400 },
    { change: { destination: {} }, status: 400 },
    ...elsewhere.map(([, other]) => ({ change: to(other), status: 400 }) as const),
    { change: to(wronglyCased(address, network)), status: 400 },
    ...lost[network]!.map((other) => ({ change: to(other), status: 422 }) as const),
  ];
}

/** EIP-55, base58 and bech32 each refuse a single letter in another case, unless all letters change theirs. */
function wronglyCased(address: string, network: string): string {
  if (network === networks.solana) return `${address}0`;
  const at = [...address].findLastIndex((letter) => (network === networks.evm ? /[a-fA-F]/ : /[a-zA-Z]/).test(letter));
  const letter = address[at]!;
  const other = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase();
  return address.slice(0, at) + other + address.slice(at + 1);
}
