/** Messages at rest: a text, typed data and a permit of one wallet are decided as the policies say, signed once, and move nothing. */
import { found } from '../../service/invariants/finding.ts';
import { done, type Exercise, refused, shows } from './exercise.ts';
import { networks } from './tenancy.ts';

const usdc = '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238';
const spender = `0x${'5b'.repeat(20)}`;
const waitMs = 500;
const tries = 120;
const waits = ['approved', 'signing'];

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
  ]);
  await refused(exercise, ['POST', target, { message: 'ab'.repeat(32) }], 400, 'invalid_value');
  const [body, shown] = asked;
  const metadata = { key: tenancy.key('message') };
  const made = await done(exercise, 'POST', target, { ...body, metadata });
  shows(`the intent ${made.id}`, made, { ...shown, provider_tx_id: null, metadata });
  const before = JSON.stringify(wallet.assets);
  for (let attempt = 0; attempt < tries; attempt += 1) {
    const intent = await done(exercise, 'GET', `/v1/wallets/${wallet.id}/transaction-intents/${made.id}`);
    const { assets } = await done(exercise, 'GET', `/v1/wallets/${wallet.id}`);
    if (JSON.stringify(assets) !== before)
      found('answers-as-modelled', `${wallet.id} has ${JSON.stringify(assets)} after ${made.id}, not ${before}`);
    if (!waits.includes(intent.status)) return;
    await exercise.operator.client.pause(waitMs);
  }
}
