/**
 * Messages and calls at rest: a text, typed data and a permit of one wallet are decided as the policies say, signed once, and move
 * nothing; a call of a token's contract moves what it says when it is completed, and nothing before.
 */
import { decimal } from '../../service/invariants/documented-ledger.ts';
import { found } from '../../service/invariants/finding.ts';
import { done, type Exercise, refused, shows } from './exercise.ts';
import { networks } from './tenancy.ts';

const usdc = '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238';
const spender = `0x${'5b'.repeat(20)}`;
const waitMs = 500;
const tries = 120;
const waits = ['approved', 'signing', 'broadcasting', 'confirming'];

const moved = decimal('0.25');

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
  const target = `/v1/wallets/${wallet.id}/messages`;
  const [{ address }] = wallet.addresses;
  const typed = (primaryType: string, fields: readonly string[], message: object, contract: string) => ({
    types: { [primaryType]: fields.map((field) => ({ type: field.split(' ')[0], name: field.split(' ')[1] })) },
    ...{ primaryType, domain: { chainId: networks.evm.slice('eip155:'.length), verifyingContract: contract }, message },
  });
  const asked = draw.pick<readonly [body: object, shown: object]>([
    [{ message: `sign in as ${tenancy.key('text')}` }, { kind: 'message', asset: 'ETH', amount: '0' }],
    [
      { typed_data: typed('Order', ['uint256 price'], { price: draw.int(0, 9) }, spender) },
      { kind: 'typed_data', asset: 'ETH', amount: '0' },
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
    ],
    [
      {
        contract: usdc,
        data: `0xa9059cbb${spender.slice(2).padStart(64, '0')}${(250_000).toString(16).padStart(64, '0')}`,
      },
      { kind: 'contract_call', asset: 'USDC', amount: '0.25' },
    ],
  ]);
  await refused(exercise, ['POST', target, { message: 'ab'.repeat(32) }], 400, 'invalid_value');
  const [body, shown] = asked;
  const metadata = { key: tenancy.key('message') };
  const isCall = 'contract' in body;
  const way = isCall ? `/v1/wallets/${wallet.id}/contract-calls` : target;
  const made = await done(exercise, 'POST', way, { ...body, metadata });
  shows(`the intent ${made.id}`, made, { ...shown, provider_tx_id: null, metadata });
  for (let attempt = 0; attempt < tries; attempt += 1) {
    const intent = await done(exercise, 'GET', `/v1/wallets/${wallet.id}/transaction-intents/${made.id}`);
    const { assets } = await done(exercise, 'GET', `/v1/wallets/${wallet.id}`);
    const isSettled = !waits.includes(intent.status) || !isCall;
    const before = isCall
      ? usdcOf(wallet) - (intent.status === 'completed' ? moved : 0n)
      : JSON.stringify(wallet.assets);
    const now = isCall ? usdcOf({ assets }) : JSON.stringify(assets);
    if (isSettled && now !== before)
      found('answers-as-modelled', `${wallet.id} has ${now} after ${made.id}, not ${before}`);
    if (!waits.includes(intent.status)) return;
    await exercise.operator.client.pause(waitMs);
  }
}
