/** Asks Redis, and gives callers one kind of failure: Redis did not answer, or refused. */
import { redisRefusal } from '../../core/actors/live/redis-refusal.ts';
import { isWrongType } from '../../core/redis/wrong-type.ts';
import { StoreTampered, StoreUnavailable } from './contract.ts';

/** A command that Redis does not understand is a bug of signmesh, and not a failure of Redis. */
const ourMistake = /^(ERR|CROSSSLOT)/;

/**
 * ioredis's errors for a command while it is not connected (`enableOfflineQueue: false`), and for one that a Redis Cluster
 * redirected or asked to retry too often: none of them changed anything (core/redis/connect.ts).
 */
const changedNothingWords =
  /^(Stream isn't writeable|Cluster isn't ready|Too many Cluster redirections\. Last error: ReplyError: (MOVED|ASK|TRYAGAIN|CLUSTERDOWN)\b)/;
/** A script with this error has run in part. */
const inTheMiddle = /Script attempted to access/;

/**
 * Throws StoreUnavailable whenever Redis is unreachable, too slow, loading, full or read-only, and StoreTampered for a value of
 * another type than this service writes.
 */
export async function asking<T>(reply: Promise<T>): Promise<T> {
  try {
    return await reply;
  } catch (error) {
    const message = String((error as Error).message);
    // Recognized by name: a world without a real Redis loads no Redis client.
    const isReply = error instanceof Error && error.name === 'ReplyError';
    if (isReply && isWrongType(error)) throw new StoreTampered(undefined, error);
    if (isReply && ourMistake.test(message) && !inTheMiddle.test(message)) throw error;
    const changedNothing = (isReply && !inTheMiddle.test(message)) || changedNothingWords.test(message);
    throw new StoreUnavailable(`Redis ${redisRefusal(error)?.text ?? 'is not connected'}`, {
      cause: error,
      changedNothing,
    });
  }
}
