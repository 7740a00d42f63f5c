/** No secret appears in clear in stored or sent data: Redis, log lines, the bodies of webhooks. */
import type { MemoryRedis } from '../../redis/memory-redis.ts';
import type { DeliveredRequest } from '../receivers.ts';
import { found } from './finding.ts';

export function checkSecrets(
  secrets: readonly string[],
  memory: MemoryRedis,
  logged: readonly string[],
  received: readonly DeliveredRequest[],
): void {
  const look = (place: string, text: string): void => {
    const secret = secrets.find((one) => text.includes(one));
    if (secret !== undefined) found('no-secret-in-clear', `${place} shows ${secret.slice(0, 12)}…`);
  };
  for (const [key, text] of contents(memory)) look(`Redis at ${key}`, text);
  for (const line of logged) look('the log', line);
  for (const { url, body } of received) look(`a delivery to ${url}`, body);
}

function* contents(memory: MemoryRedis): Generator<readonly [string, string]> {
  const { space } = memory;
  for (const key of space.keys()) yield [key, `${key} ${JSON.stringify(space.contentOf(key))}`];
}
