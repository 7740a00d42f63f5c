/**
 * A proposer of trades for the AI treasury, where a model would stand: it reads the positions of a strategy, proposes to sell
 * half of the largest excess, and lets the treasury check that. What it proposes is JSON; whether it may be done, the
 * strategy's constraints and the tenant's policies say.
 *
 *     npm start                                    # in one terminal
 *     node dist/examples/treasury-proposer.js      # in another
 *
 * Options, or the environment variables in brackets: --url [BASE_URL], --token [TOKEN]. Exit code 0: the proposal was taken and
 * carried out. 1: something failed. 2: a wrong call of this program.
 */
import { parseArgs } from 'node:util';
import { createClient, type Rebalance, type StrategyPosition } from 'signmesh/client';

/** The token of a fresh sandbox. */
const sandboxToken = 'svc_sk_test_sandboxTokenForEveryoneToUse001PqAfG';

type Position = StrategyPosition['assets'][number];
type Proposal = NonNullable<Rebalance['proposal']>;

/** What a model would answer. undefined: nothing is far enough from its target. */
function propose(positions: readonly Position[]): Proposal | undefined {
  const byDrift = [...positions].sort((a, b) => b.drift_bps - a.drift_bps);
  const [most, least] = [byDrift[0]!, byDrift.at(-1)!];
  if (most.drift_bps <= 0 || least.drift_bps >= 0) return undefined;
  const excess = Number(most.amount) * (most.drift_bps / most.weight_bps);
  return {
    trades: [{ sell: most.asset, buy: least.asset, amount: (excess / 2).toFixed(6) }],
    rationale: `${most.asset} is ${most.drift_bps} basis points above its target: half of that goes into ${least.asset}`,
  };
}

async function main(url: string, token: string): Promise<void> {
  const client = createClient({ baseUrl: url, token });
  // A sandbox grants access to the module at once.
  const { modules } = await client.modules.list();
  const { access } = modules.find(({ module }) => module === 'treasury')!;
  if (access === 'by_request') await client.modules.requestAccess('treasury');
  const connection = await client.connections.connect({ type: 'sandbox', credentials: {} });
  const wallet = await client.wallets.create({
    name: 'treasury-proposer',
    provider_connection_id: connection.id,
    network: 'eip155:11155111',
  });
  const strategy = await client.treasury.createStrategy({
    name: 'treasury-proposer',
    wallet_ids: [wallet.id],
    targets: [
      { asset: 'ETH', weight_bps: 5_000, band_bps: 100 },
      { asset: 'USDC', weight_bps: 5_000, band_bps: 100 },
    ],
    autonomy: 'within_policy',
  });
  const [position] = await client.treasury.positions({ strategy_id: strategy.id }).toArray(1);
  const { assets } = position!;
  for (const { asset, amount, drift_bps } of assets) say(`${asset}: ${amount}, ${drift_bps} bps off its target`);
  const proposal = propose(assets);
  if (proposal === undefined) return say('nothing to propose');
  say(`proposed: ${proposal.rationale}`);
  const order = { strategy_id: strategy.id, dry_run: false, proposal };
  const { id } = await client.treasury.rebalance(order);
  const plan = await client.waitUntil(
    () => client.treasury.plan(id),
    ({ status }) => status !== 'executing',
  );
  const [trade] = plan.trades;
  if (plan.status !== 'completed') throw new Error(`the plan ${plan.id} is ${plan.status}: ${trade?.reason}`);
  say(`completed: sold ${trade!.sell.amount} ${trade!.sell.asset}, bought ${trade!.bought} ${trade!.buy.asset}`);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function fail(code: number, error: unknown): void {
  process.stderr.write(`treasury-proposer: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = code;
}

try {
  const { values } = parseArgs({ options: { url: { type: 'string' }, token: { type: 'string' } } });
  const url = values.url ?? process.env.BASE_URL ?? 'http://127.0.0.1:8080';
  await main(url, values.token ?? process.env.TOKEN ?? sandboxToken).catch((error: unknown) => fail(1, error));
} catch (error) {
  fail(2, error);
}
