/** The announcements of a live cluster: what it says of itself, and what it does when its number belongs to another one. */
import { expect, test } from 'vitest';
import { Announcing } from '../../coordinator/store/announcing.ts';
import type { RedisClusters } from '../../core/redis/redis-clusters.ts';
import { collectLog } from '../support/log.ts';

const key = new Uint8Array(32);
const nodes = [1, 2, 3].map((id) => ({ id, publicKey: key }));
const roster = { clusterId: 'cl_1', number: 2, nodes, coordinator: key, gateway: key };

/** `answers`: of the registry, in turn: the other cluster that has the number, or an outage. */
function announcing(answers: readonly (string | undefined | Error)[] = []) {
  const [left, states, withdrawn] = [[...answers], [] as Record<string, unknown>[], [] as number[]];
  const registry: Pick<RedisClusters, 'announce' | 'withdraw'> = {
    announce: async (_number, _clusterId, state) => {
      states.push({ ...state });
      const answer = left.shift();
      if (answer instanceof Error) throw answer;
      return answer;
    },
    withdraw: async (number) => void withdrawn.push(number),
  };
  const { log, lines } = collectLog();
  return { own: new Announcing(registry as RedisClusters, roster, 'ws://here', log), states, withdrawn, lines };
}

test.each<[string, readonly (string | undefined | Error)[], readonly string[], boolean]>([
  ['its own', [undefined, undefined], [], true],
  ['another’s: said once, and left to it', ['cl_2', 'cl_2'], ['cl_2'], false],
  ['first another’s, then free', ['cl_2', undefined], ['cl_2'], true],
  ['another’s twice', ['cl_2', undefined, 'cl_2'], ['cl_2', 'cl_2'], false],
  ['of one after the other', ['cl_2', 'cl_3'], ['cl_2', 'cl_3'], false],
  ['unknown in an outage', [new Error('no Redis'), undefined], [], true],
])('a number that is %s', async (_, answers, said, withdraws) => {
  const { own, withdrawn, lines } = announcing(answers);
  for (const _answer of answers) await own.announce();
  expect(lines.map(({ fields }) => fields.other)).toEqual(said);
  await own.withdraw();
  expect(withdrawn).toEqual(withdraws ? [2] : []);
});

test('it says which nodes are linked, not the gateways, and a load that follows the calls of the last seconds', async () => {
  const { own, states } = announcing();
  for (const nodeId of [0, 1, 2]) own.linked(nodeId, true);
  for (let call = 0; call < 10; call += 1) own.called();
  await own.announce();
  own.linked(0, false);
  own.linked(2, false);
  await own.announce();
  expect(states).toEqual([
    { url: 'ws://here', nodesTotal: 3, nodesReady: 2, threshold: 3, keyNodes: 3, load: 4 },
    { url: 'ws://here', nodesTotal: 3, nodesReady: 1, threshold: 3, keyNodes: 3, load: 2.4 },
  ]);
});
