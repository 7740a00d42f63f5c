/** Chains that do not take a transfer at once: one below its market, and one whose block is undone. */
import { decimal } from '../../service/invariants/documented-ledger.ts';
import { found } from '../../service/invariants/finding.ts';
import { done, type Exercise, refused, shows } from './exercise.ts';
import { networks } from './tenancy.ts';

export const feeMarket = `/v1/sandbox/chains/${networks.evm}/fee-market`;
/** Wei a unit of gas: the lowest market, the one of a new chain, and an offer between them. */
export const lowest = '100000000';
const usual = '1000000000';
const offered = '500000000';
const waitMs = 500;
const tries = 120;
const ends = ['completed', 'failed', 'denied'];

/** It waits, and of it and its replacement exactly one is mined, on the number of both. */
export async function stuckTransfer(exercise: Exercise): Promise<void> {
  const { tenancy, draw } = exercise;
  const own = tenancy.wallets.find(({ provider }) => provider === 'self_hosted');
  if (own === undefined) return;
  const owner = { ...exercise, operator: tenancy.owner };
  const order = { name: tenancy.key('stuck'), provider_connection_id: own.connectionId, network: networks.evm };
  const wallet = await done(exercise, 'POST', '/v1/wallets', order);
  tenancy.adopt(wallet);
  await done(owner, 'POST', feeMarket, { price: usual });
  const target = `/v1/wallets/${wallet.id}/transaction-intents`;
  const pay = { asset: draw.pick(['ETH', 'USDC']), amount: '0.5', destination: { address: own.address } };
  const transfer = { ...pay, max_fee_per_gas: offered, metadata: { key: tenancy.key('stuck') } };
  if (own.network !== networks.evm) transfer.destination = { address: wallet.addresses[0].address };
  const first = await done(exercise, 'POST', target, transfer);
  // The policies of the run may deny it, or ask for votes: settle.ts gives them, and lets the market fall.
  const stuck = await until(exercise, `${target}/${first.id}`, ({ sub_status: sub }) => sub === 'BELOW_MARKET_FEE');
  if (stuck === undefined) return;
  const kind = draw.pick(['speed_up', 'cancel']);
  const least = { kind, max_fee_per_gas: '549999999' };
  await refused(exercise, ['POST', `${target}/${first.id}/replace`, least], 422, 'replacement_fee_too_low');
  const second = await done(exercise, 'POST', `${target}/${first.id}/replace`, { kind, metadata: transfer.metadata });
  const amount = kind === 'cancel' ? '0' : '0.5';
  shows(`the replacement ${second.id}`, second, { kind, amount, replaces: first.id, approvals: [] });
  if (draw.chance(0.3)) await done(owner, 'POST', feeMarket, { price: lowest });
  const ended = await until(exercise, `${target}/${second.id}`, ({ status }) => ends.includes(status));
  if (ended === undefined || ended.status === 'denied') return;
  const before = await done(exercise, 'GET', `${target}/${first.id}`);
  const pair = [before, ended].map(({ status, sub_status: sub }) => `${status} ${sub}`).sort();
  if (pair.join() !== 'completed null,failed REPLACED')
    found('answers-as-modelled', `${first.id} and its replacement: ${pair}`);
  const { assets } = await done(exercise, 'GET', `/v1/wallets/${wallet.id}`);
  for (const { symbol, pending } of assets) {
    if (decimal(pending) !== 0n) found('answers-as-modelled', `${wallet.id} has ${pending} ${symbol} pending at rest`);
  }
}

/**
 * Its confirmations count anew, and it completes, perhaps anew and before it is final; that it was signed and booked once is checked
 * at rest, of every transfer.
 */
export async function undoneTransfer(exercise: Exercise): Promise<void> {
  const { tenancy, draw } = exercise;
  const own = tenancy.wallets.find(({ provider }) => provider === 'self_hosted');
  if (own === undefined) return;
  const owner = { ...exercise, operator: tenancy.owner };
  const chain = `/v1/sandbox/chains/${own.network}`;
  const order = { name: tenancy.key('undone'), provider_connection_id: own.connectionId, network: own.network };
  const wallet = await done(exercise, 'POST', '/v1/wallets', order);
  tenancy.adopt(wallet);
  const usual = await done(owner, 'GET', `${chain}/confirmations`);
  const completes = draw.chance(0.7);
  const confirmations = completes ? 1 : draw.int(2, 6);
  const depths = { confirmations, finality: draw.int(Math.max(confirmations, 3), 9) };
  await done(owner, 'POST', `${chain}/confirmations`, depths);
  shows(`${chain}/confirmations`, await done(owner, 'GET', `${chain}/confirmations`), depths);
  const target = `/v1/wallets/${wallet.id}/transaction-intents`;
  // Few policies of a run ask for votes for so little.
  const pay = { asset: own.assets[0]!.symbol, amount: '0.05', destination: { address: own.address } };
  const { id } = await done(exercise, 'POST', target, { ...pay, metadata: { key: tenancy.key('undone') } });
  const isMined = ({ status }: { status: string }) => status === 'completed' || (!completes && status === 'confirming');
  const mined = await until(exercise, `${target}/${id}`, isMined);
  if (mined !== undefined) {
    const { operator } = owner;
    for (let times = draw.int(1, 3); times > 0; times -= 1) {
      const { status, body } = await operator.call('POST', `${chain}/reorg`, { depth: draw.int(1, depths.finality) });
      // An earlier transfer may be final by fewer blocks.
      if (status !== 200 && body.error.details?.[0].issue !== 'beyond_finality')
        found('answers-as-modelled', `${chain}/reorg answers ${status} ${JSON.stringify(body)}`);
    }
    const isSettled = (intent: { status: string; sub_status: string | null }) =>
      ends.includes(intent.status) && intent.sub_status !== 'NOT_FINAL';
    const ended = await until(exercise, `${target}/${id}`, isSettled);
    if (ended?.status !== 'completed') found('answers-as-modelled', `${id} was mined, and is ${ended?.status}`);
  }
  const { confirmations: before, finality } = usual;
  await done(owner, 'POST', `${chain}/confirmations`, { confirmations: before, finality });
}

/** undefined: not within the time. */
async function until(
  exercise: Exercise,
  target: string,
  // biome-ignore lint/suspicious/noExplicitAny: an intent as the API shows it.
  holds: (intent: any) => boolean,
  // biome-ignore lint/suspicious/noExplicitAny: the same.
): Promise<any> {
  for (let attempt = 0; attempt < tries; attempt += 1) {
    const intent = await done(exercise, 'GET', target);
    if (holds(intent)) return intent;
    if (intent.status === 'pending_approval' || (ends.includes(intent.status) && intent.sub_status !== 'NOT_FINAL'))
      return undefined;
    await exercise.operator.client.pause(waitMs);
  }
  return undefined;
}
