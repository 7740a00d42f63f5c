/** Refusals that belong to no operation: of keys, tokens, paths, and of times in the wrong order. docs/wallet-api.md. */
import { found } from '../../service/invariants/finding.ts';
import type { Exercise } from './exercise.ts';
import { refused } from './exercise.ts';

const reversed = 'created_after=2023-11-15T00:00:00.000Z&created_before=2023-11-14T00:00:00.000Z';

/** Keys of 1 to 255 visible characters; an invented token is 401; nothing is on another path. */
export async function envelope(exercise: Exercise): Promise<void> {
  const { tenancy, operator, draw } = exercise;
  const { id } = draw.pick(tenancy.wallets);
  const target = `/v1/wallets/${id}/unfreeze`;
  for (const key of ['k'.repeat(256), 'two words', 'ümlaut']) {
    const { status } = await operator.call('POST', target, {}, key);
    if (status !== 400) found('one-answer-a-key', `${target} takes the key ${key}: ${status}`);
  }
  const stranger = tenancy.world.client('not-a-token', { triesMax: 3 });
  const { status, headers } = await stranger.call('GET', `/v1/wallets/${id}`);
  if (status !== 401) found('tenants-apart', `an invented token gets ${status}`);
  if (headers['www-authenticate'] === undefined) found('answers-as-modelled', 'a 401 has no WWW-Authenticate');
  await refused(exercise, ['GET', `${draw.pick(['/v1/transaction-intents', '/v1/events'])}?${reversed}`], 400);
  await refused(exercise, ['GET', '/v1/nothing'], 404);
  await refused(exercise, ['DELETE', `/v1/wallets/${id}`], 405);
}
