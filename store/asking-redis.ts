/** Asking Redis, so that its callers meet one kind of failure: it did not answer, or refused. */
import { redisRefusal } from '../actors/live/redis-refusal.ts';
import { StoreUnavailable } from './contract.ts';

/** A command that Redis does not understand is our own bug, and no trouble of Redis. */
const ourMistake = /^(ERR|WRONGTYPE|CROSSSLOT)/;

/**
 * What ioredis says of a command while it is not connected (`enableOfflineQueue: false`); and of one that a Redis Cluster
 * has sent on, or asked to try again, too often: each such answer has changed nothing (redis/connect.ts).
 */
const changedNothingWords =
  /^(Stream isn't writeable|Cluster isn't ready|Too many Cluster redirections\. Last error: ReplyError: (MOVED|ASK|TRYAGAIN|CLUSTERDOWN)\b)/;
/** A script that meets it has run in part. */
const inTheMiddle = /Script attempted to access/;

/** Throws StoreUnavailable whenever Redis is unreachable, too slow, loading, full or read-only. */
export async function asking<T>(reply: Promise<T>): Promise<T> {
  try {
    return await reply;
  } catch (error) {
    const message = String((error as Error).message);
    // Told by its name: a world without a real Redis loads no client of one.
    const isReply = error instanceof Error && error.name === 'ReplyError';
    if (isReply && ourMistake.test(message) && !inTheMiddle.test(message)) throw error;
    const changedNothing = (isReply && !inTheMiddle.test(message)) || changedNothingWords.test(message);
    throw new StoreUnavailable(`Redis ${redisRefusal(error)?.text ?? 'is not connected'}`, {
      cause: error,
      changedNothing,
    });
  }
}
