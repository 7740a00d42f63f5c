/**
 * Messages and calls at rest: a text, typed data and a permit of one wallet are decided as the policies say, signed once, and move
 * nothing; a call of a token's contract moves what it says when it is completed, and nothing before, and another wallet takes what an
 * allowance lets it.
 */
import { decimal, type ToldWallet } from '../../service/invariants/documented-ledger.ts';
import { found } from '../../service/invariants/finding.ts';
import { done, type Exercise, refused, shows } from './exercise.ts';
import { nextVoter } from './modules.ts';
import { networks } from './tenancy.ts';

const usdc = '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238';
const spender = `0x${'5b'.repeat(20)}`;
const waitMs = 500;
const tries = 120;
const waits = ['approved', 'signing', 'broadcasting', 'confirming'];

const quarter = decimal('0.25');

/** A call's data; addresses, and an amount in smallest units. */
function calling(selector: string, ...values: readonly (string | number)[]): string {
  const digits = values.map((value) => (typeof value === 'number' ? value.toString(16) : value.slice(2).toLowerCase()));
  return `0x${selector}${digits.map((word) => word.padStart(64, '0')).join('')}`;
}

function usdcOf({
  assets,
}: {
  readonly assets: readonly { readonly symbol: string; readonly balance: string }[];
}): bigint {
  return decimal(assets.find(({ symbol }) => symbol === 'USDC')!.balance);
}

export async function signedMessages(exercise: Exercise): Promise<void> {
  const { tenancy, draw } = exercise;
  const own = tenancy.wallets.find(({ provider }) => provider === 'self_hosted');
  if (own === undefined) return;
  const order = { name: tenancy.key('signs'), provider_connection_id: own.connectionId, network: networks.evm };
  const wallet = await done(exercise, 'POST', '/v1/wallets', order);
  tenancy.adopt(wallet);
  const taker = await done(exercise, 'POST', '/v1/wallets', { ...order, name: tenancy.key('takes') });
  tenancy.adopt(taker);
  const target = `/v1/wallets/${wallet.id}/messages`;
  const [{ address }] = wallet.addresses;
  const typed = (primaryType: string, fields: readonly string[], message: object, contract: string) => ({
    types: { [primaryType]: fields.map((field) => ({ type: field.split(' ')[0], name: field.split(' ')[1] })) },
    ...{ primaryType, domain: { chainId: networks.evm.slice('eip155:'.length), verifyingContract: contract }, message },
  });
  const asked = draw.pick<readonly [body: object, shown: object, takes: bigint]>([
    [{ message: `sign in as ${tenancy.key('text')}` }, { kind: 'message', asset: 'ETH', amount: '0' }, 0n],
    [
      { typed_data: typed('Order', ['uint256 price'], { price: draw.int(0, 9) }, spender) },
      { kind: 'typed_data', asset: 'ETH', amount: '0' },
      0n,
    ],
    [
      {
        typed_data: typed(
          'Permit',
          ['address owner', 'address spender', 'uint256 value', 'uint256 nonce', 'uint256 deadline'],
          { owner: address, spender, value: 250_000, nonce: 0, deadline: 1 },
          usdc,
        ),
      },
      { kind: 'typed_data', asset: 'USDC', amount: '0.25' },
      0n,
    ],
    [
      { contract: usdc, data: calling('a9059cbb', spender, 250_000) },
      { kind: 'contract_call', asset: 'USDC', amount: '0.25' },
      quarter,
    ],
    [
      { contract: usdc, data: calling('095ea7b3', taker.addresses[0].address, 250_000) },
      { kind: 'contract_call', asset: 'USDC', amount: '0.25', destination: { address: taker.addresses[0].address } },
      0n,
    ],
  ]);
  await refused(exercise, ['POST', target, { message: 'ab'.repeat(32) }], 400, 'invalid_value');
  const [body, shown, takes] = asked;
  const metadata = { key: tenancy.key('message') };
  const way = 'contract' in body ? `/v1/wallets/${wallet.id}/contract-calls` : target;
  const made = await done(exercise, 'POST', way, { ...body, metadata });
  shows(`the intent ${made.id}`, made, { ...shown, provider_tx_id: null, metadata });
  const isCompleted = await ends(exercise, made, wallet, takes);
  if (!isCompleted || made.call?.function !== 'approve') return;
  const data = calling('23b872dd', address, spender, 250_000);
  const taken = await done(exercise, 'POST', `/v1/wallets/${taker.id}/contract-calls`, { contract: usdc, data });
  shows(`the intent ${taken.id}`, taken, { amount: '0.25', asset: 'USDC' });
  await ends(exercise, taken, wallet, quarter);
}

/** Whether it is completed in the end: then it has taken so much USDC of the wallet, and else, and before, nothing of anything. */
async function ends(
  exercise: Exercise,
  made: { readonly id: string; readonly wallet_id: string; readonly call: object | null },
  wallet: ToldWallet,
  takes: bigint,
): Promise<boolean> {
  const target = `/v1/wallets/${made.wallet_id}/transaction-intents/${made.id}`;
  for (let attempt = 0; attempt < tries; attempt += 1) {
    const intent = await done(exercise, 'GET', target);
    const { assets } = await done(exercise, 'GET', `/v1/wallets/${wallet.id}`);
    const isCall = made.call !== null;
    const isSettled = !waits.includes(intent.status) || !isCall;
    const isCompleted = intent.status === 'completed';
    const before = isCall ? usdcOf(wallet) - (isCompleted ? takes : 0n) : JSON.stringify(wallet.assets);
    const now = isCall ? usdcOf({ assets }) : JSON.stringify(assets);
    if (isSettled && now !== before)
      found('answers-as-modelled', `${wallet.id} has ${now} after ${made.id}, not ${before}`);
    const voter = intent.status === 'pending_approval' ? nextVoter(exercise.tenancy, intent) : undefined;
    if (voter !== undefined) {
      await done({ ...exercise, operator: voter }, 'POST', `${target}/approve`, {});
      continue;
    }
    if (!waits.includes(intent.status)) return isCompleted;
    await exercise.operator.client.pause(waitMs);
  }
  return false;
}
