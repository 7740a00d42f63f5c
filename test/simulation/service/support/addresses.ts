/** The address of each wallet of a scenario, by its name: every run makes them alike. */
import type { CheckedScenario } from '../../../../scenarios/runner/format.ts';
import { type CustodyRunOptions, runInCustodyWorld } from '../../../../simulation/service/scenario/run.ts';

export async function addressesIn(scenario: CheckedScenario): Promise<ReadonlyMap<string, string>> {
  const of = new Map<string, string>();
  const tokens: string[] = [];
  const checks: CustodyRunOptions['checks'] = (world) => ({
    caller: (_, { token }) => {
      tokens.push(token);
      return undefined;
    },
    end: async () => {
      for (const token of tokens) {
        const { body } = await world.run(world.client(token).call('GET', '/v1/wallets'));
        for (const { name, addresses } of body.wallets) of.set(name, addresses[0].address);
      }
    },
  });
  await runInCustodyWorld(scenario, { crypto: 'model', record: false, checks });
  return of;
}
