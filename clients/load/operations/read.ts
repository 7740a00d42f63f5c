/** Reads of the wallet API: one wallet, and a page of ten, in turn. */
import type { Client } from '../../client/index.ts';
import { answered, type HttpClient } from '../calls/http.ts';
import { type Check, Faults } from '../verdict/check.ts';
import type { Operation } from './operation.ts';
import { makeWallets } from './wallets.ts';

const wallets = 10;

export async function readOperation(http: HttpClient, client: Client): Promise<Operation> {
  const made = await makeWallets(client, 'sandbox', wallets);
  const faults = new Faults();
  let turn = 0;
  let reads = 0;
  return {
    async run(observe) {
      turn += 1;
      const wanted = made[turn % made.length]!.id;
      const isPage = turn % 2 === 0;
      const endpoint = isPage ? 'GET /v1/wallets?limit=10' : 'GET /v1/wallets/:id';
      const path = isPage ? '/v1/wallets?limit=10' : `/v1/wallets/${wanted}`;
      const text = await observe(endpoint, async () => {
        const answer = await http.send('GET', path);
        if (answer.status !== 200) answered(answer, 200);
        return answer.text;
      });
      reads += 1;
      if (!isPage && !text.startsWith(`{"id":"${wanted}"`)) faults.add(`${wanted}: the answer is another wallet`);
    },
    settle: async () => undefined,
    checks: async (): Promise<readonly Check[]> => [faults.check('reads', `${reads} reads, each of the right wallet`)],
    close: async () => undefined,
  };
}
